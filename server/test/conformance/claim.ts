// Claiming: what is due, in order, to one node only, and never over the limits.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { eachMax } from '../../src/rules/limits/budgets.ts';
import {
  ACCOUNT,
  ERROR,
  KIB,
  message,
  messages,
  NOW,
  OTHER_ACCOUNT,
  QUEUE,
  queued,
  RETENTION,
  SECOND,
  settlementOf,
} from './given.ts';
import { type HarnessFactory, idsOf, storeTests } from './harness.ts';

export function claimConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('claimDue: order and time', () => {
    test('due messages are handed out by due time, then in the order of acceptance', async ({ a }) => {
      const [late, early, same1, same2] = [
        message({ dueAt: NOW - 1 }),
        message({ dueAt: NOW - 9 }),
        message({ dueAt: NOW - 5 }),
        message({ dueAt: NOW - 5 }),
      ] as const;
      await a.store.accept([late, early, same1, same2], NOW);
      assert.deepEqual(await a.claimedIds(NOW), [early.id, same1.id, same2.id, late.id]);
    });

    test('a delayed message is handed out at its time and not a millisecond before', async ({ a }) => {
      const delayed = message({ dueAt: NOW + 1000 });
      await a.store.accept([delayed], NOW);
      assert.deepEqual(await a.claimedIds(NOW), []);
      assert.deepEqual(await a.claimedIds(NOW + 999), []);
      assert.deepEqual(await a.claimedIds(NOW + 1000), [delayed.id]);
      assert.deepEqual(await a.claimedIds(NOW + 1000), []);
    });

    test('a higher priority goes first; a minute of waiting counts as one level', async ({ a }) => {
      const MINUTE = 60_000;
      const [plain, low, high, old, oldest] = [
        message(),
        message({ priority: 0 }),
        message({ priority: 9 }),
        message({ priority: 3, dueAt: NOW - 2 * MINUTE - 1 }),
        message({ dueAt: NOW - 4 * MINUTE - 1 }),
      ] as const;
      await a.store.accept([plain, low, high, old, oldest], NOW);
      const order = [oldest, high, old, plain, low].map(({ id }) => id);
      const handed: string[] = [];
      for (let count = 0; count < order.length; count += 1) handed.push(...(await a.claimedIds(NOW, { slots: 1 })));
      assert.deepEqual(handed, order);
      const { priority } = (await a.store.getMessage(ACCOUNT, low.id))!.message;
      assert.equal(priority, 0);
    });

    test('a priority counts among the messages of one account and host, and takes no slot of others', async ({ a }) => {
      const high = Array.from({ length: 6 }, () => message({ priority: 9 }));
      const low = message({ priority: 0, host: 'other.example:443' });
      const theirs = message({ accountId: OTHER_ACCOUNT, priority: 0 });
      await a.store.accept([...high, low, theirs], NOW);
      const first = await a.claimedIds(NOW, { slots: 4 });
      assert.ok(first.includes(theirs.id) && first.includes(low.id), String(first));
    });

    test('the priority of a queue ranks its messages before those of other queues and of no queue', async ({ a }) => {
      const priorities = { urgent: 9, slow: 0, plain: null };
      for (const [name, priority] of Object.entries(priorities))
        await a.store.saveQueue(ACCOUNT, name, { priority }, NOW);
      const alone = message();
      const slow = [message({ queueName: 'slow' }), message({ queueName: 'slow' })];
      const urgent = [message({ queueName: 'urgent' }), message({ queueName: 'urgent' })];
      const plain = message({ queueName: 'plain' });
      await a.store.accept([slow[0]!, alone, plain, slow[1]!, ...urgent], NOW);
      const handed: string[] = [];
      for (let count = 0; count < 4; count += 1) handed.push(...(await a.claimedIds(NOW, { slots: 1 })));
      assert.deepEqual(
        handed,
        [urgent[0]!, alone, plain, slow[0]!].map(({ id }) => id),
        'one of each queue, as its order demands',
      );
      const priorityOf = async ({ id }: { readonly id: string }) =>
        (await a.store.getMessage(ACCOUNT, id))!.message.priority;
      assert.deepEqual(await Promise.all([...urgent, ...slow, plain, alone].map(priorityOf)), [9, 9, 0, 0, null, null]);
    });

    test('the priority of a queue is for the messages accepted from then on, and can be removed', async ({ a }) => {
      assert.equal((await a.store.saveQueue(ACCOUNT, 'q', { priority: 0 }, NOW)).priority, 0);
      const before = message({ queueName: 'q' });
      await a.store.accept([before], NOW);
      assert.equal((await a.store.saveQueue(ACCOUNT, 'q', { parallelism: 2 }, NOW)).priority, 0);
      assert.equal((await a.store.saveQueue(ACCOUNT, 'q', { priority: null }, NOW)).priority, null);
      const after = message({ queueName: 'q' });
      await a.store.accept([after], NOW);
      for (const [{ id }, priority] of [
        [before, 0],
        [after, null],
      ] as const) {
        assert.equal((await a.store.getMessage(ACCOUNT, id))!.message.priority, priority);
      }
    });

    test('delayed messages are handed out in the order of their due times', async ({ a }) => {
      const batch = [30, 10, 20].map((ms) => message({ dueAt: NOW + ms }));
      await a.store.accept(batch, NOW);
      assert.deepEqual(await a.claimedIds(NOW + 30), [batch[1]!.id, batch[2]!.id, batch[0]!.id]);
    });

    test('thousands of messages with the same due time are all handed out, each once', async ({ a }) => {
      const crowd = messages(2500, { dueAt: NOW + 1 });
      await a.store.accept(crowd, NOW);
      const seen: string[] = [];
      for (;;) {
        const { claims, nextDueAt } = await a.claimDue(NOW + 1, { slots: 700 });
        seen.push(...idsOf(claims));
        // A full answer leaves the rest for the next call; one that is not full must say when to come again.
        if (claims.length < 700 && nextDueAt === null) break;
      }
      assert.equal(seen.length, 2500);
      assert.equal(new Set(seen).size, 2500);
    });

    test('a claim shows the message as it is, the tier and the signing key of its account', async ({ a }) => {
      const mine = message({ body: new Uint8Array([7]), headers: [['X-A', 'b']] });
      const theirs = message({ accountId: OTHER_ACCOUNT });
      await a.store.setTier(ACCOUNT, 'paid');
      await a.store.rotateSigningKeys(ACCOUNT, 'sig_next', 'sig_fresh');
      await a.store.accept([mine, theirs], NOW);
      const claims = await a.claims(NOW);
      const claim = claims.find((each) => each.message.id === mine.id)!;
      assert.deepEqual(claim.message, (await a.store.getMessage(ACCOUNT, mine.id))!.message);
      assert.equal(claim.message.state, 'claimed');
      assert.equal(claim.tier, 'paid');
      assert.equal(claim.signingKey, 'sig_next');
      const other = claims.find((each) => each.message.id === theirs.id)!;
      assert.equal(other.signingKey, 'sig_current');
      assert.notEqual(claim.lease, other.lease);
    });
  });

  describe('claimDue: several nodes', () => {
    test.onTwo('two nodes that claim at once share the work: each message once, none left', async ({ a, b }) => {
      const work = messages(60);
      await a.store.accept(work, NOW);
      const answers = await Promise.all([
        a.claims(NOW, { slots: 20 }),
        b.claims(NOW, { slots: 20 }),
        a.claims(NOW, { slots: 20 }),
        b.claims(NOW, { slots: 20 }),
      ]);
      const rest = await b.claims(NOW);
      const ids = idsOf([...answers.flat(), ...rest]);
      assert.equal(ids.length, 60);
      assert.deepEqual(new Set(ids), new Set(work.map(({ id }) => id)));
      const leases = [...answers.flat(), ...rest].map(({ lease }) => lease);
      assert.equal(new Set(leases).size, 60);
    });

    test.onTwo('a node can claim messages that another node accepted, also after an empty claim', async ({ a, b }) => {
      assert.deepEqual(await b.claimedIds(NOW), []);
      const first = message();
      const delayed = message({ dueAt: NOW + 50 });
      await a.store.accept([first, delayed], NOW);
      const answer = await b.claimDue(NOW);
      assert.deepEqual(idsOf(answer.claims), [first.id]);
      assert.equal(answer.nextDueAt, NOW + 50);
      assert.deepEqual(await b.claimedIds(NOW + 50), [delayed.id]);
    });

    test.onTwo(
      'messages that one node made due by settling, cancelling or resuming can be claimed by another',
      async ({ a, b }) => {
        const [head, next, last] = [queued(), queued(), queued()] as const;
        await a.store.accept([head, next, last], NOW);
        const claim = await a.claimOne(NOW);
        assert.deepEqual(await b.claimedIds(NOW), []);
        await a.store.settle([settlementOf(claim, ERROR, NOW)], NOW);
        const retry = await b.claimOne(NOW + SECOND);
        assert.equal(retry.message.id, head.id);
        await b.store.settle([settlementOf(retry, ERROR, NOW + SECOND)], NOW + SECOND);
        await a.store.cancel(ACCOUNT, [head.id], NOW + SECOND, NOW + RETENTION);
        assert.deepEqual(await b.claimedIds(NOW + SECOND), [next.id]);
        await a.store.saveQueue(ACCOUNT, QUEUE, { parallelism: 2 }, NOW + SECOND);
        assert.deepEqual(await b.claimedIds(NOW + SECOND), [last.id]);
      },
    );
  });

  describe('claimDue: limits', () => {
    test('never more than the slots', async ({ a }) => {
      await a.store.accept(messages(10), NOW);
      assert.equal((await a.claims(NOW, { slots: 0 })).length, 0);
      assert.equal((await a.claims(NOW, { slots: 3 })).length, 3);
      assert.equal((await a.claims(NOW, { slots: 100 })).length, 7);
    });

    test('never more of an account than its limit allows', async ({ a }) => {
      await a.store.accept(
        [...messages(10, { host: 'h1:80' }), ...messages(10, { host: 'h2:80' }), message({ accountId: OTHER_ACCOUNT })],
        NOW,
      );
      const claims = await a.claims(NOW, { accountMax: 6, accountsBusy: [[ACCOUNT, 4, 0]] });
      assert.equal(claims.filter((claim) => claim.message.accountId === ACCOUNT).length, 2);
      assert.equal(claims.filter((claim) => claim.message.accountId === OTHER_ACCOUNT).length, 1);
    });

    test('never more for a host than its limit allows, for all accounts together', async ({ a }) => {
      await a.store.accept([...messages(10), ...messages(10, { accountId: OTHER_ACCOUNT })], NOW);
      const claims = await a.claims(NOW, { hostsFree: [['a.example:443', 3, 0]] });
      assert.ok(claims.length <= 3);
      assert.equal(new Set(claims.map((claim) => claim.message.accountId)).size, 2, 'each of them got its share');
    });

    test('an account takes at most as many slots as it leaves free', async ({ a }) => {
      await a.store.accept(
        Array.from({ length: 20 }, (_, index) => message({ host: `h${index % 4}:80` })),
        NOW,
      );
      assert.equal((await a.claims(NOW, { slots: 9, sharedSlots: 9 })).length, 4);
      await a.store.accept(messages(20, { accountId: OTHER_ACCOUNT }), NOW);
      const claims = await a.claims(NOW, { slots: 5, sharedSlots: 5, accountsBusy: [[ACCOUNT, 4, 0]] });
      assert.deepEqual(
        claims.map((claim) => claim.message.accountId),
        [OTHER_ACCOUNT, OTHER_ACCOUNT],
      );
    });

    test('the last slot goes to an account that has none', async ({ a }) => {
      await a.store.accept([...messages(5), ...messages(5, { accountId: OTHER_ACCOUNT })], NOW);
      const last = { slots: 1, sharedSlots: 1, accountsBusy: [[ACCOUNT, 1, 0]] } as const;
      assert.deepEqual(
        (await a.claims(NOW, last)).map((claim) => claim.message.accountId),
        [OTHER_ACCOUNT],
      );
    });

    test('an account that the request does not name gets the default limit', async ({ a }) => {
      await a.store.accept(messages(20), NOW);
      assert.equal((await a.claims(NOW, { accountMax: 4, accountsOther: 2 })).length, 2);
      assert.equal((await a.claims(NOW, { slots: 20, sharedSlots: 20, accountsOther: 4 })).length, 8);
    });

    test('at a host that two accounts use, one takes at most as many slots as it leaves free', async ({ a }) => {
      await a.store.accept(messages(20), NOW);
      const host = 'a.example:443';
      assert.equal((await a.claims(NOW, { hostsFree: [[host, 10, 0]] })).length, 5);
      await a.store.accept(messages(20, { accountId: OTHER_ACCOUNT }), NOW);
      const claims = await a.claims(NOW, { hostsFree: [[host, 5, 0]], busyAtHosts: [[ACCOUNT, host, 5]] });
      assert.deepEqual(
        claims.map((claim) => claim.message.accountId),
        [OTHER_ACCOUNT, OTHER_ACCOUNT],
      );
    });

    test('nothing for a host or an account at its limit', async ({ a }) => {
      await a.store.accept(messages(3), NOW);
      assert.deepEqual(await a.claimedIds(NOW, { hostMax: 4, hostsBusy: [['a.example:443', 4]] }), []);
      assert.deepEqual(await a.claimedIds(NOW, { accountMax: 4, accountsBusy: [[ACCOUNT, 9, 0]] }), []);
      assert.equal((await a.claims(NOW)).length, 3);
    });

    test('an account takes at most as many bytes as it leaves free', async ({ a }) => {
      const body = new Uint8Array(KIB * 20);
      await a.store.accept(messages(9, { body }), NOW);
      assert.equal((await a.claims(NOW, { bytes: KIB * 110 })).length, 2);
      assert.equal((await a.claims(NOW, { bytes: 0 })).length, 0);
      assert.equal((await a.claims(NOW, { bytes: KIB * 110, accountsBusy: [[ACCOUNT, 1, KIB * 60]] })).length, 1);
      await a.claims(NOW, { slots: 0 });
      await a.store.accept(messages(3, { body, accountId: OTHER_ACCOUNT }), NOW);
      const claims = await a.claims(NOW, { bytes: KIB * 60, accountsBusy: [[ACCOUNT, 3, KIB * 60]] });
      assert.deepEqual(
        claims.map((claim) => claim.message.accountId),
        [OTHER_ACCOUNT],
      );
    });

    test('a small body needs no bytes, and does not wait for a large one before it', async ({ a }) => {
      const [large, small] = [
        message({ body: new Uint8Array(KIB * 17), dueAt: NOW - 1 }),
        message({ body: new Uint8Array(KIB * 16) }),
      ];
      await a.store.accept([large, small], NOW);
      assert.deepEqual(await a.claimedIds(NOW, { bytes: 0 }), [small.id]);
    });

    test('a message larger than the share is sent alone, when its account has no other in flight', async ({ a }) => {
      const body = new Uint8Array(KIB * 50);
      await a.store.accept([...messages(2, { body }), ...messages(2, { body, accountId: OTHER_ACCOUNT })], NOW);
      const few = { bytes: 10, oversized: 1 };
      assert.equal((await a.claims(NOW, few)).length, 1);
      assert.equal((await a.claims(NOW, { ...few, oversized: 0 })).length, 0);
      const busy = [ACCOUNT, OTHER_ACCOUNT].map((id) => [id, 1, KIB * 50] as const);
      assert.equal((await a.claims(NOW, { ...few, accountsBusy: busy })).length, 0);
    });

    test('a host whose first message is too large for now keeps the other hosts of its account waiting for one claim at most', async ({
      a,
    }) => {
      const large = message({ host: 'a.example:443', body: new Uint8Array(KIB * 50) });
      const small = message({ host: 'b.example:443' });
      await a.store.accept([large, small], NOW);
      const few = { bytes: 10, accountMax: 1 };
      const first = await a.claimedIds(NOW, few);
      assert.deepEqual([...first, ...(await a.claimedIds(NOW, few))], [small.id]);
    });

    test('many hosts of one account are examined in parts, until all were examined', async ({ a }) => {
      const many = Array.from({ length: 700 }, (_, index) => message({ host: `h${index}.example:443` }));
      await a.store.accept(many, NOW);
      let claimed = 0;
      while (claimed < many.length) {
        const { claims, nextDueAt } = await a.claimDue(NOW, { slots: 2000 });
        claimed += claims.length;
        assert.ok(claims.length > 0, `after ${claimed}`);
        // A call may ask twice, and each time look behind the last one served and then from the start.
        assert.ok(claims.length <= 4 * eachMax('claimHosts'), `${claims.length} in one claim`);
        if (claimed < many.length) assert.equal(nextDueAt, NOW, 'it goes on at once');
      }
    });

    test('one host with room after many full hosts is found, although nothing else wakes the node', async ({ a }) => {
      const many = Array.from({ length: 400 }, (_, index) => message({ host: `a${index}.example:443` }));
      const one = message({ host: 'z.example:443' });
      await a.store.accept([...many, one], NOW);
      const full = { hostsOther: [0, 0], hostsFree: [['z.example:443', 5, 0]] } as const;
      let at = NOW;
      for (let claims = 0; claims < 20; claims += 1) {
        const { claims: found, nextDueAt } = await a.claimDue(at, full);
        if (found.length > 0) {
          assert.deepEqual(idsOf(found), [one.id]);
          return;
        }
        assert.ok(nextDueAt !== null && nextDueAt > at, 'it says when it goes on, and that is not at once');
        at = nextDueAt;
      }
      assert.fail('it was never found');
    });
  });

  describe('claimDue: nextDueAt', () => {
    test('is null when nothing waits for the clock', async ({ a }) => {
      assert.equal((await a.claimDue(NOW)).nextDueAt, null);
      await a.store.accept([message()], NOW);
      assert.equal((await a.claimDue(NOW)).nextDueAt, null);
      assert.equal((await a.claimDue(NOW)).nextDueAt, null);
    });

    test('is the time of the earliest delayed message', async ({ a }) => {
      await a.store.accept([message({ dueAt: NOW + 700 }), message({ dueAt: NOW + 300 })], NOW);
      assert.equal((await a.claimDue(NOW)).nextDueAt, NOW + 300);
      assert.equal((await a.claimDue(NOW + 299)).nextDueAt, NOW + 300);
      assert.equal((await a.claimDue(NOW + 300)).nextDueAt, NOW + 700);
      await a.store.accept([message({ dueAt: NOW + 500 })], NOW + 300);
      assert.equal((await a.claimDue(NOW + 300)).nextDueAt, NOW + 500);
    });

    test('is the time of a retry, and of nothing that was cancelled', async ({ a }) => {
      const failing = message();
      await a.store.accept([failing], NOW);
      await a.store.settle([settlementOf(await a.claimOne(NOW), ERROR, NOW)], NOW);
      assert.equal((await a.claimDue(NOW)).nextDueAt, NOW + SECOND);
      await a.store.cancel(ACCOUNT, [failing.id], NOW, NOW + RETENTION);
      assert.equal((await a.claimDue(NOW)).nextDueAt, null);
    });

    test('is returned even while a ready message must wait for room at its host', async ({ a }) => {
      await a.store.accept([...messages(3), message({ dueAt: NOW + 40 })], NOW);
      const full = { hostsFree: [['a.example:443', 0, 0]] } as const;
      assert.deepEqual(await a.claimDue(NOW, full), { claims: [], nextDueAt: NOW + 40, nextScheduleAt: null });
      assert.deepEqual(await a.claimDue(NOW, full), { claims: [], nextDueAt: NOW + 40, nextScheduleAt: null });
    });

    test('is the time of a queue’s next message only while the queue could start it', async ({ a }) => {
      const head = queued({ dueAt: NOW + 10 });
      const behind = queued({ dueAt: NOW + 20 });
      await a.store.accept([head, behind], NOW);
      assert.equal((await a.claimDue(NOW)).nextDueAt, NOW + 10);
      const claim = await a.claimOne(NOW + 10);
      assert.equal((await a.claimDue(NOW + 10)).nextDueAt, null);
      await a.store.settle([settlementOf(claim, ERROR, NOW + 10)], NOW + 10);
      assert.equal((await a.claimDue(NOW + 10)).nextDueAt, NOW + 10 + SECOND);
      await a.store.cancel(ACCOUNT, [head.id], NOW + 11, NOW + RETENTION);
      assert.equal((await a.claimDue(NOW + 11)).nextDueAt, NOW + 20);
      await a.store.saveQueue(ACCOUNT, QUEUE, { isPaused: true }, NOW + 12);
      assert.equal((await a.claimDue(NOW + 12)).nextDueAt, null);
      await a.store.saveQueue(ACCOUNT, QUEUE, { isPaused: false }, NOW + 13);
      assert.equal((await a.claimDue(NOW + 13)).nextDueAt, NOW + 20);
    });
  });

  describe('onWork', () => {
    test.onTwo(
      'is called when there may be something to claim: on the node that made it and has room',
      async ({ a, b }) => {
        const head = queued();
        const next = queued();
        await a.claims(NOW);
        await b.claims(NOW);

        await called([a.store], () => a.store.accept([head, next], NOW));
        const claim = await a.claimOne(NOW);
        await called([a.store], () => a.store.settle([settlementOf(claim, ERROR, NOW)], NOW));
        await b.claims(NOW);
        await called([b.store], () => b.store.cancel(ACCOUNT, [head.id], NOW, NOW + RETENTION));
        await a.store.saveQueue(ACCOUNT, QUEUE, { isPaused: true }, NOW);
        await a.claims(NOW);
        await called([a.store], () => a.store.saveQueue(ACCOUNT, QUEUE, { isPaused: false }, NOW));
        const [released] = await a.claims(NOW);
        await called([a.store], () => a.store.release([released!.lease], NOW));
      },
    );

    test.onTwo(
      'is called on every node when something is due soon, as the room of a node may be gone by then',
      async ({ a, b }) => {
        await a.claims(NOW);
        await b.claims(NOW);
        await called([a.store, b.store], () => b.store.accept([message({ dueAt: NOW + 5 })], NOW));
      },
    );
  });
}

type Listening = { onWork(listener: () => void): void };

/** Does `work` and waits until all have been called; that one never is shows as the test's time running out. */
async function called(stores: readonly Listening[], work: () => Promise<unknown>): Promise<void> {
  const calls = stores.map((store) => new Promise<void>((resolve) => store.onWork(resolve)));
  await work();
  await Promise.all(calls);
}
