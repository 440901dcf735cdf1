// What an account stores is counted with everything that changes it: messages, attempts, callbacks, shared bodies, and
// all ways in which a message goes away.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { NewMessage } from '../../src/rules/delivery/message.ts';
import { accountMax } from '../../src/rules/limits/budgets.ts';
import {
  bytesOfAll,
  bytesOfAttempt,
  bytesOfJob,
  bytesOfLine,
  bytesOfSchedule,
  bytesOfTopic,
} from '../../src/rules/limits/stored-bytes.ts';
import { WALK_START } from '../../src/store/ports/upkeep-store.ts';
import { SHARED_BODY_BYTES_MIN } from '../../src/store/shared/shared-bodies.ts';
import {
  ACCOUNT,
  callbackTo,
  DAY,
  KEYS,
  message,
  NOW,
  OK,
  OTHER_ACCOUNT,
  REFUSED,
  RETENTION,
  settlementOf,
} from './given.ts';
import { type HarnessFactory, type Node, storeTests } from './harness.ts';
import { job } from './jobs.ts';
import { schedule } from './schedules.ts';
import { topic } from './topics.ts';

const LARGE = 2 * SHARED_BODY_BYTES_MIN;

function body(length: number): Uint8Array {
  return new Uint8Array(length).fill(97);
}

async function end(node: Node, outcome: typeof OK, now = NOW): Promise<number> {
  const claims = await node.claims(now);
  const settlements = claims.map((claim) => settlementOf(claim, outcome, now));
  await node.store.settle(settlements, now);
  const followUps = settlements.flatMap((each) => each.followUps);
  const attempts = settlements.reduce((sum, { attempt }) => sum + bytesOfAttempt(attempt), 0);
  return attempts + (followUps.length === 0 ? 0 : bytesOfAll(followUps));
}

export function storedConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('stored bytes', () => {
    test.onTwo(
      'every message counts with its body, headers, callbacks and labels until it is deleted',
      async ({ a, b }) => {
        const mine = message({
          body: body(5000),
          headers: [['X-Long', 'v'.repeat(300)]],
          callback: callbackTo('https://c.example/'),
          labels: ['one', 'two'],
        });
        await a.store.accept([mine], NOW);
        await b.store.accept([message({ accountId: OTHER_ACCOUNT, body: body(10) })], NOW);
        let expected = bytesOfAll([mine]);
        assert.ok(expected > 5000 + 300);
        assert.equal(await b.store.storedBytes(ACCOUNT), expected);
        // The attempts of both accounts, and the callback of one.
        const other = await b.store.storedBytes(OTHER_ACCOUNT);
        const added = await end(a, OK);
        const now = (await a.store.storedBytes(ACCOUNT)) + (await a.store.storedBytes(OTHER_ACCOUNT));
        assert.equal(now, expected + other + added);
        expected = await a.store.storedBytes(ACCOUNT);
        await end(a, OK, NOW + 1);
        assert.ok((await a.store.storedBytes(ACCOUNT)) > expected, 'the attempt of the callback');
        await a.store.deleteExpired(NOW + RETENTION + 10, 100);
        assert.equal(await b.store.storedBytes(ACCOUNT), 0);
        assert.equal(await b.store.storedBytes(OTHER_ACCOUNT), 0);
      },
    );

    test('a shared body counts once, and until the last of its messages is gone', async ({ a }) => {
      const shared = body(LARGE);
      const many = Array.from({ length: 4 }, (_, n) =>
        message({ body: shared, host: `h${n}.example:443`, retriesMax: 0 }),
      );
      await a.store.accept(many, NOW);
      const all = bytesOfAll(many);
      assert.ok(all < 4 * LARGE + 4 * 1024);
      assert.equal(await a.store.storedBytes(ACCOUNT), all);
      const attempts = await end(a, REFUSED);
      const [first, ...others] = many as [NewMessage, ...NewMessage[]];
      await a.store.deleteDeadLetters(ACCOUNT, [first.id]);
      const left = (all - LARGE + attempts) * (3 / 4) + LARGE;
      assert.equal(await a.store.storedBytes(ACCOUNT), left);
      await a.store.deleteDeadLetters(
        ACCOUNT,
        others.map(({ id }) => id),
      );
      assert.equal(await a.store.storedBytes(ACCOUNT), 0);
    });

    test('a dead letter that is retried counts beside its new message, and a bulk delete frees it', async ({ a }) => {
      const dead = message({ body: body(100), retriesMax: 0 });
      await a.store.accept([dead], NOW);
      const attempts = await end(a, REFUSED);
      const again = message({ body: body(100), dueAt: NOW + 1000 });
      await a.store.retryDeadLetters([{ messageId: dead.id, message: again }], NOW, null);
      assert.equal(await a.store.storedBytes(ACCOUNT), bytesOfAll([dead]) + attempts + bytesOfAll([again]));
      await a.store.createJob(job({ action: 'delete' }));
      const work = { action: 'delete' as const, messageIds: [dead.id] };
      await a.store.runJobStep(ACCOUNT, job({ action: 'delete' }).id, work, { atSeq: null, now: NOW });
      assert.equal(await a.store.storedBytes(ACCOUNT), bytesOfAll([again]) + bytesOfJob(job({ action: 'delete' })));
      assert.equal(await a.store.recountStored(ACCOUNT), 0);
    });

    test('duplicates and what a transaction takes back count nothing', async ({ a }) => {
      const deduplication = { key: 'k', expiresAt: NOW + 1000 };
      const first = message({ deduplication, body: body(10) });
      await a.store.accept([first], NOW);
      await a.store.accept([message({ deduplication, body: body(999) })], NOW);
      assert.equal(await a.store.storedBytes(ACCOUNT), bytesOfAll([first]));
      await assert.rejects(a.store.accept([message({ body: body(7) }), { ...message(), id: first.id }], NOW));
      assert.equal(await a.store.storedBytes(ACCOUNT), bytesOfAll([first]));
    });

    test.onTwo('a topic counts with its endpoints and defaults until it is deleted', async ({ a, b }) => {
      const small = topic();
      await a.store.saveTopic(small);
      assert.equal(await b.store.storedBytes(ACCOUNT), bytesOfTopic(small));
      const large = topic({
        version: 1,
        endpoints: Array.from({ length: 50 }, (_, n) => ({ name: `e${n}`, url: `https://e${n}.example/` })),
        defaults: [['Service-Forward-X-Long', 'v'.repeat(3000)]],
      });
      assert.equal(await b.store.saveTopic(large), 'saved');
      assert.ok(bytesOfTopic(large) > bytesOfTopic(small) + 3000 + 50 * 20);
      assert.equal(await a.store.storedBytes(ACCOUNT), bytesOfTopic(large));
      assert.equal(await a.store.saveTopic(small), 'changed', 'an outdated version');
      assert.equal(await a.store.saveTopic({ ...large, endpoints: [] }), 'changed', 'the same');
      assert.equal(await a.store.storedBytes(ACCOUNT), bytesOfTopic(large));
      assert.equal(await a.store.recountStored(ACCOUNT), 0);
      await a.store.saveTopic({ ...large, version: 2, endpoints: [] });
      assert.equal(await b.store.storedBytes(ACCOUNT), 0);
    });

    test.onTwo('a schedule counts with its body and headers, once, until it is deleted', async ({ a, b }) => {
      const large = schedule({ body: body(7000) });
      await Promise.all([a.store.saveSchedule(large), b.store.saveSchedule(large)]);
      assert.equal(await a.store.storedBytes(ACCOUNT), bytesOfSchedule(large));
      const small = schedule({ body: body(10) });
      await b.store.saveSchedule(small);
      assert.equal(await a.store.storedBytes(ACCOUNT), bytesOfSchedule(small));
      await a.store.pauseSchedule(ACCOUNT, small.id, true, NOW);
      assert.equal(await a.store.recountStored(ACCOUNT), 0);
      assert.equal(await a.store.deleteSchedule(OTHER_ACCOUNT, small.id), false);
      assert.equal(await a.store.deleteSchedule(ACCOUNT, small.id), true);
      assert.equal(await b.store.storedBytes(ACCOUNT), 0);
    });

    test('a queue and a flow key count from when a person sets them, a bulk operation while it is listed', async ({
      a,
    }) => {
      const { store } = a;
      const queued = message({ queueName: 'q', dueAt: NOW + 1000 });
      const flowing = message({ flow: { key: 'f', limits: { parallelism: 1, rate: null, periodMs: 1000 } } });
      await store.accept([queued, flowing], NOW);
      const both = bytesOfAll([queued]) + bytesOfAll([flowing]);
      assert.equal(await store.storedBytes(ACCOUNT), both, 'those that messages made count nothing');
      await store.saveQueue(ACCOUNT, 'q', { isPaused: true }, NOW);
      await store.saveQueue(ACCOUNT, 'q', { isPaused: false }, NOW);
      await store.pauseFlowKey(ACCOUNT, 'f', true, NOW);
      await store.createJob(job());
      const set = bytesOfLine('q') + bytesOfLine('f') + bytesOfJob(job());
      assert.equal(await store.storedBytes(ACCOUNT), both + set);
      assert.equal(await store.recountStored(ACCOUNT), 0);
      await store.pinFlowKey(ACCOUNT, 'f', { parallelism: 2, rate: 'keep' }, NOW);
      await store.pauseFlowKey(ACCOUNT, 'f', false, NOW);
      assert.equal(await store.storedBytes(ACCOUNT), both + set, 'it is pinned');
      await store.pinFlowKey(ACCOUNT, 'f', { parallelism: 'unpin', rate: 'keep' }, NOW);
      await store.cancel(ACCOUNT, [queued.id], NOW, NOW + 1000);
      await store.deleteQueue(ACCOUNT, 'q');
      await store.stopJob(ACCOUNT, job().id, NOW);
      await store.deleteOldJobs(NOW + RETENTION + 7 * DAY, WALK_START, 10);
      assert.equal(await store.storedBytes(ACCOUNT), both);
      assert.equal(await store.recountStored(ACCOUNT), 0);
    });

    test('of the bulk operations that have ended, the newest are listed', async ({ a }) => {
      const max = accountMax('jobsKept');
      const name = (n: number) => `job_${String(n).padStart(6, '0')}`;
      await a.store.createJob(job({ id: name(0) }));
      const ended = Array.from({ length: max + 2 }, (_, n) => job({ id: name(n + 1), state: 'done' }));
      await Promise.all(ended.map((each) => a.store.createJob(each)));
      assert.notEqual(await a.store.getJob(ACCOUNT, name(0)), null, 'it runs');
      assert.deepEqual(
        await Promise.all([1, 2, 3].map(async (n) => (await a.store.getJob(ACCOUNT, name(n))) !== null)),
        [false, false, true],
      );
      assert.equal(await a.store.storedBytes(ACCOUNT), (max + 1) * bytesOfJob(job()));
      assert.equal(await a.store.recountStored(ACCOUNT), 0);
    });

    test.onTwo('the accounts are listed in pieces, and folding changes no sum', async ({ a, b }) => {
      for (const id of ['acc_3', 'acc_4']) {
        await a.store.createAccount({ id, name: id, tier: 'free', createdAt: NOW }, KEYS);
        for (const { store } of [a, b]) await store.accept([message({ accountId: id, body: body(50) })], NOW);
      }
      const list = () => a.store.storedAccounts('', 10);
      const before = await list();
      assert.deepEqual(
        before.map(({ accountId }) => accountId),
        ['acc_3', 'acc_4'],
      );
      assert.deepEqual(await a.store.storedAccounts('acc_3', 1), before.slice(1));
      while ((await a.store.foldStored(1)) > 0);
      assert.deepEqual(await list(), before);
      await b.store.accept([message({ accountId: 'acc_4' })], NOW);
      assert.ok((await b.store.storedBytes('acc_4')) > before[1]!.bytes);
    });
  });
}
