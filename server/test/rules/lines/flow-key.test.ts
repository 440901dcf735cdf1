// Which limits of a flow key apply, what a person's pins change, and when a key without messages is forgotten.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FlowLimits } from '../../../src/rules/lines/flow-control.ts';
import {
  areLimitsUnchanged,
  areSameLimits,
  canDeleteFlowKey,
  isSetByPerson,
  newestLimits,
  requestedLimits,
  withPins,
} from '../../../src/rules/lines/flow-key.ts';

const OWN: FlowLimits = { parallelism: 1, rate: 2, periodMs: 3000 };
const REQUESTED: FlowLimits = { parallelism: 10, rate: 20, periodMs: 30_000 };
const FREE = { limits: OWN, isParallelismPinned: false, isRatePinned: false, requested: null };

test('limits are the same when all three are', () => {
  assert.equal(areSameLimits(OWN, { ...OWN }), true);
  assert.equal(areSameLimits(OWN, { ...OWN, parallelism: 9 }), false);
  assert.equal(areSameLimits(OWN, { ...OWN, rate: 9 }), false);
  assert.equal(areSameLimits(OWN, { ...OWN, periodMs: 9 }), false);
});

test('a pinned limit ignores what a message says', () => {
  assert.deepEqual(requestedLimits(FREE, REQUESTED), REQUESTED);
  assert.deepEqual(requestedLimits({ ...FREE, isParallelismPinned: true }, REQUESTED), {
    ...REQUESTED,
    parallelism: 1,
  });
  assert.deepEqual(requestedLimits({ ...FREE, isRatePinned: true }, REQUESTED), { ...OWN, parallelism: 10 });
});

test('the newest limits are those that a message has requested, before they take effect', () => {
  assert.deepEqual(newestLimits(FREE), OWN);
  assert.deepEqual(newestLimits({ ...FREE, requested: REQUESTED }), REQUESTED);
  assert.equal(areLimitsUnchanged(FREE, OWN), true);
  assert.equal(areLimitsUnchanged(FREE, REQUESTED), false);
  assert.equal(areLimitsUnchanged({ ...FREE, requested: REQUESTED }, OWN), false, 'others have yet to take effect');
});

test('a pin sets its limit and holds it; without it the limit stays until a message sets another', () => {
  const keep = { parallelism: 'keep', rate: 'keep' } as const;
  assert.deepEqual(withPins(FREE, { ...keep, parallelism: 7 }), {
    isParallelismPinned: true,
    isRatePinned: false,
    limits: { ...OWN, parallelism: 7 },
  });
  assert.deepEqual(withPins(FREE, { ...keep, rate: { rate: 7, periodMs: 8 } }), {
    isParallelismPinned: false,
    isRatePinned: true,
    limits: { parallelism: 1, rate: 7, periodMs: 8 },
  });
  const pinned = { ...FREE, isParallelismPinned: true, isRatePinned: true };
  assert.deepEqual(withPins(pinned, keep), { isParallelismPinned: true, isRatePinned: true, limits: OWN });
  assert.deepEqual(withPins(FREE, keep), { isParallelismPinned: false, isRatePinned: false, limits: OWN });
  assert.deepEqual(withPins(pinned, { parallelism: 'unpin', rate: 'unpin' }), {
    isParallelismPinned: false,
    isRatePinned: false,
    limits: OWN,
  });
});

test('a key without messages is forgotten once its period is over, unless a person has pinned or paused it', () => {
  const idle = {
    isParallelismPinned: false,
    isRatePinned: false,
    isPaused: false,
    windowStartAt: 10_000,
    periodMs: 3000,
  };
  assert.deepEqual(
    [12_999, 13_000, 13_001].map((now) => canDeleteFlowKey(idle, now)),
    [false, true, true],
  );
  assert.equal(isSetByPerson(idle), false);
  for (const name of ['isParallelismPinned', 'isRatePinned', 'isPaused'] as const) {
    const set = { ...idle, [name]: true };
    assert.deepEqual([isSetByPerson(set), canDeleteFlowKey(set, 99_999)], [true, false], name);
  }
});
