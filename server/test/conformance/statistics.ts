// Numbers for people: where messages stand, what happened in a stretch of time, and what failed alike.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { lagPercentile } from '../../src/domain/activity.ts';
import {
  ACCOUNT,
  ERROR,
  message,
  messages,
  NOW,
  OK,
  OTHER_ACCOUNT,
  queued,
  RETENTION,
  SECOND,
  settlementOf,
} from './given.ts';
import { type HarnessFactory, storeTests } from './harness.ts';

const MANY = 1000;

export function statisticsConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('numbers', () => {
    test('an account without messages stands at nothing', async ({ a }) => {
      assert.deepEqual(await a.store.standing(ACCOUNT, NOW, MANY), {
        open: { waiting: 0, scheduled: 0, active: 0, retrying: 0, held: 0 },
        oldestDueAt: null,
        queues: [],
        failed: 0,
        cancelled: 0,
        all: 0,
        countedMax: MANY,
      });
      assert.deepEqual(await a.store.failureGroups(ACCOUNT, MANY), []);
      const { activity, looked } = await a.store.activity(ACCOUNT, 0, NOW + SECOND, MANY);
      assert.equal(looked, 0);
      assert.equal(lagPercentile(activity, 0.5), null);
    });

    test('each message stands where it is, in all and in its queue', async ({ a }) => {
      const [first, second] = [queued(), queued()];
      const later = message({ dueAt: NOW + 60 * SECOND });
      const [cancelled, ended] = messages(2);
      await a.store.accept([first, second, later, cancelled!, ended!, message({ accountId: OTHER_ACCOUNT })], NOW);
      await a.store.cancel(ACCOUNT, [cancelled!.id], NOW, NOW + RETENTION);
      const claims = await a.claims(NOW);
      await a.store.settle(
        claims.filter(({ message: { id } }) => id === ended!.id).map((claim) => settlementOf(claim, OK, NOW)),
        NOW,
      );
      const standing = await a.store.standing(ACCOUNT, NOW + SECOND, MANY);
      assert.deepEqual(standing.open, { waiting: 1, scheduled: 1, active: 1, retrying: 0, held: 0 });
      assert.deepEqual(standing.queues, [
        { name: first.queueName, waiting: 1, scheduled: 0, active: 1, retrying: 0, held: 0, placesTaken: 1 },
      ]);
      assert.equal(standing.oldestDueAt, NOW);
      assert.deepEqual([standing.all, standing.cancelled, standing.failed], [5, 1, 0]);
    });

    test('counting stops at its limit', async ({ a }) => {
      await a.store.accept(messages(7), NOW);
      const standing = await a.store.standing(ACCOUNT, NOW, 5);
      assert.deepEqual([standing.all, standing.open.waiting, standing.countedMax], [5, 5, 5]);
    });

    test('activity counts what came, went, was tried again and was given up, within its time', async ({ a }) => {
      const [good, again, bad] = [message(), message(), message({ retriesMax: 0 })];
      await a.store.accept([good, again, bad], NOW);
      const outcomes = new Map([
        [good.id, OK],
        [again.id, ERROR],
        [bad.id, ERROR],
      ]);
      const claims = await a.claims(NOW);
      const at = NOW + 4 * SECOND;
      await a.store.settle(
        claims.map((claim) => settlementOf(claim, outcomes.get(claim.message.id)!, at)),
        at,
      );
      const counted = async (from: number, to: number) => {
        const { activity } = await a.store.activity(ACCOUNT, from, to, MANY);
        const { accepted, delivered, retried, failed, cancelled } = activity;
        return { accepted, delivered, retried, failed, cancelled };
      };
      const none = { accepted: 0, delivered: 0, retried: 0, failed: 0, cancelled: 0 };
      assert.deepEqual(await counted(NOW, NOW + SECOND), { ...none, accepted: 3 });
      assert.deepEqual(await counted(NOW + SECOND, at + SECOND), { ...none, delivered: 1, retried: 1, failed: 1 });
      assert.deepEqual(await counted(at + SECOND, at + 60 * SECOND), none);
      const { activity, looked } = await a.store.activity(ACCOUNT, NOW, at + SECOND, MANY);
      assert.equal(looked, 6);
      const lag = lagPercentile(activity, 0.99)!;
      assert.ok(lag >= 4 * SECOND && lag < 6 * SECOND, `${lag}`);
      assert.equal((await a.store.activity(ACCOUNT, NOW, at + SECOND, 2)).looked, 2);
      assert.equal((await a.store.activity(OTHER_ACCOUNT, NOW, at + SECOND, MANY)).looked, 0);
    });

    test('dead letters are grouped by host and reason, the largest group first', async ({ a }) => {
      const to = (host: string) => message({ url: `https://${host}/hook`, host: `${host}:443`, retriesMax: 0 });
      await a.store.accept([to('a.example'), to('b.example'), to('b.example')], NOW);
      await a.store.settle(
        (await a.claims(NOW)).map((claim) => settlementOf(claim, ERROR, NOW)),
        NOW,
      );
      const groups = await a.store.failureGroups(ACCOUNT, MANY);
      assert.deepEqual(
        groups.map(({ host, count, status }) => ({ host, count, status })),
        [
          { host: 'b.example:443', count: 2, status: 500 },
          { host: 'a.example:443', count: 1, status: 500 },
        ],
      );
      const { failure, host, firstAt, lastAt, sample } = groups[0]!;
      assert.deepEqual([firstAt, lastAt, sample.url], [NOW, NOW, 'https://b.example/hook']);
      // The group's words and host are a filter that means exactly it.
      assert.equal(await a.store.countMatching(ACCOUNT, { failures: [failure], hosts: [host] }, 10), 2);
      assert.deepEqual(await a.store.failureGroups(OTHER_ACCOUNT, MANY), []);
    });

    test('what a message led to is found by its source', async ({ a }) => {
      const source = message();
      const led = message({ sourceMessageId: source.id });
      await a.store.accept([source, led, message()], NOW);
      const page = { limit: 10, cursor: null, order: 'newestFirst', withBodies: false } as const;
      const found = await a.store.searchMessages(ACCOUNT, { sourceMessageIds: [source.id] }, page);
      assert.deepEqual(
        found.messages.map(({ id }) => id),
        [led.id],
      );
    });
  });
}
