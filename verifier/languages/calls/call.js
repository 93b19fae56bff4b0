'use strict';
// Calls a function of main.js, which hands over what it has by the driver's names: see javascript.py.
const fs = require('fs');
const { exit } = process;
const [input, output] = process.argv.slice(2);
const channel = fs.openSync(output, fs.constants.O_WRONLY);
const text = fs.readFileSync(input, 'utf8');
process.argv.length = 2;

const MAX_DEPTH = 200, MAX_BYTES = 64 << 20, MAX_NODES = 8 << 20;

class NotPlain extends Error {}

class ListNode {
  constructor(val, next) {
    this.val = val === undefined ? 0 : val;
    this.next = next === undefined ? null : next;
  }
}

class TreeNode {
  constructor(val, left, right) {
    this.val = val === undefined ? 0 : val;
    this.left = left === undefined ? null : left;
    this.right = right === undefined ? null : right;
  }
}

// ------------------------------------------------------------ JSON

// An integer that a Number cannot hold is a BigInt. NaN and Infinity are numbers.
function parse(json) {
  if (!/\d{16}|NaN|Infinity/.test(json)) return JSON.parse(json);
  const token = /[\s,:]*("(?:[^"\\]|\\.)*"|[\[\]{}]|[^\s,:\[\]{}"]+)/gy;
  const next = () => token.exec(json)[1];
  function value(word) {
    if (word === '[') {
      const items = [];
      for (let w = next(); w !== ']'; w = next()) items.push(value(w));
      return items;
    }
    if (word === '{') {
      const made = {};
      for (let w = next(); w !== '}'; w = next()) {
        Object.defineProperty(made, JSON.parse(w), { value: value(next()), enumerable: true, writable: true, configurable: true });
      }
      return made;
    }
    if (/^-?(NaN|Infinity)$/.test(word)) return Number(word);
    if (!/^-?\d{16,}$/.test(word)) return JSON.parse(word);
    const number = Number(word), exact = BigInt(word);
    return Number.isFinite(number) && BigInt(number) === exact ? number : exact;
  }
  return value(next());
}

const parts = [];
let size = 0;

function put(part) {
  size += part.length;
  if (size > MAX_BYTES) throw new NotPlain('the value is too large');
  parts.push(part);
}

function list(items, depth) {
  put('[');
  for (let i = 0; i < items.length; i++) {
    if (i) put(',');
    write(items[i], depth + 1);
  }
  put(']');
}

function write(value, depth) {
  if (depth > MAX_DEPTH) throw new NotPlain('value is nested too deeply');
  if (value === null || value === undefined) return put('null');
  switch (typeof value) {
    case 'boolean': return put(String(value));
    case 'bigint': return put(String(value));
    case 'string': return put(JSON.stringify(value));
    case 'number':
      // Its digits, where it is an integer: beyond 2^53 JavaScript rounds them to what is short.
      return put(Number.isInteger(value) && Math.abs(value) < 1e21 ? String(BigInt(value)) : String(value));
    case 'object': break;
    default: throw new NotPlain(`a ${typeof value}`);
  }
  if (Array.isArray(value) || (ArrayBuffer.isView(value) && 'length' in value)) return list(value, depth);
  if ('val' in value && 'left' in value && 'right' in value) return list(levels(value), depth);
  if ('val' in value && 'next' in value) return list(links(value), depth);
  if (typeof value[Symbol.iterator] === 'function' && !(value instanceof Map)) {
    throw new NotPlain(value instanceof Set ? 'a set has no order; return an array' : 'an iterable; return an array');
  }
  put('{');
  let first = true;
  for (const [key, item] of value instanceof Map ? value : Object.entries(value)) {
    if (!first) put(',');
    first = false;
    put(`${JSON.stringify(String(key))}:`);
    write(item, depth + 1);
  }
  put('}');
}

// ------------------------------------------------------------ linked lists and trees

function links(head) {
  const found = [];
  for (let at = head; at; at = at.next) {
    if (found.push(at.val) > MAX_NODES) throw new NotPlain('a linked list without an end');
  }
  return found;
}

function levels(root) {
  const nodes = [root];
  for (let i = 0; i < nodes.length; i++) {
    if (nodes.length > MAX_NODES) throw new NotPlain('a tree without an end');
    if (nodes[i]) nodes.push(nodes[i].left, nodes[i].right);
  }
  while (nodes.length && !nodes[nodes.length - 1]) nodes.pop();
  return nodes.map(node => (node ? node.val : null));
}

function linked(values) {
  let head = null;
  for (let i = values.length - 1; i >= 0; i--) head = new ListNode(values[i], head);
  return head;
}

function planted(values) {
  if (!values.length || values[0] === null) return null;
  const root = new TreeNode(values[0]), places = [[root, 'left'], [root, 'right']];
  let at = 0;
  for (const value of values.slice(1)) {
    const place = places[at++];
    if (value === null) continue;
    if (!place) throw new TypeError('the test does not fit: a tree with a value below no node');
    const node = place[0][place[1]] = new TreeNode(value);
    places.push([node, 'left'], [node, 'right']);
  }
  return root;
}

// `kind` is "list", "tree", either of them with [] behind it, or "" for plain data.
function argument(value, kind) {
  if (!Array.isArray(value) || !kind) return value;
  if (kind.endsWith('[]')) return value.map(item => argument(item, kind.slice(0, -2)));
  return kind === 'list' ? linked(value) : planted(value);
}

// ------------------------------------------------------------ the call

function leave(record) {
  let bytes = Buffer.from(record);
  try {
    while (bytes.length) bytes = bytes.subarray(fs.writeSync(channel, bytes));
  } finally {
    exit(0);
  }
}

const failure = (kind, error) => leave(JSON.stringify({ ok: false, kind, error: String(error).slice(0, 600) }));

function said(error) {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  } catch {
    return 'an exception';
  }
}

function entry({ found, Solution, exported, names }) {
  const of = owner => names.map(name => owner && owner[name]).find(f => typeof f === 'function');
  const plain = found.find(f => typeof f === 'function') || of(exported);
  if (plain) return plain;
  const kind = Solution || (exported && exported.Solution);
  if (typeof kind !== 'function') return undefined;
  const solution = new kind(), method = of(solution);
  return method ? method.bind(solution) : of(kind);
}

// An absent node is an empty list where nodes are what the function is about.
function finished(value, kinds, result) {
  const nodes = result || kinds.some(Boolean);
  if (value === null && nodes) return [];
  return value;
}

async function main() {
  Object.assign(globalThis, { ListNode, TreeNode });
  const answer = require('./main.js');
  try {
    const f = entry(answer);
    if (!f) return failure('no_entry_point', `there is no function ${answer.names[0] || 'of that name'}`);
    const values = parse(text);
    if (f.length - answer.optional > values.length) {
      throw new TypeError(`the function takes ${f.length} arguments, the test gives ${values.length}`);
    }
    const given = values.map((value, i) => argument(value, answer.kinds[i]));
    const value = await f(...given);
    put('{"ok":true,"value":');
    write(finished(value, answer.kinds, answer.result), 0);
    if (value === undefined && given.length) {
      put(',"in_place":');
      write(finished(given[0], answer.kinds.slice(0, 1)), 0);
    }
    put('}');
  } catch (error) {
    if (error instanceof NotPlain) return failure('unserializable', error.message);
    console.error(error);
    return failure('raised', said(error));
  }
  return leave(parts.join(''));
}

main().catch(error => {
  console.error(error);
  exit(1);
});
