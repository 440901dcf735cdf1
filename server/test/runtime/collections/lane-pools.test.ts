// Pools that all lanes share whole: together they never hold more than one would, and an account has one share in all.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LanePools, lanePoolBytes } from '../../../src/runtime/collections/lane-pools.ts';
import { Pool } from '../../../src/runtime/collections/pool.ts';

const MIB = 1024 * 1024;
const LANES = 4;

function start() {
  const memory = new SharedArrayBuffer(lanePoolBytes(LANES));
  const poolOf = (lane: number) => new Pool(208 * MIB, new LanePools(memory, LANES, lane).heldByOtherLanes('uploads'));
  return { poolOf, pools: Array.from({ length: LANES }, (_, lane) => poolOf(lane)) };
}

test('an account has one share in all lanes, and others find room in each of them', () => {
  const { pools } = start();
  assert.equal(pools[0]!.take('a', 100 * MIB), null);
  assert.equal(pools[1]!.take('a', 10 * MIB), 'account');
  for (const pool of pools) assert.equal(pool.take('b', 5 * MIB), null);
  pools[0]!.give('a', 100 * MIB);
  assert.equal(pools[3]!.take('a', 80 * MIB), null);
});

test('all lanes together hold no more than the pool has, whoever takes, and give all of it back', () => {
  const { pools } = start();
  const taken: (() => void)[] = [];
  for (let count = 0; count < 4000; count += 1) {
    const pool = pools[count % LANES]!;
    const [account, bytes] = [`acc_${count % 97}`, 1 + ((count * 7919) % (3 * MIB))];
    if (pool.take(account, bytes) === null) taken.push(() => pool.give(account, bytes));
    assert.ok(pools.reduce((sum, { used }) => sum + used, 0) <= 208 * MIB);
  }
  assert.ok(taken.length > 50);
  for (const give of taken) give();
  assert.equal(pools[2]!.room('acc_1'), 104 * MIB);
});

test('what a lane held that has ended is free when the next one begins', () => {
  const { poolOf, pools } = start();
  pools[1]!.take('a', 90 * MIB);
  assert.equal(pools[0]!.take('a', 90 * MIB), 'account');
  poolOf(1);
  assert.equal(pools[0]!.take('a', 90 * MIB), null);
});

test('a single lane shares with nobody', () => {
  assert.equal(new LanePools(new SharedArrayBuffer(lanePoolBytes(1)), 1, 0).heldByOtherLanes('uploads'), null);
});
