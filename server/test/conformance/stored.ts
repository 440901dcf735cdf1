// What an account stores is counted with everything that changes it: messages, attempts, callbacks, shared bodies, and
// all ways in which a message goes away.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { NewMessage } from '../../src/domain/message.ts';
import { bytesOfAll, bytesOfAttempt } from '../../src/domain/stored-bytes.ts';
import { SHARED_BODY_BYTES_MIN } from '../../src/store/shared-bodies.ts';
import {
  ACCOUNT,
  callbackTo,
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
      assert.equal(await a.store.storedBytes(ACCOUNT), bytesOfAll([again]));
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
