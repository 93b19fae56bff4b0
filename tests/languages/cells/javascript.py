"""JavaScript."""

from tests.languages.cells.base import Cells, Kind

CELLS: Cells = {
    Kind.WRONG_ANSWER: "console.log(6)",
    Kind.COMPILE_ERROR: "const = 5;",
    Kind.EXIT_CODE: "process.exit(3)",
    Kind.CPU: "for (;;);",
    Kind.SLEEP: "setTimeout(() => {}, 60000)",
    Kind.MEMORY: "const kept = []; for (;;) kept.push(new Array(1 << 18).fill(1.5))",
    Kind.FLOOD: "const line = 'x'.repeat(1000); for (;;) console.log(line)",
    Kind.BIG_STDIN: """
const all = require('fs').readFileSync(0, 'utf8');
console.log(all.split('\\n').length - 1, all.split('x').length - 1);
""",
    Kind.UNICODE: """
require('readline').createInterface({input: process.stdin})
    .on('line', line => console.log('→' + line + '✓'));
""",
    Kind.THREADS: """
const {Worker} = require('worker_threads');
const code = `
    let sum = 0;
    for (let i = 0; i < 1000; i++) sum += i;
    require('worker_threads').parentPort.postMessage(sum);
`;
const work = () => new Promise((done, failed) => {
    new Worker(code, {eval: true}).on('message', done).on('error', failed);
});
Promise.all([1, 2, 3, 4].map(work)).then(sums => {
    console.log(sums.filter(sum => sum === 499500).length);
});
""",
    Kind.RECURSION: """
const depth = n => n === 0 ? 0 : 1 + depth(n - 1);
console.log(depth(20000));
""",
    Kind.ENDLESS_RECURSION: "const f = n => 1 + f(n + 1);\nconsole.log(f(0));",
    Kind.FORBIDDEN: """
let held = '';
for (const path of ['/etc/shadow', '/proc/1/environ']) {
    try {
        held += require('fs').readFileSync(path, 'utf8');
    } catch (refused) {}
}
console.log(held || 'refused');
""",
}
