// Tests of the pool that accounts share: what one may hold, and that there is always room for one more.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pool, shareRoom } from '../../../src/runtime/collections/pool.ts';

function takeAll(pool: Pool, account: string): number {
  while (pool.take(account, 1) === null);
  return pool.heldBy(account);
}

test('a single account gets half of a pool', () => {
  assert.equal(takeAll(new Pool(1000), 'a'), 500);
});

test('after any number of greedy accounts up to eight, one more finds room', () => {
  const pool = new Pool(1000);
  const held = Array.from({ length: 8 }, (_, index) => takeAll(pool, `greedy ${index}`));
  assert.deepEqual(held.slice(0, 3), [500, 250, 125]);
  assert.ok(takeAll(pool, 'one more') >= 1);
});

test('greedy accounts that give back and take again come to equal parts', () => {
  const pool = new Pool(900);
  const accounts = ['a', 'b'];
  for (const account of accounts) takeAll(pool, account);
  for (let round = 0; round < 400; round += 1) {
    for (const account of accounts) {
      pool.give(account, 1);
      takeAll(pool, account);
    }
  }
  for (const account of accounts) assert.ok(Math.abs(pool.heldBy(account) - 300) <= 2, String(pool.heldBy(account)));
});

test('a request that does not fit is refused whole, with the reason, and counted', () => {
  const pool = new Pool(100);
  assert.equal(pool.take('a', 51), 'account');
  assert.equal(pool.take('a', 101), 'node');
  assert.equal(pool.used, 0);
  assert.equal(pool.take('a', 50), null);
  assert.equal(pool.take('b', 26), 'account');
  assert.equal(pool.take('b', 51), 'node');
  assert.deepEqual(pool.refused, { account: 2, node: 2 });
  assert.equal(pool.used, 50);
});

test('returned room is free again, and no more can be returned than was taken', () => {
  const pool = new Pool(10);
  pool.take('a', 5);
  pool.give('a', 5);
  assert.equal(pool.used, 0);
  assert.equal(pool.heldBy('a'), 0);
  assert.throws(() => pool.give('a', 1), /more was given back/);
});

test('room is never negative, also when more is used than there is', () => {
  assert.equal(shareRoom(10, 12, 4), 0);
});

test('what another lane takes at the same moment makes one of the two give up, and nothing stays taken', () => {
  let others = 0;
  const elsewhere = {
    used: () => others,
    heldBy: () => 0,
    // The other lane has looked before this one took, and takes now.
    change: (before: number, after: number) => {
      if (after > before) others = 60;
    },
  };
  const pool = new Pool(100, elsewhere);
  assert.equal(pool.take('a', 50), 'node');
  assert.deepEqual([pool.used, pool.heldBy('a'), pool.refused.node], [0, 0, 1]);
  others = 0;
  elsewhere.change = () => {};
  assert.equal(pool.take('a', 50), null);
});

test('a share is whole, and what fits exactly is given', () => {
  assert.equal(shareRoom(5, 0, 0), 2, 'half of an odd number is less than what stays free');
  const pool = new Pool(100);
  assert.equal(pool.take('a', 50), null);
  assert.equal(pool.take('a', 50), 'account', 'the pool would be full, and not more than full');
  const lane = new Pool(100, { used: () => 50, heldBy: () => 0, change: () => {} });
  assert.equal(lane.take('a', 25), null);
  const full = new Pool(100, { used: () => (full.used > 0 ? 75 : 50), heldBy: () => 0, change: () => {} });
  assert.equal(full.take('a', 25), null, 'both lanes together have all of it');
});
