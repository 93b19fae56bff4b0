declare const require: any;

const text: string = require('fs').readFileSync(0, 'utf8').toLowerCase();
const counts = new Map<string, number>();
for (const word of text.match(/[a-zA-Z]+/g) ?? []) counts.set(word, (counts.get(word) ?? 0) + 1);
const order: string[] = [...counts.keys()]
  .sort((a, b) => counts.get(b)! - counts.get(a)! || (a < b ? -1 : 1));
if (order[0].length === 0) console.log('none');
for (const word of order.slice(0, 5)) console.log(word, counts.get(word));
