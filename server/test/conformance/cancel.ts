// Cancelling, and what an account can see and touch of another: nothing.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { ACCOUNT, ERROR, message, NOW, OK, OTHER_ACCOUNT, queued, RETENTION, SECOND, settlementOf } from './given.ts';
import { type HarnessFactory, storeTests } from './harness.ts';

export function cancelConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);
  const EXPIRES = NOW + RETENTION;

  describe('cancel', () => {
    test('ends open messages of every kind and answers which', async ({ a }) => {
      const [ready, delayed, waiting, head, claimed, retrying] = [
        message(),
        message({ dueAt: NOW + SECOND }),
        queued(),
        queued(),
        message({ host: 'b:80' }),
        message({ host: 'c:80' }),
      ] as const;
      await a.store.accept([claimed, retrying], NOW);
      const claims = await a.claims(NOW);
      const failing = claims.find((claim) => claim.message.id === retrying.id)!;
      await a.store.settle([settlementOf(failing, ERROR, NOW)], NOW);
      await a.store.accept([ready, delayed, head, waiting], NOW);
      const all = [ready, delayed, waiting, head, claimed, retrying];
      const ids = all.map(({ id }) => id);
      assert.deepEqual((await a.store.cancel(ACCOUNT, ids, NOW + 2, EXPIRES)).toSorted(), ids.toSorted());
      for (const each of all) {
        const stored = (await a.store.getMessage(ACCOUNT, each.id))!.message;
        assert.equal(stored.state, 'cancelled');
        assert.equal(stored.endedAt, NOW + 2);
        assert.equal(stored.failure, null);
      }
      assert.deepEqual(await a.claimDue(NOW + RETENTION), { claims: [], nextDueAt: null, nextScheduleAt: null });
    });

    test('what has ended, is unknown or is named twice is not cancelled again', async ({ a }) => {
      const [open, ended] = [message(), message({ dueAt: NOW - 1 })] as const;
      await a.store.accept([ended], NOW);
      await a.store.settle([settlementOf(await a.claimOne(NOW), OK, NOW)], NOW);
      await a.store.accept([open], NOW);
      const ids = [open.id, ended.id, 'msg_unknown', open.id];
      assert.deepEqual(await a.store.cancel(ACCOUNT, ids, NOW, EXPIRES), [open.id]);
      assert.deepEqual(await a.store.cancel(ACCOUNT, ids, NOW, EXPIRES), []);
      assert.equal(await a.stateOf(ended), 'delivered');
    });

    test('a foreign account can neither see nor cancel', async ({ a }) => {
      const mine = message();
      await a.store.accept([mine], NOW);
      assert.equal(await a.store.getMessage(OTHER_ACCOUNT, mine.id), null);
      assert.deepEqual(await a.store.cancel(OTHER_ACCOUNT, [mine.id], NOW, EXPIRES), []);
      assert.equal(await a.stateOf(mine), 'pending');
    });

    test('an id that nobody has is null', async ({ a }) => {
      assert.equal(await a.store.getMessage(ACCOUNT, 'msg_unknown'), null);
    });

    test('of a cancel and a settlement at the same moment, one wins and both know it', async ({ a, b }) => {
      for (let round = 0; round < 10; round += 1) {
        const contested = message();
        await a.store.accept([contested], NOW);
        const claim = await a.claimOne(NOW);
        const [cancelled, [result]] = await Promise.all([
          b.store.cancel(ACCOUNT, [contested.id], NOW, EXPIRES),
          a.store.settle([settlementOf(claim, OK, NOW)], NOW),
        ]);
        assert.equal(cancelled.length === 1, result === 'cancelled');
        assert.equal(await a.stateOf(contested), cancelled.length === 1 ? 'cancelled' : 'delivered');
      }
    });
  });
}
