// What is read of an account so that its alerts can be judged.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Alert, AlertRule } from '../../../src/rules/alerts/alert.ts';
import { appliesTo, hostResultOf, isScoped, messageEndOf, neededFacts } from '../../../src/rules/alerts/alert-facts.ts';

const NOW = Date.UTC(2026, 0, 15, 12);
const MINUTE = 60_000;
const ANY = { host: null, queue: null, label: null };

/** What alerts with these rules need, made an hour ago and judged just now. */
function look(...rules: readonly AlertRule[]) {
  const judged = { state: 'calm', evaluatedAt: NOW, createdAt: NOW - 60 * MINUTE } as const;
  return neededFacts(
    rules.map((rule) => ({ ...judged, rule }) as unknown as Alert),
    NOW,
  );
}

test('a rule with a host, a queue or a label is about some messages only', () => {
  assert.equal(isScoped(ANY), false);
  for (const some of [{ host: 'a' }, { queue: 'a' }, { label: 'a' }]) assert.equal(isScoped({ ...ANY, ...some }), true);
});

test('a rule about some messages reads attempts, one about all of them the counts of minutes', () => {
  const rate = { type: 'failureRate', share: 0.5, windowMs: 5 * MINUTE, minimum: 1, ...ANY } as const;
  const scoped = look({ ...rate, queue: 'orders' });
  assert.deepEqual([scoped.attemptsFromAt, scoped.countedFromAt], [NOW - 5 * MINUTE, null]);
  const all = look(rate);
  assert.deepEqual([all.attemptsFromAt, all.countedFromAt], [null, NOW - 5 * MINUTE]);
  assert.equal(look({ type: 'hostFailing', attempts: 3, host: 'a' }).countedFromAt, null);
});

test('of several rules, the one that looks furthest back decides', () => {
  const failed = (windowMs: number) => ({ type: 'messageFailed', count: 1, windowMs, ...ANY }) as const;
  assert.equal(look(failed(MINUTE)).failedFromAt, NOW - MINUTE);
  assert.equal(look(failed(MINUTE), failed(9 * MINUTE), failed(2 * MINUTE)).failedFromAt, NOW - 9 * MINUTE);
});

test('schedules that are named are read, besides those of the failed messages', () => {
  const schedule = (id: string | null) => ({ type: 'scheduleFailed', schedule: id }) as const;
  const { schedules, areFailedSchedulesAsked } = look(schedule('a'), schedule(null), schedule('a'));
  assert.deepEqual([schedules, areFailedSchedulesAsked], [['a'], true]);
});

test('a message must be of the host, the queue and the label that a rule names', () => {
  const fact = { kind: 'publish', host: 'a.example:443', queueName: 'orders', labels: ['red'] } as const;
  assert.equal(appliesTo(fact, { host: 'a.example', queue: 'orders', label: 'red' }), true);
  assert.equal(appliesTo(fact, { ...ANY, queue: 'other' }), false);
  assert.equal(appliesTo(fact, { ...ANY, label: 'blue' }), false);
  assert.equal(appliesTo(fact, { ...ANY, host: 'b.example' }), false);
  assert.equal(appliesTo({ ...fact, queueName: null }, ANY), true);
  assert.equal(appliesTo({ ...fact, kind: 'alert' }, ANY), false);
});

test('a message ends with an attempt that delivered or failed it, not with one that is repeated', () => {
  assert.equal(messageEndOf({ outcome: 'answered', status: 200, nextAt: null }), 'delivered');
  assert.equal(messageEndOf({ outcome: 'answered', status: 500, nextAt: null }), 'failed');
  assert.equal(messageEndOf({ outcome: 'answered', status: 500, nextAt: NOW }), null);
  assert.equal(messageEndOf({ outcome: 'interrupted', status: null, nextAt: null }), null);
});

test('a host fails with a 5xx, or without an answer; any other answer is a sign of life', () => {
  const end = (status: number) => hostResultOf({ outcome: 'answered', status });
  assert.deepEqual([499, 500, 599, 600].map(end), ['answers', 'fails', 'fails', 'answers']);
  assert.equal(hostResultOf({ outcome: 'timedOut', status: null }), 'fails');
  assert.equal(hostResultOf({ outcome: 'unreachable', status: null }), 'fails');
  assert.equal(hostResultOf({ outcome: 'refusedByPolicy', status: null }), null);
  assert.equal(hostResultOf({ outcome: 'interrupted', status: null }), null);
  assert.equal(hostResultOf({ outcome: 'answered', status: null }), null);
});
