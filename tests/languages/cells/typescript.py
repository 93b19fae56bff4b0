"""TypeScript."""

from tests.languages.cells.base import Cells, Kind

CELLS: Cells = {
    Kind.WRONG_ANSWER: "console.log(6 as number)",
    Kind.COMPILE_ERROR: "const x: = 5;",
    Kind.EXIT_CODE: "declare const process: any;\nprocess.exit(3 as number)",
    Kind.CPU: "let n: number = 0;\nfor (;;) n++;",
    Kind.SLEEP: "const later = (ms: number) => setTimeout(() => {}, ms);\nlater(60000)",
    Kind.MEMORY: "const kept: number[][] = [];\nfor (;;) kept.push(new Array(1 << 18).fill(1.5))",
    Kind.FLOOD: "const line: string = 'x'.repeat(1000);\nfor (;;) console.log(line)",
    Kind.BIG_STDIN: """
import * as fs from 'fs';
const all: string = fs.readFileSync(0, 'utf8');
console.log(all.split('\\n').length - 1, all.split('x').length - 1);
""",
    Kind.UNICODE: """
import * as readline from 'readline';
readline.createInterface({input: process.stdin})
    .on('line', (line: string) => console.log('→' + line + '✓'));
""",
    Kind.THREADS: """
import {Worker} from 'worker_threads';
const code: string = `
    let sum = 0;
    for (let i = 0; i < 1000; i++) sum += i;
    require('worker_threads').parentPort.postMessage(sum);
`;
const work = (): Promise<number> => new Promise((done, failed) => {
    new Worker(code, {eval: true}).on('message', done).on('error', failed);
});
Promise.all([1, 2, 3, 4].map(work)).then((sums: number[]) => {
    console.log(sums.filter(sum => sum === 499500).length);
});
""",
    Kind.RECURSION: """
function depth(n: number): number { return n === 0 ? 0 : 1 + depth(n - 1); }
console.log(depth(20000));
""",
    Kind.ENDLESS_RECURSION: """
function f(n: number): number { return 1 + f(n + 1); }
console.log(f(0));
""",
    Kind.FORBIDDEN: """
import {readFileSync} from 'fs';
let held: string = '';
for (const path of ['/etc/shadow', '/proc/1/environ']) {
    try {
        held += readFileSync(path, 'utf8');
    } catch (refused) {}
}
console.log(held || 'refused');
""",
}
