// Whatever is made of what a message hands on: all that descends from it is at most the number it began with.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  callbackRoom,
  DESCENDANTS_MAX,
  descendantsOfRequest,
  divideDescendants,
  stricterDescent,
} from '../../../src/rules/delivery/descent.ts';
import { CALLBACK_URL, callbackTo, claimOf, FAILURE_URL, settings } from '../given.ts';

function parent(left: number, retries: number, reports: 'none' | 'each' | 'failure' | 'both') {
  const callback = reports === 'each' || reports === 'both' ? callbackTo(CALLBACK_URL) : null;
  const failureCallback = reports === 'failure' || reports === 'both' ? callbackTo(FAILURE_URL) : null;
  const { message } = claimOf({ settings: settings({ retries }), callback, failureCallback });
  return { ...message, descendantsLeft: left };
}

test('the attempts and callbacks of a message together hand on no more than it has', () => {
  const reports = fc.constantFrom('none' as const, 'each' as const, 'failure' as const, 'both' as const);
  fc.assert(
    fc.property(fc.nat({ max: DESCENDANTS_MAX }), fc.nat({ max: 100 }), reports, (left, retries, kind) => {
      const message = parent(left, retries, kind);
      let handed = 0;
      for (let attempts = 0; attempts <= retries + 5; attempts += 1)
        handed += descendantsOfRequest({ ...message, attempts });
      if (message.callback) {
        for (let retried = 0; retried <= retries; retried += 1) {
          handed += callbackRoom({ ...message, retried }, 'callback');
        }
      }
      if (message.failureCallback) handed += callbackRoom({ ...message, retried: retries }, 'failureCallback');
      assert.ok(handed <= left, `${handed} of ${left}`);
    }),
  );
});

test('messages that a request makes and all they may lead to are no more than it was handed', () => {
  fc.assert(
    fc.property(fc.nat({ max: DESCENDANTS_MAX }), fc.integer({ min: 1, max: 3000 }), (left, messages) => {
      const each = divideDescendants(left, messages);
      if (typeof each === 'number') assert.ok(messages + messages * each <= left);
      else assert.equal(each.problem.code, 'loop_detected');
      assert.equal(typeof each === 'number', messages <= left);
    }),
  );
});

test('a message that nothing of ours led to has the whole number, also one of many', () => {
  assert.equal(divideDescendants(null, 1), DESCENDANTS_MAX);
  assert.equal(divideDescendants(null, 5000), DESCENDANTS_MAX);
});

test('five hops and the callbacks of the default retries fit; with a hundred retries each callback still has room', () => {
  let left = DESCENDANTS_MAX;
  for (let hop = 0; hop < 5; hop += 1) {
    const each = divideDescendants(descendantsOfRequest(parent(left, 5, 'both')), 1);
    assert.ok(typeof each === 'number', `hop ${hop}`);
    left = each;
  }
  assert.ok(callbackRoom({ ...parent(DESCENDANTS_MAX, 5, 'both'), retried: 5 }, 'callback') > 2 * 5);
  for (const retried of [0, 50, 100]) {
    assert.ok(callbackRoom({ ...parent(DESCENDANTS_MAX, 100, 'both'), retried }, 'callback') >= 3);
  }
});

test('what a request says of itself can only lower what led to it', () => {
  assert.equal(stricterDescent(10, null), 10);
  assert.equal(stricterDescent(10, 1000), 10);
  assert.equal(stricterDescent(1000, 10), 10);
  assert.equal(stricterDescent(null, null), null);
});

test('without callbacks all of it is for deliveries; with one of either kind, half', () => {
  const first = (kind: 'none' | 'each' | 'failure' | 'both') =>
    descendantsOfRequest({ ...parent(101, 3, kind), attempts: 0 });
  assert.equal(first('none'), 50);
  for (const kind of ['each', 'failure', 'both'] as const) assert.equal(first(kind), 25);
  assert.equal(descendantsOfRequest({ ...parent(101, 3, 'each'), attempts: 1 }), 12);
});

test('each callback gets an equal part of its half, and one is kept for the failure callback', () => {
  const room = (left: number, kind: 'each' | 'failure' | 'both', of: 'callback' | 'failureCallback', retried = 0) =>
    callbackRoom({ ...parent(left, 3, kind), retried }, of);
  // Half of 80 is for four callbacks, or five with the one about the failure, or that one alone.
  assert.equal(room(80, 'each', 'callback'), 10);
  assert.equal(room(80, 'both', 'callback'), 8);
  assert.equal(room(80, 'both', 'failureCallback'), 8);
  assert.equal(room(80, 'failure', 'failureCallback'), 40);
  // Exactly one for each.
  assert.equal(room(10, 'both', 'callback', 3), 1);
  assert.equal(room(10, 'both', 'failureCallback', 3), 1);
  // Fewer than that: the first ones, and the failure callback.
  const few = [0, 1, 2, 3].map((retried) => room(6, 'both', 'callback', retried));
  assert.deepEqual(few, [1, 1, 0, 0]);
  assert.equal(room(6, 'both', 'failureCallback', 3), 1);
  // More attempts than retries, after interruptions, count as the last.
  assert.equal(room(80, 'each', 'callback', 9), 10);
  assert.equal(room(1, 'both', 'failureCallback', 3), 0);
});
