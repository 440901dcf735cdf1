// Numbers for people: where messages stand, what happened in a stretch of time, and what failed alike.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { type Activity, HOUR_MS, lagPercentile, MINUTE_MS, NO_ACTIVITY } from '../../src/rules/accounts/activity.ts';
import { countMatching, readOverview } from '../../src/store/ports/count-in-pieces.ts';
import {
  ACCOUNT,
  callbackTo,
  DRAINED,
  ERROR,
  message,
  messages,
  NOW,
  OK,
  OTHER_ACCOUNT,
  QUEUE,
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
    test('an account without messages has zero counts', async ({ a }) => {
      assert.deepEqual(await readOverview(a.store, ACCOUNT, NOW, MANY), {
        open: { waiting: 0, scheduled: 0, active: 0, retrying: 0, held: 0 },
        oldestDueAt: null,
        queues: [],
        failed: 0,
        retried: 0,
        cancelled: 0,
        all: 0,
        countedMax: MANY,
      });
      assert.deepEqual(await a.store.failureGroups(ACCOUNT, MANY), []);
      assert.deepEqual(await a.store.activity(ACCOUNT, 0, NOW + SECOND, MINUTE_MS), []);
      assert.equal(lagPercentile(NO_ACTIVITY, 0.5), null);
    });

    test('each message is counted by its state, in total and in its queue', async ({ a }) => {
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
      const standing = await readOverview(a.store, ACCOUNT, NOW + SECOND, MANY);
      assert.deepEqual(standing.open, { waiting: 1, scheduled: 1, active: 1, retrying: 0, held: 0 });
      assert.deepEqual(standing.queues, [
        { name: first.queueName, waiting: 1, scheduled: 0, active: 1, retrying: 0, held: 0, placesTaken: 1 },
      ]);
      assert.equal(standing.oldestDueAt, null, 'what waits for its turn is not late');
      assert.deepEqual([standing.all, standing.cancelled, standing.failed], [5, 1, 0]);
    });

    test('counting stops at its limit', async ({ a }) => {
      await a.store.accept(messages(7), NOW);
      const standing = await readOverview(a.store, ACCOUNT, NOW, 5);
      assert.deepEqual([standing.all, standing.open.waiting, standing.countedMax], [5, 5, 5]);
    });

    test.onTwo(
      'a message is late only if it could start: not while its queue or flow key holds it back',
      async ({ a, b }) => {
        const later = NOW + 60 * SECOND;
        const limits = { parallelism: 1, rate: null, periodMs: SECOND };
        const oldest = async () => (await readOverview(a.store, ACCOUNT, later, MANY)).oldestDueAt;
        await a.store.saveQueue(ACCOUNT, 'paused', { isPaused: true }, NOW);
        await a.store.accept([queued({ queueName: 'paused' })], NOW);
        assert.equal(await oldest(), null, 'its queue is paused');
        const [first, second] = messages(2, { flow: { key: 'k', limits } });
        await a.store.accept([first!, second!], NOW + SECOND);
        assert.equal(await oldest(), NOW + SECOND, 'the first is let through');
        const claim = await a.claimOne(NOW + 2 * SECOND);
        assert.equal(await oldest(), null, 'the second is behind the flow key');
        await a.store.settle([settlementOf(claim, OK, NOW + 3 * SECOND)], NOW + 3 * SECOND);
        assert.equal(await oldest(), NOW + 3 * SECOND, 'let through, it could start');
        await b.store.accept([message({ dueAt: NOW - SECOND })], NOW);
        assert.equal(await oldest(), NOW - SECOND, 'nothing of its own holds it back');
      },
    );

    const ofEach = ({ accepted, delivered, retried, failed, cancelled }: Activity) => ({
      accepted,
      delivered,
      retried,
      failed,
      cancelled,
    });
    const NONE = { accepted: 0, delivered: 0, retried: 0, failed: 0, cancelled: 0 };

    test.onTwo(
      'activity counts accepted, delivered, retried, failed and cancelled messages by minute',
      async ({ a, b }) => {
        const [good, again, bad, cutOff] = [message(), message(), message({ retriesMax: 0 }), message()];
        const back = callbackTo('https://back.example/');
        await a.store.accept([{ ...good, callback: back }, again, bad, cutOff], NOW);
        const outcomes = new Map([
          [good.id, OK],
          [again.id, ERROR],
          [bad.id, ERROR],
          [cutOff.id, DRAINED],
        ]);
        const claims = await a.claims(NOW);
        const at = NOW + 64 * SECOND;
        await a.store.settle(
          claims.map((claim) => settlementOf(claim, outcomes.get(claim.message.id)!, at)),
          at,
        );
        await b.store.cancel(ACCOUNT, [again.id], at, at + RETENTION);
        const buckets = await a.store.activity(ACCOUNT, NOW, at + 60 * SECOND, MINUTE_MS);
        assert.deepEqual(
          buckets.map((bucket) => [bucket.at, ofEach(bucket.activity)]),
          [
            [NOW, { ...NONE, accepted: 4 }],
            // The callback is accepted, too; what a drain cut off is no retry.
            [NOW + MINUTE_MS, { accepted: 1, delivered: 1, retried: 1, failed: 1, cancelled: 1 }],
          ],
        );
        const lag = lagPercentile(buckets[1]!.activity, 0.99)!;
        assert.ok(lag >= 64 * SECOND && lag < 93 * SECOND, `${lag}`);
        const [hour] = await a.store.activity(ACCOUNT, NOW, at + SECOND, HOUR_MS);
        assert.equal(hour!.activity.accepted, 5);
        assert.deepEqual(await a.store.activity(ACCOUNT, NOW + 2 * MINUTE_MS, NOW + HOUR_MS, MINUTE_MS), []);
        assert.deepEqual(await a.store.activity(OTHER_ACCOUNT, NOW, at + SECOND, MINUTE_MS), []);
      },
    );

    test('a cancelled message is counted once: waiting, claimed or cancelled twice', async ({ a }) => {
      const [claimed, waiting] = [message(), message({ dueAt: NOW + 60 * SECOND })];
      await a.store.accept([claimed, waiting], NOW);
      const cancelled = async () => {
        const buckets = await a.store.activity(ACCOUNT, NOW - HOUR_MS, NOW + HOUR_MS, HOUR_MS);
        return buckets.reduce((sum, { activity }) => sum + activity.cancelled, 0);
      };
      const claim = await a.claimOne(NOW);
      for (const at of [NOW, NOW + 1]) await a.store.cancel(ACCOUNT, [claimed.id], at, NOW + RETENTION);
      assert.equal(await cancelled(), 1);
      await a.store.settle([settlementOf(claim, OK, NOW + 2)], NOW + 2);
      assert.equal(await cancelled(), 1);
      await a.store.cancel(ACCOUNT, [claimed.id, waiting.id], NOW + 3, NOW + RETENTION);
      assert.equal(await cancelled(), 2);
    });

    test('how late a delivery was is counted from when its queue and its flow key let it start', async ({ a }) => {
      const limits = { parallelism: 1, rate: null, periodMs: SECOND };
      for (const line of [messages(2, { flow: { key: 'k', limits } }), [queued(), queued()]]) {
        await a.store.accept(line, NOW);
        for (const hour of [1, 2]) {
          const now = NOW + hour * HOUR_MS;
          await a.store.settle([settlementOf(await a.claimOne(now), OK, now)], now);
        }
      }
      const found = await a.store.activity(ACCOUNT, NOW, NOW + 3 * HOUR_MS, HOUR_MS);
      assert.deepEqual(
        found.map(({ at, activity }) => [(at - NOW) / HOUR_MS, activity.delivered]),
        [
          [0, 0],
          [1, 2],
          [2, 2],
        ],
      );
      // Each waited for an hour after the one before it had ended, not for two.
      for (const { activity } of found.slice(1)) assert.ok(lagPercentile(activity, 1)! < 1.5 * HOUR_MS);
    });

    test('a delivery that a resumed queue lets start is not late for the pause', async ({ a }) => {
      await a.store.accept([queued()], NOW);
      await a.store.saveQueue(ACCOUNT, QUEUE, { isPaused: true }, NOW);
      const now = NOW + HOUR_MS;
      await a.store.saveQueue(ACCOUNT, QUEUE, { isPaused: false }, now);
      await a.store.settle([settlementOf(await a.claimOne(now), OK, now + 4 * SECOND)], now + 4 * SECOND);
      const [{ activity } = { activity: NO_ACTIVITY }] = await a.store.activity(ACCOUNT, now, now + HOUR_MS, HOUR_MS);
      assert.ok(lagPercentile(activity, 1)! < 6 * SECOND);
    });

    test.onTwo('many at once, from several nodes, are all counted', async ({ a, b }) => {
      const each = 40;
      await Promise.all(
        [a, b].flatMap(({ store }) => Array.from({ length: each }, () => store.accept(messages(3), NOW))),
      );
      const [bucket] = await a.store.activity(ACCOUNT, NOW, NOW + SECOND, MINUTE_MS);
      assert.equal(bucket!.activity.accepted, 2 * each * 3);
    });

    test('old minutes become part of their hours, and old hours go, a few at a time', async ({ a }) => {
      for (const minute of [0, 1, 59, 60]) {
        const createdAt = NOW + minute * MINUTE_MS;
        await a.store.accept([message({ createdAt, dueAt: createdAt + RETENTION })], createdAt);
      }
      const keep = { minutesFrom: NOW + HOUR_MS, hoursFrom: 0 };
      const byHour = async () =>
        (await a.store.activity(ACCOUNT, NOW, NOW + 2 * HOUR_MS, HOUR_MS)).map(({ activity }) => activity.accepted);
      assert.equal(await a.store.foldActivity(keep, 2), 2);
      assert.deepEqual(await byHour(), [3, 1]);
      assert.equal(await a.store.foldActivity(keep, 2), 1);
      assert.equal(await a.store.foldActivity(keep, 2), 0);
      assert.deepEqual(await byHour(), [3, 1], 'nothing is counted twice, nothing is lost');
      const minutes = await a.store.activity(ACCOUNT, NOW, NOW + 2 * HOUR_MS, MINUTE_MS);
      assert.deepEqual(
        minutes.map(({ at }) => at),
        [NOW + HOUR_MS],
      );
      assert.equal(await a.store.foldActivity({ minutesFrom: NOW, hoursFrom: NOW + HOUR_MS }, 2), 1);
      assert.deepEqual(await byHour(), [1]);
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
      assert.equal((await countMatching(a.store, ACCOUNT, { failures: [failure], hosts: [host] }, 10)).count, 2);
      assert.deepEqual(await a.store.failureGroups(OTHER_ACCOUNT, MANY), []);
    });

    test('messages caused by a message are found by its id', async ({ a }) => {
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
