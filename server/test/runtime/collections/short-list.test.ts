// Lists of few entries: what they hold, and that a short one is replaced rather than grown.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withEntry, withPair } from '../../../src/runtime/collections/short-list.ts';

test('an entry is added at the end; a list of one or two is replaced, a longer one stays the same list', () => {
  const one = withEntry(null, 'a');
  const two = withEntry(one, 'b');
  const three = withEntry(two, 'c');
  const four = withEntry(three, 'd');
  assert.deepEqual([one, two, three], [['a'], ['a', 'b'], ['a', 'b', 'c', 'd']]);
  assert.deepEqual([two === one, three === two, four === three], [false, false, true]);
});

test('a pair is added at the end; a list of one pair is replaced, a longer one stays the same list', () => {
  const one = withPair<string | number>(null, 'a', 1);
  const two = withPair<string | number>(one, 'b', 2);
  const three = withPair<string | number>(two, 'c', 3);
  assert.deepEqual(
    [one, two],
    [
      ['a', 1],
      ['a', 1, 'b', 2, 'c', 3],
    ],
  );
  assert.deepEqual([two === one, three === two], [false, true]);
});
