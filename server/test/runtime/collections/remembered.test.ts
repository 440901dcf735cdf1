// What is remembered: as many entries as its limit, and then it starts anew.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BoundedCache } from '../../../src/runtime/collections/remembered.ts';

test('as many entries as the limit are remembered, and the next one is then the only one', () => {
  const remembered = new BoundedCache<string, number>(3);
  const known = () => ['a', 'b', 'c', 'd', 'e'].map((key) => remembered.get(key));
  assert.deepEqual(known(), [undefined, undefined, undefined, undefined, undefined]);
  for (const [index, key] of ['a', 'b', 'c'].entries()) remembered.set(key, index);
  assert.deepEqual(known(), [0, 1, 2, undefined, undefined]);
  remembered.set('d', 3);
  assert.deepEqual(known(), [undefined, undefined, undefined, 3, undefined]);
  remembered.set('e', 4);
  assert.deepEqual(known(), [undefined, undefined, undefined, 3, 4]);
});
