// Attempts under way: an account takes at most as many slots as stay free after it, and as many places at a host. Whoever
// else comes is delivered to, however many of its messages hang.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Rider, startRider, type TokenMade } from '../../support/harness.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';
import { poolUsed } from './pools.ts';

/** A receiver that keeps what goes to /hang waiting until it is let go, and answers the rest. */
async function startBlackHole(t: Parameters<typeof startReceiver>[0]): Promise<Receiver & { letGo(): void }> {
  let letGo = () => {};
  const gate = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const receiver = await startReceiver(t, async ({ target }) => {
    if (target.startsWith('/hang')) await gate;
    return 200;
  });
  return Object.assign(receiver, { letGo });
}

async function publishMany(rider: Rider, { token }: TokenMade, url: string, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => rider.published(url, { token })));
}

test('two accounts with black holes leave slots for a third', async (t) => {
  const rider = await startRider(t, { flags: ['--concurrency', '20', '--host-concurrency', '1000'] });
  const hole = await startBlackHole(t);
  const [first, second, third] = [await rider.account('a'), await rider.account('b'), await rider.account('c')];
  await publishMany(rider, first, `${hole.url}/hang`, 30);
  await publishMany(rider, second, `${hole.url}/hang`, 30);
  await waitFor('their shares to be used', async () => (await poolUsed(rider, 'slots')) === 15);
  for (let count = 0; count < 5; count += 1) {
    const messageId = await rider.published(`${hole.url}/fast`, { token: third.token });
    assert.equal((await rider.ended(messageId, third.token)).state, 'DELIVERED');
  }
  assert.equal(await poolUsed(rider, 'slots'), 15);
  hole.letGo();
  await hole.received(65);
  await waitFor('all to be given back', async () => (await poolUsed(rider, 'slots')) === 0);
});

test('one account with a black hole at a host leaves places there for another', async (t) => {
  const rider = await startRider(t, { flags: ['--host-concurrency', '20'] });
  const hole = await startBlackHole(t);
  const [hostile, quiet] = [await rider.account('hostile'), await rider.account('quiet')];
  await publishMany(rider, hostile, `${hole.url}/hang`, 30);
  await waitFor('its share to be used', async () => (await poolUsed(rider, 'slots')) === 10);
  const messageId = await rider.published(`${hole.url}/fast`, { token: quiet.token });
  assert.equal((await rider.ended(messageId, quiet.token)).state, 'DELIVERED');
  hole.letGo();
  await waitFor('all to be given back', async () => (await poolUsed(rider, 'slots')) === 0);
});

test('a queue that never runs dry keeps no more than its share when others come', async (t) => {
  const rider = await startRider(t, { flags: ['--concurrency', '2'] });
  const receiver = await startReceiver(t);
  const [hostile, quiet] = [await rider.account('hostile'), await rider.account('quiet')];
  const line = Array.from({ length: 40 }, () => rider.accepted(receiver.url, { token: hostile.token, queue: 'q' }));
  const messageId = await rider.published(receiver.url, { token: quiet.token });
  assert.equal((await rider.ended(messageId, quiet.token)).state, 'DELIVERED');
  for (const id of await Promise.all(line)) await rider.ended(id, hostile.token);
});

test('with a single slot everybody is served in turn', async (t) => {
  const rider = await startRider(t, { flags: ['--concurrency', '1', '--host-concurrency', '1'] });
  const receiver = await startReceiver(t);
  const accounts = [await rider.account('a'), await rider.account('b')];
  for (const account of accounts) await publishMany(rider, account, receiver.url, 5);
  await receiver.received(10);
  await waitFor('the slot to be given back', async () => (await poolUsed(rider, 'slots')) === 0);
});
