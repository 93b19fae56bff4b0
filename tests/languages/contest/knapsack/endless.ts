declare const require: any;

const [[n, capacity], ...things]: number[][] = require('fs').readFileSync(0, 'utf8').trim()
  .split('\n').map((line: string) => line.split(' ').map(Number));
const best = new Array<number>(capacity + 1).fill(0);
while (capacity === 0) continue;
for (const [weight, value] of things.slice(0, n)) {
  for (let room = capacity; room >= weight; room--) {
    best[room] = Math.max(best[room], best[room - weight] + value);
  }
}
console.log(best[capacity]);
