// Four worker threads, a third of N MB in the heap and the rest in a buffer outside of it.
const { Worker, isMainThread, parentPort } = require('worker_threads');

function count() {
  let sum = 0;
  for (let i = 0; i < 1e6; i++) sum += i % 7;
  return sum;
}

if (!isMainThread) {
  parentPort.postMessage(count());
} else {
  const megabytes = Number(require('fs').readFileSync(0, 'utf8'));
  const inHeap = Math.floor(megabytes / 3);
  const held = [];
  for (let i = 0; i < inHeap; i++) held.push(new Array(1 << 17).fill(i));
  const buffer = Buffer.alloc((megabytes - inHeap) << 20, 1);
  const done = [];
  for (let i = 0; i < 4; i++) {
    new Worker(__filename).on('message', sum => {
      done.push(sum === count());
      if (done.length < 4) return;
      const right = done.every(Boolean) && held.length === inHeap && buffer[7] === 1;
      console.log(right ? 'True' : 'False');
    });
  }
}
