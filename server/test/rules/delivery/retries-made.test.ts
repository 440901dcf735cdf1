// How many retries are shown, for each way in which a message can stand.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retriesMade } from '../../../src/rules/delivery/retries-made.ts';

test('a retry that waits is not made yet; one that began is, however it ends', () => {
  const made = (
    state: Parameters<typeof retriesMade>[0]['state'],
    retried: number,
    attempts: number,
    interrupted = 0,
  ) => retriesMade({ state, retried, attempts, interrupted });
  assert.equal(made('pending', 0, 0), 0);
  assert.equal(made('pending', 1, 1), 0);
  assert.equal(made('pending', 2, 2), 1);
  assert.equal(made('claimed', 1, 1), 1);
  assert.equal(made('delivered', 1, 2), 1);
  assert.equal(made('failed', 2, 3), 2);
  assert.equal(made('cancelled', 0, 0), 0);
  assert.equal(made('cancelled', 1, 1), 0);
  assert.equal(retriesMade({ state: 'cancelled', retried: 1, interrupted: 0, attempts: 2, hasBegunRetry: true }), 1);
});

test('one that was cut off and is repeated had begun', () => {
  assert.equal(retriesMade({ state: 'pending', retried: 1, interrupted: 1, attempts: 2 }), 1);
  assert.equal(retriesMade({ state: 'pending', retried: 0, interrupted: 1, attempts: 1 }), 0);
});

test('one that a drain cut off had begun, and one that waits behind an attempt that a drain cut off has not', () => {
  const counted = { state: 'pending', retried: 1, interrupted: 0, attempts: 2 } as const;
  assert.equal(retriesMade({ ...counted, hasBegunRetry: true }), 1);
  assert.equal(retriesMade(counted), 0);
  assert.equal(retriesMade({ ...counted, state: 'cancelled' }), 0);
});

test('without an attempt after it, a retry has not begun, whatever is said', () => {
  assert.equal(retriesMade({ state: 'pending', retried: 1, attempts: 1, interrupted: 0, hasBegunRetry: true }), 0);
  assert.equal(retriesMade({ state: 'pending', retried: 1, attempts: 2, interrupted: 0, hasBegunRetry: true }), 1);
});
