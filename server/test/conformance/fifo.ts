// Queues: the order in which their messages start, through delays, retries, cancels and several nodes.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { NO_SLOTS } from '../../src/rules/delivery/slots.ts';
import {
  ACCOUNT,
  callbackTo,
  ERROR,
  INTERRUPTED,
  message,
  NOW,
  OK,
  OTHER_ACCOUNT,
  QUEUE,
  queued,
  REFUSED,
  RETENTION,
  SECOND,
  settlementOf,
} from './given.ts';
import { type HarnessFactory, storeTests } from './harness.ts';

export function fifoConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('FIFO', () => {
    test('one at a time, in the order of acceptance, within a batch and over batches', async ({ a }) => {
      const line = Array.from({ length: 6 }, () => queued());
      await a.store.accept(line.slice(0, 3), NOW);
      await a.store.accept(line.slice(3), NOW);
      for (const expected of line) {
        const claim = await a.claimOne(NOW);
        assert.equal(claim.message.id, expected.id);
        assert.deepEqual(await a.claimedIds(NOW), []);
        await a.store.settle([settlementOf(claim, OK, NOW)], NOW);
      }
      assert.deepEqual(await a.claimDue(NOW), { claims: [], nextDueAt: null, nextScheduleAt: null });
    });

    test.onTwo(
      'a node that settles and takes over gets the next message with its next claim, in order and each once',
      async ({ a, b }) => {
        const line = Array.from({ length: 5 }, () => queued());
        const elsewhere = queued({ queueName: 'elsewhere' });
        await a.store.accept([...line, elsewhere], NOW);
        let [claim] = await a.claims(NOW, { slots: 2 });
        for (const [index, expected] of line.entries()) {
          assert.equal(claim!.message.id, expected.id);
          assert.deepEqual(await b.claimedIds(NOW), []);
          await a.store.settle([settlementOf(claim!, OK, NOW)], NOW, { takesOver: [ACCOUNT] });
          [claim] = await a.claims(NOW);
          if (index === line.length - 1) assert.equal(claim, undefined);
        }
      },
    );

    test.onTwo(
      'a message that was taken over can be cancelled, or given back for another node to claim',
      async ({ a, b }) => {
        const line = Array.from({ length: 4 }, () => queued());
        await a.store.accept(line, NOW);
        await a.store.settle([settlementOf(await a.claimOne(NOW), OK, NOW)], NOW, { takesOver: [ACCOUNT] });
        const [taken] = await a.claims(NOW, NO_SLOTS);
        const { requested } = await a.store.cancel(ACCOUNT, [line[1]!.id], NOW, NOW + RETENTION);
        assert.deepEqual(requested, [line[1]!.id]);
        await a.store.release([taken!.lease], NOW);
        assert.equal(await a.stateOf(line[1]!), 'cancelled');
        await a.store.settle([settlementOf(await a.claimOne(NOW), OK, NOW)], NOW, { takesOver: [ACCOUNT] });
        const unsent = await a.claims(NOW, NO_SLOTS);
        await a.store.release(
          unsent.map(({ lease }) => lease),
          NOW,
        );
        assert.equal((await b.claimOne(NOW)).message.id, line[3]!.id);
      },
    );

    test.onTwo('there is no takeover in the queue of an account that has more than its share', async ({ a, b }) => {
      await a.store.accept([queued(), queued()], NOW);
      await a.store.settle([settlementOf(await a.claimOne(NOW), OK, NOW)], NOW, { takesOver: [OTHER_ACCOUNT] });
      assert.deepEqual(await a.claimedIds(NOW, NO_SLOTS), []);
      assert.equal((await b.claims(NOW)).length, 1);
    });

    test('there is no takeover from a message that will be retried, nor in a paused queue', async ({ a }) => {
      const [head, next] = [queued(), queued()] as const;
      await a.store.accept([head, next], NOW);
      await a.store.settle([settlementOf(await a.claimOne(NOW), ERROR, NOW)], NOW, { takesOver: [ACCOUNT] });
      assert.deepEqual(await a.claimedIds(NOW), []);
      const again = await a.claimOne(NOW + SECOND);
      assert.equal(again.message.id, head.id);
      await a.store.saveQueue(ACCOUNT, QUEUE, { isPaused: true }, NOW + SECOND);
      await a.store.settle([settlementOf(again, OK, NOW + SECOND)], NOW + SECOND, { takesOver: [ACCOUNT] });
      assert.deepEqual(await a.claimedIds(NOW + SECOND), []);
    });

    test('the place in a queue is the time a message first becomes due', async ({ a }) => {
      const late = queued({ dueAt: NOW + 100 });
      const early = queued({ dueAt: NOW + 50 });
      const tied = queued({ dueAt: NOW + 100 });
      await a.store.accept([late, early, tied], NOW);
      const served: string[] = [];
      for (let turn = 0; turn < 3; turn += 1) {
        const claim = await a.claimOne(NOW + 200);
        served.push(claim.message.id);
        await a.store.settle([settlementOf(claim, OK, NOW + 200)], NOW + 200);
      }
      assert.deepEqual(served, [early.id, late.id, tied.id]);
    });

    test('a delayed message blocks no other message until it is due', async ({ a }) => {
      const delayed = queued({ dueAt: NOW + SECOND });
      const now = queued();
      await a.store.accept([delayed, now], NOW);
      const claim = await a.claimOne(NOW);
      assert.equal(claim.message.id, now.id);
      await a.store.settle([settlementOf(claim, OK, NOW)], NOW);
      const later = queued({ dueAt: NOW + 2 * SECOND });
      await a.store.accept([later], NOW + 1);
      assert.deepEqual(await a.claimedIds(NOW + 2 * SECOND), [delayed.id]);
    });

    test('a head that waits for its retry holds its queue, and only its queue', async ({ a }) => {
      const [head, next] = [queued(), queued()] as const;
      const others = [message(), queued({ queueName: 'elsewhere' }), queued({ accountId: OTHER_ACCOUNT })];
      await a.store.accept([head, next, ...others], NOW);
      const claims = await a.claims(NOW);
      assert.equal(claims.length, 4);
      const first = claims.find((claim) => claim.message.id === head.id)!;
      await a.store.settle([settlementOf(first, ERROR, NOW)], NOW);
      assert.deepEqual(await a.claimedIds(NOW + SECOND - 1), []);
      const again = await a.claimOne(NOW + SECOND);
      assert.equal(again.message.id, head.id);
      await a.store.settle([settlementOf(again, OK, NOW + SECOND)], NOW + SECOND);
      assert.deepEqual(await a.claimedIds(NOW + SECOND), [next.id]);
    });

    test('one that comes with an earlier time does not overtake a head that has started: neither while it waits nor when it fails again', async ({
      a,
    }) => {
      const [head, late] = [queued({ retriesMax: 2 }), queued({ createdAt: NOW - 5, dueAt: NOW - 5 })];
      await a.store.accept([head], NOW);
      const claim = await a.claimOne(NOW);
      // From a node whose clock is behind.
      await a.store.accept([late], NOW);
      await a.store.settle([settlementOf(claim, ERROR, NOW)], NOW);
      const again = await a.claimOne(NOW + SECOND);
      assert.equal(again.message.id, head.id);
      await a.store.settle([settlementOf(again, ERROR, NOW + SECOND)], NOW + SECOND);
      const last = await a.claimOne(NOW + 10 * SECOND);
      assert.equal(last.message.id, head.id);
      await a.store.settle([settlementOf(last, OK, NOW + 10 * SECOND)], NOW + 10 * SECOND);
      assert.deepEqual(await a.claimedIds(NOW + 10 * SECOND), [late.id]);
    });

    test.onTwo('an interrupted head is repeated before the next starts', async ({ a, b }) => {
      const [head, next] = [queued(), queued()] as const;
      await a.store.accept([head, next], NOW);
      await b.store.settle([settlementOf(await a.claimOne(NOW), INTERRUPTED, NOW)], NOW);
      const again = await b.claimOne(NOW);
      assert.equal(again.message.id, head.id);
      await b.store.settle([settlementOf(again, OK, NOW)], NOW);
      assert.equal((await a.claimOne(NOW)).message.id, next.id);
    });

    test('after a head has failed, the next message starts', async ({ a }) => {
      const [head, next] = [queued(), queued()] as const;
      await a.store.accept([head, next], NOW);
      await a.store.settle([settlementOf(await a.claimOne(NOW), REFUSED, NOW)], NOW);
      assert.deepEqual(await a.claimedIds(NOW), [next.id]);
    });

    test('after a cancel of the head the next message starts: at once if it was not claimed, else when its attempt has ended', async ({
      a,
    }) => {
      const line = Array.from({ length: 4 }, () => queued());
      await a.store.accept(line, NOW);
      const cancel = (index: number) => a.store.cancel(ACCOUNT, [line[index]!.id], NOW, NOW + RETENTION);

      await cancel(0);
      const second = await a.claimOne(NOW);
      assert.equal(second.message.id, line[1]!.id);
      await cancel(1);
      assert.deepEqual(await a.claimedIds(NOW), []);
      assert.deepEqual(await a.store.settle([settlementOf(second, OK, NOW)], NOW), ['cancelled']);
      const third = await a.claimOne(NOW);
      assert.equal(third.message.id, line[2]!.id);
      await a.store.settle([settlementOf(third, ERROR, NOW)], NOW);
      await cancel(2);
      assert.deepEqual(await a.claimedIds(NOW), [line[3]!.id]);
    });

    test('a message cancelled in the middle leaves the order of the others', async ({ a }) => {
      const line = Array.from({ length: 3 }, () => queued());
      await a.store.accept(line, NOW);
      const head = await a.claimOne(NOW);
      await a.store.cancel(ACCOUNT, [line[1]!.id], NOW, NOW + RETENTION);
      assert.deepEqual(await a.claimedIds(NOW), []);
      await a.store.settle([settlementOf(head, OK, NOW)], NOW);
      assert.deepEqual(await a.claimedIds(NOW), [line[2]!.id]);
    });

    test.onTwo('a released head is the head again', async ({ a, b }) => {
      const [head, next] = [queued(), queued()] as const;
      await a.store.accept([head, next], NOW);
      await a.store.release([(await a.claimOne(NOW)).lease], NOW);
      assert.deepEqual(await b.claimedIds(NOW), [head.id]);
      assert.deepEqual(await a.claimedIds(NOW), []);
    });

    test('callbacks of a message in a queue block no other message', async ({ a }) => {
      const head = queued({ callback: callbackTo('https://back.example/') });
      const next = queued();
      await a.store.accept([head, next], NOW);
      await a.store.settle([settlementOf(await a.claimOne(NOW), OK, NOW)], NOW);
      const claims = await a.claims(NOW);
      assert.deepEqual(claims.map((claim) => claim.message.kind).toSorted(), ['callback', 'publish']);
    });

    test.onTwo('two nodes that claim at once start only one head', async ({ a, b }) => {
      const line = Array.from({ length: 5 }, () => queued());
      await a.store.accept(line, NOW);
      for (const expected of line) {
        const claims = (await Promise.all([a.claims(NOW), b.claims(NOW), a.claims(NOW)])).flat();
        assert.deepEqual(
          claims.map((claim) => claim.message.id),
          [expected.id],
        );
        await b.store.settle([settlementOf(claims[0]!, OK, NOW)], NOW);
      }
    });

    test('queues of the same name in two accounts are independent', async ({ a }) => {
      await a.store.accept([queued(), queued(), queued({ accountId: OTHER_ACCOUNT })], NOW);
      assert.equal((await a.claims(NOW)).length, 2);
      await a.store.saveQueue(OTHER_ACCOUNT, QUEUE, { isPaused: true }, NOW);
      assert.equal((await a.store.getQueue(ACCOUNT, QUEUE))!.isPaused, false);
      assert.equal((await a.store.getQueue(ACCOUNT, QUEUE))!.lag, 2);
      assert.equal((await a.store.getQueue(OTHER_ACCOUNT, QUEUE))!.lag, 1);
    });

    test('lag counts all messages that have not ended: waiting, delayed, claimed and retrying', async ({ a }) => {
      const lag = async () => (await a.store.getQueue(ACCOUNT, QUEUE))!.lag;
      await a.store.accept([queued(), queued(), queued({ dueAt: NOW + SECOND })], NOW);
      assert.equal(await lag(), 3);
      const claim = await a.claimOne(NOW);
      assert.equal(await lag(), 3);
      await a.store.settle([settlementOf(claim, ERROR, NOW)], NOW);
      assert.equal(await lag(), 3);
      await a.store.settle([settlementOf(await a.claimOne(NOW + SECOND), OK, NOW + SECOND)], NOW + SECOND);
      assert.equal(await lag(), 2);
    });
  });
}
