// How many lanes a process has, and how they share its limits.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { LANES_MAX, laneCount, laneShare } from '../../src/domain/lanes.ts';

test('no limit is smaller than the number of lanes', () => {
  assert.equal(laneCount(8, [1000, 400, null]), 8);
  assert.equal(laneCount(8, [1000, 2, null]), 2);
  assert.equal(laneCount(8, [1000, 400, 1]), 1);
});

test('the shares of all lanes are together the whole, and differ by at most one', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 1, max: LANES_MAX }), (whole, lanes) => {
      const shares = Array.from({ length: lanes }, (_, lane) => laneShare(whole, lanes, lane));
      assert.equal(
        shares.reduce((sum, share) => sum + share, 0),
        whole,
      );
      assert.ok(Math.max(...shares) - Math.min(...shares) <= 1);
      if (laneCount(lanes, [whole]) === lanes) assert.ok(Math.min(...shares) >= 1);
    }),
  );
});
