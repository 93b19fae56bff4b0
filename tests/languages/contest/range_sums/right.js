const numbers = require('fs').readFileSync(0, 'utf8').split(/\s+/).map(Number);
const [n, q] = numbers;
const sums = [0];
for (let i = 0; i < n; i++) sums.push(sums[i] + numbers[2 + i]);
const out = [];
for (let i = 0; i < q; i++) {
  const [left, right] = numbers.slice(2 + n + 2 * i, 4 + n + 2 * i);
  out.push(`${sums[right] - sums[left - 1]}\n`);
}
process.stdout.write(out.join(''));
