// Messages that crashes have cut off: those that start alone, and those that are held until a person decides.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { NewMessage, Outcome } from '../../src/rules/delivery/message.ts';
import { NEVER_AT } from '../../src/rules/delivery/recovery.ts';
import { retriesMade } from '../../src/rules/delivery/retries-made.ts';
import { eachMax } from '../../src/rules/limits/budgets.ts';
import { readOverview } from '../../src/store/ports/count-in-pieces.ts';
import { countStates } from '../support/count-states.ts';
import {
  ACCOUNT,
  DRAINED,
  ERROR,
  INTERRUPTED,
  INTERRUPTED_ALONE,
  message,
  NOW,
  OK,
  OTHER_ACCOUNT,
  QUEUE,
  queued,
  RETENTION,
  SECOND,
  settlementOf,
} from './given.ts';
import { type HarnessFactory, idsOf, type Node, storeTests } from './harness.ts';

/** The pause after the third interruption. */
const PAUSE = SECOND;
const FLOW = { key: 'k', limits: { parallelism: 1, rate: null, periodMs: SECOND } };
const ALL_PAGES = { limit: 100, cursor: null, order: 'oldestFirst', withBodies: false } as const;

/** Claimed in the way that hands it out, and ended so. */
async function endAttempt(node: Node, outcome: Outcome, now: number): Promise<void> {
  const claim = (await node.claims(now))[0] ?? (await node.store.claimAlone(now)).claim;
  assert.ok(claim, 'nothing can be claimed');
  assert.deepEqual(await node.store.settle([settlementOf(claim, outcome, now)], now), ['settled']);
}

/** Accepts one and lets crashes cut it off three times; answers from when it waits to start alone. */
export async function makeSuspect(node: Node, given: NewMessage): Promise<number> {
  await node.store.accept([given], NOW);
  for (let time = 0; time < 3; time += 1) await endAttempt(node, INTERRUPTED, NOW);
  return NOW + PAUSE;
}

export async function makeHeld(node: Node, given: NewMessage): Promise<void> {
  await node.store.accept([given], NOW);
  for (let time = 0; time < 3; time += 1) await endAttempt(node, INTERRUPTED_ALONE, NOW);
}

export function interruptionsConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);
  const stored = async (node: Node, given: NewMessage) => (await node.store.getMessage(ACCOUNT, given.id))!.message;

  describe('retries that a drain cut off', () => {
    test('a retry that had begun is shown as made, and one that only waits is not', async ({ a }) => {
      const [begun, waiting] = [message(), message()];
      await a.store.accept([begun, waiting], NOW);
      const claims = await a.claims(NOW);
      const [first, second] = [begun, waiting].map(({ id }) => claims.find((claim) => claim.message.id === id)!);
      await a.store.settle([settlementOf(first!, ERROR, NOW), settlementOf(second!, DRAINED, NOW)], NOW);
      const again = await a.claims(NOW + SECOND);
      const [retry, repeat] = [begun, waiting].map(({ id }) => again.find((claim) => claim.message.id === id)!);
      const now = NOW + SECOND;
      await a.store.settle([settlementOf(retry!, DRAINED, now), settlementOf(repeat!, ERROR, now)], now);
      const shown = async () => [retriesMade(await stored(a, begun)), retriesMade(await stored(a, waiting))];
      assert.deepEqual(await shown(), [1, 0]);
      const { messages } = await a.store.searchMessages(ACCOUNT, {}, ALL_PAGES);
      assert.deepEqual(messages.map(retriesMade), [1, 0]);
      await a.store.cancel(ACCOUNT, [begun.id, waiting.id], now, now + RETENTION);
      assert.deepEqual(await shown(), [1, 0]);
    });
  });

  describe('messages that start alone', () => {
    test.onTwo('an ordinary claim does not hand them out; claimAlone does after the pause', async ({ a, b }) => {
      const suspect = message();
      const aloneAt = await makeSuspect(a, suspect);
      assert.deepEqual([(await stored(a, suspect)).state, (await stored(a, suspect)).dueAt], ['pending', aloneAt]);
      assert.deepEqual(await a.claimDue(aloneAt + RETENTION), { claims: [], nextDueAt: null, nextScheduleAt: null });
      assert.deepEqual(await a.store.claimAlone(aloneAt - 1), { claim: null, nextAt: aloneAt });
      assert.deepEqual(await a.store.recovery(), { nextAloneAt: aloneAt, held: 0 });
      const { claim, nextAt } = await b.store.claimAlone(aloneAt);
      assert.deepEqual([claim?.message.id, claim?.message.interrupted, nextAt], [suspect.id, 3, null]);
      assert.deepEqual((await a.store.claimAlone(aloneAt)).claim, null, 'it is claimed once');
      assert.deepEqual(await b.store.settle([settlementOf(claim!, OK, aloneAt)], aloneAt), ['settled']);
      assert.deepEqual([(await stored(a, suspect)).state, (await stored(a, suspect)).interrupted], ['delivered', 0]);
    });

    test('one at a time, the one that has waited for longest first', async ({ a }) => {
      const [first, second] = [message(), message()];
      await makeSuspect(a, first);
      await a.store.accept([second], NOW);
      for (let time = 0; time < 3; time += 1) await endAttempt(a, INTERRUPTED, NOW + time);
      const now = NOW + 10 * PAUSE;
      const claims = [await a.store.claimAlone(now), await a.store.claimAlone(now), await a.store.claimAlone(now)];
      assert.deepEqual(
        claims.map(({ claim }) => claim?.message.id),
        [first.id, second.id, undefined],
      );
      assert.notEqual(claims[0]!.claim!.lease, claims[1]!.claim!.lease);
    });

    test('a known result that is followed by a retry makes it a message like others again', async ({ a }) => {
      const suspect = message({ retryDelay: '0' });
      const aloneAt = await makeSuspect(a, suspect);
      await endAttempt(a, ERROR, aloneAt);
      const again = await a.claimOne(aloneAt);
      assert.deepEqual([again.message.interrupted, again.message.aloneAtCrash, again.message.retried], [0, 0, 1]);
    });

    test('cut off by a drain, or given back unsent, it still starts alone', async ({ a }) => {
      const suspect = message();
      const aloneAt = await makeSuspect(a, suspect);
      await endAttempt(a, DRAINED, aloneAt);
      assert.deepEqual(await a.claimedIds(aloneAt), []);
      const { claim } = await a.store.claimAlone(aloneAt);
      await a.store.release([claim!.lease], aloneAt + 5);
      assert.deepEqual(await a.claimedIds(aloneAt + 5), []);
      assert.equal((await a.store.claimAlone(aloneAt + 5)).claim?.message.interrupted, 3);
    });

    test('no message of its queue overtakes it, and it waits while the queue is paused', async ({ a }) => {
      const suspect = queued();
      const aloneAt = await makeSuspect(a, suspect);
      await a.store.accept([queued(), message()], NOW);
      const beside = await a.claims(aloneAt);
      assert.deepEqual(
        beside.map(({ message: { queueName } }) => queueName),
        [null],
      );
      await a.store.saveQueue(ACCOUNT, QUEUE, { isPaused: true }, aloneAt);
      assert.equal((await a.store.claimAlone(aloneAt)).claim, null);
      await a.store.saveQueue(ACCOUNT, QUEUE, { isPaused: false }, aloneAt);
      assert.deepEqual(await a.claimedIds(aloneAt), []);
      assert.equal((await a.store.claimAlone(aloneAt)).claim?.message.id, suspect.id);
    });

    test('one that lost its place to a lower parallelism starts alone when it has one again', async ({ a }) => {
      const [head, suspect] = [queued(), queued()];
      await a.store.saveQueue(ACCOUNT, QUEUE, { parallelism: 2 }, NOW);
      await a.store.accept([head, suspect], NOW);
      const claims = await a.claims(NOW);
      const claimOf = (id: string) => claims.find((claim) => claim.message.id === id)!;
      await a.store.settle([settlementOf(claimOf(suspect.id), INTERRUPTED, NOW)], NOW);
      for (let time = 0; time < 2; time += 1) await endAttempt(a, INTERRUPTED, NOW);
      await a.store.saveQueue(ACCOUNT, QUEUE, { parallelism: 1 }, NOW);
      const now = NOW + PAUSE;
      assert.equal((await a.store.claimAlone(now)).claim, null, 'the head has the only place');
      await a.store.settle([settlementOf(claimOf(head.id), OK, now)], now);
      assert.deepEqual(await a.claimedIds(now), []);
      assert.equal((await a.store.claimAlone(now)).claim?.message.id, suspect.id);
    });

    test('its flow key lets it through like any other, and counts it', async ({ a }) => {
      const [suspect, other] = [message({ flow: FLOW }), message({ flow: FLOW })];
      const aloneAt = await makeSuspect(a, suspect);
      await a.store.accept([other], NOW);
      const busy = await a.claimOne(aloneAt);
      assert.equal(busy.message.id, other.id);
      assert.equal((await a.store.claimAlone(aloneAt)).claim, null, 'the key has one under way');
      assert.equal((await stored(a, suspect)).dueAt, aloneAt);
      await a.store.settle([settlementOf(busy, OK, aloneAt)], aloneAt);
      const { claim } = await a.store.claimAlone(aloneAt);
      assert.equal(claim?.message.id, suspect.id);
      assert.equal((await a.store.getFlowKey(ACCOUNT, 'k'))?.active, 1);
      await a.store.settle([settlementOf(claim!, OK, aloneAt)], aloneAt);
      assert.equal((await a.store.getFlowKey(ACCOUNT, 'k'))?.active, 0);
    });

    test('those of its flow key that wait for a slot do not keep it back', async ({ a }) => {
      const flow = { key: 'fast', limits: { parallelism: null, rate: 1_000_000, periodMs: 3600 * SECOND } };
      const suspect = message({ flow });
      const aloneAt = await makeSuspect(a, suspect);
      const line = Array.from({ length: 2 * eachMax('flowKeyReady') }, () => message({ flow }));
      await a.store.accept(line, NOW);
      const before = (await a.store.getFlowKey(ACCOUNT, 'fast'))!;
      assert.equal(before.active, eachMax('flowKeyReady'));
      assert.equal((await a.store.claimAlone(aloneAt)).claim?.message.id, suspect.id);
      const { active, waiting, windowCount } = (await a.store.getFlowKey(ACCOUNT, 'fast'))!;
      const expected = { active: before.active + 1, waiting: before.waiting, windowCount: before.windowCount + 1 };
      assert.deepEqual({ active, waiting, windowCount }, expected, 'it counts like any other');
    });

    test('a key that is full does not keep others from starting alone', async ({ a }) => {
      const [stuck, free] = [message({ flow: FLOW }), message()];
      await makeSuspect(a, stuck);
      await a.store.pauseFlowKey(ACCOUNT, 'k', true, NOW);
      await makeSuspect(a, free);
      assert.equal((await a.store.claimAlone(NOW + PAUSE)).claim?.message.id, free.id);
    });

    test('sixty under one paused key do not keep others from starting alone', async ({ a }) => {
      const stuck = Array.from({ length: 60 }, () =>
        message({ flow: { ...FLOW, limits: { ...FLOW.limits, parallelism: 100 } } }),
      );
      await a.store.accept(stuck, NOW);
      for (let time = 0; time < 3; time += 1) {
        const claims = await a.claims(NOW);
        await a.store.settle(
          claims.map((claim) => settlementOf(claim, INTERRUPTED, NOW)),
          NOW,
        );
      }
      await a.store.pauseFlowKey(ACCOUNT, 'k', true, NOW);
      const free = message();
      await makeSuspect(a, free);
      assert.equal((await a.store.claimAlone(NOW + PAUSE)).claim?.message.id, free.id);
    });

    test('it can be cancelled, and brought forward', async ({ a }) => {
      const [cancelled, urgent] = [message(), message()];
      await makeSuspect(a, cancelled);
      await a.store.cancel(ACCOUNT, [cancelled.id], NOW, NOW + RETENTION);
      await makeSuspect(a, urgent);
      assert.equal(await a.store.deliverNow(ACCOUNT, urgent.id, NOW + 1), 'due');
      assert.equal((await a.store.claimAlone(NOW + 1)).claim?.message.id, urgent.id);
      assert.equal((await a.store.claimAlone(NOW + RETENTION)).claim, null);
    });

    test('as the head of its queue it can be brought forward; one behind it, or in a pause, cannot', async ({ a }) => {
      const [head, next] = [queued(), queued()];
      await makeSuspect(a, head);
      await a.store.accept([next], NOW);
      assert.equal(await a.store.deliverNow(ACCOUNT, next.id, NOW), 'inQueue');
      await a.store.saveQueue(ACCOUNT, QUEUE, { isPaused: true }, NOW);
      assert.equal(await a.store.deliverNow(ACCOUNT, head.id, NOW), 'inQueue');
      await a.store.saveQueue(ACCOUNT, QUEUE, { isPaused: false }, NOW);
      assert.equal((await a.store.claimAlone(NOW + 1)).claim, null);
      assert.equal(await a.store.deliverNow(ACCOUNT, head.id, NOW + 1), 'due');
      assert.deepEqual(await a.claimedIds(NOW + 1), [], 'it still starts alone');
      const { claim } = await a.store.claimAlone(NOW + 1);
      assert.deepEqual([claim?.message.id, claim?.message.interrupted], [head.id, 3]);
      await a.store.settle([settlementOf(claim!, OK, NOW + 1)], NOW + 1);
      assert.deepEqual(await a.claimedIds(NOW + 1), [next.id]);
    });

    test.onTwo('two nodes that ask at once never get the same message', async ({ a, b }) => {
      await makeSuspect(a, message());
      const answers = await Promise.all([a.store.claimAlone(NOW + PAUSE), b.store.claimAlone(NOW + PAUSE)]);
      assert.equal(answers.filter(({ claim }) => claim !== null).length, 1);
    });
  });

  describe('held messages', () => {
    test('in flight alone at three crashes, a message is held: neither sent nor ended', async ({ a }) => {
      const held = message();
      await makeHeld(a, held);
      const found = await stored(a, held);
      assert.deepEqual(
        [found.state, found.heldAt, found.endedAt, found.aloneAtCrash, found.dueAt],
        ['held', NOW, null, 3, NEVER_AT],
      );
      assert.deepEqual(await a.claimDue(NOW + RETENTION), { claims: [], nextDueAt: null, nextScheduleAt: null });
      assert.equal((await a.store.claimAlone(NOW + RETENTION)).claim, null);
      assert.deepEqual(await a.store.recovery(), { nextAloneAt: null, held: 1 });
      assert.equal((await countStates(a.store)).held, 1);
      assert.equal(await a.store.deliverNow(ACCOUNT, held.id, NOW), 'held');
    });

    test('a known result in between sets the count back', async ({ a }) => {
      const lucky = message({ retryDelay: '0' });
      await a.store.accept([lucky], NOW);
      for (const outcome of [INTERRUPTED_ALONE, INTERRUPTED_ALONE, ERROR, INTERRUPTED_ALONE, INTERRUPTED_ALONE]) {
        await endAttempt(a, outcome, NOW);
      }
      assert.deepEqual([(await stored(a, lucky)).state, (await stored(a, lucky)).aloneAtCrash], ['pending', 2]);
    });

    test('a held head keeps its place: no message of its queue overtakes it, also after changes of the queue', async ({
      a,
    }) => {
      const head = queued();
      await makeHeld(a, head);
      const next = queued();
      await a.store.accept([next], NOW);
      for (const change of [{ isPaused: true }, { isPaused: false }, { parallelism: 1 }]) {
        await a.store.saveQueue(ACCOUNT, QUEUE, change, NOW);
        assert.deepEqual(await a.claimedIds(NOW), []);
      }
      const facts = await a.store.waitFacts(ACCOUNT, next.id);
      assert.deepEqual(facts!.ahead, { messageId: head.id, state: 'held', dueAt: NEVER_AT, count: 1 });
      await a.store.saveQueue(ACCOUNT, QUEUE, { parallelism: 2 }, NOW);
      assert.deepEqual(await a.claimedIds(NOW), [next.id], 'with two places, the second is free');
    });

    test('of several places it keeps one, and no other message gets it', async ({ a }) => {
      await a.store.saveQueue(ACCOUNT, QUEUE, { parallelism: 2 }, NOW);
      const held = queued();
      await makeHeld(a, held);
      const line = Array.from({ length: 3 }, () => queued());
      await a.store.accept(line, NOW);
      for (const expected of line) {
        const claim = await a.claimOne(NOW);
        assert.equal(claim.message.id, expected.id, 'one at a time, through the other place');
        await a.store.settle([settlementOf(claim, OK, NOW)], NOW);
      }
    });

    for (const orderKeys of [
      [null, null],
      ['x', 'y'],
    ]) {
      const how = orderKeys[0] === null ? 'without order keys' : 'with order keys';
      test(`no later message overtakes it after the parallelism was lowered to one, ${how}`, async ({ a }) => {
        await a.store.saveQueue(ACCOUNT, QUEUE, { parallelism: 2 }, NOW);
        const [held, later] = orderKeys.map((orderKey) => queued({ orderKey })) as [NewMessage, NewMessage];
        await makeHeld(a, held);
        await a.store.accept([later], NOW);
        const claim = await a.claimOne(NOW);
        await a.store.saveQueue(ACCOUNT, QUEUE, { parallelism: 1 }, NOW);
        await a.store.settle([settlementOf(claim, ERROR, NOW)], NOW);
        const now = NOW + 10 * SECOND;
        assert.deepEqual(await a.claimedIds(now), [], 'the held one is first');
        await a.store.releaseHeld(ACCOUNT, [held.id], now);
        const first = await a.claimOne(now);
        assert.equal(first.message.id, held.id);
        await a.store.settle([settlementOf(first, OK, now)], now);
        assert.deepEqual(await a.claimedIds(now), [later.id]);
      });
    }

    test('with an order key it holds back its key alone', async ({ a }) => {
      await a.store.saveQueue(ACCOUNT, QUEUE, { parallelism: 3 }, NOW);
      await makeHeld(a, queued({ orderKey: 'x' }));
      const [same, other] = [queued({ orderKey: 'x' }), queued({ orderKey: 'y' })];
      await a.store.accept([same, other], NOW);
      assert.deepEqual(await a.claimedIds(NOW), [other.id]);
    });

    test('after a release it continues in its place, and earlier crashes do not count', async ({ a }) => {
      const [head, next] = [queued(), queued()];
      await makeHeld(a, head);
      await a.store.accept([next], NOW);
      assert.deepEqual(await a.store.releaseHeld(OTHER_ACCOUNT, [head.id], NOW), [], 'not by another account');
      assert.deepEqual(await a.store.releaseHeld(ACCOUNT, [head.id, next.id, 'msg_none'], NOW + 9), [head.id]);
      assert.deepEqual(await a.store.releaseHeld(ACCOUNT, [head.id], NOW + 9), []);
      const claim = await a.claimOne(NOW + 9);
      assert.deepEqual(
        [claim.message.id, claim.message.interrupted, claim.message.aloneAtCrash, claim.message.heldAt],
        [head.id, 0, 0, null],
      );
      await a.store.settle([settlementOf(claim, OK, NOW + 9)], NOW + 9);
      assert.deepEqual(await a.claimedIds(NOW + 9), [next.id]);
    });

    test('released while its queue is paused, it waits for the queue', async ({ a }) => {
      const head = queued();
      await makeHeld(a, head);
      await a.store.saveQueue(ACCOUNT, QUEUE, { isPaused: true }, NOW);
      await a.store.releaseHeld(ACCOUNT, [head.id], NOW);
      assert.deepEqual(await a.claimedIds(NOW), []);
      await a.store.saveQueue(ACCOUNT, QUEUE, { isPaused: false }, NOW);
      assert.deepEqual(await a.claimedIds(NOW), [head.id]);
    });

    test('after a cancel the next message of its queue starts', async ({ a }) => {
      const [head, next] = [queued(), queued()];
      await makeHeld(a, head);
      await a.store.accept([next], NOW);
      assert.deepEqual((await a.store.cancel(ACCOUNT, [head.id], NOW, NOW + RETENTION)).cancelled, [head.id]);
      assert.deepEqual(await a.claimedIds(NOW), [next.id]);
      assert.deepEqual([await a.stateOf(head), (await stored(a, head)).heldAt], ['cancelled', null]);
      assert.equal((await a.store.recovery()).held, 0);
    });

    test('under a flow key it takes no place', async ({ a }) => {
      await makeHeld(a, message({ flow: FLOW }));
      const other = message({ flow: FLOW });
      await a.store.accept([other], NOW);
      assert.deepEqual(await a.claimedIds(NOW), [other.id]);
    });

    test('lists find it by its state, counts know it, and the journal tells of it', async ({ a }) => {
      const [held, other] = [queued(), message({ dueAt: NOW + SECOND })];
      await makeHeld(a, held);
      await a.store.accept([other], NOW);
      const find = async (states: readonly ('HELD' | 'CREATED' | 'RETRY')[]) =>
        (await a.store.searchMessages(ACCOUNT, { states }, ALL_PAGES)).messages.map(({ id }) => id);
      assert.deepEqual(await find(['HELD']), [held.id]);
      assert.deepEqual(await find(['CREATED', 'RETRY']), [other.id]);
      assert.deepEqual(await find(['CREATED', 'HELD']), [held.id, other.id]);
      const standing = await readOverview(a.store, ACCOUNT, NOW + SECOND, 100);
      assert.deepEqual([standing.open.held, standing.open.retrying, standing.open.waiting], [1, 0, 1]);
      assert.equal(standing.oldestDueAt, NOW + SECOND, 'what is held is not late');
      assert.equal(standing.queues[0]!.held, 1);
      await a.store.releaseHeld(ACCOUNT, [held.id], NOW + 2 * SECOND);
      const { events } = await a.store.listEvents(ACCOUNT, { messages: { messageIds: [held.id] } }, ALL_PAGES);
      assert.deepEqual(
        events.slice(-4).map(({ state, at }) => [state, at - NOW]),
        [
          ['ACTIVE', 0],
          ['ERROR', 0],
          ['HELD', 0],
          ['RELEASED', 2 * SECOND],
        ],
      );
    });

    test('a held message is kept until it is released or cancelled: retention does not delete it', async ({ a }) => {
      const held = message();
      await makeHeld(a, held);
      await a.store.deleteExpired(NOW + 100 * RETENTION, 100);
      assert.equal(await a.stateOf(held), 'held');
      assert.deepEqual(idsOf(await a.store.orphanedClaims(a.name)), []);
    });
  });
}
