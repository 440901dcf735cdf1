// Cancelling, what becomes of what a node has claimed, and what an account can see and touch of another: nothing.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { NO_SLOTS } from '../../src/rules/delivery/slots.ts';
import {
  ACCOUNT,
  callbackTo,
  ERROR,
  INTERRUPTED,
  message,
  NOW,
  OK,
  OTHER_ACCOUNT,
  queued,
  RETENTION,
  SECOND,
  settlementOf,
} from './given.ts';
import { type HarnessFactory, type Node, storeTests } from './harness.ts';

const NOTHING = { cancelled: [], requested: [], awaited: [] };

export function cancelConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);
  const EXPIRES = NOW + RETENTION;
  const cancel = (node: Node, ids: readonly string[], at = NOW) => node.store.cancel(ACCOUNT, ids, at, EXPIRES);

  describe('cancel', () => {
    test('ends unclaimed open messages of every kind, and returns their ids', async ({ a }) => {
      const [ready, delayed, waiting, head, retrying] = [
        message(),
        message({ dueAt: NOW + SECOND }),
        queued(),
        queued(),
        message({ host: 'c:80' }),
      ] as const;
      await a.store.accept([retrying], NOW);
      await a.store.settle([settlementOf(await a.claimOne(NOW), ERROR, NOW)], NOW);
      a.store.offer(NO_SLOTS);
      await a.store.accept([ready, delayed, head, waiting], NOW);
      const all = [ready, delayed, waiting, head, retrying];
      const ids = all.map(({ id }) => id);
      const { cancelled, requested, awaited } = await cancel(a, ids, NOW + 2);
      assert.deepEqual(cancelled.toSorted(), ids.toSorted());
      assert.deepEqual([requested, awaited], [[], []]);
      for (const each of all) {
        const stored = (await a.store.getMessage(ACCOUNT, each.id))!.message;
        assert.equal(stored.state, 'cancelled');
        assert.equal(stored.endedAt, NOW + 2);
        assert.equal(stored.failure, null);
      }
      assert.deepEqual(await a.claimDue(NOW + RETENTION), { claims: [], nextDueAt: null, nextScheduleAt: null });
    });

    test('ended, unknown and repeated ids are not cancelled again', async ({ a }) => {
      const [open, ended] = [message(), message({ dueAt: NOW - 1 })] as const;
      await a.store.accept([ended], NOW);
      await a.store.settle([settlementOf(await a.claimOne(NOW), OK, NOW)], NOW);
      a.store.offer(NO_SLOTS);
      await a.store.accept([open], NOW);
      const ids = [open.id, ended.id, 'msg_unknown', open.id];
      assert.deepEqual(await cancel(a, ids), { ...NOTHING, cancelled: [open.id] });
      assert.deepEqual(await cancel(a, ids), NOTHING);
      assert.equal(await a.stateOf(ended), 'delivered');
    });

    test('a foreign account can neither see nor cancel', async ({ a }) => {
      const mine = message();
      await a.store.accept([mine], NOW);
      assert.equal(await a.store.getMessage(OTHER_ACCOUNT, mine.id), null);
      assert.deepEqual(await a.store.cancel(OTHER_ACCOUNT, [mine.id], NOW, EXPIRES), NOTHING);
      assert.equal(await a.stateOf(mine), 'pending');
    });

    test('an unknown id returns null', async ({ a }) => {
      assert.equal(await a.store.getMessage(ACCOUNT, 'msg_unknown'), null);
    });
  });

  describe('cancel of what a node has claimed', () => {
    test.onTwo('it is requested, and keeps its claim and its place until the claim is settled', async ({ a, b }) => {
      const [head, next] = [queued(), queued()] as const;
      await a.store.accept([head, next], NOW);
      const claim = await a.claimOne(NOW);
      assert.deepEqual(await cancel(b, [head.id], NOW + 1), { ...NOTHING, requested: [head.id] });
      assert.deepEqual(await cancel(a, [head.id], NOW + 2), { ...NOTHING, awaited: [head.id] });
      const requested = (await b.store.getMessage(ACCOUNT, head.id))!.message;
      assert.deepEqual([requested.state, requested.cancelRequestedAt, requested.endedAt], ['claimed', NOW + 1, null]);
      assert.deepEqual(await b.claimedIds(NOW + 2), [], 'the next of its queue waits');
      assert.deepEqual([await a.store.cancelledClaims(), await b.store.cancelledClaims()], [[claim.lease], []]);
      assert.deepEqual(await a.store.settle([settlementOf(claim, OK, NOW + 3)], NOW + 3), ['cancelled']);
      const ended = (await b.store.getMessage(ACCOUNT, head.id))!;
      assert.deepEqual([ended.message.state, ended.message.endedAt], ['cancelled', NOW + 3]);
      assert.deepEqual(
        ended.attempts.map(({ number, status }) => [number, status]),
        [[1, 200]],
      );
      assert.deepEqual(await a.store.cancelledClaims(), []);
      assert.deepEqual(await b.claimedIds(NOW + 3), [next.id]);
    });

    test.onTwo('when it is given back it ends without an attempt, and the next message starts', async ({ a, b }) => {
      for (const line of [
        [queued(), queued()],
        [queued({ orderKey: 'k' }), queued({ orderKey: 'k' })],
        ['one', 'two'].map(() =>
          message({ flow: { key: 'f', limits: { parallelism: 1, rate: null, periodMs: SECOND } } }),
        ),
      ]) {
        const [head, next] = line;
        await a.store.accept(line, NOW);
        const claim = await a.claimOne(NOW);
        await cancel(b, [head!.id]);
        await a.store.release([claim.lease], NOW + 1);
        const { message: stored, attempts } = (await b.store.getMessage(ACCOUNT, head!.id))!;
        assert.deepEqual([stored.state, stored.endedAt, attempts.length], ['cancelled', NOW + 1, 0]);
        const [other] = await b.claims(NOW + 1);
        assert.equal(other?.message.id, next!.id);
        await b.store.settle([settlementOf(other!, OK, NOW + 1)], NOW + 1);
      }
    });

    test.onTwo(
      'when it is taken over from a dead node, its attempt is recorded and no other follows',
      async ({ a, b, letTimePass }) => {
        await a.store.heartbeat(a.name, 15_000);
        const [head, next] = [queued(), queued()] as const;
        await a.store.accept([head, next], NOW);
        const claim = await a.claimOne(NOW);
        await cancel(b, [head.id]);
        await letTimePass(15_001);
        assert.deepEqual(await b.store.confirmCancels(ACCOUNT, [head.id], 60_000), [], 'a dead node starts nothing');
        const [orphan] = await b.store.orphanedClaims(b.name);
        assert.equal(orphan!.lease, claim.lease);
        assert.deepEqual(await b.store.settle([settlementOf(orphan!, INTERRUPTED, NOW + 1)], NOW + 1), ['cancelled']);
        const { message: stored, attempts } = (await b.store.getMessage(ACCOUNT, head.id))!;
        assert.deepEqual([stored.state, attempts.map(({ outcome }) => outcome)], ['cancelled', ['interrupted']]);
        assert.deepEqual(await a.store.settle([settlementOf(claim, OK, NOW + 2)], NOW + 2), ['lost']);
        assert.deepEqual(await b.claimedIds(NOW + 2), [next.id]);
      },
    );

    test.onTwo(
      'a node that has lost its claim cannot end it: the node that has claimed it since does',
      async ({ a, b }) => {
        const one = message({ callback: callbackTo('https://back.example/') });
        await a.store.accept([one], NOW);
        const lost = await a.claimOne(NOW);
        await a.store.release([lost.lease], NOW);
        const claim = await b.claimOne(NOW);
        assert.deepEqual(await cancel(b, [one.id], NOW + 1), { ...NOTHING, requested: [one.id] });
        assert.deepEqual(await a.store.settle([settlementOf(lost, OK, NOW + 2)], NOW + 2), ['lost']);
        await a.store.release([lost.lease], NOW + 2);
        assert.equal(await b.stateOf(one), 'claimed');
        assert.deepEqual(await b.store.settle([settlementOf(claim, ERROR, NOW + 3)], NOW + 3), ['cancelled']);
        const { message: ended, attempts } = (await a.store.getMessage(ACCOUNT, one.id))!;
        assert.deepEqual(
          [ended.state, ended.endedAt, attempts.map(({ status }) => status)],
          ['cancelled', NOW + 3, [500]],
        );
      },
    );

    test('its events: requested, how the attempt went, cancelled', async ({ a }) => {
      const one = message();
      await a.store.accept([one], NOW);
      const claim = await a.claimOne(NOW);
      await cancel(a, [one.id], NOW + 1);
      const page = { limit: 9, cursor: null, order: 'oldestFirst', withBodies: false } as const;
      const told = async () => (await a.store.listEvents(ACCOUNT, { messages: {} }, page)).events;
      const states = async () => (await told()).map(({ state, at }) => [state, at - NOW]);
      const before = [
        ['CREATED', 0],
        ['ACTIVE', 0],
        ['CANCEL_REQUESTED', 1],
      ];
      assert.deepEqual(await states(), before);
      await a.store.settle([settlementOf(claim, ERROR, NOW + 5)], NOW + 5);
      assert.deepEqual(await states(), [...before, ['ERROR', 5], ['CANCELLED', 5]]);
    });

    test('its deduplication key is free at once, and its queue can be deleted', async ({ a }) => {
      const deduplication = { key: 'only', expiresAt: EXPIRES };
      const first = queued({ deduplication });
      await a.store.accept([first], NOW);
      const claim = await a.claimOne(NOW);
      await cancel(a, [first.id]);
      const again = message({ deduplication });
      assert.deepEqual((await a.store.accept([again], NOW)).duplicates, [null]);
      assert.equal(await a.store.deleteQueue(ACCOUNT, first.queueName!), 0);
      assert.equal(await a.store.getQueue(ACCOUNT, first.queueName!), null);
      const other = queued();
      await a.store.accept([other], NOW);
      assert.deepEqual((await a.claimedIds(NOW)).toSorted(), [again.id, other.id].toSorted());
      assert.deepEqual(await a.store.settle([settlementOf(claim, OK, NOW)], NOW), ['cancelled']);
    });

    test.onTwo(
      'the node that holds the claim must confirm; without its answer the cancel is not confirmed',
      async ({ a, b }) => {
        for (const node of [a, b]) await node.store.heartbeat(node.name, 60_000);
        const one = message();
        await a.store.accept([one], NOW);
        const claim = await a.claimOne(NOW);
        assert.deepEqual(await a.store.confirmCancels(ACCOUNT, [one.id], 0), [], 'nothing was asked for');
        await cancel(a, [one.id]);
        let looks = 0;
        a.store.onCancel(async () => {
          looks += 1;
        });
        assert.deepEqual(await a.store.confirmCancels(ACCOUNT, [one.id], 60_000), []);
        assert.equal(looks, 1);
        a.store.onCancel(() => Promise.reject(new Error('the store is away')));
        assert.deepEqual(await a.store.confirmCancels(ACCOUNT, [one.id], 60_000), [one.id]);
        await a.store.release([claim.lease], NOW);
        assert.deepEqual(await b.store.confirmCancels(ACCOUNT, [one.id], 0), []);
      },
    );

    test.onTwo(
      'when a cancel and a settlement race, one wins and both callers get the same result',
      async ({ a, b }) => {
        for (let round = 0; round < 10; round += 1) {
          const contested = message();
          await a.store.accept([contested], NOW);
          const claim = await a.claimOne(NOW);
          const [{ requested }, [result]] = await Promise.all([
            cancel(b, [contested.id]),
            a.store.settle([settlementOf(claim, OK, NOW)], NOW),
          ]);
          assert.equal(requested.length === 1, result === 'cancelled');
          assert.equal(await a.stateOf(contested), requested.length === 1 ? 'cancelled' : 'delivered');
        }
      },
    );

    test.onTwo('when a cancel and a release race, the message ends as cancelled', async ({ a, b }) => {
      for (let round = 0; round < 10; round += 1) {
        const contested = message();
        await a.store.accept([contested], NOW);
        const claim = await a.claimOne(NOW);
        await Promise.all([cancel(b, [contested.id]), a.store.release([claim.lease], NOW)]);
        assert.equal(await a.stateOf(contested), 'cancelled');
      }
    });
  });
}
