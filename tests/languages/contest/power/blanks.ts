declare const require: any, process: any;

const [base, exponent, modulus]: string[] = require('fs').readFileSync(0, 'utf8').trim().split(' ');
const m = BigInt(modulus);

function power(number: bigint, times: number): bigint {
  let result = 1n % m;
  while (times--) result = (result * number) % m;
  return result;
}

let answer: bigint = 1n % m;
for (const digit of exponent) {
  answer = (power(answer, 10) * power(BigInt(base), Number(digit))) % m;
}
process.stdout.write(`${answer} \r\n\n`);
