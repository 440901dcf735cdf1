import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoffMs } from '../../../src/rules/delivery/backoff.ts';

test('the wait is min(86400, e^(2n)) seconds, rounded up to a millisecond', () => {
  const expectedMs = [1_000, 7_390, 54_599, 403_429, 2_980_958, 22_026_466];
  while (expectedMs.length <= 12) expectedMs.push(86_400_000);
  assert.deepEqual(
    expectedMs.map((_, retried) => backoffMs(retried)),
    expectedMs,
  );
});

test('the wait is never shorter than the formula says', () => {
  for (let retried = 0; retried <= 1_000; retried += 1) {
    assert.ok(backoffMs(retried) >= Math.min(86_400, Math.exp(2 * retried)) * 1_000, String(retried));
    assert.ok(Number.isInteger(backoffMs(retried)));
  }
});
