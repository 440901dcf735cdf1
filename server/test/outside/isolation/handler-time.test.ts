// What a handler does before it waits for something takes the event loop from everybody. It counts for its account.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoopTurns, type LoopUser } from '../../../src/inbound/server/loop-turns.ts';
import { startRider } from '../../support/harness.ts';

const WORK_MS = 30;

test('the work of a handler is charged to its account', async (t) => {
  const rider = await startRider(t);
  const { token, accountId } = await rider.account('asks');
  const { store } = rider.postrider;
  const { getSigningKeys } = store;
  store.getSigningKeys = (id) => {
    const untilMs = performance.now() + WORK_MS;
    while (performance.now() < untilMs);
    return getSigningKeys.call(store, id);
  };
  const { charge } = LoopTurns.prototype;
  let chargedMs = 0;
  t.mock.method(LoopTurns.prototype, 'charge', function planted(this: LoopTurns, user: LoopUser, sinceMs: number) {
    if (user.key === accountId) chargedMs += this.nowMs() - sinceMs;
    charge.call(this, user, sinceMs);
  });
  await rider.manage('GET', '/v2/keys', undefined, token);
  assert.ok(chargedMs >= WORK_MS, `${chargedMs} of ${WORK_MS} ms were charged`);
});
