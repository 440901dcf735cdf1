// How a claim shares the free slots over accounts and hosts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Backlog, shareSlots } from '../../src/domain/share-slots.ts';
import { type ClaimLimits, NO_SLOTS, SlotBudget } from '../../src/domain/slots.ts';

interface ReadyBacklog extends Backlog {
  /** Sizes of the bodies that are ready. */
  readonly ready: number[];
}

const backlog = (accountId: string, host: string, count: number, bytes = 0): ReadyBacklog => ({
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

/** As an adapter does it; beside each backlog how many were taken. */
function claim(backlogs: readonly ReadyBacklog[], budget: SlotBudget): { taken: number[]; rounds: number } {
  const taken = new Map(backlogs.map((each) => [each, 0]));
  let rounds = 0;
  for (const asks of shareSlots(backlogs, budget)) {
    rounds += 1;
    for (const ask of asks) {
      const found = ask.backlog.ready.slice(0, ask.wanted);
      for (const bytes of found) {
        if (!budget.take(ask.backlog.accountId, ask.backlog.host, bytes)) continue;
        ask.backlog.ready.splice(ask.backlog.ready.indexOf(bytes), 1);
        ask.taken += 1;
      }
      taken.set(ask.backlog, taken.get(ask.backlog)! + ask.taken);
    }
  }
  return { taken: [...taken.values()], rounds };
}

const shares = (backlogs: readonly ReadyBacklog[], slots: number, some: Partial<ClaimLimits> = {}) =>
  claim(backlogs, new SlotBudget(limits(slots, some))).taken;

test('accounts get equal parts, and each shares its own over its hosts', () => {
  assert.deepEqual(shares([backlog('a', 'x', 99), backlog('a', 'y', 99), backlog('b', 'x', 99)], 20), [5, 5, 10]);
});

test('what a host cannot use goes to the others of its account first', () => {
  assert.deepEqual(shares([backlog('a', 'x', 1), backlog('a', 'y', 99), backlog('b', 'x', 99)], 20), [1, 9, 10]);
});

test('what an account cannot use goes to the others', () => {
  assert.deepEqual(shares([backlog('a', 'x', 3), backlog('b', 'x', 99), backlog('c', 'x', 99)], 21), [3, 9, 9]);
  assert.deepEqual(
    shares([backlog('a', 'x', 99), backlog('b', 'x', 99)], 20, { accountMax: 100, accountsBusy: [['a', 98, 0]] }),
    [2, 18],
  );
});

test('with fewer slots than backlogs, the first ones get them', () => {
  assert.deepEqual(shares([backlog('a', 'x', 9), backlog('b', 'x', 9), backlog('c', 'x', 9)], 2), [1, 1, 0]);
  assert.deepEqual(shares([backlog('a', 'x', 9)], 0), [0]);
});

test('a host without room keeps no slot from the others', () => {
  assert.deepEqual(shares([backlog('a', 'x', 9), backlog('b', 'y', 9)], 4, { hostsFree: [['x', 0, 0]] }), [0, 4]);
});

test('a small message need not wait for a large one before it', () => {
  const [mixed] = shares([{ accountId: 'a', host: 'x', ready: [1_000_000, 0, 0] }], 3, { bytes: 0, oversized: 0 });
  assert.equal(mixed, 2);
});

const someBacklogs = fc
  .uniqueArray(
    fc.record({
      accountId: fc.constantFrom('a', 'b', 'c', 'd'),
      host: fc.constantFrom('x', 'y', 'z'),
      count: fc.nat({ max: 40 }),
    }),
    { selector: ({ accountId, host }) => accountId + host },
  )
  .map((backlogs) => backlogs.map(({ accountId, host, count }) => backlog(accountId, host, count)));
const someLimits = fc.record({
  sharedSlots: fc.integer({ min: 0, max: 200 }),
  accountMax: fc.integer({ min: 1, max: 60 }),
  hostsOther: fc.tuple(fc.integer({ min: 0, max: 50 }), fc.constant(0)),
});

test('never more than the budget allows, and no slot stays free that somebody could use', () => {
  fc.assert(
    fc.property(someBacklogs, fc.nat({ max: 80 }), someLimits, (backlogs, slots, some) => {
      const budget = new SlotBudget(limits(slots, some));
      const { taken } = claim(backlogs, budget);
      assert.equal(
        taken.reduce((sum, count) => sum + count, 0),
        slots - budget.slots,
      );
      assert.ok(budget.slots >= 0);
      for (const { accountId, host, ready } of backlogs) {
        assert.ok(ready.length === 0 || budget.room(accountId, host) < 1, `${accountId} ${host}: ${ready.length} left`);
      }
    }),
    { numRuns: 2000 },
  );
});

test('an account that still has ready messages got as many slots as any other, except one slot per round', () => {
  fc.assert(
    fc.property(someBacklogs, fc.nat({ max: 80 }), (backlogs, slots) => {
      const { taken, rounds } = claim(backlogs, new SlotBudget(limits(slots)));
      const ofAccount = (id: string) =>
        backlogs.reduce((sum, each, at) => sum + (each.accountId === id ? taken[at]! : 0), 0);
      for (const { accountId, ready } of backlogs) {
        if (ready.length === 0) continue;
        for (const other of backlogs) {
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
