// What a handler does before it waits for something, and what an attempt does, takes the event loop from everybody. It
// counts for its account.

import assert from 'node:assert/strict';
import { test } from 'node:test';
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
