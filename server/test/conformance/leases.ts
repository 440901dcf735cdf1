// Leases: giving claims back, and taking over what a dead node left behind.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Claim } from '../../src/rules/delivery/message.ts';
import type { Store } from '../../src/store/ports/store.ts';
import { strays } from '../../src/upkeep/leases.ts';
import {
  ACCOUNT,
  callbackTo,
  ERROR,
  INTERRUPTED,
  limits,
  message,
  messages,
  NOW,
  OK,
  QUEUE,
  queued,
  RETENTION,
  SECOND,
  settlementOf,
} from './given.ts';
import { type HarnessFactory, idsOf, storeTests } from './harness.ts';

const TTL = 600 * SECOND;
/** A database goes by real time, and a busy machine may take long between two calls. */
const MARGIN = 60 * SECOND;

export function leasesConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('release', () => {
    test.onTwo('a released message is pending again as if it had never been claimed', async ({ a, b }) => {
      const given = message();
      await a.store.accept([given], NOW);
      // It only remembers since when its start is told: see the events of a claim that is given back.
      const read = async () => ({ ...(await a.store.getMessage(ACCOUNT, given.id))!.message, claimedAt: null });
      const before = await read();
      const claim = await a.claimOne(NOW);
      await a.store.release([claim.lease], NOW + 1);
      assert.deepEqual(await read(), before);
      const again = await b.claimOne(NOW + 1);
      assert.equal(again.message.id, given.id);
      assert.notEqual(again.lease, claim.lease);
      assert.deepEqual(await a.store.settle([settlementOf(claim, OK, NOW)], NOW), ['lost']);
      assert.deepEqual(await b.store.settle([settlementOf(again, OK, NOW)], NOW), ['settled']);
    });

    test('a released retry keeps its count', async ({ a }) => {
      await a.store.accept([message()], NOW);
      await a.store.settle([settlementOf(await a.claimOne(NOW), ERROR, NOW)], NOW);
      await a.store.release([(await a.claimOne(NOW + SECOND)).lease], NOW + SECOND);
      const again = await a.claimOne(NOW + SECOND);
      assert.equal(again.message.retried, 1);
      assert.equal(again.message.attempts, 1);
    });

    test('the lease of a claim that was given back does not give the next claim back', async ({ a }) => {
      const [one, other] = [message(), message()];
      await a.store.accept([one, other], NOW);
      const claims = await a.claims(NOW);
      const first = claims.find((claim) => claim.message.id === one.id)!;
      await a.store.release([first.lease], NOW);
      const again = await a.claimOne(NOW);
      assert.equal(again.message.id, one.id);
      await a.store.release([first.lease, 'nod_a.unknown'], NOW);
      assert.deepEqual([await a.stateOf(one), await a.stateOf(other)], ['claimed', 'claimed']);
      assert.deepEqual(await a.store.settle([settlementOf(again, OK, NOW)], NOW), ['settled']);
    });

    test('a lease that is lost or unknown gives nothing back', async ({ a }) => {
      const [cancelled, delivered] = [message(), message()] as const;
      await a.store.accept([cancelled, delivered], NOW);
      const claims = await a.claims(NOW);
      await a.store.cancel(ACCOUNT, [cancelled.id], NOW, NOW + RETENTION);
      const ended = claims.find((claim) => claim.message.id === delivered.id)!;
      await a.store.settle([settlementOf(ended, OK, NOW)], NOW);
      await a.store.release([...claims.map(({ lease }) => lease), 'nod_a.unknown'], NOW);
      assert.equal(await a.stateOf(cancelled), 'cancelled');
      assert.equal(await a.stateOf(delivered), 'delivered');
      assert.deepEqual(await a.claimedIds(NOW), []);
    });
  });

  describe('claims that their own node does not know of', () => {
    const looking = (store: Store, underWay: ReadonlySet<string>) => {
      const given: number[] = [];
      const task = strays({
        store,
        slots: 100,
        isUnderWay: (lease) => underWay.has(lease),
        onGivenBack: (count) => given.push(count),
      });
      return { given, look: () => task.run(NOW) };
    };

    test.onTwo(
      'are given back after two checks, not after one; known claims and claims of other nodes stay',
      async ({ a, b }) => {
        const [lost, inQueue, known, others] = [message(), queued(), message(), message()] as const;
        await b.store.accept([others], NOW);
        await b.claimOne(NOW);
        await a.store.accept([lost, inQueue, known], NOW);
        const claims = await a.claims(NOW);
        const ofKnown = claims.find((claim) => claim.message.id === known.id)!;
        const { given, look } = looking(a.store, new Set([ofKnown.lease]));
        await look();
        assert.deepEqual(given, []);
        assert.equal(await a.stateOf(lost), 'claimed');
        await look();
        assert.deepEqual(given, [2]);
        assert.deepEqual((await b.claimedIds(NOW)).toSorted(), [lost.id, inQueue.id].toSorted());
        assert.equal(await a.stateOf(known), 'claimed');
        assert.equal(await a.stateOf(others), 'claimed');
        assert.deepEqual(await a.store.settle([settlementOf(ofKnown, OK, NOW)], NOW), ['settled']);
        await look();
        assert.deepEqual(given, [2], 'each is given back once');
      },
    );

    test('the check lists all claims that were handed out, and no others', async ({ a }) => {
      await a.claims(NOW);
      await a.store.accept([message()], NOW);
      const claim = await a.claimOne(NOW);
      assert.deepEqual(await a.store.strayClaims(10), [claim.lease]);
      await a.store.settle([settlementOf(claim, OK, NOW)], NOW);
      assert.deepEqual(await a.store.strayClaims(10), []);
    });

    test('checks during claims, settlements and takeovers find nothing', async ({ a }) => {
      await a.store.accept([...messages(10), ...messages(10, { queueName: QUEUE })], NOW);
      const underWay = new Set<string>();
      const arrived: Claim[] = [];
      a.store.onClaims((claims) => {
        arrived.push(...claims);
        for (const { lease } of claims) underWay.add(lease);
      });
      const { given, look } = looking(a.store, underWay);
      let left = 20;
      while (left > 0) {
        a.store.offer(limits({ slots: 3 }));
        await Promise.all([a.store.claimDue(NOW), look().then(look)]);
        const claims = arrived.splice(0);
        const settlements = claims.map((claim) => settlementOf(claim, OK, NOW));
        await Promise.all([a.store.settle(settlements, NOW, { takesOver: [ACCOUNT] }), look().then(look)]);
        for (const { lease } of claims) underWay.delete(lease);
        left -= claims.length;
      }
      assert.deepEqual(given, []);
    });

    test('a check asks for a limited number of claims', async ({ a }) => {
      await a.store.accept(messages(5), NOW);
      await a.claims(NOW);
      assert.equal((await a.store.strayClaims(3)).length, 3);
    });
  });

  describe('heartbeat and orphanedClaims', () => {
    test.onTwo(
      'the claims of a node that went silent are found; those of a live one are not',
      async ({ a, b, letTimePass }) => {
        await a.store.heartbeat(a.name, TTL);
        await b.store.heartbeat(b.name, TTL);
        await a.store.accept(messages(2), NOW);
        const claims = await a.claims(NOW);
        assert.deepEqual(await b.store.orphanedClaims(b.name), []);
        await letTimePass(TTL - MARGIN);
        await b.store.heartbeat(b.name, TTL);
        assert.deepEqual(await b.store.orphanedClaims(b.name), []);
        await letTimePass(2 * MARGIN);
        const orphans = await b.store.orphanedClaims(b.name);
        assert.deepEqual(orphans.toSorted(byLease), claims.toSorted(byLease));
      },
    );

    test.onTwo('a heartbeat keeps a node alive', async ({ a, b, letTimePass }) => {
      await a.store.accept([message()], NOW);
      await a.claims(NOW);
      for (let beat = 0; beat < 4; beat += 1) {
        await a.store.heartbeat(a.name, TTL);
        await letTimePass(TTL - MARGIN);
        assert.deepEqual(await b.store.orphanedClaims(b.name), []);
      }
    });

    test('a node never finds its own claims, however silent it was', async ({ a, letTimePass }) => {
      await a.store.heartbeat(a.name, TTL);
      await a.store.accept([message()], NOW);
      await a.claims(NOW);
      await letTimePass(10 * TTL);
      assert.deepEqual(await a.store.orphanedClaims(a.name), []);
    });

    test.onTwo('a node without a heartbeat is not alive', async ({ b, open }) => {
      const ghost = await open('nod_ghost');
      await ghost.store.accept([message()], NOW);
      await ghost.claims(NOW);
      assert.equal((await b.store.orphanedClaims(b.name)).length, 1);
    });

    test('all claims of one dead node are found together, without their bodies, and those of the next later', async ({
      a,
      open,
    }) => {
      const dead = await Promise.all(['nod_x', 'nod_y', 'nod_z'].map((name) => open(name)));
      const body = new Uint8Array([1, 2, 3]);
      await a.store.accept(messages(9, { body, callback: callbackTo('https://c.example/') }), NOW);
      const claimed = await Promise.all(dead.map((node, index) => node.claims(NOW, { slots: 2 + index })));
      const found: string[][] = [];
      for (;;) {
        const orphans = await a.store.orphanedClaims(a.name);
        if (orphans.length === 0) break;
        for (const orphan of orphans) assert.equal(orphan.message.body.length, 0);
        found.push(idsOf(orphans).toSorted());
        await a.store.settle(
          orphans.map((claim) => settlementOf(claim, INTERRUPTED, NOW)),
          NOW,
        );
      }
      assert.deepEqual(found.toSorted(), claimed.map((claims) => idsOf(claims).toSorted()).toSorted());
    });

    test.onTwo(
      'an orphan is settled with its old lease, once; the dead node that comes back has lost it',
      async ({ a, b, letTimePass }) => {
        const sent = message();
        await a.store.heartbeat(a.name, TTL);
        await a.store.accept([sent], NOW);
        const claim = await a.claimOne(NOW);
        await letTimePass(TTL + MARGIN);
        const [orphan] = await b.store.orphanedClaims(b.name);
        assert.deepEqual(await b.store.settle([settlementOf(orphan!, INTERRUPTED, NOW)], NOW), ['settled']);
        assert.deepEqual(await b.store.settle([settlementOf(orphan!, INTERRUPTED, NOW)], NOW), ['lost']);
        assert.deepEqual(await a.store.settle([settlementOf(claim, OK, NOW)], NOW), ['lost']);
        const again = await b.claimOne(NOW);
        assert.equal(again.message.id, sent.id);
        assert.equal(again.message.interrupted, 1);
        assert.equal(again.message.retried, 0);
        assert.deepEqual(await b.store.orphanedClaims(b.name), []);
      },
    );

    test.onTwo('what was leased at acceptance to a node that died is found too', async ({ a, b, letTimePass }) => {
      await a.store.heartbeat(a.name, TTL);
      await a.claims(NOW);
      const work = messages(3);
      await a.store.accept(work, NOW);
      await letTimePass(TTL + MARGIN);
      const orphans = await b.store.orphanedClaims(b.name);
      await b.store.settle(
        orphans.map((claim) => settlementOf(claim, INTERRUPTED, NOW)),
        NOW,
      );
      assert.deepEqual(new Set(await b.claimedIds(NOW)), new Set(work.map(({ id }) => id)));
      assert.ok(idsOf(orphans).every((id) => work.some((each) => each.id === id)));
    });
  });
}

function byLease(one: { lease: string }, other: { lease: string }): number {
  return one.lease < other.lease ? -1 : 1;
}
