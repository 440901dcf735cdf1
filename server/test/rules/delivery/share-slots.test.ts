// How a claim shares the free slots over accounts and hosts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Backlog, shareSlots } from '../../../src/rules/delivery/share-slots.ts';
import { type ClaimLimits, NO_SLOTS, SlotBudget } from '../../../src/rules/delivery/slots.ts';

interface ReadyBacklog extends Backlog {
  /** Sizes of the bodies that are ready. */
  readonly ready: number[];
}

const backlog = (accountId: string, name: string, count: number, bytes = 0): ReadyBacklog => ({
  accountId,
  name,
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
        if (!budget.take(ask.backlog.accountId, ask.backlog.name, bytes)) continue;
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

test('what an account cannot use goes to all others in equal parts, wherever it stands among them', () => {
  const busy: Partial<ClaimLimits> = { accountMax: 100, accountsBusy: [['full', 98, 0]] };
  for (const at of [0, 1, 2]) {
    const backlogs = ['a', 'b'].toSpliced(at, 0, 'full').map((id) => backlog(id, 'x', 99));
    assert.deepEqual(shares(backlogs, 30, busy), [14, 14].toSpliced(at, 0, 2), `at ${at}`);
  }
});

test('one round is enough where messages wait for every slot, whatever room the accounts have', () => {
  const inOneRound = (slots: number, rooms: readonly number[]) => {
    const ids = rooms.map((_, index) => `a${index}`);
    const accountsBusy = ids.map((id, index) => [id, 100 - rooms[index]!, 0] as const);
    const budget = new SlotBudget(limits(slots, { accountMax: 100, accountsBusy }));
    const backlogs = ids.map((id) => backlog(id, 'x', 100));
    const { taken, rounds } = claim(backlogs, budget);
    assert.equal(rounds, 1, `${slots} slots, rooms ${rooms}`);
    return taken;
  };
  assert.deepEqual(inOneRound(11, [100, 100]), [6, 5]);
  assert.deepEqual(inOneRound(16, [5, 100, 100]), [5, 6, 5]);
  assert.deepEqual(inOneRound(50, [100, 1, 100, 9]), [20, 1, 20, 9]);
  assert.deepEqual(inOneRound(50, [3, 2, 1]), [3, 2, 1]);
});

test('what a host cannot use goes to all other hosts of its account in equal parts', () => {
  const backlogs = ['a', 'b', 'full', 'c'].map((host) => backlog('one', host, 99));
  assert.deepEqual(shares(backlogs, 32, { hostsFree: [['full', 4, 0]] }), [10, 10, 2, 10]);
  assert.deepEqual(shares([backlog('a', 'x', 2), backlog('a', 'y', 99), backlog('a', 'z', 99)], 20), [2, 9, 9]);
});

test('with fewer slots than backlogs, the first ones get them, and the others are not asked', () => {
  const budget = new SlotBudget(limits(2));
  const [asks] = shareSlots([backlog('a', 'x', 9), backlog('b', 'x', 9), backlog('c', 'x', 9)], budget);
  assert.deepEqual(
    asks!.map(({ backlog: { accountId }, wanted }) => [accountId, wanted]),
    [
      ['a', 1],
      ['b', 1],
    ],
  );
  assert.deepEqual(shares([backlog('a', 'x', 9), backlog('b', 'x', 9), backlog('c', 'x', 9)], 2), [1, 1, 0]);
  assert.deepEqual(shares([backlog('a', 'x', 9)], 0), [0]);
});

test('a host without room keeps no slot from the others', () => {
  assert.deepEqual(shares([backlog('a', 'x', 9), backlog('b', 'y', 9)], 4, { hostsFree: [['x', 0, 0]] }), [0, 4]);
});

test('a small message need not wait for a large one before it', () => {
  const [mixed] = shares([{ accountId: 'a', name: 'x', ready: [1_000_000, 0, 0] }], 3, { bytes: 0, oversized: 0 });
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

const someRoom = fc.integer({ min: 0, max: 100 });
const someRooms = fc.record({ a: someRoom, b: someRoom, c: someRoom, d: someRoom });

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
      for (const { accountId, name, ready } of backlogs) {
        assert.ok(ready.length === 0 || budget.room(accountId, name) < 1, `${accountId} ${name}: ${ready.length} left`);
      }
    }),
    { numRuns: 2000 },
  );
});

test('an account that could take more got as many slots as any other, except one slot per round', () => {
  fc.assert(
    fc.property(someBacklogs, fc.nat({ max: 80 }), someRooms, (backlogs, slots, rooms) => {
      const accountsBusy = Object.entries(rooms).map(([id, room]) => [id, 100 - room, 0] as const);
      const { taken, rounds } = claim(backlogs, new SlotBudget(limits(slots, { accountMax: 100, accountsBusy })));
      const ofAccount = (id: string) =>
        backlogs.reduce((sum, each, at) => sum + (each.accountId === id ? taken[at]! : 0), 0);
      for (const { accountId, ready } of backlogs) {
        if (ready.length === 0 || ofAccount(accountId) === rooms[accountId as keyof typeof rooms]) continue;
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
