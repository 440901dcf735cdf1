// Retention: what has ended is deleted after its time, a bounded number at a call, and nothing else ever is.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { firstKeptDay, usageDay } from '../../src/rules/accounts/account.ts';
import { eachMax } from '../../src/rules/limits/budgets.ts';
import { countMatching } from '../../src/store/ports/count-in-pieces.ts';
import { WALK_START } from '../../src/store/ports/upkeep-store.ts';
import { countStates } from '../support/count-states.ts';
import {
  ACCOUNT,
  DAY,
  ERROR,
  KEYS,
  message,
  messages,
  NOW,
  OK,
  OTHER_ACCOUNT,
  REFUSED,
  RETENTION,
  settlementOf,
} from './given.ts';
import { type HarnessFactory, storeTests } from './harness.ts';
import { job } from './jobs.ts';

export function retentionConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('what nobody uses', () => {
    test('a flow key goes when its last message is gone, unless a person has set it', async ({ a }) => {
      const flow = (key: string) => ({ flow: { key, limits: { parallelism: 1, rate: 5, periodMs: 1000 } } });
      await a.store.accept([message(flow('idle')), message(flow('pinned')), message(flow('paused'))], NOW);
      const open = message({ ...flow('open'), dueAt: NOW + 100 * DAY });
      await a.store.accept([open], NOW);
      const claims = await a.claims(NOW);
      await a.store.settle(
        claims.map((claim) => settlementOf(claim, OK, NOW)),
        NOW,
      );
      await a.store.pinFlowKey(ACCOUNT, 'pinned', { parallelism: 7, rate: 'keep' }, NOW);
      await a.store.pauseFlowKey(ACCOUNT, 'paused', true, NOW);
      const later = NOW + RETENTION + DAY;
      assert.deepEqual(await a.store.deleteIdleFlowKeys(later, WALK_START, 10), { deleted: 0, after: null });
      await a.store.deleteExpired(later, 10);
      const first = await a.store.deleteIdleFlowKeys(later, WALK_START, 1);
      assert.deepEqual(first, { deleted: 1, after: [ACCOUNT, 'idle'] });
      assert.deepEqual(await a.store.deleteIdleFlowKeys(later, first.after!, 10), { deleted: 0, after: null });
      const { entries } = await a.store.listFlowKeys(ACCOUNT);
      assert.deepEqual(
        entries.map(({ key }) => key),
        ['open', 'paused', 'pinned'],
      );
      // It comes back with its next message.
      const again = message({ ...flow('idle'), createdAt: later, dueAt: later });
      await a.store.accept([again], later);
      assert.equal((await a.claims(later)).length, 1);
    });

    test('a queue that a message made goes when its last message is gone; one that a person made stays', async ({
      a,
    }) => {
      const { store } = a;
      const names = ['idle', 'open', 'paused', 'set'];
      const messages = names.map((queueName) => message({ queueName }));
      await store.accept(messages, NOW);
      await store.saveQueue(ACCOUNT, 'set', {}, NOW);
      await store.saveQueue(ACCOUNT, 'paused', { isPaused: true }, NOW);
      await store.saveQueue(ACCOUNT, 'made', { parallelism: 1 }, NOW);
      const ended = messages.filter(({ queueName }) => queueName !== 'open').map(({ id }) => id);
      await store.cancel(ACCOUNT, ended, NOW, NOW + RETENTION);
      const later = NOW + RETENTION + DAY;
      assert.deepEqual(await store.deleteIdleQueues(later, WALK_START, 10), { deleted: 0, after: null });
      await store.deleteExpired(later, 10);
      assert.deepEqual(await store.deleteIdleQueues(NOW + DAY - 1, WALK_START, 10), { deleted: 0, after: null });
      const first = await store.deleteIdleQueues(later, WALK_START, 1);
      assert.deepEqual(first, { deleted: 1, after: [ACCOUNT, 'idle'] });
      assert.deepEqual(await store.deleteIdleQueues(later, first.after!, 10), { deleted: 0, after: null });
      const { entries } = await store.listQueues(ACCOUNT);
      assert.deepEqual(
        entries.map(({ name }) => name),
        ['made', 'open', 'paused', 'set'],
      );
      // It comes back with its next message.
      const again = message({ queueName: 'idle', createdAt: later, dueAt: later });
      await store.accept([again], later);
      const claims = await a.claims(later);
      assert.ok(claims.some((claim) => claim.message.id === again.id));
    });

    test('usage is kept for 400 days, and deleted in parts of the accounts', async ({ a }) => {
      const { store } = a;
      for (const accountId of [ACCOUNT, OTHER_ACCOUNT]) {
        for (const day of [0, 1, 2]) {
          await store.accept([message({ accountId, createdAt: NOW + day * DAY })], NOW + day * DAY);
        }
      }
      const days = async (accountId: string) =>
        (await store.usage(accountId, '2000-01-01', '2100-01-01')).entries.length;
      const before = firstKeptDay(NOW + 402 * DAY);
      assert.equal(before, usageDay(NOW + 2 * DAY));
      assert.equal(await store.deleteUsage(before, { after: '', accounts: 1, rows: 10 }), 2);
      assert.deepEqual([await days(ACCOUNT), await days(OTHER_ACCOUNT)], [1, 3]);
      const rest = { after: ACCOUNT, accounts: 10, rows: 1 };
      assert.deepEqual([await store.deleteUsage(before, rest), await store.deleteUsage(before, rest)], [1, 1]);
      assert.equal(await store.deleteUsage(before, { after: '', accounts: 10, rows: 10 }), 0);
      assert.deepEqual([await days(ACCOUNT), await days(OTHER_ACCOUNT)], [1, 1]);
    });

    test('a bulk operation that has ended is listed for a week, a running one for ever', async ({ a }) => {
      const [old, young, running] = [job({ id: 'job_1' }), job({ id: 'job_2' }), job({ id: 'job_3' })];
      for (const each of [old, young, running]) await a.store.createJob(each);
      await a.store.stopJob(ACCOUNT, old.id, NOW);
      await a.store.stopJob(ACCOUNT, young.id, NOW + DAY);
      const later = NOW + 7 * DAY;
      assert.deepEqual(await a.store.deleteOldJobs(later, WALK_START, 10), { deleted: 1, after: null });
      const { entries } = await a.store.listJobs(ACCOUNT);
      assert.deepEqual(entries.map(({ id }) => id).toSorted(), [young.id, running.id]);
    });
  });

  describe('deleteExpired', () => {
    test('an account with much to delete does not keep others waiting', async ({ a }) => {
      const { store } = a;
      const [much, few, limit] = [300, 10, 20];
      const end = async (accountId: string, count: number, at: number) => {
        const ended = messages(count, { accountId });
        await store.accept(ended, NOW);
        const ids = ended.map(({ id }) => id);
        await store.cancel(accountId, ids, NOW, at);
        return ids;
      };
      const hostile = await end(ACCOUNT, much, NOW + 1);
      const waiting = Array.from({ length: 3 }, (_, n) => `acc_${n + 5}`);
      for (const id of [...waiting]) await store.createAccount({ id, name: id, tier: 'free', createdAt: NOW }, KEYS);
      const others = new Map<string, string[]>();
      for (const id of waiting) {
        // What has not expired is passed over.
        await store.accept(messages(30, { accountId: id, dueAt: NOW + 100 * DAY }), NOW);
        others.set(id, await end(id, few, NOW + 2));
      }
      const left = async (accountId: string, ids: readonly string[]) =>
        (await store.messageStates(accountId, ids)).length;
      // Each looks at 40 of its messages, 20 in a turn; half of a piece is for turns.
      const pieces = (waiting.length * few) / (limit / 2) + waiting.length * 2;
      for (let piece = 0; piece < pieces; piece += 1) assert.equal(await store.deleteExpired(NOW + 5, limit), limit);
      for (const [id, ids] of others) assert.equal(await left(id, ids), 0, `of ${id}`);
      assert.ok((await left(ACCOUNT, hostile)) >= much - pieces * limit);
      assert.ok((await left(ACCOUNT, hostile)) <= much - (pieces * limit) / 2, 'the oldest go on being deleted');
      while ((await store.deleteExpired(NOW + 5, limit)) > 0);
      assert.equal(await left(ACCOUNT, hostile), 0);
      for (const id of waiting) assert.equal((await countStates(store, [id])).pending, 30);
    });

    test('deletes only ended messages whose retention is over, with their attempts', async ({ a }) => {
      const [delivered, failed, cancelled, open, waiting] = messages(5) as [
        ReturnType<typeof message>,
        ReturnType<typeof message>,
        ReturnType<typeof message>,
        ReturnType<typeof message>,
        ReturnType<typeof message>,
      ];
      await a.store.accept([delivered, failed, cancelled, open, waiting], NOW);
      const outcomes = new Map([
        [delivered.id, OK],
        [failed.id, REFUSED],
        [waiting.id, ERROR],
      ]);
      const all = await a.claims(NOW);
      const claims = all.filter((claim) => outcomes.has(claim.message.id));
      await a.store.settle(
        claims.map((claim) => settlementOf(claim, outcomes.get(claim.message.id)!, NOW)),
        NOW,
      );
      await a.store.cancel(ACCOUNT, [cancelled.id], NOW, NOW + RETENTION + 1);
      // It is kept for as long as was said when it was cancelled, whenever its attempt ends.
      const underWay = all.find((claim) => claim.message.id === cancelled.id)!;
      await a.store.settle([settlementOf(underWay, OK, NOW + 5)], NOW + 5);

      assert.equal(await a.store.deleteExpired(NOW + RETENTION - 1, 10), 0);
      assert.equal(await a.store.deleteExpired(NOW + RETENTION, 10), 2);
      assert.equal(await a.stateOf(delivered), null);
      assert.equal(await a.stateOf(failed), null);
      assert.equal(await a.stateOf(cancelled), 'cancelled');
      assert.equal(await a.store.deleteExpired(NOW + RETENTION + 1, 10), 1);
      assert.equal(await a.store.deleteExpired(NOW + 1000 * DAY, 10), 0);
      assert.equal(await a.stateOf(open), 'claimed');
      assert.equal(await a.stateOf(waiting), 'pending');
      assert.equal((await a.store.getMessage(ACCOUNT, waiting.id))!.attempts.length, 1);
    });

    test('deletes no more than the limit, those that expired first', async ({ a }) => {
      const ended = messages(5);
      await a.store.accept(ended, NOW);
      for (const [index, { id }] of ended.entries()) {
        await a.store.cancel(ACCOUNT, [id], NOW, NOW + 50 - index * 10);
      }
      assert.equal(await a.store.deleteExpired(NOW + 100, 2), 2);
      const states = await Promise.all(ended.map((each) => a.stateOf(each)));
      assert.deepEqual(states, ['cancelled', 'cancelled', 'cancelled', null, null]);
      assert.equal(await a.store.deleteExpired(NOW + 100, 2), 2);
      assert.equal(await a.store.deleteExpired(NOW + 100, 2), 1);
      assert.equal(await a.store.deleteExpired(NOW + 100, 2), 0);
    });

    test('deletes fewer where their bodies are large, and one at least', async ({ a }) => {
      const bytes = eachMax('upkeepBytes');
      for (const share of [0.5, 0.5, 0.5, 1.5]) {
        const large = message({ body: new Uint8Array(share * bytes) });
        await a.store.accept([large], NOW);
        await a.store.cancel(ACCOUNT, [large.id], NOW, NOW + RETENTION);
      }
      const deleted: number[] = [];
      for (let go = 0; go < 4; go += 1) deleted.push(await a.store.deleteExpired(NOW + RETENTION, 10));
      assert.deepEqual(deleted, [2, 1, 1, 0]);
    });

    test.onTwo('an id can be used again after its message is gone, without its old attempts', async ({ a, b }) => {
      const first = message();
      await a.store.accept([first], NOW);
      await a.store.settle([settlementOf(await a.claimOne(NOW), OK, NOW)], NOW);
      await a.store.deleteExpired(NOW + RETENTION, 10);
      await b.store.accept([first], NOW + RETENTION);
      const stored = (await a.store.getMessage(ACCOUNT, first.id))!;
      assert.equal(stored.message.state, 'pending');
      assert.deepEqual(stored.attempts, []);
    });

    test('labels and events go with their message', async ({ a }) => {
      const [gone, kept] = [message({ labels: ['x', 'y', 'x'] }), message({ labels: ['x'] })] as const;
      await a.store.accept([gone, kept], NOW);
      await a.store.cancel(ACCOUNT, [gone.id], NOW, NOW + 1);
      await a.store.deleteExpired(NOW + 1, 10);
      const page = { limit: 10, cursor: null, order: 'oldestFirst', withBodies: false } as const;
      const found = await a.store.searchMessages(ACCOUNT, { labels: ['x', 'y'] }, page);
      assert.deepEqual(
        found.messages.map(({ id }) => id),
        [kept.id],
      );
      // Whoever comes next has nothing of it.
      await a.store.accept([message()], NOW + 1);
      assert.equal((await countMatching(a.store, ACCOUNT, { labels: ['x', 'y'] }, 10)).count, 1);
      const { events } = await a.store.listEvents(ACCOUNT, { messages: {} }, page);
      assert.deepEqual(
        events.map(({ state }) => state),
        ['CREATED', 'CREATED'],
      );
    });

    test('usage outlives the messages it counted', async ({ a }) => {
      const brief = message();
      await a.store.accept([brief], NOW);
      await a.store.cancel(ACCOUNT, [brief.id], NOW, NOW);
      await a.store.deleteExpired(NOW, 10);
      assert.equal((await a.store.usage(ACCOUNT, '2026-01-01', '2026-01-01')).entries[0]?.count, 1);
    });
  });

  describe('counts', () => {
    test('every message is counted once, by its state', async ({ a }) => {
      await a.store.accept([...messages(4), message({ dueAt: NOW + 1 }), message({ queueName: 'q' })], NOW);
      const claims = await a.claims(NOW, { slots: 3 });
      await a.store.settle([settlementOf(claims[0]!, OK, NOW), settlementOf(claims[1]!, REFUSED, NOW)], NOW);
      await a.store.cancel(ACCOUNT, [claims[2]!.message.id], NOW, NOW + RETENTION);
      await a.store.release([claims[2]!.lease], NOW);
      await a.claims(NOW, { slots: 1 });
      assert.deepEqual(await countStates(a.store), {
        pending: 2,
        claimed: 1,
        held: 0,
        delivered: 1,
        failed: 1,
        cancelled: 1,
      });
    });
  });
}
