import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { backoffMs, jitterMs } from '../../../src/rules/delivery/backoff.ts';
import { shareOf } from '../../../src/rules/requests/id.ts';

const message = fc.record({
  id: fc.string(),
  retried: fc.nat(100),
  retryJitter: fc.option(fc.integer({ min: 0, max: 100 })),
});
const wait = fc.integer({ min: 0, max: 86_400_000 });

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

test('the jitter is between nothing and its share of the wait, and the same each time', () => {
  fc.assert(
    fc.property(message, wait, (of, waitMs) => {
      const added = jitterMs(of, waitMs);
      assert.ok(Number.isInteger(added) && added >= 0, `${added}`);
      assert.ok(added <= (waitMs * (of.retryJitter ?? 0)) / 100, `${added}`);
      assert.equal(jitterMs(of, waitMs), added);
    }),
  );
});

test('the retries of messages that differ only in the end of their ids are spread evenly', () => {
  for (const retried of [0, 1, 5]) {
    const tenths = new Array<number>(10).fill(0);
    for (let n = 0; n < 10_000; n += 1) tenths[Math.floor(10 * shareOf(`msg_01k5x2${n}.${retried}`))]! += 1;
    for (const count of tenths) assert.ok(count > 900 && count < 1100, `${tenths}`);
  }
});

test('each retry of a message has a jitter of its own', () => {
  const added = [0, 1, 2, 3, 4].map((retried) => jitterMs({ id: 'msg_1', retried, retryJitter: 50 }, 1_000_000));
  assert.equal(new Set(added).size, 5);
});
