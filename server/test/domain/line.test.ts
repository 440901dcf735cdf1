// How a message waits that nobody has claimed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { firstState, stateForRetry, stateGivenBack } from '../../src/domain/line.ts';

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

test('a message that waits for its retry waits for its queue while that is paused', () => {
  assert.equal(stateForRetry(true), 'queued');
  assert.equal(stateForRetry(false), 'delayed');
});

test('a claim that is given back waits for its paused queue, for its start alone, behind its flow key, or for a slot', () => {
  const free = { isQueuePaused: false, startsAlone: false, hasFlowKey: false };
  assert.equal(stateGivenBack({ isQueuePaused: true, startsAlone: true, hasFlowKey: false }), 'queued');
  assert.equal(stateGivenBack({ ...free, startsAlone: true, hasFlowKey: true }), 'delayed');
  assert.equal(stateGivenBack({ ...free, hasFlowKey: true }), 'queued');
  assert.equal(stateGivenBack(free), 'ready');
});
