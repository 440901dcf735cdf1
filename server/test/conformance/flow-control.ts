// Flow-control keys: how many of a key's messages are on their way at once and start in a period, through pauses,
// pins, retries and several nodes.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Claim, NewMessage } from '../../src/rules/delivery/message.ts';
import { eachMax } from '../../src/rules/limits/budgets.ts';
import type { FlowLimits } from '../../src/rules/lines/flow-control.ts';
import {
  ACCOUNT,
  ERROR,
  INTERRUPTED,
  message,
  NOW,
  OK,
  OTHER_ACCOUNT,
  REFUSED,
  RETENTION,
  SECOND,
  settlementOf,
} from './given.ts';
import { type HarnessFactory, idsOf, type Node, storeTests } from './harness.ts';

const KEY = 'k';

export function flowing(limits: Partial<FlowLimits>, some: Partial<NewMessage> = {}, key = KEY): NewMessage {
  return message({ flow: { key, limits: { parallelism: null, rate: null, periodMs: SECOND, ...limits } }, ...some });
}

function many(count: number, limits: Partial<FlowLimits>, some: Partial<NewMessage> = {}): NewMessage[] {
  return Array.from({ length: count }, () => flowing(limits, some));
}

/** Of one key, so many are let through and not started. */
const READY_MAX = eachMax('flowKeyReady');
/** No limit that counts here. */
const FAST = { rate: 1_000_000, periodMs: 3600 * SECOND };

/** All that can be claimed without an attempt that ends, in the order in which it was handed out. */
async function claimAll(nodes: readonly Node[], from: number, slots = 70): Promise<Claim[]> {
  const all: Claim[] = [];
  let at = from;
  for (let turns = 0, idle = 0; idle < nodes.length; turns += 1) {
    assert.ok(turns < 60, 'claims are not repeated for ever');
    const { claims, nextDueAt } = await nodes[turns % nodes.length]!.claimDue(at, { slots });
    all.push(...claims);
    // What is due in a moment; a period that ends later is not waited for.
    const isSoon = nextDueAt !== null && nextDueAt < from + SECOND;
    idle = claims.length > 0 || isSoon ? 0 : idle + 1;
    if (isSoon) at = Math.max(at, nextDueAt);
  }
  return all;
}

const KEEP = { parallelism: 'keep', rate: 'keep' } as const;

export function flowControlConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);
  const flowKey = async (node: Node, key = KEY) => (await node.store.getFlowKey(ACCOUNT, key))!;

  describe('the parallelism of a flow key', () => {
    test.onTwo('no more are in flight than it allows, in the order they became due', async ({ a, b }) => {
      const line = many(5, { parallelism: 2 });
      await a.store.accept(line, NOW);
      const claims = (await Promise.all([a.claims(NOW), b.claims(NOW)])).flat();
      assert.deepEqual(idsOf(claims), [line[0]!.id, line[1]!.id]);
      assert.deepEqual(await b.claimedIds(NOW), []);
      await b.store.settle([settlementOf(claims[0]!, OK, NOW)], NOW);
      assert.deepEqual(await a.claimedIds(NOW), [line[2]!.id]);
      const { active, waiting } = await flowKey(a);
      assert.deepEqual({ active, waiting }, { active: 2, waiting: 2 });
    });

    test('it holds across URLs, and no other key and no message without one', async ({ a }) => {
      const held = [flowing({ parallelism: 1 }, { host: 'a:80' }), flowing({ parallelism: 1 }, { host: 'b:80' })];
      const free = [
        flowing({ parallelism: 1 }, {}, 'other'),
        flowing({ parallelism: 1 }, { accountId: OTHER_ACCOUNT }),
        message(),
      ];
      await a.store.accept([...held, ...free], NOW);
      const ids = await a.claimedIds(NOW);
      assert.deepEqual(ids.toSorted(), [held[0]!, ...free].map(({ id }) => id).toSorted());
    });

    test('a message that waits for its retry takes no place; its retry needs one', async ({ a }) => {
      const [first, second] = many(2, { parallelism: 1 }) as [NewMessage, NewMessage];
      await a.store.accept([first, second], NOW);
      await a.store.settle([settlementOf(await a.claimOne(NOW), ERROR, NOW)], NOW);
      const other = await a.claimOne(NOW);
      assert.equal(other.message.id, second.id);
      assert.deepEqual(await a.claimedIds(NOW + SECOND), []);
      await a.store.settle([settlementOf(other, OK, NOW + SECOND)], NOW + SECOND);
      assert.deepEqual(await a.claimedIds(NOW + SECOND), [first.id]);
    });

    test('every end frees the place: failed, interrupted, cancelled, and a settlement that lost frees none', async ({
      a,
    }) => {
      const line = many(5, { parallelism: 1, rate: null });
      await a.store.accept(line, NOW);
      await a.store.settle([settlementOf(await a.claimOne(NOW), REFUSED, NOW)], NOW);
      const second = await a.claimOne(NOW);
      assert.equal(second.message.id, line[1]!.id);
      await a.store.cancel(ACCOUNT, [second.message.id], NOW, NOW + RETENTION);
      assert.deepEqual(await a.claimedIds(NOW), []);
      assert.deepEqual(await a.store.settle([settlementOf(second, OK, NOW)], NOW), ['cancelled']);
      const third = await a.claimOne(NOW);
      assert.deepEqual(await a.store.settle([settlementOf(second, OK, NOW)], NOW), ['lost']);
      assert.deepEqual(await a.claimedIds(NOW), []);
      await a.store.settle([settlementOf(third, INTERRUPTED, NOW)], NOW);
      assert.equal((await flowKey(a)).active, 1);
      assert.equal((await a.claims(NOW)).length, 1);
    });

    test('one cancelled while it waits is not started, and the next takes its turn', async ({ a }) => {
      const line = many(3, { parallelism: 1 });
      await a.store.accept(line, NOW);
      const first = await a.claimOne(NOW);
      await a.store.cancel(ACCOUNT, [line[1]!.id], NOW, NOW + RETENTION);
      await a.store.settle([settlementOf(first, OK, NOW)], NOW);
      assert.deepEqual(await a.claimedIds(NOW), [line[2]!.id]);
    });

    test('the newest message sets the limits, also for waiting messages', async ({ a }) => {
      await a.store.accept(many(4, { parallelism: 1 }), NOW);
      assert.equal((await a.claims(NOW)).length, 1);
      await a.store.accept(many(1, { parallelism: 3 }), NOW);
      assert.equal((await a.claims(NOW)).length, 2);
      await a.store.accept(many(1, { parallelism: 1 }), NOW);
      assert.deepEqual(await a.claims(NOW), []);
    });

    test('a lower limit also applies to admitted messages that have not started', async ({ a }) => {
      await a.store.accept(many(4, { parallelism: 4 }), NOW);
      await a.store.accept(many(1, { parallelism: 1 }), NOW);
      assert.equal((await a.claims(NOW)).length, 1);
    });

    test('a delayed message waits for its time and then for its place', async ({ a }) => {
      const later = flowing({ parallelism: 1 }, { dueAt: NOW + SECOND });
      const first = flowing({ parallelism: 1 });
      await a.store.accept([later, first], NOW);
      const claim = await a.claimOne(NOW);
      assert.equal(claim.message.id, first.id);
      assert.deepEqual(await a.claimedIds(NOW + SECOND), []);
      await a.store.settle([settlementOf(claim, OK, NOW + SECOND)], NOW + SECOND);
      assert.deepEqual(await a.claimedIds(NOW + SECOND), [later.id]);
    });

    test.onTwo('a released claim gives its place back and goes first again', async ({ a, b }) => {
      const line = many(2, { parallelism: 1, rate: 1, periodMs: 60 * SECOND });
      await a.store.accept(line, NOW);
      await a.store.release([(await a.claimOne(NOW)).lease], NOW);
      assert.deepEqual(await b.claimedIds(NOW), [line[0]!.id], 'as if it had never been claimed');
      assert.deepEqual(await a.claimedIds(NOW), []);
    });
  });

  describe('the rate of a flow key', () => {
    test.onTwo(
      'no more start in a period than it allows; the next period begins with its first start',
      async ({ a, b }) => {
        const line = many(5, { rate: 2, periodMs: 10 * SECOND });
        await a.store.accept(line, NOW);
        const first = await a.claimDue(NOW);
        assert.equal(first.claims.length, 2);
        assert.equal(first.nextDueAt, NOW + 10 * SECOND);
        await a.store.settle(
          first.claims.map((claim) => settlementOf(claim, OK, NOW + 1)),
          NOW + 1,
        );
        assert.deepEqual(await b.claimedIds(NOW + 10 * SECOND - 1), []);
        assert.deepEqual(await b.claimedIds(NOW + 12 * SECOND), [line[2]!.id, line[3]!.id]);
        assert.deepEqual(await a.claimedIds(NOW + 22 * SECOND - 1), []);
        assert.deepEqual(await a.claimedIds(NOW + 22 * SECOND), [line[4]!.id]);
      },
    );

    test('retries count as starts', async ({ a }) => {
      await a.store.accept(many(2, { rate: 1, periodMs: 60 * SECOND }), NOW);
      await a.store.settle([settlementOf(await a.claimOne(NOW), ERROR, NOW)], NOW);
      assert.deepEqual(await a.claimedIds(NOW + 59 * SECOND), []);
      assert.equal((await a.claims(NOW + 60 * SECOND)).length, 1);
    });

    test('a message admitted in one period and started in the next counts in the next', async ({ a }) => {
      await a.store.accept(many(2, { rate: 2, periodMs: SECOND }), NOW);
      // Nobody has room for them; meanwhile more come, period after period.
      for (const after of [1, 2, 3]) await a.store.accept(many(2, { rate: 2, periodMs: SECOND }), NOW + after * SECOND);
      assert.equal((await a.claims(NOW + 3 * SECOND)).length, 2);
      assert.equal((await a.claims(NOW + 4 * SECOND - 1)).length, 0);
      assert.equal((await a.claims(NOW + 4 * SECOND)).length, 2);
    });

    test('a start long after the admission opens a new period', async ({ a }) => {
      await a.store.accept(many(2, { rate: 2, periodMs: SECOND }), NOW);
      assert.equal((await a.claims(NOW + 5 * SECOND)).length, 2);
      await a.store.accept(many(2, { rate: 2, periodMs: SECOND }), NOW + 5 * SECOND);
      assert.deepEqual(await a.claims(NOW + 6 * SECOND - 1), []);
      assert.equal((await a.claims(NOW + 6 * SECOND)).length, 2);
    });

    test.onTwo('it holds when the clock of one node is ahead of the others’', async ({ a, b }) => {
      const startedAt: number[] = [];
      for (let passedMs = 0; passedMs < 6 * SECOND; passedMs += 100) {
        for (const [node, aheadMs] of [
          [a, 0],
          [b, 1500],
        ] as const) {
          const now = NOW + passedMs + aheadMs;
          await node.store.accept(many(2, { rate: 5 }, { createdAt: now, dueAt: now }), now);
          const claims = await node.claims(now);
          for (const _ of claims) startedAt.push(passedMs);
          await node.store.settle(
            claims.map((claim) => settlementOf(claim, OK, now)),
            now,
          );
        }
      }
      const inSecond = (from: number) => startedAt.filter((at) => at >= from && at < from + SECOND).length;
      // The first window may be opened twice, once by each clock.
      assert.ok(startedAt.length <= 7 * 5, `${startedAt.length} started in 6 s`);
      assert.ok(startedAt.length >= 5 * 5, `${startedAt.length} started in 6 s`);
      for (let from = SECOND; from < 5 * SECOND; from += 100)
        assert.ok(inSecond(from) <= 10, `${inSecond(from)} at ${from}`);
    });

    test('rate and parallelism hold together', async ({ a }) => {
      await a.store.accept(many(6, { rate: 3, parallelism: 2, periodMs: 10 * SECOND }), NOW);
      const claims = await a.claims(NOW);
      assert.equal(claims.length, 2);
      await a.store.settle(
        claims.map((claim) => settlementOf(claim, OK, NOW)),
        NOW,
      );
      assert.equal((await a.claims(NOW)).length, 1);
      assert.equal((await a.claims(NOW + 10 * SECOND)).length, 1);
    });

    test('a reset forgets what was started', async ({ a }) => {
      await a.store.accept(many(4, { rate: 2, periodMs: 3600 * SECOND }), NOW);
      assert.equal((await a.claims(NOW)).length, 2);
      const key = await a.store.resetFlowRate(ACCOUNT, KEY, NOW + 1);
      assert.equal(key!.waiting, 0);
      assert.equal((await a.claims(NOW + 1)).length, 2);
      assert.equal(await a.store.resetFlowRate(ACCOUNT, 'none', NOW), null);
    });

    test('a node that starts later knows what was started before', async ({ a, open }) => {
      await a.store.accept(many(4, { rate: 2, parallelism: 3, periodMs: 10 * SECOND }), NOW);
      assert.equal((await a.claims(NOW)).length, 2);
      const c = await open('nod_c');
      assert.deepEqual(await c.claims(NOW + 10 * SECOND - 1), []);
      assert.equal((await c.claims(NOW + 10 * SECOND)).length, 1);
    });
  });

  describe('pausing a flow key', () => {
    test.onTwo('starts no message, lets running attempts end, and accepts messages', async ({ a, b }) => {
      await a.store.accept(many(2, { parallelism: 1 }), NOW);
      const claim = await a.claimOne(NOW);
      assert.equal((await b.store.pauseFlowKey(ACCOUNT, KEY, true, NOW))!.isPaused, true);
      await a.store.settle([settlementOf(claim, OK, NOW)], NOW);
      await a.store.accept(many(1, { parallelism: 5 }), NOW);
      assert.deepEqual(await a.claimDue(NOW + SECOND), { claims: [], nextDueAt: null, nextScheduleAt: null });
      assert.equal((await flowKey(a)).waiting, 2);
      await b.store.pauseFlowKey(ACCOUNT, KEY, false, NOW + SECOND);
      assert.equal((await a.claims(NOW + SECOND)).length, 2);
    });

    test('ready messages do not start, and keep their order', async ({ a }) => {
      await a.store.accept(many(3, { rate: 3, periodMs: 3600 * SECOND }), NOW);
      await a.store.pauseFlowKey(ACCOUNT, KEY, true, NOW);
      assert.deepEqual(await a.claims(NOW), []);
      await a.store.pauseFlowKey(ACCOUNT, KEY, false, NOW);
      assert.equal((await a.claims(NOW)).length, 3);
    });

    test('a claim released into a paused key waits', async ({ a }) => {
      await a.store.accept(many(1, { parallelism: 1 }), NOW);
      const claim = await a.claimOne(NOW);
      await a.store.pauseFlowKey(ACCOUNT, KEY, true, NOW);
      await a.store.release([claim.lease], NOW);
      assert.deepEqual(await a.claims(NOW), []);
    });

    test.onTwo('wakes the other nodes when it ends', async ({ a, b }) => {
      await a.store.accept(many(1, { parallelism: 1 }), NOW);
      await a.store.pauseFlowKey(ACCOUNT, KEY, true, NOW);
      assert.deepEqual(await b.claims(NOW), []);
      await a.store.pauseFlowKey(ACCOUNT, KEY, false, NOW);
      assert.equal((await b.claims(NOW)).length, 1);
    });

    test('an unknown key, or another account’s, cannot be paused', async ({ a }) => {
      await a.store.accept(many(1, { parallelism: 1 }), NOW);
      assert.equal(await a.store.pauseFlowKey(ACCOUNT, 'none', true, NOW), null);
      assert.equal(await a.store.pauseFlowKey(OTHER_ACCOUNT, KEY, true, NOW), null);
    });
  });

  describe('pinning a flow key', () => {
    test('pins one limit, and messages still set the other', async ({ a }) => {
      await a.store.accept(many(1, { parallelism: 5, rate: 50, periodMs: 5 * SECOND }), NOW);
      await a.store.pinFlowKey(ACCOUNT, KEY, { ...KEEP, parallelism: 1 }, NOW);
      assert.deepEqual((await flowKey(a)).limits, { parallelism: 1, rate: 50, periodMs: 5 * SECOND });
      await a.store.accept(many(3, { parallelism: 9, rate: 40, periodMs: SECOND }), NOW);
      assert.deepEqual((await flowKey(a)).limits, { parallelism: 1, rate: 40, periodMs: SECOND });
      assert.equal((await a.claims(NOW)).length, 1);
      const { isParallelismPinned, isRatePinned } = await flowKey(a);
      assert.deepEqual({ isParallelismPinned, isRatePinned }, { isParallelismPinned: true, isRatePinned: false });
    });

    test('a pinned rate and its period hold until they are unpinned', async ({ a }) => {
      await a.store.pinFlowKey(ACCOUNT, KEY, { ...KEEP, rate: { rate: 1, periodMs: 60 * SECOND } }, NOW);
      await a.store.accept(many(3, { parallelism: 9 }), NOW);
      assert.equal((await a.claims(NOW)).length, 1);
      assert.deepEqual(await a.claims(NOW + 59 * SECOND), []);
      const key = await a.store.pinFlowKey(ACCOUNT, KEY, { ...KEEP, rate: 'unpin' }, NOW + 59 * SECOND);
      assert.deepEqual([key.isRatePinned, key.limits.rate], [false, 1], 'the limit stays until a message says another');
      await a.store.accept(many(1, { parallelism: 9 }), NOW + 59 * SECOND);
      assert.equal((await a.claims(NOW + 59 * SECOND)).length, 3);
    });

    test.onTwo('a lower pin holds those that are ready; a higher one starts those that wait', async ({ a, b }) => {
      await a.store.accept(many(4, { parallelism: 3 }), NOW);
      await a.store.pinFlowKey(ACCOUNT, KEY, { ...KEEP, parallelism: 1 }, NOW);
      assert.equal((await b.claims(NOW)).length, 1);
      await a.store.pinFlowKey(ACCOUNT, KEY, { ...KEEP, parallelism: 4 }, NOW);
      assert.equal((await b.claims(NOW)).length, 3);
    });

    test('a key can be pinned before its first message', async ({ a }) => {
      const key = await a.store.pinFlowKey(ACCOUNT, 'new', { ...KEEP, parallelism: 2 }, NOW);
      const { limits, isParallelismPinned, active, waiting } = key;
      assert.deepEqual({ parallelism: limits.parallelism, rate: limits.rate }, { parallelism: 2, rate: null });
      assert.deepEqual({ isParallelismPinned, active, waiting }, { isParallelismPinned: true, active: 0, waiting: 0 });
      assert.deepEqual(
        (await a.store.listFlowKeys(ACCOUNT)).entries.map((each) => each.key),
        ['new'],
      );
      assert.deepEqual((await a.store.listFlowKeys(OTHER_ACCOUNT)).entries, []);
      assert.equal(await a.store.getFlowKey(OTHER_ACCOUNT, 'new'), null);
    });
  });

  describe('messages that a flow key has admitted and that have not started', () => {
    test.onTwo(
      'are limited in number; the others wait under the key and start in order, without waiting for an attempt to end',
      async ({ a, b }) => {
        const line = many(3 * READY_MAX, FAST);
        await a.store.accept(line.slice(0, READY_MAX + 1), NOW);
        await b.store.accept(line.slice(READY_MAX + 1), NOW);
        const { active, waiting } = await flowKey(a);
        assert.deepEqual({ active, waiting }, { active: READY_MAX, waiting: 2 * READY_MAX });
        const claims = await claimAll([a, b], NOW);
        assert.deepEqual(
          idsOf(claims),
          line.map(({ id }) => id),
        );
      },
    );

    test('are not examined again and again while none of them can start', async ({ a }) => {
      await a.store.accept(many(READY_MAX + 1, FAST), NOW);
      for (const _ of [1, 2]) {
        const { claims, nextDueAt } = await a.claimDue(NOW, { hostMax: 0 });
        assert.deepEqual({ claims, nextDueAt }, { claims: [], nextDueAt: null });
      }
      assert.equal((await claimAll([a], NOW)).length, READY_MAX + 1);
    });

    test.onTwo(
      'keep rate and parallelism, whether the limits are larger than their maximum number or not',
      async ({ a, b }) => {
        const [rate, parallelism] = [READY_MAX + 50, 2 * READY_MAX + 20];
        const line = many(4 * READY_MAX, { rate, parallelism, periodMs: 10 * SECOND });
        await a.store.accept(line, NOW);
        const first = await claimAll([a, b], NOW);
        assert.equal(first.length, rate);
        const second = await claimAll([a, b], NOW + 11 * SECOND);
        assert.equal(first.length + second.length, parallelism);
        await a.store.settle(
          first.slice(0, 30).map((claim) => settlementOf(claim, OK, NOW + 12 * SECOND)),
          NOW + 12 * SECOND,
        );
        const third = await claimAll([b, a], NOW + 12 * SECOND);
        assert.equal(third.length, 30);
        const started = idsOf([...first, ...second, ...third]);
        assert.deepEqual(
          started,
          line.slice(0, started.length).map(({ id }) => id),
        );
      },
    );

    test.onTwo('follow new limits, a pause and a reset at once, and keep their order', async ({ a, b }) => {
      const line = many(2 * READY_MAX, FAST);
      await a.store.accept(line, NOW);
      line.push(...many(1, { parallelism: 1 }));
      await b.store.accept(line.slice(-1), NOW);
      assert.deepEqual(idsOf(await claimAll([a, b], NOW)), [line[0]!.id]);
      line.push(...many(1, FAST));
      await b.store.accept(line.slice(-1), NOW);
      await b.store.pauseFlowKey(ACCOUNT, KEY, true, NOW);
      assert.deepEqual(await claimAll([a, b], NOW), []);
      await b.store.pauseFlowKey(ACCOUNT, KEY, false, NOW);
      await b.store.resetFlowRate(ACCOUNT, KEY, NOW);
      assert.equal((await flowKey(a)).active, READY_MAX + 1);
      assert.deepEqual(
        idsOf(await claimAll([a, b], NOW)),
        line.slice(1).map(({ id }) => id),
      );
    });

    test('make room for others when one is cancelled, given back, taken over or started', async ({ a, open }) => {
      const line = many(3 * READY_MAX, FAST);
      await a.store.accept(line, NOW);
      const cancelled = line.splice(0, READY_MAX).map(({ id }) => id);
      await a.store.cancel(ACCOUNT, cancelled, NOW, NOW + RETENTION);
      assert.equal((await flowKey(a)).active, READY_MAX);
      const claims = await a.claims(NOW, { slots: READY_MAX });
      await a.store.release(
        claims.map(({ lease }) => lease),
        NOW,
      );
      assert.equal((await flowKey(a)).active, READY_MAX);
      const c = await open('nod_c');
      assert.deepEqual(
        idsOf(await claimAll([c, a], NOW)),
        line.map(({ id }) => id),
      );
    });

    test('when limits contradict each other in one batch, or at the same time, the newest win', async ({ a }) => {
      const turns = Array.from({ length: 20 }, (_, index) => flowing({ parallelism: index % 2 === 0 ? 7 : 3 }));
      await a.store.accept(turns, NOW);
      assert.equal((await flowKey(a)).limits.parallelism, 3);
      await Promise.all([5, 9, 4].map((parallelism) => a.store.accept(many(1, { parallelism }), NOW)));
      assert.equal((await flowKey(a)).limits.parallelism, 4);
      assert.equal((await claimAll([a], NOW)).length, 4);
    });
  });
}
