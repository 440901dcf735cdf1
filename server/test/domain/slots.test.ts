// The budget of attempts: never over any cap, whatever is asked and in whatever order.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ClaimLimits, NO_SLOTS, SlotBudget } from '../../src/domain/slots.ts';

const accounts = fc.constantFrom('a1', 'a2', 'a3');
const hosts = fc.constantFrom('h1', 'h2', 'h3');
const takes = fc.array(fc.tuple(accounts, hosts, fc.integer({ min: 0, max: 60 })), { maxLength: 60 });

/** What is under way, and the limits that an engine with these caps would then ask with: only the busy ones named. */
const situations = fc
  .record({
    underWay: fc.array(fc.tuple(accounts, hosts), { maxLength: 12 }),
    concurrency: fc.integer({ min: 0, max: 20 }),
    accountMax: fc.integer({ min: 1, max: 8 }),
    hostMax: fc.integer({ min: 1, max: 8 }),
    bytes: fc.integer({ min: -50, max: 300 }),
  })
  .map(({ underWay, concurrency, accountMax, hostMax, bytes }) => {
    // As many as the caps allow: an engine never has more.
    const running: [string, string][] = [];
    const count = (at: 0 | 1, key: string) => running.filter((each) => each[at] === key).length;
    for (const each of underWay) {
      const hasRoom = running.length < concurrency && count(0, each[0]) < accountMax && count(1, each[1]) < hostMax;
      if (hasRoom) running.push(each);
    }
    const busy = (at: 0 | 1, max: number) =>
      [...new Set(running.map((each) => each[at]))]
        .map((key) => [key, count(at, key)] as const)
        .filter(([, n]) => n > Math.floor(max / 2));
    const limits: ClaimLimits = {
      slots: concurrency - running.length,
      bytes,
      accountMax,
      hostMax,
      accountsBusy: busy(0, accountMax),
      hostsBusy: busy(1, hostMax),
    };
    return { running, limits, concurrency };
  });

test('no sequence of takes gets over the node, an account or a host, counting what is under way but not named', () => {
  fc.assert(
    fc.property(situations, takes, ({ running, limits, concurrency }, asked) => {
      const budget = new SlotBudget(limits);
      const all = [...running];
      for (const [account, host, bytes] of asked) if (budget.take(account, host, bytes)) all.push([account, host]);
      assert.ok(all.length <= Math.max(concurrency, running.length));
      for (const key of ['a1', 'a2', 'a3'])
        assert.ok(all.filter(([account]) => account === key).length <= limits.accountMax);
      for (const key of ['h1', 'h2', 'h3']) assert.ok(all.filter(([, host]) => host === key).length <= limits.hostMax);
    }),
    { numRuns: 2000 },
  );
});

test('nor do the takes from a half and from the rest together, in whatever order; and where there is room for two, each gives one', () => {
  fc.assert(
    fc.property(
      situations,
      fc.array(fc.tuple(fc.boolean(), accounts, hosts), { maxLength: 60 }),
      (situation, asked) => {
        const { running, limits, concurrency } = situation;
        const whole = new SlotBudget(limits);
        const half = whole.half();
        const rest = whole.without(half);
        const all = [...running];
        for (const [isFirst, account, host] of asked) {
          if ((isFirst ? half : rest).take(account, host, 0)) all.push([account, host]);
        }
        assert.ok(all.length <= Math.max(concurrency, running.length));
        for (const key of ['a1', 'a2', 'a3'])
          assert.ok(all.filter(([account]) => account === key).length <= limits.accountMax);
        for (const key of ['h1', 'h2', 'h3'])
          assert.ok(all.filter(([, host]) => host === key).length <= limits.hostMax);
        const [one, other] = [whole.half(), whole.without(whole.half())];
        assert.equal(one.room('a1', 'h1') >= 1, whole.room('a1', 'h1') >= 1);
        assert.equal(other.room('a1', 'h1') >= 1, whole.room('a1', 'h1') >= 2);
      },
    ),
    { numRuns: 2000 },
  );
});

test('bodies go over the bytes by the last one at most', () => {
  fc.assert(
    fc.property(situations, takes, ({ limits }, asked) => {
      const budget = new SlotBudget(limits);
      const taken = asked
        .filter(([account, host, bytes]) => budget.take(account, host, bytes))
        .map(([, , bytes]) => bytes);
      const beforeLast = taken.slice(
        0,
        taken.findLastIndex((bytes) => bytes > 0),
      );
      assert.ok(
        taken.every((bytes) => bytes === 0) || beforeLast.reduce((sum, bytes) => sum + bytes, 0) < limits.bytes,
      );
    }),
    { numRuns: 2000 },
  );
});

test('what is left, handed on as limits, allows nothing more than the budget it came from', () => {
  fc.assert(
    fc.property(situations, takes, takes, ({ limits }, before, after) => {
      const budget = new SlotBudget(limits);
      for (const take of before) budget.take(...take);
      const copy = new SlotBudget(budget.limits());
      for (const take of after) assert.equal(copy.take(...take), budget.take(...take));
    }),
    { numRuns: 2000 },
  );
});

test('take agrees with room and slots', () => {
  fc.assert(
    fc.property(situations, takes, ({ limits }, asked) => {
      const budget = new SlotBudget(limits);
      for (const [account, host] of asked) {
        const [room, slots] = [budget.room(account, host), budget.slots];
        const isTaken = budget.take(account, host, 0);
        assert.equal(isTaken, room > 0);
        assert.equal(budget.slots, slots - (isTaken ? 1 : 0));
      }
    }),
  );
});

test('a body larger than all the bytes still goes, alone', () => {
  const budget = new SlotBudget({ ...NO_SLOTS, slots: 5, bytes: 10, accountMax: 5, hostMax: 5 });
  assert.equal(budget.take('a1', 'h1', 1_000_000), true);
  assert.equal(budget.take('a1', 'h1', 1), false);
  assert.equal(budget.take('a1', 'h1', 0), true, 'one without a body needs no bytes');
});

test('a key that is not named may have half of its maximum under way', () => {
  const budget = new SlotBudget({ ...NO_SLOTS, slots: 100, bytes: 1, accountMax: 100, hostMax: 5 });
  assert.equal(budget.room('a1', 'h1'), 3);
  const busy = new SlotBudget({
    ...NO_SLOTS,
    slots: 100,
    bytes: 1,
    accountMax: 100,
    hostMax: 5,
    hostsBusy: [['h1', 4]],
  });
  assert.equal(busy.room('a1', 'h1'), 1);
});

test('no slots means nothing, for anybody', () => {
  assert.equal(new SlotBudget(NO_SLOTS).take('a1', 'h1', 0), false);
});
