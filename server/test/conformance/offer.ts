// The standing offer: what a claim left free may be leased at acceptance. However an adapter uses it, nothing is
// handed out twice, lost, or beyond what the node has room for.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { NO_SLOTS } from '../../src/rules/delivery/slots.ts';
import { claimDue } from '../support/claim-due.ts';
import { ACCOUNT, KIB, message, messages, NOW, OK, OTHER_ACCOUNT, queued, RETENTION, settlementOf } from './given.ts';
import { type HarnessFactory, idsOf, storeTests } from './harness.ts';

export function offerConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('the standing offer', () => {
    test.onTwo('messages accepted during an offer are handed out exactly once', async ({ a, b }) => {
      await a.claims(NOW, { slots: 5 });
      const work = messages(3);
      await a.store.accept(work, NOW);
      const ids = [...(await a.claimedIds(NOW)), ...(await b.claimedIds(NOW)), ...(await a.claimedIds(NOW))];
      assert.deepEqual(
        ids,
        work.map(({ id }) => id),
      );
    });

    test('a claim made from it is as good as any other', async ({ a }) => {
      await a.claims(NOW);
      const accepted = message({ body: new Uint8Array([1, 2, 3]) });
      await a.store.accept([accepted], NOW);
      const claim = await a.claimOne(NOW);
      assert.deepEqual(claim.message, (await a.store.getMessage(ACCOUNT, accepted.id))!.message);
      assert.equal(claim.tier, 'free');
      assert.equal(claim.signingKey, 'sig_current');
      assert.deepEqual(await a.store.settle([settlementOf(claim, OK, NOW)], NOW), ['settled']);
      assert.equal(await a.stateOf(accepted), 'delivered');
    });

    test('it is counted in the next claim: never more than the slots, the host and the bytes allow', async ({ a }) => {
      await a.claims(NOW, { slots: 4 });
      await a.store.accept(messages(10), NOW);
      assert.equal((await a.claims(NOW, { slots: 4 })).length, 4);

      const host = { hostsFree: [['a.example:443', 6, 0]] } as const;
      await a.claims(NOW, { ...host, slots: 0 });
      assert.equal((await a.claims(NOW, host)).length, 3);
      await a.claims(NOW, { hostsFree: [['a.example:443', 0, 0]] });
      await a.store.accept(messages(5), NOW);
      assert.equal((await a.claims(NOW, host)).length, 3);

      const bytes = 130 * KIB;
      await a.claims(NOW, { bytes, slots: 0 });
      await a.claims(NOW);
      await a.claims(NOW, { bytes });
      await a.store.accept(messages(5, { body: new Uint8Array(20 * KIB) }), NOW);
      assert.equal((await a.claims(NOW, { bytes })).length, 3);
    });

    test('an account takes at most as much of the offer as it leaves free', async ({ a }) => {
      await a.claims(NOW, { slots: 8, sharedSlots: 8 });
      await a.store.accept(messages(10), NOW);
      await a.store.accept(messages(10, { accountId: OTHER_ACCOUNT, host: 'b.example:443' }), NOW);
      const claims = await a.claims(NOW, NO_SLOTS);
      const countOf = (accountId: string) => claims.filter(({ message: { accountId: id } }) => id === accountId).length;
      assert.deepEqual([countOf(ACCOUNT), countOf(OTHER_ACCOUNT)], [4, 2]);
    });

    test.onTwo(
      'the slots hold also for a claim that comes while something is still being written',
      async ({ a, b }) => {
        const bytes = 60 * KIB;
        await a.claims(NOW, { slots: 2, bytes });
        await b.store.accept(messages(5), NOW);
        await a.store.accept([message({ body: new Uint8Array(10) })], NOW);
        const writing = a.store.accept([message({ body: new Uint8Array(20 * KIB) })], NOW);
        const first = await a.claims(NOW, { slots: 2, bytes });
        await writing;
        const second = await a.claims(NOW, { slots: 2 - first.length });
        assert.equal(first.length + second.length, 2);
      },
    );

    test.onTwo('no more messages are leased than the offer allows', async ({ a, b }) => {
      await a.claims(NOW, { slots: 2 });
      await a.store.accept(messages(10), NOW);
      assert.ok((await b.claims(NOW)).length >= 8);
    });

    test.onTwo('it ends with the next claim', async ({ a, b }) => {
      await a.claims(NOW, { slots: 5 });
      await a.claims(NOW, { slots: 0 });
      const accepted = message();
      await a.store.accept([accepted], NOW);
      assert.deepEqual(await b.claimedIds(NOW), [accepted.id]);
    });

    test('a delayed message and a queue’s message wait for their time and turn', async ({ a }) => {
      await a.claims(NOW);
      const [head, next] = [queued(), queued()] as const;
      const delayed = message({ dueAt: NOW + 1 });
      await a.store.accept([head, next, delayed], NOW);
      assert.deepEqual(await a.claimedIds(NOW), [head.id]);
      assert.deepEqual(await a.claimedIds(NOW + 1), [delayed.id]);
    });

    test('a message that was leased at acceptance is cancelled when its node gives it back', async ({ a }) => {
      await a.claims(NOW);
      const [kept, dropped] = [message(), message()] as const;
      await a.store.accept([kept, dropped], NOW);
      const { cancelled, requested } = await a.store.cancel(ACCOUNT, [dropped.id], NOW, NOW + RETENTION);
      assert.deepEqual([cancelled, requested], [[], [dropped.id]], 'its node has it');
      const claims = await a.claims(NOW);
      assert.deepEqual(idsOf(claims), [kept.id, dropped.id]);
      assert.deepEqual(await a.store.cancelledClaims(), [claims[1]!.lease]);
      await a.store.release([claims[1]!.lease], NOW);
      assert.equal(await a.stateOf(dropped), 'cancelled');
      assert.deepEqual(await a.claimedIds(NOW), []);
    });

    test('a message cancelled at the moment of its acceptance ends as cancelled', async ({ a }) => {
      await a.claims(NOW);
      const dropped = message();
      const cancelling = () => a.store.cancel(ACCOUNT, [dropped.id], NOW, NOW + RETENTION);
      await Promise.all([a.store.accept([dropped], NOW), cancelling()]);
      // A cancel that came before the acceptance had nothing to cancel.
      await cancelling();
      const claims = await a.claims(NOW);
      await a.store.release(
        claims.map(({ lease }) => lease),
        NOW,
      );
      assert.equal(await a.stateOf(dropped), 'cancelled');
      assert.deepEqual(await a.claimedIds(NOW), []);
    });

    test('a batch that was refused is not handed out, and what comes after it is', async ({ a }) => {
      await a.claims(NOW, { slots: 3 });
      const twin = message();
      await assert.rejects(a.store.accept([message(), twin, twin], NOW));
      assert.deepEqual(await a.claimedIds(NOW, { slots: 3 }), []);
      const good = messages(3);
      await a.store.accept(good, NOW);
      assert.deepEqual(
        await a.claimedIds(NOW, { slots: 3 }),
        good.map(({ id }) => id),
      );
    });

    test.onTwo('a node that stops can get all messages leased to it and give them back', async ({ a, b }) => {
      await a.claims(NOW);
      const work = messages(4);
      await a.store.accept(work, NOW);
      const { claims } = await claimDue(a.store, NOW, NO_SLOTS);
      await a.store.release(
        claims.map(({ lease }) => lease),
        NOW,
      );
      assert.deepEqual(new Set(await b.claimedIds(NOW)), new Set(work.map(({ id }) => id)));
    });

    test('messages of several accounts are leased under their own keys', async ({ a }) => {
      await a.claims(NOW);
      await a.store.setTier(ACCOUNT, 'paid');
      await a.store.rotateSigningKeys(OTHER_ACCOUNT, 'sig_next', 'sig_fresh');
      await a.store.accept([message(), message({ accountId: OTHER_ACCOUNT })], NOW);
      const claims = await a.claims(NOW);
      assert.deepEqual(
        claims.map(({ message: { accountId }, tier, signingKey }) => [accountId, tier, signingKey]),
        [
          [ACCOUNT, 'paid', 'sig_current'],
          [OTHER_ACCOUNT, 'paid', 'sig_next'],
        ],
      );
    });

    test.onTwo('a claim while acceptances are under way takes nothing twice', async ({ a, b }) => {
      await a.claims(NOW, { slots: 20 });
      const work = messages(40);
      const accepting = work.map((each) => a.store.accept([each], NOW));
      const during = await Promise.all([a.claims(NOW, { slots: 20 }), b.claims(NOW, { slots: 20 })]);
      await Promise.all(accepting);
      const after = [...(await a.claims(NOW)), ...(await b.claims(NOW)), ...(await a.claims(NOW))];
      const ids = idsOf([...during.flat(), ...after]);
      assert.deepEqual(ids.toSorted(), work.map(({ id }) => id).toSorted());
    });
  });
}
