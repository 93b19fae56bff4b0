const [[n, capacity], ...things] = require('fs').readFileSync(0, 'utf8').trim().split('\n')
  .map(line => line.split(' ').map(Number));
const best = new Array(capacity + 1).fill(0);
for (const [weight, value] of things.slice(0, n)) {
  for (let room = weight; room <= capacity; room++) {
    best[room] = Math.max(best[room], best[room - weight] + value);
  }
}
console.log(best[capacity]);
