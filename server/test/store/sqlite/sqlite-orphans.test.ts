// The claims of dead lanes over one file. If a process has crashed, its lanes are judged together: a message was in
// flight alone only if no lane had another one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Claim } from '../../../src/rules/delivery/message.ts';
import { laneNode } from '../../../src/rules/limits/lanes.ts';
import { openDatabase } from '../../../src/store/sqlite/files/open.ts';
import { createSqliteStore } from '../../../src/store/sqlite/store.ts';
import { inlineExecutor } from '../../../src/store/sqlite/thread/executor.ts';
import { orphans } from '../../../src/upkeep/leases.ts';
import { ACCOUNT, INTERRUPTED, KEYS, limits, message, NOW, settlementOf } from '../../conformance/given.ts';
import { claimDue } from '../../support/claim-due.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { waitFor } from '../../support/wait.ts';

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
  const found = async (asker: string, stoodStill = false) => {
    const orphans = await open(asker).orphanedClaims(asker, stoodStill);
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
  assert.deepEqual(await found('nod_a', true), [ofLane], 'also when the process stood still');
  await open(LANE).heartbeat(LANE, TTL);
  assert.deepEqual(await found('nod_a'), [ofLane], 'its last heartbeat may come late');
});

test('when a process stood still, its silent lanes are not dead, but those of other processes are', async () => {
  const { clock, open, busy, found } = await startNodes();
  await busy('nod_a');
  await busy(LANE);
  const ofAnother = await busy('nod_b');
  clock.advance(TTL + 1);
  await open('nod_a').heartbeat('nod_a', TTL);
  assert.deepEqual(await found('nod_a', true), [ofAnother]);
  assert.deepEqual(await found(laneNode('nod_a', 'nod_2'), true), [ofAnother]);
});

test('a cancel waits for a silent lane of the same process, and not for one that has ended', async () => {
  const { clock, open, busy } = await startNodes();
  await open('nod_a').heartbeat('nod_a', TTL);
  const ofLane = await busy(LANE);
  clock.advance(TTL + 1);
  const { requested } = await open('nod_a').cancel(ACCOUNT, [ofLane], NOW, NOW + TTL);
  assert.deepEqual(requested, [ofLane]);
  let left: readonly string[] | null = null;
  void open('nod_a')
    .confirmCancels(ACCOUNT, [ofLane], 1000)
    .then((ids) => {
      left = ids;
    });
  await waitFor('the time to be over in which the lane does not confirm', () => {
    clock.advance(1000);
    return left;
  });
  assert.deepEqual(left, [ofLane], 'it may be about to start');
  await open('nod_a').heartbeat(LANE, 0);
  assert.deepEqual(await open('nod_a').confirmCancels(ACCOUNT, [ofLane], 1000), []);
});

test('a lane that is silent while the process runs is taken over; after a standstill it has time for a heartbeat', async () => {
  const { clock, open, busy } = await startNodes();
  const own = open('nod_a');
  const ofLane = await busy(LANE);
  const taken: string[] = [];
  const settleCrash = async (claims: readonly Claim[]) => {
    taken.push(...claims.map(({ message: { id } }) => id));
    await own.settle(
      claims.map((claim) => settlementOf(claim, INTERRUPTED, NOW)),
      NOW,
    );
  };
  const task = orphans(own, 'nod_a', { waitForLook() {}, noteLook() {}, settleCrash }, clock);
  const runFor = async (ms: number) => {
    for (const endMs = clock.monotonicMs() + ms; clock.monotonicMs() < endMs; ) clock.advance(await task.run());
  };
  await runFor(10_000);
  clock.advance(20_000);
  await runFor(5000);
  assert.deepEqual(taken, [], 'not when it wakes');
  await open(LANE).heartbeat(LANE, TTL);
  await runFor(5000);
  clock.advance(20_000);
  await runFor(10_000);
  assert.deepEqual(taken, [], 'nor after one more standstill');
  await runFor(15_000);
  assert.deepEqual(taken, [ofLane], 'it hangs');
});
