// Acceptance: all or nothing, durable and readable at once, counted.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { countStates } from '../support/count-states.ts';
import { ACCOUNT, DAY, message, messages, NOW, OTHER_ACCOUNT, QUEUE, queued } from './given.ts';
import { type HarnessFactory, storeTests } from './harness.ts';

export function acceptConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('accept', () => {
    test.onTwo('a message can be read as soon as it is accepted, through every node', async ({ a, b }) => {
      const accepted = message({ dueAt: NOW + 500 });
      await a.store.accept([accepted], NOW);
      const expected = {
        message: {
          ...accepted,
          state: 'pending',
          firstDueAt: NOW + 500,
          retried: 0,
          interrupted: 0,
          aloneAtCrash: 0,
          heldAt: null,
          readyAt: null,
          attempts: 0,
          endedAt: null,
          claimedAt: null,
          failure: null,
          lastStatus: null,
        },
        attempts: [],
      };
      assert.deepEqual(await a.store.getMessage(ACCOUNT, accepted.id), expected);
      assert.deepEqual(await b.store.getMessage(ACCOUNT, accepted.id), expected);
    });

    test('an id that exists already fails the whole batch and changes nothing', async ({ a }) => {
      const existing = message();
      await a.store.accept([existing], NOW);
      const fresh = message();
      const freshInQueue = queued();
      await assert.rejects(a.store.accept([fresh, freshInQueue, { ...message(), id: existing.id }], NOW));
      assert.equal(await a.stateOf(fresh), null);
      assert.equal(await a.store.getQueue(ACCOUNT, QUEUE), null);
      assert.deepEqual((await a.store.usage(ACCOUNT, '2026-01-01', '2026-01-01')).entries, [
        { day: '2026-01-01', kind: 'publish', count: 1 },
      ]);
      assert.deepEqual(await a.claimedIds(NOW), [existing.id]);
    });

    test('the same id twice in one batch fails all of it', async ({ a }) => {
      const twin = message();
      const other = message();
      await assert.rejects(a.store.accept([other, twin, twin], NOW));
      assert.equal(await a.stateOf(other), null);
      assert.equal(await a.stateOf(twin), null);
      assert.deepEqual((await a.store.usage(ACCOUNT, '2026-01-01', '2026-01-01')).entries, []);
    });

    test('a batch that fails takes no other with it, even one accepted at the same moment', async ({ a }) => {
      const existing = message();
      await a.store.accept([existing], NOW);
      const before = messages(3);
      const after = messages(2);
      const results = await Promise.allSettled([
        a.store.accept(before, NOW),
        a.store.accept([message(), existing], NOW),
        a.store.accept(after, NOW),
      ]);
      assert.deepEqual(
        results.map((result) => result.status),
        ['fulfilled', 'rejected', 'fulfilled'],
      );
      const expected = [existing, ...before, ...after].map(({ id }) => id);
      assert.deepEqual(await a.claimedIds(NOW), expected);
      const [row] = (await a.store.usage(ACCOUNT, '2026-01-01', '2026-01-01')).entries;
      assert.equal(row?.count, 6);
    });

    test('an empty batch is accepted', async ({ a }) => {
      await a.store.accept([], NOW);
      assert.deepEqual(await countStates(a.store), {
        pending: 0,
        claimed: 0,
        held: 0,
        delivered: 0,
        failed: 0,
        cancelled: 0,
      });
    });

    test('a missing queue is created, and an existing one is not changed', async ({ a }) => {
      await a.store.saveQueue(ACCOUNT, 'mine', { parallelism: 7 }, NOW - 1);
      await a.store.accept([queued(), queued(), queued({ queueName: 'mine' })], NOW);
      assert.deepEqual((await a.store.listQueues(ACCOUNT)).entries, [
        {
          accountId: ACCOUNT,
          name: 'mine',
          parallelism: 7,
          isPaused: false,
          expiresMs: null,
          priority: null,
          outage: null,
          createdAt: NOW - 1,
          updatedAt: NOW - 1,
          lag: 1,
        },
        {
          accountId: ACCOUNT,
          name: QUEUE,
          parallelism: 1,
          isPaused: false,
          expiresMs: null,
          priority: null,
          outage: null,
          createdAt: NOW,
          updatedAt: NOW,
          lag: 2,
        },
      ]);
    });

    test('a batch may hold messages of several accounts, queues and times', async ({ a }) => {
      const batch = [
        message(),
        message({ accountId: OTHER_ACCOUNT }),
        queued(),
        queued({ accountId: OTHER_ACCOUNT, queueName: 'other' }),
        message({ dueAt: NOW + 1 }),
      ];
      await a.store.accept(batch, NOW);
      assert.equal((await a.claims(NOW)).length, 4);
      assert.deepEqual(await a.claimedIds(NOW + 1), [batch[4]!.id]);
    });
  });

  describe('usage', () => {
    test.onTwo('usage is counted per account, day and kind', async ({ a, b }) => {
      const lastMoment = NOW + DAY / 2 - 1; // NOW is at noon
      await a.store.accept([...messages(2), message({ kind: 'callback' })], NOW);
      await b.store.accept([message({ kind: 'failureCallback' }), message()], lastMoment);
      await a.store.accept(messages(4), lastMoment + 1);
      await a.store.accept([message({ accountId: OTHER_ACCOUNT })], NOW);
      const firstDay = [
        { day: '2026-01-01', kind: 'callback', count: 1 },
        { day: '2026-01-01', kind: 'failureCallback', count: 1 },
        { day: '2026-01-01', kind: 'publish', count: 3 },
      ];
      const secondDay = [{ day: '2026-01-02', kind: 'publish', count: 4 }];
      assert.deepEqual((await a.store.usage(ACCOUNT, '2026-01-01', '2026-01-02')).entries, [...firstDay, ...secondDay]);
      assert.deepEqual((await a.store.usage(ACCOUNT, '2026-01-01', '2026-01-01')).entries, firstDay);
      assert.deepEqual((await a.store.usage(ACCOUNT, '2026-01-02', '2026-12-31')).entries, secondDay);
      assert.deepEqual((await a.store.usage(OTHER_ACCOUNT, '2026-01-01', '2026-01-02')).entries, [
        { day: '2026-01-01', kind: 'publish', count: 1 },
      ]);
      assert.deepEqual((await a.store.usage('acc_nobody', '2026-01-01', '2026-01-02')).entries, []);
    });

    test('usage counts the day of acceptance, not the day a message becomes due', async ({ a }) => {
      await a.store.accept([message({ dueAt: NOW + 10 * DAY })], NOW);
      assert.deepEqual((await a.store.usage(ACCOUNT, '2026-01-01', '2026-12-31')).entries, [
        { day: '2026-01-01', kind: 'publish', count: 1 },
      ]);
    });
  });
}
