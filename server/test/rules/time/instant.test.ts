import assert from 'node:assert/strict';
import { test } from 'node:test';
import { earlier } from '../../../src/rules/time/instant.ts';

test('the earlier of two instants, where null never comes', () => {
  assert.equal(earlier(3, 5), 3);
  assert.equal(earlier(5, 3), 3);
  assert.equal(earlier(null, 3), 3);
  assert.equal(earlier(3, null), 3);
  assert.equal(earlier(0, null), 0);
  assert.equal(earlier(null, null), null);
});
