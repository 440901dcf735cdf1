// What is not accepted: a message whose deduplication key is taken, and all of a publish that is over the day's quota.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { NewMessage } from '../../src/rules/delivery/message.ts';
import { countStates } from '../support/count-states.ts';
import {
  ACCOUNT,
  callbackTo,
  DAY,
  ERROR,
  message,
  messages,
  NOW,
  OK,
  OTHER_ACCOUNT,
  queued,
  REFUSED,
  RETENTION,
  SECOND,
  settlementOf,
} from './given.ts';
import { type HarnessFactory, type Node, storeTests } from './harness.ts';

const WINDOW = 600 * SECOND;

function keyed(key: string, some: Partial<NewMessage> = {}, acceptedAt = NOW): NewMessage {
  return message({ dueAt: acceptedAt, deduplication: { key, expiresAt: acceptedAt + WINDOW }, ...some });
}

async function isAccepted(node: Node, one: NewMessage, now: number): Promise<boolean> {
  return (await node.store.accept([one], now)).duplicates[0] === null;
}

export function deduplicationConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);
  const usedToday = async (node: Node) =>
    (await node.store.usage(ACCOUNT, '2026-01-01', '2026-01-01')).entries.reduce((sum, { count }) => sum + count, 0);

  describe('deduplication', () => {
    test.onTwo('a duplicate returns the first message and stores nothing', async ({ a, b }) => {
      const [first, second] = [keyed('k'), keyed('k', { queueName: 'q', labels: ['x'] })] as const;
      assert.deepEqual(await a.store.accept([first], NOW), { duplicates: [null], isOverQuota: false });
      assert.deepEqual(await b.store.accept([second], NOW + 1), { duplicates: [first.id], isOverQuota: false });
      assert.equal(await a.store.getMessage(ACCOUNT, second.id), null);
      assert.equal(await a.store.getQueue(ACCOUNT, 'q'), null);
      assert.equal(await usedToday(a), 1);
      assert.deepEqual(await a.claimedIds(NOW + 1), [first.id]);
    });

    test('within one batch the first message of a key is accepted, and all messages without a key', async ({ a }) => {
      const batch = [keyed('k'), keyed('k'), message(), keyed('other')];
      const { duplicates } = await a.store.accept(batch, NOW);
      assert.deepEqual(duplicates, [null, batch[0]!.id, null, null]);
      assert.equal((await countStates(a.store)).pending, 3);
    });

    test('a key is free again when its time is over', async ({ a }) => {
      const first = keyed('k');
      await a.store.accept([first], NOW);
      assert.equal(await isAccepted(a, keyed('k'), NOW + WINDOW - 1), false);
      const later = keyed('k', {}, NOW + WINDOW);
      assert.equal(await isAccepted(a, later, NOW + WINDOW), true);
      assert.deepEqual((await a.store.accept([keyed('k')], NOW + WINDOW)).duplicates, [later.id]);
    });

    test('each account has its own keys', async ({ a }) => {
      await a.store.accept([keyed('k')], NOW);
      assert.equal(await isAccepted(a, keyed('k', { accountId: OTHER_ACCOUNT }), NOW), true);
    });

    test('a delivered message keeps its key; one that failed or was cancelled gives it up', async ({ a }) => {
      const ends = { delivered: OK, failed: REFUSED, retrying: ERROR };
      for (const [key, outcome] of Object.entries(ends)) {
        await a.store.accept([keyed(key)], NOW);
        await a.store.settle([settlementOf(await a.claimOne(NOW), outcome, NOW)], NOW);
      }
      const cancelled = keyed('cancelled');
      await a.store.accept([cancelled], NOW);
      await a.store.cancel(ACCOUNT, [cancelled.id], NOW, NOW + RETENTION);
      const free: Record<string, boolean> = {};
      for (const key of [...Object.keys(ends), 'cancelled']) free[key] = await isAccepted(a, keyed(key), NOW + 1);
      assert.deepEqual(free, { delivered: false, failed: true, retrying: false, cancelled: true });
    });

    test('a message that ends late does not give up a key that another has by now', async ({ a }) => {
      const [old, other] = [keyed('k', { dueAt: NOW + DAY }), keyed('j', { dueAt: NOW + DAY })];
      await a.store.accept([old!, other!], NOW);
      const successors = [
        keyed('k', { dueAt: NOW + 2 * DAY }, NOW + WINDOW),
        keyed('j', { dueAt: NOW + 2 * DAY }, NOW + WINDOW),
      ];
      await a.store.accept(
        successors.map((holder) => ({
          ...holder,
          deduplication: { key: holder.deduplication!.key, expiresAt: NOW + 9 * DAY },
        })),
        NOW + WINDOW,
      );
      await a.store.cancel(ACCOUNT, [other!.id], NOW + WINDOW, NOW + RETENTION);
      await a.store.settle([settlementOf(await a.claimOne(NOW + DAY), REFUSED, NOW + DAY)], NOW + DAY);
      const { duplicates } = await a.store.accept([keyed('k'), keyed('j')], NOW + DAY);
      assert.deepEqual(
        duplicates,
        successors.map(({ id }) => id),
      );
    });

    test.onTwo('when many nodes accept the same key at once, one succeeds', async ({ a, b, open }) => {
      const nodes = [a, b, await open('nod_c')];
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, index) => nodes[index % 3]!.store.accept([keyed('k')], NOW)),
      );
      assert.equal(answers.filter(({ duplicates }) => duplicates[0] === null).length, 1);
      assert.equal(new Set(answers.map(({ duplicates }) => duplicates[0])).size, 2);
      assert.deepEqual(await countStates(a.store), {
        pending: 1,
        claimed: 0,
        held: 0,
        delivered: 0,
        failed: 0,
        cancelled: 0,
      });
    });

    test('a duplicate of a queue’s message takes no place in the queue', async ({ a }) => {
      const first = queued({ deduplication: { key: 'k', expiresAt: NOW + WINDOW } });
      await a.store.accept([first], NOW);
      await a.store.accept([{ ...queued(), deduplication: first.deduplication }], NOW);
      assert.equal((await a.store.getQueue(ACCOUNT, first.queueName!))!.lag, 1);
    });

    test('expired keys are deleted, a bounded number in each call', async ({ a }) => {
      await a.store.accept(
        ['1', '2', '3'].map((key) => keyed(key)),
        NOW,
      );
      await a.store.accept([keyed('4', {}, NOW + 1)], NOW + 1);
      assert.equal(await a.store.deleteDeduplication(NOW + WINDOW - 1, 10), 0);
      assert.equal(await a.store.deleteDeduplication(NOW + WINDOW, 2), 2);
      assert.equal(await a.store.deleteDeduplication(NOW + WINDOW, 2), 1);
      assert.equal(await a.store.deleteDeduplication(NOW + WINDOW, 2), 0);
      assert.equal(await isAccepted(a, keyed('4'), NOW + WINDOW), false);
    });
  });

  describe('the quota of a day', () => {
    test('messages are accepted up to the exact quota; a batch over it is refused whole', async ({ a }) => {
      assert.equal((await a.store.accept(messages(2), NOW, 3)).isOverQuota, false);
      const refused = messages(2, { queueName: 'q' });
      assert.deepEqual(await a.store.accept(refused, NOW, 3), { duplicates: [], isOverQuota: true });
      assert.equal(await a.stateOf(refused[0]!), null);
      assert.equal(await a.store.getQueue(ACCOUNT, 'q'), null);
      assert.equal((await a.store.accept(messages(1), NOW, 3)).isOverQuota, false);
      assert.equal((await a.store.accept(messages(1), NOW, 3)).isOverQuota, true);
      assert.equal(await usedToday(a), 3);
    });

    test('each day and each account has its own count; without a quota there is no limit', async ({ a }) => {
      await a.store.accept(messages(3), NOW, 3);
      assert.equal((await a.store.accept(messages(1), NOW + DAY, 3)).isOverQuota, false);
      assert.equal((await a.store.accept(messages(3, { accountId: OTHER_ACCOUNT }), NOW, 3)).isOverQuota, false);
      assert.equal((await a.store.accept(messages(3), NOW)).isOverQuota, false);
      assert.equal((await a.store.accept(messages(3), NOW, null)).isOverQuota, false);
    });

    test('callbacks count, but are never refused', async ({ a }) => {
      await a.store.accept([message({ callback: callbackTo('https://back.example/') })], NOW, 1);
      assert.deepEqual(await a.store.settle([settlementOf(await a.claimOne(NOW), OK, NOW)], NOW), ['settled']);
      assert.equal(await usedToday(a), 2);
      assert.equal((await a.store.accept(messages(1), NOW, 2)).isOverQuota, true);
    });

    test('a duplicate uses no quota, and is answered when the quota is used up', async ({ a }) => {
      const first = keyed('k');
      await a.store.accept([first], NOW, 1);
      assert.deepEqual(await a.store.accept([keyed('k')], NOW, 1), { duplicates: [first.id], isOverQuota: false });
      assert.equal((await a.store.accept([keyed('k'), keyed('new')], NOW, 1)).isOverQuota, true);
      assert.equal((await a.store.accept([keyed('k'), keyed('new'), keyed('new')], NOW, 2)).isOverQuota, false);
      assert.equal(await usedToday(a), 2);
    });

    test.onTwo('concurrent publishes never exceed the quota', async ({ a, b }) => {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => (index % 2 ? a : b).store.accept(messages(1), NOW, 7)),
      );
      assert.equal(answers.filter(({ isOverQuota }) => !isOverQuota).length, 7);
    });
  });
}
