// How a message waits that nobody has claimed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Attempt, Settlement } from '../../../src/rules/delivery/message.ts';
import { NEVER_AT } from '../../../src/rules/delivery/recovery.ts';
import { afterAttempt, firstState, planDeliverNow, stateAfterRelease } from '../../../src/rules/lines/line.ts';

const flow = { key: 'k', limits: { parallelism: 1, rate: null, periodMs: 1000 } };
const NOW = 1000;

test('a new message waits for its queue, else for the clock, else behind its flow key, else for a slot', () => {
  const state = (queueName: string | null, dueAt: number, isUnderKey: boolean) =>
    firstState({ queueName, dueAt, flow: isUnderKey ? flow : null }, false, NOW);
  assert.equal(state('q', NOW + 1, true), 'queued');
  assert.equal(state('q', NOW, false), 'queued');
  assert.equal(state(null, NOW + 1, true), 'delayed');
  assert.equal(state(null, NOW, true), 'queued');
  assert.equal(state(null, NOW, false), 'ready');
});

test('only a message that waits for nothing is ready, and only one with a lease begins claimed', () => {
  const messages = fc.record({
    queueName: fc.constantFrom(null, 'q'),
    dueAt: fc.integer({ min: 0, max: 2 * NOW }),
    flow: fc.constantFrom(null, flow),
  });
  fc.assert(
    fc.property(messages, fc.boolean(), (message, isLeased) => {
      const state = firstState(message, isLeased, NOW);
      assert.equal(state === 'claimed', isLeased);
      const waitsForNothing = message.queueName === null && message.flow === null && message.dueAt <= NOW;
      if (!isLeased) assert.equal(state === 'ready', waitsForNothing);
    }),
  );
});

const settled = (next: Settlement['next']) => ({ next, attempt: { endedAt: NOW } as Attempt });

test('a message that waits for its retry waits for its queue while that is paused', () => {
  const retry = settled({ state: 'pending', dueAt: NOW + 5, startsAlone: false });
  const { state, dueAt, startAt } = afterAttempt(retry, false);
  assert.deepEqual([state, dueAt, startAt], ['delayed', NOW + 5, NOW + 5]);
  const paused = afterAttempt(retry, true);
  assert.deepEqual([paused.state, paused.dueAt, paused.startAt], ['queued', NOW + 5, null]);
});

test('a message that starts alone or is held does not wait for the clock like others', () => {
  const alone = afterAttempt(settled({ state: 'pending', dueAt: NOW + 5, startsAlone: true }), false);
  assert.deepEqual([alone.dueAt, alone.aloneFromAt, alone.heldAt, alone.startAt], [NEVER_AT, NOW + 5, null, null]);
  const held = afterAttempt(settled({ state: 'held', heldAt: NOW }), false);
  assert.deepEqual([held.dueAt, held.aloneFromAt, held.heldAt, held.startAt], [NEVER_AT, null, NOW, null]);
});

test('an ended message waits for nothing, and an open message has no end time', () => {
  const times = fc.integer({ min: 0, max: 2 * NOW });
  const nexts: fc.Arbitrary<Settlement['next']> = fc.oneof(
    fc.record({ state: fc.constant('pending' as const), dueAt: times, startsAlone: fc.boolean() }),
    fc.record({ state: fc.constant('held' as const), heldAt: times }),
    fc.record({ state: fc.constant('delivered' as const), expiresAt: times }),
    fc.record({ state: fc.constant('failed' as const), expiresAt: times, failure: fc.string() }),
  );
  fc.assert(
    fc.property(nexts, fc.boolean(), (next, isQueuePaused) => {
      const { state, dueAt, startAt, endedAt, expiresAt, failure } = afterAttempt(settled(next), isQueuePaused);
      const isEnd = next.state === 'delivered' || next.state === 'failed';
      assert.equal(endedAt === NOW, isEnd);
      assert.equal(expiresAt !== null, isEnd);
      assert.equal(dueAt === null, isEnd);
      assert.equal(failure !== null, next.state === 'failed');
      assert.equal(state === next.state, isEnd);
      if (isEnd || isQueuePaused) assert.equal(startAt, null);
    }),
  );
});

test('a claim that is given back waits for its paused queue, for its start alone, behind its flow key, or for a slot', () => {
  const free = { isQueuePaused: false, startsAlone: false, hasFlowKey: false };
  assert.equal(stateAfterRelease({ isQueuePaused: true, startsAlone: true, hasFlowKey: false }), 'queued');
  assert.equal(stateAfterRelease({ ...free, startsAlone: true, hasFlowKey: true }), 'delayed');
  assert.equal(stateAfterRelease({ ...free, hasFlowKey: true }), 'queued');
  assert.equal(stateAfterRelease(free), 'ready');
});

test('a message that waits for the clock can be delivered now; in a queue only a head that crashes interrupted', () => {
  const open = { state: 'delayed', queue_name: null, held_at: null, alone_from_at: null };
  assert.deepEqual(planDeliverNow(open), { answer: 'due', column: 'due_at' });
  assert.deepEqual(planDeliverNow({ ...open, alone_from_at: 1 }), { answer: 'due', column: 'alone_from_at' });
  assert.deepEqual(planDeliverNow({ ...open, state: 'ready' }), { answer: 'due', column: null });
  assert.deepEqual(planDeliverNow({ ...open, queue_name: 'q' }), { answer: 'inQueue', column: null });
  const suspect = { ...open, queue_name: 'q', alone_from_at: 1 };
  assert.deepEqual(planDeliverNow(suspect), { answer: 'due', column: 'alone_from_at' });
  assert.deepEqual(planDeliverNow({ ...suspect, state: 'queued' }), { answer: 'inQueue', column: null });
  assert.deepEqual(planDeliverNow({ ...open, queue_name: 'q', held_at: 1 }), { answer: 'held', column: null });
  assert.deepEqual(planDeliverNow(undefined), { answer: 'notWaiting', column: null });
});
