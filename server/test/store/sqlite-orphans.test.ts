// The claims of dead lanes over one file. If a process has crashed, its lanes are judged together: a message was in
// flight alone only if no lane had another one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { laneNode } from '../../src/domain/lanes.ts';
import { inlineExecutor } from '../../src/store/sqlite/executor.ts';
import { openDatabase } from '../../src/store/sqlite/open.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import { ACCOUNT, KEYS, limits, message, NOW } from '../conformance/given.ts';
import { claimDue } from '../support/claim-due.ts';
import { ManualClock } from '../support/manual-clock.ts';

const TTL = 15_000;
const LANE = laneNode('nod_a', 'nod_1');

async function startNodes() {
  const clock = new ManualClock(NOW);
  const executor = { ...inlineExecutor(openDatabase(':memory:')), close: async () => {} };
  const onBroken = (error: Error) => {
    throw error;
  };
  const open = (node: string) => createSqliteStore({ executor, clock, node, onBroken });
  await open('nod_0').createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  /** A node that lives, and has one message in flight. */
  const busy = async (node: string) => {
    const store = open(node);
    await store.heartbeat(node, TTL);
    const one = message();
    await store.accept([one], NOW);
    assert.equal((await claimDue(store, NOW, limits({ slots: 1 }))).claims.length, 1);
    return one.id;
  };
  const found = async (asker: string) => {
    const orphans = await open(asker).orphanedClaims(asker);
    return orphans.map((orphan) => orphan.message.id).toSorted();
  };
  return { clock, open, busy, found };
}

test('when a process has crashed, the claims of all its lanes are found together', async () => {
  const { clock, busy, found } = await startNodes();
  const ofProcess = [await busy('nod_a'), await busy(LANE)];
  const ofAnother = await busy('nod_ab');
  assert.deepEqual(await found('nod_c'), []);
  clock.advance(TTL + 1);
  assert.deepEqual(await found('nod_c'), ofProcess.toSorted());
  assert.deepEqual(await found('nod_a'), [ofProcess[1]], 'nobody finds its own');
  assert.deepEqual(await found(laneNode('nod_a', 'nod_9')), ofProcess.toSorted(), 'a lane finds those of its process');
  assert.notEqual(ofAnother, ofProcess[0]);
});

test('when a lane alone has ended, only its claims are found', async () => {
  const { clock, open, busy, found } = await startNodes();
  const [, ofLane] = [await busy('nod_a'), await busy(LANE)];
  clock.advance(TTL - 1);
  await open('nod_a').heartbeat('nod_a', TTL);
  clock.advance(2);
  assert.deepEqual(await found('nod_a'), [ofLane]);
  assert.deepEqual(await found(laneNode('nod_a', 'nod_2')), [ofLane]);
});

test('a heartbeat that is good for no time ends a lane at once', async () => {
  const { open, busy, found } = await startNodes();
  await busy('nod_a');
  const ofLane = await busy(LANE);
  await open('nod_a').heartbeat(LANE, 0);
  assert.deepEqual(await found('nod_a'), [ofLane]);
});
