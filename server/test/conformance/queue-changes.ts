// Pausing, resuming and changing the parallelism of a queue while its messages are in every state.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { QueueChange } from '../../src/rules/lines/queue.ts';
import { ACCOUNT, ERROR, NOW, OK, OTHER_ACCOUNT, QUEUE, queued, RETENTION, SECOND, settlementOf } from './given.ts';
import { type HarnessFactory, idsOf, type Node, storeTests } from './harness.ts';

const LATER = NOW + 10 * SECOND;

export function queueChangesConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);
  const save = (node: Node, change: QueueChange, now = NOW) => node.store.saveQueue(ACCOUNT, QUEUE, change, now);

  describe('saveQueue', () => {
    test('creates a queue with the defaults, and changes only the given values', async ({ a }) => {
      const made = {
        accountId: ACCOUNT,
        name: QUEUE,
        parallelism: 1,
        isPaused: false,
        expiresMs: null,
        priority: null,
        outage: null,
        createdAt: NOW,
        updatedAt: NOW,
        lag: 0,
      };
      assert.deepEqual(await save(a, {}), made);
      assert.deepEqual(await save(a, { parallelism: 5 }, NOW + 1), { ...made, parallelism: 5, updatedAt: NOW + 1 });
      const paused = { ...made, parallelism: 5, isPaused: true, updatedAt: NOW + 2 };
      assert.deepEqual(await save(a, { isPaused: true }, NOW + 2), paused);
      assert.deepEqual(await a.store.getQueue(ACCOUNT, QUEUE), paused);
    });

    test('a queue of another account is not seen', async ({ a }) => {
      await save(a, {});
      assert.equal(await a.store.getQueue(OTHER_ACCOUNT, QUEUE), null);
      assert.deepEqual((await a.store.listQueues(OTHER_ACCOUNT)).entries, []);
      assert.equal(await a.store.getQueue(ACCOUNT, 'unknown'), null);
    });

    test('queues are listed by name', async ({ a }) => {
      for (const name of ['c', 'a', 'b']) await a.store.saveQueue(ACCOUNT, name, {}, NOW);
      assert.deepEqual(
        (await a.store.listQueues(ACCOUNT)).entries.map(({ name }) => name),
        ['a', 'b', 'c'],
      );
    });
  });

  describe('pause and resume', () => {
    test('a paused queue accepts and starts nothing; resumed, it starts in order', async ({ a }) => {
      await save(a, { isPaused: true });
      const [head, next] = [queued(), queued()] as const;
      await a.store.accept([head, next], NOW);
      assert.deepEqual(await a.claimDue(LATER), { claims: [], nextDueAt: null, nextScheduleAt: null });
      await save(a, { isPaused: false }, LATER);
      assert.deepEqual(await a.claimedIds(LATER), [head.id]);
    });

    test('a head that is ready waits through the pause and is still the head', async ({ a }) => {
      const [head, next] = [queued(), queued()] as const;
      await a.store.accept([head, next], NOW);
      await save(a, { isPaused: true });
      assert.deepEqual(await a.claimedIds(NOW), []);
      await save(a, { isPaused: false });
      assert.deepEqual(await a.claimedIds(NOW), [head.id]);
    });

    test('a head that waits for its retry does not start during the pause, nor before its time after it', async ({
      a,
    }) => {
      const [head, next] = [queued(), queued()] as const;
      await a.store.accept([head, next], NOW);
      await a.store.settle([settlementOf(await a.claimOne(NOW), ERROR, NOW)], NOW);
      await save(a, { isPaused: true });
      assert.deepEqual(await a.claimDue(NOW + SECOND), { claims: [], nextDueAt: null, nextScheduleAt: null });
      await save(a, { isPaused: false }, NOW + SECOND - 1);
      assert.deepEqual(await a.claimDue(NOW + SECOND - 1), {
        claims: [],
        nextDueAt: NOW + SECOND,
        nextScheduleAt: null,
      });
      assert.deepEqual(await a.claimedIds(NOW + SECOND), [head.id]);
    });

    test('an attempt under way may end during the pause; nothing follows until it is over', async ({ a }) => {
      const [head, next] = [queued(), queued()] as const;
      await a.store.accept([head, next], NOW);
      const claim = await a.claimOne(NOW);
      await save(a, { isPaused: true });
      assert.deepEqual(await a.store.settle([settlementOf(claim, OK, NOW)], NOW), ['settled']);
      assert.deepEqual(await a.claimDue(LATER), { claims: [], nextDueAt: null, nextScheduleAt: null });
      await save(a, { isPaused: false }, LATER);
      assert.deepEqual(await a.claimedIds(LATER), [next.id]);
    });

    test('an attempt that fails during the pause is repeated first after it, at its time', async ({ a }) => {
      const [head, next] = [queued(), queued()] as const;
      await a.store.accept([head, next], NOW);
      const claim = await a.claimOne(NOW);
      await save(a, { isPaused: true });
      await a.store.settle([settlementOf(claim, ERROR, NOW)], NOW);
      assert.deepEqual(await a.claimDue(LATER), { claims: [], nextDueAt: null, nextScheduleAt: null });
      await save(a, { isPaused: false }, NOW + 1);
      assert.deepEqual(await a.claimDue(NOW + 1), { claims: [], nextDueAt: NOW + SECOND, nextScheduleAt: null });
      assert.deepEqual(await a.claimedIds(NOW + SECOND), [head.id]);
    });

    test('a claim released during the pause waits for its end, and is the head again', async ({ a }) => {
      const [head, next] = [queued(), queued()] as const;
      await a.store.accept([head, next], NOW);
      const claim = await a.claimOne(NOW);
      await save(a, { isPaused: true });
      await a.store.release([claim.lease], NOW);
      assert.deepEqual(await a.claimDue(LATER), { claims: [], nextDueAt: null, nextScheduleAt: null });
      await save(a, { isPaused: false });
      assert.deepEqual(await a.claimedIds(NOW), [head.id]);
    });

    test('after a cancel of the head during the pause, no message starts until the pause is over', async ({ a }) => {
      const [head, next] = [queued(), queued()] as const;
      await a.store.accept([head, next], NOW);
      await save(a, { isPaused: true });
      await a.store.cancel(ACCOUNT, [head.id], NOW, NOW + RETENTION);
      assert.deepEqual(await a.claimedIds(NOW), []);
      await save(a, { isPaused: false });
      assert.deepEqual(await a.claimedIds(NOW), [next.id]);
    });

    test('pausing twice and resuming twice change nothing more', async ({ a }) => {
      const [head, next] = [queued(), queued()] as const;
      await a.store.accept([head, next], NOW);
      await save(a, { isPaused: true });
      await save(a, { isPaused: true });
      await save(a, { isPaused: false });
      await save(a, { isPaused: false });
      assert.deepEqual(await a.claimedIds(NOW), [head.id]);
      await save(a, { isPaused: false });
      assert.deepEqual(await a.claimedIds(NOW), []);
    });

    test('a delayed message that becomes due during the pause starts when it is over', async ({ a }) => {
      const delayed = queued({ dueAt: NOW + 5 });
      await a.store.accept([delayed], NOW);
      await save(a, { isPaused: true });
      assert.deepEqual(await a.claimedIds(NOW + 5), []);
      await save(a, { isPaused: false }, NOW + 6);
      assert.deepEqual(await a.claimedIds(NOW + 6), [delayed.id]);
    });
  });

  describe('parallelism', () => {
    test('N heads at once, in order, and one more for each that ends', async ({ a }) => {
      await save(a, { parallelism: 3 });
      const line = Array.from({ length: 6 }, () => queued());
      await a.store.accept(line, NOW);
      const claims = await a.claims(NOW);
      assert.deepEqual(
        idsOf(claims),
        line.slice(0, 3).map(({ id }) => id),
      );
      await a.store.settle([settlementOf(claims[1]!, OK, NOW)], NOW);
      assert.deepEqual(await a.claimedIds(NOW), [line[3]!.id]);
      assert.deepEqual(await a.claimedIds(NOW), []);
    });

    test('a retrying head keeps its place among the N', async ({ a }) => {
      await save(a, { parallelism: 2 });
      const line = Array.from({ length: 4 }, () => queued());
      await a.store.accept(line, NOW);
      const [first, second] = await a.claims(NOW);
      await a.store.settle([settlementOf(first!, ERROR, NOW)], NOW);
      assert.deepEqual(await a.claimedIds(NOW), []);
      await a.store.settle([settlementOf(second!, OK, NOW)], NOW);
      assert.deepEqual(await a.claimedIds(NOW), [line[2]!.id]);
      assert.deepEqual(await a.claimedIds(NOW + SECOND), [line[0]!.id]);
    });

    test('raised, more heads start with the next claim', async ({ a }) => {
      const line = Array.from({ length: 5 }, () => queued());
      await a.store.accept(line, NOW);
      assert.deepEqual(await a.claimedIds(NOW), [line[0]!.id]);
      await save(a, { parallelism: 3 });
      assert.deepEqual(await a.claimedIds(NOW), [line[1]!.id, line[2]!.id]);
    });

    test('lowered, running attempts end and no new one starts until there is a place', async ({ a }) => {
      await save(a, { parallelism: 3 });
      const line = Array.from({ length: 5 }, () => queued());
      await a.store.accept(line, NOW);
      const claims = await a.claims(NOW);
      await save(a, { parallelism: 1 });
      await a.store.settle([settlementOf(claims[0]!, OK, NOW), settlementOf(claims[1]!, OK, NOW)], NOW);
      assert.deepEqual(await a.claimedIds(NOW), []);
      await a.store.settle([settlementOf(claims[2]!, OK, NOW)], NOW);
      assert.deepEqual(await a.claimedIds(NOW), [line[3]!.id]);
    });

    test('lowered before the heads were claimed, it holds with the next claim', async ({ a }) => {
      await save(a, { parallelism: 3 });
      const line = Array.from({ length: 4 }, () => queued());
      await a.store.accept(line, NOW);
      await save(a, { parallelism: 1 });
      for (const expected of line) {
        const claim = await a.claimOne(NOW);
        assert.equal(claim.message.id, expected.id);
        await a.store.settle([settlementOf(claim, OK, NOW)], NOW);
      }
    });

    test('lowered while several heads wait for their retry, they are repeated one at a time, in order', async ({
      a,
    }) => {
      await save(a, { parallelism: 3 });
      const line = Array.from({ length: 4 }, () => queued());
      await a.store.accept(line, NOW);
      const claims = await a.claims(NOW);
      await a.store.settle(
        claims.map((claim) => settlementOf(claim, ERROR, NOW)),
        NOW,
      );
      await save(a, { parallelism: 1 });
      for (const expected of line) {
        const claim = await a.claimOne(LATER);
        assert.equal(claim.message.id, expected.id);
        await a.store.settle([settlementOf(claim, OK, LATER)], LATER);
      }
    });

    test('lowered while several are under way, those that fail are repeated one at a time, in order', async ({ a }) => {
      await save(a, { parallelism: 3 });
      const line = Array.from({ length: 3 }, () => queued());
      await a.store.accept(line, NOW);
      const claims = await a.claims(NOW);
      await save(a, { parallelism: 1 });
      for (const claim of claims) await a.store.settle([settlementOf(claim, ERROR, NOW)], NOW);
      const served: string[] = [];
      for (let turn = 0; turn < 3; turn += 1) {
        const claim = await a.claimOne(LATER);
        served.push(claim.message.id);
        await a.store.settle([settlementOf(claim, OK, LATER)], LATER);
      }
      assert.deepEqual(
        served,
        line.map(({ id }) => id),
      );
    });

    test('lowered while a later head is under way, the earlier one goes first when that attempt has failed', async ({
      a,
    }) => {
      await save(a, { parallelism: 2 });
      const line = Array.from({ length: 3 }, () => queued());
      await a.store.accept(line, NOW);
      const [first, second] = await a.claims(NOW);
      await a.store.settle([settlementOf(first!, ERROR, NOW)], NOW);
      await save(a, { parallelism: 1 });
      assert.deepEqual(await a.claimedIds(LATER), [], 'the second is still under way');
      await a.store.settle([settlementOf(second!, ERROR, LATER)], LATER);
      const later = LATER + 100 * SECOND;
      for (const expected of line) {
        const claim = await a.claimOne(later);
        assert.equal(claim.message.id, expected.id);
        await a.store.settle([settlementOf(claim, OK, later)], later);
      }
    });

    test('lowered while the first waits for its retry and the second has not started, the first keeps its place', async ({
      a,
    }) => {
      await save(a, { parallelism: 2 });
      const line = Array.from({ length: 3 }, () => queued());
      await a.store.accept(line, NOW);
      const [first] = await a.claims(NOW, { slots: 1 });
      assert.equal(first!.message.id, line[0]!.id);
      await a.store.settle([settlementOf(first!, ERROR, NOW)], NOW);
      await save(a, { parallelism: 1 });
      assert.deepEqual(await a.claimedIds(NOW), [], 'the only place is that of the first');
      for (const expected of line) {
        const claim = await a.claimOne(LATER);
        assert.equal(claim.message.id, expected.id);
        await a.store.settle([settlementOf(claim, OK, LATER)], LATER);
      }
    });

    test.onTwo('lowered, those given back by a node that stops are started one at a time', async ({ a, b }) => {
      await save(a, { parallelism: 3 });
      const line = Array.from({ length: 3 }, () => queued());
      await a.store.accept(line, NOW);
      const claims = await a.claims(NOW);
      await save(a, { parallelism: 1 });
      await a.store.release(
        claims.map(({ lease }) => lease),
        NOW,
      );
      assert.deepEqual(await b.claimedIds(NOW), [line[0]!.id]);
    });

    test('a retry keeps its time when its place was taken away and given back', async ({ a }) => {
      await save(a, { parallelism: 2 });
      const line = [queued(), queued()];
      await a.store.accept(line, NOW);
      const claims = await a.claims(NOW);
      await a.store.settle(
        claims.map((claim) => settlementOf(claim, ERROR, NOW)),
        NOW,
      );
      await save(a, { parallelism: 1 });
      await save(a, { parallelism: 2 });
      assert.deepEqual(await a.claimDue(NOW + SECOND - 1), {
        claims: [],
        nextDueAt: NOW + SECOND,
        nextScheduleAt: null,
      });
      assert.equal((await a.claims(NOW + SECOND)).length, 2);
    });

    test('changed during a pause, it holds after it', async ({ a }) => {
      const line = Array.from({ length: 4 }, () => queued());
      await a.store.accept(line, NOW);
      await save(a, { isPaused: true });
      await save(a, { parallelism: 3 });
      assert.deepEqual(await a.claimedIds(NOW), []);
      await save(a, { isPaused: false });
      assert.deepEqual(
        await a.claimedIds(NOW),
        line.slice(0, 3).map(({ id }) => id),
      );
      assert.equal((await a.store.getQueue(ACCOUNT, QUEUE))!.lag, 4);
    });
  });
}
