// How long a node may lease to itself after a heartbeat, on a clock of its own that the test sets ahead.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemWorld } from '../../../src/runtime/world.ts';
import { ACCOUNT, KEYS, limits, message, NOW } from '../../conformance/given.ts';
import { Node } from '../../conformance/harness.ts';
import { openPatiently } from '../../postgres/open-patiently.ts';
import { sharedServer } from '../../postgres/server.ts';

const TTL_MS = 15_000;

test('a heartbeat lets a node lease to itself for a time from when it was sent, not from its reply', async (t) => {
  const server = await sharedServer();
  const database = await server.createDatabase();
  const { clock } = systemWorld();
  let aheadMs = 0;
  const timers = {
    now: () => clock.now(),
    wallNow: () => clock.wallNow(),
    machineNow: () => clock.machineNow(),
    asleepMs: () => clock.asleepMs(),
    monotonicMs: () => clock.monotonicMs() + aheadMs,
    after: (ms: number, fire: () => void) => clock.after(ms, fire),
    soon: (fire: () => void) => clock.soon(fire),
    shortly: (fire: () => void) => clock.shortly(fire),
  };
  const store = await openPatiently({ knownForMs: 0, url: server.url(database), node: 'nod_a', timers });
  t.after(async () => {
    await store.close();
    await server.dropDatabase(database);
  });
  await store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  store.onClaims(() => {});
  const node = new Node('nod_a', store);
  const isLeased = async () => {
    store.offer(limits());
    const one = message();
    await store.accept([one], NOW);
    return (await node.stateOf(one)) === 'claimed';
  };
  /** The reply comes so much later than the heartbeat was sent. */
  const beat = async (replyMs: number) => {
    const reply = store.heartbeat('nod_a', TTL_MS);
    aheadMs += replyMs;
    await reply;
  };
  await beat(0);
  assert.ok(await isLeased());
  await beat(TTL_MS - 1000);
  assert.equal(await isLeased(), false);
  await beat(0);
  assert.ok(await isLeased());
});
