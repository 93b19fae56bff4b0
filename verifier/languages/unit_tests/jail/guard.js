// Runs before each test file: what tests are written with cannot be replaced by what they test.
'use strict';
const fixed = ['expect', 'test', 'it', 'describe', 'fit', 'xit', 'xtest', 'fdescribe', 'xdescribe',
  'beforeAll', 'beforeEach', 'afterAll', 'afterEach'];
const own = Object.keys(expect(0)).concat(Object.keys(expect(0).not), ['not', 'resolves', 'rejects']);
const extend = expect.extend;
expect.extend = matchers => {
  const taken = Object.keys(matchers).find(name => own.includes(name));
  if (taken) throw new Error(`expect.${taken} is jest's own`);
  return extend(matchers);
};
Object.freeze(expect);
for (const name of fixed) {
  const value = globalThis[name];
  Object.freeze(value);
  Object.defineProperty(globalThis, name, { value, writable: false, configurable: false });
}
for (const [holder, names] of [[Object, Object.getOwnPropertyNames(Object)], [Array, ['isArray']],
  [Number, ['isNaN']], [Reflect, Object.getOwnPropertyNames(Reflect)]]) {
  for (const name of names) {
    if (typeof holder[name] === 'function') {
      Object.defineProperty(holder, name, { writable: false, configurable: false });
    }
  }
}
