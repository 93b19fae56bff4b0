const [size, ...rows] = require('fs').readFileSync(0, 'utf8').trim().split('\n');
const [height, width] = size.split(' ').map(Number);
const steps = rows.map(row => [...row].map(cell => (cell === 'S' ? 0 : -1)));
const queue = [];
rows.forEach((row, y) => row.includes('S') && queue.push([y, row.indexOf('S')]));
let answer = -1;
for (let head = 0; head < queue.length && answer < 0; head++) {
  const [y, x] = queue[head];
  if (rows[y][x] === 'E') answer = steps[y][x];
  for (const [ny, nx] of [[y - 1, x], [y + 1, x], [y, x - 1], [y, x + 1]]) {
    if (ny < 0 || ny >= height || nx < 0 || nx >= width) continue;
    if (rows[ny][nx] === '#' || steps[ny][nx] >= 0) continue;
    steps[ny][nx] = steps[y][x] + 1;
    queue.push([ny, nx]);
  }
}
if (answer < 0) answer = -2;
console.log(answer + 1);
