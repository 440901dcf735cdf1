// What a handler does before it waits for something, and what an attempt does, takes the event loop from everybody. It
// counts for its account.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Publications } from '../../../src/publish/publications.ts';
import { LoopTurns, type LoopUser } from '../../../src/runtime/loop-turns.ts';
import { startRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const WORK_MS = 30;

test('the work of a handler is charged to its account', async (t) => {
  const rider = await startRider(t);
  const { token, accountId } = await rider.account('asks');
  let nowMs = 0;
  let chargedMs = 0;
  t.mock.method(LoopTurns.prototype, 'nowMs', () => nowMs);
  t.mock.method(LoopTurns.prototype, 'charge', ({ key }: LoopUser, sinceMs: number) => {
    if (key === accountId) chargedMs += nowMs - sinceMs;
  });
  const { store } = rider.postrider;
  const { getSigningKeys } = store;
  store.getSigningKeys = (id) => {
    nowMs += WORK_MS;
    return getSigningKeys.call(store, id);
  };
  await rider.manage('GET', '/v2/keys', undefined, token);
  assert.equal(chargedMs, WORK_MS);
});

test('the work of an attempt is charged to its account: to start it, to settle it, to report it', async (t) => {
  const rider = await startRider(t);
  const { token, accountId } = await rider.account('delivers');
  const charged: string[][] = [];
  t.mock.method(
    LoopTurns.prototype,
    'chargeEach',
    (things: readonly object[], accountOf: (thing: object) => string) => {
      charged.push(things.map(accountOf));
    },
  );
  const receiver = await startReceiver(t);
  await rider.accepted(receiver.url, { token });
  await receiver.received(1);
  await waitFor('the attempt is reported', () => charged.length === 3);
  assert.deepEqual(charged, [[accountId], [accountId], [accountId]]);
});

test('one account has one publish to a topic with many endpoints made and accepted at a time', async (t) => {
  const rider = await startRider(t);
  const { token } = await rider.account('fans-out', 'paid');
  const endpoints = Array.from({ length: 1000 }, (_, index) => ({ url: `http://192.0.2.1/${index}` }));
  await rider.manage('POST', '/v2/topics/wide/endpoints', { endpoints }, token);
  const made = t.mock.method(Publications.prototype, 'make');
  const gate = Promise.withResolvers<void>();
  const { store } = rider.postrider;
  const { accept } = store;
  store.accept = async (...args) => {
    await gate.promise;
    return accept.apply(store, args);
  };
  const headers = { 'Service-Delay': '1h' };
  const publishing = [1, 2, 3, 4].map(() => rider.publish('wide', { token, headers }));
  await waitFor('the first to be made', () => made.mock.callCount() > 0);
  const other = rider.publish('http://192.0.2.1/', { headers });
  await waitFor('the publish of another account', () => made.mock.callCount() > 1);
  assert.equal(made.mock.callCount(), 2, 'the other three wait until the first is accepted');
  gate.resolve();
  assert.deepEqual(
    (await Promise.all([...publishing, other])).map(({ status }) => status),
    [201, 201, 201, 201, 201],
  );
});
