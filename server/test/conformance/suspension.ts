// Messages of a suspended account wait, those of others go on, and after it is resumed everything starts in its order.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { ACCOUNT, message, messages, NOW, OK, OTHER_ACCOUNT, queued, SECOND, settlementOf } from './given.ts';
import { type HarnessFactory, storeTests } from './harness.ts';

const idsOf = (claims: readonly { readonly message: { readonly id: string } }[]) =>
  claims.map((each) => each.message.id);

export function suspensionConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('suspension', () => {
    test.onTwo('nothing of a suspended account is claimed on any node until it is resumed', async ({ a, b }) => {
      const mine = messages(3, { dueAt: NOW + 1 }).map((each, index) => ({ ...each, dueAt: NOW + 1 + index }));
      const other = message({ accountId: OTHER_ACCOUNT, dueAt: NOW + 1 });
      await a.store.accept([...mine], NOW);
      await a.store.accept([other], NOW);
      assert.equal(await a.store.setSuspended(ACCOUNT, NOW, NOW), true);
      assert.equal(await a.store.setSuspended(ACCOUNT, NOW + 5, NOW), true);
      assert.equal(await a.store.setSuspended('acc_none', NOW, NOW), false);
      assert.equal((await b.store.getAccount(ACCOUNT))!.suspendedAt, NOW);
      const later = NOW + SECOND;
      assert.deepEqual(idsOf(await b.claims(later)), [other.id]);
      assert.deepEqual(await a.claims(later), []);
      // Nothing is left that could be claimed, so that nobody looks for it again and again.
      await a.store.setSuspended(ACCOUNT, null, later);
      assert.equal((await b.store.getAccount(ACCOUNT))!.suspendedAt, undefined);
      assert.deepEqual(idsOf(await b.claims(later)), idsOf(mine.map((each) => ({ message: each }))));
    });

    test('an attempt under way ends, and the next of its queue waits for the resume', async ({ a }) => {
      const [first, second] = [queued(), queued()] as const;
      await a.store.accept([first], NOW);
      await a.store.accept([second], NOW);
      const claims = await a.claims(NOW);
      assert.deepEqual(idsOf(claims), [first.id]);
      await a.store.setSuspended(ACCOUNT, NOW, NOW);
      assert.deepEqual(await a.claims(NOW), []);
      assert.deepEqual(
        await a.store.settle(
          claims.map((claim) => settlementOf(claim, OK, NOW)),
          NOW,
          { takesOver: [ACCOUNT] },
        ),
        ['settled'],
      );
      assert.deepEqual(await a.claims(NOW + SECOND), []);
      await a.store.setSuspended(ACCOUNT, null, NOW + SECOND);
      assert.deepEqual(idsOf(await a.claims(NOW + SECOND)), [second.id]);
    });

    test('the messages of a suspended account do not slow the others', async ({ a }) => {
      await a.store.accept(messages(20), NOW);
      await a.store.setSuspended(ACCOUNT, NOW, NOW);
      assert.deepEqual(await a.claims(NOW), []);
      const other = message({ accountId: OTHER_ACCOUNT, dueAt: NOW + 1 });
      await a.store.accept([other], NOW);
      assert.deepEqual(idsOf(await a.claims(NOW + 1)), [other.id]);
    });
  });
}
