// The budget of attempts: never over any cap, and never more for one account than stays free after it, whatever is asked
// and in whatever order.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ClaimLimits, countedBytes, NO_SLOTS, SlotBudget } from '../../../src/rules/delivery/slots.ts';

const KIB = 1024;

interface Attempt {
  readonly account: string;
  readonly host: string;
  readonly bytes: number;
}

const attempts = fc.record({
  account: fc.constantFrom('a1', 'a2', 'a3'),
  host: fc.constantFrom('h1', 'h2', 'h3'),
  bytes: fc.constantFrom(0, 16 * KIB, 17 * KIB, 40 * KIB, 200 * KIB),
});
const takes = fc.array(attempts, { maxLength: 60 });

interface Caps {
  readonly concurrency: number;
  readonly accountMax: number;
  readonly hostMax: number;
  readonly bytes: number;
}

interface Situation {
  readonly caps: Caps;
  readonly running: readonly Attempt[];
  readonly limits: ClaimLimits;
}

const sum = (some: readonly Attempt[]) => some.reduce((total, { bytes }) => total + countedBytes(bytes), 0);
const of = (some: readonly Attempt[], key: Partial<Attempt>) =>
  some.filter(
    ({ account, host }) => (key.account ?? account) === account && (key.host === undefined || key.host === host),
  );

/** What is under way, and the limits that an engine with these caps would then ask with: only the busy ones named. */
const situations: fc.Arbitrary<Situation> = fc
  .record({
    underWay: fc.array(attempts, { maxLength: 12 }),
    caps: fc.record({
      concurrency: fc.integer({ min: 0, max: 24 }),
      accountMax: fc.integer({ min: 1, max: 10 }),
      hostMax: fc.integer({ min: 1, max: 12 }),
      bytes: fc.integer({ min: 0, max: 600 * KIB }),
    }),
    accountsOther: fc.integer({ min: 0, max: 2 }),
    leavesHostsOut: fc.boolean(),
  })
  .map(({ underWay, caps, accountsOther, leavesHostsOut }) => {
    // As many as the caps allow: an engine never has more.
    const running: Attempt[] = [];
    for (const each of underWay) {
      const { account, host } = each;
      const hasRoom =
        running.length < caps.concurrency &&
        of(running, { account }).length < caps.accountMax &&
        of(running, { host }).length < caps.hostMax &&
        sum([...running, each]) <= caps.bytes;
      if (hasRoom) running.push(each);
    }
    const leftOut = leavesHostsOut ? Math.floor(caps.hostMax / 4) : 0;
    const accounts = [...new Set(running.map(({ account }) => account))];
    const hosts = [...new Set(running.map(({ host }) => host))].filter(
      (host) => of(running, { host }).length > leftOut,
    );
    const slots = caps.concurrency - running.length;
    const limits: ClaimLimits = {
      slots,
      sharedSlots: slots,
      bytes: caps.bytes - sum(running),
      oversized: 1,
      lastGoes: true,
      accountMax: caps.accountMax,
      accountsBusy: accounts
        .map((id) => [id, of(running, { account: id }).length, sum(of(running, { account: id }))] as const)
        .filter(([, count, bytes]) => count > accountsOther || bytes > 0),
      accountsOther,
      hostsFree: hosts.map((host) => [host, caps.hostMax - of(running, { host }).length, 0] as const),
      hostsOther: [caps.hostMax - leftOut, leftOut],
      busyAtHosts: hosts.flatMap((host) =>
        accounts.map((account) => [account, host, of(running, { account, host }).length] as const),
      ),
      parked: [],
    };
    return { caps, running, limits };
  });

function requireCaps(all: readonly Attempt[], { concurrency, accountMax, hostMax }: Caps): void {
  assert.ok(all.length <= concurrency);
  for (const account of ['a1', 'a2', 'a3']) assert.ok(of(all, { account }).length <= accountMax);
  for (const host of ['h1', 'h2', 'h3']) assert.ok(of(all, { host }).length <= hostMax);
}

/** Of those that were taken, the last one's account has no more than stays free: of places, unless it has a single one. */
function requireShares(all: readonly Attempt[], caps: Caps): void {
  const { account, host } = all.at(-1)!;
  const own = of(all, { account }).length;
  assert.ok(own === 1 || own <= caps.concurrency - all.length, `${own} of ${all.length} of ${caps.concurrency}`);
  const there = of(all, { host });
  const ownThere = of(there, { account }).length;
  assert.ok(ownThere === 1 || ownThere <= caps.hostMax - there.length, `${ownThere} of ${there.length} at a host`);
}

test('no sequence of takes exceeds a cap or a share, including attempts in flight that are not named', () => {
  fc.assert(
    fc.property(situations, takes, ({ running, limits, caps }, asked) => {
      const budget = new SlotBudget(limits);
      const all = [...running];
      for (const each of asked) {
        if (!budget.take(each.account, each.host, each.bytes)) continue;
        all.push(each);
        requireShares(all, caps);
      }
      requireCaps(all, { ...caps, concurrency: Math.max(caps.concurrency, running.length) });
    }),
    { numRuns: 3000 },
  );
});

/** Of those that were taken, the last one's account has no more than if it had taken all of its own before the others. */
function requireSharesAlone(taken: readonly Attempt[], { running, caps }: Situation): void {
  const { account, host } = taken.at(-1)!;
  requireShares([...running, ...of(taken, { account })], { ...caps, hostMax: Number.POSITIVE_INFINITY });
  requireShares([...running, ...of(taken, { account, host })], { ...caps, concurrency: Number.POSITIVE_INFINITY });
}

test('the takes from a half and from the rest together do not exceed them either', () => {
  fc.assert(
    fc.property(
      situations,
      fc.array(fc.tuple(attempts, fc.boolean()), { maxLength: 60 }),
      fc.integer({ min: 1, max: 10 }),
      (situation, asked, most) => {
        const { running, limits, caps } = situation;
        const whole = new SlotBudget(limits);
        const half = whole.half(most);
        const rest = whole.without(half);
        const taken: Attempt[] = [];
        let fromHalf = 0;
        for (const [each, isOfHalf] of asked) {
          const { account, host, bytes } = each;
          if (!(isOfHalf ? half : rest).take(account, host, bytes)) continue;
          fromHalf += isOfHalf ? 1 : 0;
          taken.push(each);
          requireSharesAlone(taken, situation);
        }
        assert.ok(fromHalf <= most);
        requireCaps([...running, ...taken], { ...caps, concurrency: Math.max(caps.concurrency, running.length) });
      },
    ),
    { numRuns: 3000 },
  );
});

test('an account takes no more bytes than it leaves free, except one body that is larger than its share', () => {
  fc.assert(
    fc.property(situations, takes, ({ limits, running, caps }, asked) => {
      const budget = new SlotBudget(limits);
      const inside = [...running];
      const beside: Attempt[] = [];
      for (const each of asked) {
        const before = budget.limits().oversized;
        if (!budget.take(each.account, each.host, each.bytes)) continue;
        if (budget.limits().oversized < before) {
          assert.equal(sum(of(inside, { account: each.account })), 0, 'it has no other that is counted');
          beside.push(each);
          continue;
        }
        inside.push(each);
        if (countedBytes(each.bytes) === 0) continue;
        const own = sum(of([...inside, ...beside], { account: each.account }));
        assert.ok(own <= caps.bytes - sum(inside), `${own} of ${sum(inside)} of ${caps.bytes}`);
      }
      assert.ok(beside.length <= 1);
    }),
    { numRuns: 3000 },
  );
});

test('the remaining limits allow nothing more than the budget they come from', () => {
  fc.assert(
    fc.property(situations, takes, takes, ({ limits }, before, after) => {
      const budget = new SlotBudget(limits);
      for (const { account, host, bytes } of before) budget.take(account, host, bytes);
      const copy = new SlotBudget(structuredClone(budget.limits()));
      for (const { account, host, bytes } of after) {
        assert.equal(copy.take(account, host, bytes), budget.take(account, host, bytes));
      }
    }),
    { numRuns: 2000 },
  );
});

test('take agrees with room and slots', () => {
  fc.assert(
    fc.property(situations, takes, ({ limits }, asked) => {
      const budget = new SlotBudget(limits);
      for (const { account, host } of asked) {
        const [room, slots] = [budget.room(account, host), budget.slots];
        assert.ok(room <= budget.accountRoom(account));
        const isTaken = budget.take(account, host, 0);
        assert.equal(isTaken, room > 0);
        assert.equal(budget.slots, slots - (isTaken ? 1 : 0));
      }
    }),
  );
});

/** So many free places, and no other limit. */
function free(places: number, some: Partial<ClaimLimits> = {}): SlotBudget {
  return new SlotBudget({
    ...NO_SLOTS,
    slots: places,
    sharedSlots: places,
    lastGoes: true,
    accountMax: 1000,
    hostsOther: [1000, 0],
    ...some,
  });
}

function takeAll(budget: SlotBudget, account: string, bytes = 0): number {
  let taken = 0;
  while (budget.take(account, `h${taken}`, bytes)) taken += 1;
  return taken;
}

test('a single account gets half of the slots, and each later account half of the rest', () => {
  const budget = free(1000);
  assert.deepEqual([takeAll(budget, 'a1'), takeAll(budget, 'a2'), takeAll(budget, 'a3')], [500, 250, 125]);
});

test('only an account without attempts in flight takes the last slot', () => {
  const budget = free(1);
  assert.equal(takeAll(budget, 'a1'), 1);
  assert.equal(takeAll(free(1, { accountsBusy: [['a1', 1, 0]] }), 'a1'), 0);
  assert.equal(takeAll(free(2), 'a1'), 1);
});

test('an account takes at most as many slots of a host as it leaves free', () => {
  const budget = free(1000, { hostsOther: [40, 0] });
  const at = (account: string) => {
    let taken = 0;
    while (budget.take(account, 'h', 0)) taken += 1;
    return taken;
  };
  assert.deepEqual([at('a1'), at('a2'), at('a3')], [20, 10, 5]);
});

test('a half and the rest share the room of an account that has most of its share in flight', () => {
  const whole = free(1000, {
    accountsBusy: [['a1', 160, 0]],
    hostsFree: [['h', 240, 0]],
    busyAtHosts: [['a1', 'h', 160]],
  });
  const half = whole.half();
  assert.deepEqual([whole.room('a1', 'h'), half.room('a1', 'h'), whole.without(half).room('a1', 'h')], [40, 20, 20]);
});

test('a half and the rest are together the whole, and of what does not halve the half gets more', () => {
  const whole = new SlotBudget({
    slots: 9,
    sharedSlots: 11,
    bytes: 101,
    oversized: 1,
    lastGoes: true,
    accountMax: 7,
    accountsBusy: [['a1', 3, 5]],
    accountsOther: 1,
    hostsFree: [['h1', 5, 1]],
    hostsOther: [21, 3],
    busyAtHosts: [['a1', 'h1', 3]],
    parked: [['a1', 'h1', 3]],
  });
  const half = whole.half();
  assert.deepEqual(half.limits(), {
    slots: 5,
    sharedSlots: 6,
    bytes: 51,
    oversized: 1,
    lastGoes: false,
    accountMax: 4,
    accountsBusy: [['a1', 2, 3]],
    accountsOther: 1,
    hostsFree: [['h1', 3, 1]],
    hostsOther: [11, 2],
    busyAtHosts: [['a1', 'h1', 2]],
    parked: [['a1', 'h1', 3]],
  });
  // Taken since then by an account and at a host that the half does not name.
  whole.use('a2', 'h2', 20 * KIB);
  assert.deepEqual(whole.without(half).limits(), {
    slots: 3,
    sharedSlots: 4,
    bytes: 50,
    oversized: -1,
    lastGoes: false,
    accountMax: 3,
    accountsBusy: [
      ['a1', 1, 2],
      ['a2', 1, 20 * KIB],
    ],
    accountsOther: 0,
    hostsFree: [
      ['h1', 2, 0],
      ['h2', 9, 1],
    ],
    hostsOther: [10, 1],
    busyAtHosts: [
      ['a1', 'h1', 1],
      ['a2', 'h2', 2],
    ],
    parked: [['a1', 'h1', 0]],
  });
  assert.equal(whole.half(2).slots, 2);
});

test('the accounts and hosts where nothing may start are those without room', () => {
  const budget = free(1000, {
    accountMax: 5,
    accountsBusy: [
      ['full', 5, 0],
      ['nearly', 4, 0],
      ['over', 6, 0],
    ],
    hostsFree: [
      ['none', 0, 0],
      ['one', 1, 0],
    ],
  });
  assert.deepEqual(budget.full(), { accounts: ['full', 'over'], hosts: ['none', 'none parks'] });
});

test('at a parked host only messages that do not park start, and those within its room', () => {
  const budget = free(1000, {
    parked: [
      ['a1', 'down:443', 0],
      ['a1', 'opening:443', 2],
    ],
  });
  const rooms = (host: string) => [budget.room('a1', host) > 2, budget.room('a1', `${host} parks`)];
  assert.deepEqual(rooms('down:443'), [true, 0]);
  assert.deepEqual(rooms('opening:443'), [true, 2]);
  assert.ok(budget.room('a2', 'down:443 parks') > 2);
  assert.deepEqual([budget.isParked('a1', 'down:443 parks'), budget.isParked('a1', 'down:443')], [true, false]);
  assert.deepEqual(budget.parked(), [['a1', 'down:443 parks']]);
  assert.equal(budget.take('a1', 'opening:443 parks', 0), true);
  budget.use('a1', 'opening:443 parks', 0);
  assert.equal(budget.take('a1', 'opening:443 parks', 0), false);
  assert.equal(budget.take('a1', 'opening:443', 0), true);
  // Both backlogs take the slots of the same host.
  assert.deepEqual(
    budget.limits().busyAtHosts.map(([id, host, attempts]) => [id, host, attempts]),
    [['a1', 'opening:443', 3]],
  );
});

test('budgets of the same parked hosts read the list of them once', () => {
  let reads = 0;
  const parked: ClaimLimits['parked'] = [
    ['a1', 'down:443', 0],
    ['a1', 'opening:443', 2],
  ];
  const list = new Proxy(parked, {
    get(of, name) {
      if (name === '0') reads += 1;
      return Reflect.get(of, name);
    },
  });
  for (let count = 0; count < 3; count += 1) {
    const budget = free(1000, { parked: list });
    const half = budget.half();
    half.use('a1', 'opening:443 parks', 0);
    const backlogs = ['down:443 parks', 'opening:443 parks'];
    assert.deepEqual(
      [budget, half, budget.without(half)].map((each) => backlogs.map((backlog) => each.room('a1', backlog))),
      [
        [0, 2],
        [0, 1],
        [0, 1],
      ],
    );
  }
  assert.equal(reads, 1);
});

test('of parked hosts, however many, budgets know at once where nothing may start', () => {
  const parked = Array.from({ length: 1000 }, (_, index) => ['a1', `h${index}:443`, index < 2 ? 1 : 0] as const);
  const [one, other] = [free(1000, { parked }), free(1000, { parked }).half()];
  assert.equal(one.parked().length, 998);
  assert.equal(one.parked(), other.parked(), 'none of them makes a list of its own');
  assert.deepEqual([one.hasParked('a1'), one.hasParked('a2')], [true, false]);
  one.use('a1', 'h0:443 parks', 0);
  assert.equal(one.parked().length, 999);
  assert.ok(one.isParked('a1', 'h0:443 parks') && !other.isParked('a1', 'h0:443 parks'));
});

test('nothing of a blocked account starts, and what it holds still counts', () => {
  const budget = free(1000, { bytes: 1000 * KIB, accountsBusy: [['a1', 1, 7]] });
  budget.block(['a1', 'a2']);
  assert.deepEqual([budget.room('a1', 'h'), budget.room('a2', 'h'), budget.take('a2', 'h', 0)], [0, 0, false]);
  assert.deepEqual(
    budget.limits().accountsBusy.map(([id, , bytes]) => [id, bytes]),
    [
      ['a1', 7],
      ['a2', 0],
    ],
  );
  assert.equal(budget.take('a3', 'h', 0), true);
});

test('a body larger than all the bytes still goes, one at a time; small ones need no bytes', () => {
  const budget = free(50, { bytes: 10, oversized: 1 });
  assert.equal(budget.take('a1', 'h1', 1_000_000), true);
  assert.equal(budget.take('a1', 'h1', 20 * KIB), false);
  assert.equal(budget.take('a2', 'h1', 20 * KIB), false);
  assert.equal(budget.take('a1', 'h1', 16 * KIB), true);
});

test('a body that is larger than its share takes nothing from the others', () => {
  const budget = free(50, { bytes: 100 * KIB, oversized: 1 });
  assert.equal(budget.take('a1', 'h1', 80 * KIB), true);
  assert.equal(takeAll(budget, 'a2', 25 * KIB), 2);
});

test('without slots no account gets anything', () => {
  assert.equal(new SlotBudget(NO_SLOTS).take('a1', 'h1', 0), false);
});
