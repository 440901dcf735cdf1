// How a claim shares the free slots over accounts and hosts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Lane, shareSlots } from '../../src/domain/share-slots.ts';
import { type ClaimLimits, NO_SLOTS, SlotBudget } from '../../src/domain/slots.ts';

interface ReadyLane extends Lane {
  /** Sizes of the bodies that are ready. */
  readonly ready: number[];
}

const lane = (accountId: string, host: string, count: number, bytes = 0): ReadyLane => ({
  accountId,
  host,
  ready: Array.from({ length: count }, () => bytes),
});

/** So many slots, and places beyond need: no account is held to half of them. */
const limits = (slots: number, some: Partial<ClaimLimits> = {}): ClaimLimits => ({
  ...NO_SLOTS,
  slots,
  sharedSlots: 1_000_000,
  accountMax: 1_000_000,
  hostsOther: [1_000_000, 0],
  ...some,
});

/** As an adapter does it; beside each lane how many were taken. */
function claim(lanes: readonly ReadyLane[], budget: SlotBudget): { taken: number[]; rounds: number } {
  const taken = new Map(lanes.map((each) => [each, 0]));
  let rounds = 0;
  for (const asks of shareSlots(lanes, budget)) {
    rounds += 1;
    for (const ask of asks) {
      const found = ask.lane.ready.slice(0, ask.wanted);
      for (const bytes of found) {
        if (!budget.take(ask.lane.accountId, ask.lane.host, bytes)) continue;
        ask.lane.ready.splice(ask.lane.ready.indexOf(bytes), 1);
        ask.taken += 1;
      }
      taken.set(ask.lane, taken.get(ask.lane)! + ask.taken);
    }
  }
  return { taken: [...taken.values()], rounds };
}

const shares = (lanes: readonly ReadyLane[], slots: number, some: Partial<ClaimLimits> = {}) =>
  claim(lanes, new SlotBudget(limits(slots, some))).taken;

test('accounts get equal parts, and each shares its own over its hosts', () => {
  assert.deepEqual(shares([lane('a', 'x', 99), lane('a', 'y', 99), lane('b', 'x', 99)], 20), [5, 5, 10]);
});

test('what a host cannot use goes to the others of its account first', () => {
  assert.deepEqual(shares([lane('a', 'x', 1), lane('a', 'y', 99), lane('b', 'x', 99)], 20), [1, 9, 10]);
});

test('what an account cannot use goes to the others', () => {
  assert.deepEqual(shares([lane('a', 'x', 3), lane('b', 'x', 99), lane('c', 'x', 99)], 21), [3, 9, 9]);
  assert.deepEqual(
    shares([lane('a', 'x', 99), lane('b', 'x', 99)], 20, { accountMax: 100, accountsBusy: [['a', 98, 0]] }),
    [2, 18],
  );
});

test('with fewer slots than lanes, the first ones get them', () => {
  assert.deepEqual(shares([lane('a', 'x', 9), lane('b', 'x', 9), lane('c', 'x', 9)], 2), [1, 1, 0]);
  assert.deepEqual(shares([lane('a', 'x', 9)], 0), [0]);
});

test('a host without room keeps no slot from the others', () => {
  assert.deepEqual(shares([lane('a', 'x', 9), lane('b', 'y', 9)], 4, { hostsFree: [['x', 0, 0]] }), [0, 4]);
});

test('a small message need not wait for a large one before it', () => {
  const [mixed] = shares([{ accountId: 'a', host: 'x', ready: [1_000_000, 0, 0] }], 3, { bytes: 0, oversized: 0 });
  assert.equal(mixed, 2);
});

const someLanes = fc
  .uniqueArray(
    fc.record({
      accountId: fc.constantFrom('a', 'b', 'c', 'd'),
      host: fc.constantFrom('x', 'y', 'z'),
      count: fc.nat({ max: 40 }),
    }),
    { selector: ({ accountId, host }) => accountId + host },
  )
  .map((lanes) => lanes.map(({ accountId, host, count }) => lane(accountId, host, count)));
const someLimits = fc.record({
  sharedSlots: fc.integer({ min: 0, max: 200 }),
  accountMax: fc.integer({ min: 1, max: 60 }),
  hostsOther: fc.tuple(fc.integer({ min: 0, max: 50 }), fc.constant(0)),
});

test('never more than the budget allows, and no slot stays free that somebody could use', () => {
  fc.assert(
    fc.property(someLanes, fc.nat({ max: 80 }), someLimits, (lanes, slots, some) => {
      const budget = new SlotBudget(limits(slots, some));
      const { taken } = claim(lanes, budget);
      assert.equal(
        taken.reduce((sum, count) => sum + count, 0),
        slots - budget.slots,
      );
      assert.ok(budget.slots >= 0);
      for (const { accountId, host, ready } of lanes) {
        assert.ok(ready.length === 0 || budget.room(accountId, host) < 1, `${accountId} ${host}: ${ready.length} left`);
      }
    }),
    { numRuns: 2000 },
  );
});

test('who still has something ready has as much as any other, but for one slot a round', () => {
  fc.assert(
    fc.property(someLanes, fc.nat({ max: 80 }), (lanes, slots) => {
      const { taken, rounds } = claim(lanes, new SlotBudget(limits(slots)));
      const ofAccount = (id: string) =>
        lanes.reduce((sum, each, at) => sum + (each.accountId === id ? taken[at]! : 0), 0);
      for (const { accountId, ready } of lanes) {
        if (ready.length === 0) continue;
        for (const other of lanes) {
          assert.ok(
            ofAccount(other.accountId) - ofAccount(accountId) <= rounds,
            `${other.accountId} before ${accountId}`,
          );
        }
      }
    }),
    { numRuns: 2000 },
  );
});
