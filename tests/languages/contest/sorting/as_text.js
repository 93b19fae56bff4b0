const numbers = require('fs').readFileSync(0, 'utf8').trim().split(/\s+/).map(Number).slice(1);
numbers.sort();
console.log(numbers.join('\n'));
