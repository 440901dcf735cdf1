// A flow key behind which thousands wait: what it has let through is bounded, so that limits that change with every message
// cost a bounded number of rows. What another account publishes meanwhile is accepted and delivered.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import { startRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';
import { poolUsed } from './pools.ts';

const READY_MAX = eachMax('flowKeyReady');
const HOST_MAX = 20;
/** An account alone takes half of them. */
const UNDER_WAY = HOST_MAX / 2;
const WAITING = 2 * READY_MAX;
const BATCH = 10;
const ROUNDS = 3;

test('limits that change with every message of a long line touch few of them, and others publish meanwhile', async (t) => {
  const rider = await startRider(t, { flags: ['--host-concurrency', String(HOST_MAX)] });
  const gate = Promise.withResolvers<void>();
  const slow = await startReceiver(t, async () => {
    await gate.promise;
    return 200;
  });
  const receiver = await startReceiver(t);
  const [hostile, quiet] = [await rider.account('hostile'), await rider.account('quiet')];
  const publishLine = async (count: number, limitsOf: (index: number) => string) => {
    const elements = Array.from({ length: count }, (_, index) => ({
      destination: slow.url,
      headers: { 'Service-Flow-Control-Key': 'k', 'Service-Flow-Control-Value': limitsOf(index) },
    }));
    assert.equal((await rider.batch(elements, { token: hostile.token })).status, 201);
  };
  const line = async () => {
    const key = await rider.manage<{ waitListSize: number; parallelismCount: number }>(
      'GET',
      '/v2/flowControl/k',
      undefined,
      hostile.token,
    );
    return { waiting: key.waitListSize, letThrough: key.parallelismCount };
  };

  await publishLine(WAITING, () => 'rate=1000000');
  await waitFor('its places at the host to be used', async () => (await poolUsed(rider, 'slots')) === UNDER_WAY);
  await rider.quiet();
  for (let round = 1; round <= ROUNDS; round += 1) {
    await publishLine(BATCH, (index) => `rate=${1_000_000 + (index % 2)}, period=${round}m`);
    const messageId = await rider.published(receiver.url, { token: quiet.token });
    assert.equal((await rider.ended(messageId, quiet.token)).state, 'DELIVERED');
    const { waiting, letThrough } = await line();
    assert.equal(waiting + letThrough, WAITING + round * BATCH, 'none is lost');
    assert.equal(letThrough, UNDER_WAY + READY_MAX, 'a change of limits judges no more than these again');
  }
  await publishLine(1, () => 'rate=1');
  assert.equal((await line()).letThrough, UNDER_WAY, 'those that have not started obey');
  await publishLine(1, () => 'rate=1000000');
  gate.resolve();
  await slow.received(WAITING + ROUNDS * BATCH + 2);
  await waitFor('all to have ended', async () => (await poolUsed(rider, 'slots')) === 0);
});
