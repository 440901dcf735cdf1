// What there is to say of a message on its way: why it waits, that it may go now, when it was claimed, what it was
// answered; and what a queue that is to be deleted still has.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { NewMessage } from '../../src/rules/delivery/message.ts';
import {
  ACCOUNT,
  DAY,
  ERROR,
  message,
  NOW,
  OK,
  OTHER_ACCOUNT,
  QUEUE,
  queued,
  RETENTION,
  SECOND,
  settlementOf,
} from './given.ts';
import { type HarnessFactory, type Node, storeTests } from './harness.ts';

export function waitingConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);
  const facts = async (node: Node, { id }: NewMessage) => (await node.store.waitFacts(ACCOUNT, id))!;

  describe('why a message waits', () => {
    test('in a queue: the message before it, and how many are before it', async ({ a }) => {
      const line = [queued(), queued(), queued(), queued({ queueName: 'elsewhere' })];
      await a.store.accept(line, NOW);
      await a.claims(NOW);
      assert.equal((await facts(a, line[0]!)).ahead, null);
      assert.deepEqual((await facts(a, line[2]!)).ahead, {
        messageId: line[0]!.id,
        state: 'claimed',
        dueAt: NOW,
        count: 2,
      });
      const { queue, flowKey, message: found } = await facts(a, line[2]!);
      assert.deepEqual([queue?.name, queue?.lag, flowKey, found.state], [QUEUE, 3, null, 'pending']);
    });

    test('with an order key: the one of its key, or, as its first, those on their way', async ({ a }) => {
      await a.store.saveQueue(ACCOUNT, QUEUE, { parallelism: 1 }, NOW);
      const [x1, y1, x2] = ['x', 'y', 'x'].map((orderKey) => queued({ orderKey })) as [
        NewMessage,
        NewMessage,
        NewMessage,
      ];
      await a.store.accept([x1, y1, x2], NOW);
      assert.deepEqual((await facts(a, x2)).ahead, {
        messageId: x1.id,
        state: 'pending',
        dueAt: NOW,
        count: 1,
        isOfKey: true,
      });
      assert.deepEqual((await facts(a, y1)).ahead, { messageId: x1.id, state: 'pending', dueAt: NOW, count: 1 });
    });

    test('a message that started before it counts as before it, although its due time is later', async ({ a }) => {
      const [late, early] = [queued({ dueAt: NOW + 10 }), queued({ dueAt: NOW })] as const;
      await a.store.accept([late], NOW);
      await a.claimOne(NOW + 10);
      await a.store.accept([early], NOW + 10);
      assert.deepEqual((await facts(a, early)).ahead, {
        messageId: late.id,
        state: 'claimed',
        dueAt: NOW + 10,
        count: 1,
      });
    });

    test('under a flow key: the key as it stands', async ({ a }) => {
      const flow = { key: 'f', limits: { parallelism: 1, rate: null, periodMs: SECOND } };
      const [one, two] = [message({ flow }), message({ flow })] as const;
      await a.store.accept([one, two], NOW);
      const { flowKey, queue, ahead, flowAhead } = await facts(a, two);
      assert.deepEqual([flowKey?.active, flowKey?.waiting, queue, ahead], [1, 1, null, null]);
      assert.deepEqual(flowAhead, { count: 0, messageId: one.id });
      assert.equal((await facts(a, one)).flowAhead, null);
    });

    test('returns nothing for another account or an unknown message', async ({ a }) => {
      const one = message();
      await a.store.accept([one], NOW);
      assert.equal(await a.store.waitFacts(OTHER_ACCOUNT, one.id), null);
      assert.equal(await a.store.waitFacts(ACCOUNT, 'msg_none'), null);
    });
  });

  describe('delivering now', () => {
    test.onTwo('makes a delayed or retrying message due, on every node', async ({ a, b }) => {
      const delayed = message({ dueAt: NOW + DAY });
      await a.store.accept([delayed], NOW);
      assert.deepEqual(await b.claims(NOW), []);
      assert.equal(await a.store.deliverNow(ACCOUNT, delayed.id, NOW), 'due');
      const claim = await b.claimOne(NOW);
      await b.store.settle([settlementOf(claim, ERROR, NOW)], NOW);
      assert.deepEqual(await b.claims(NOW), []);
      assert.equal(await a.store.deliverNow(ACCOUNT, delayed.id, NOW), 'due');
      assert.equal((await b.claimOne(NOW)).message.retried, 1);
    });

    test('does not work for messages in queues, ended messages or unknown ids', async ({ a }) => {
      const [inQueue, ended] = [queued({ dueAt: NOW + DAY }), message()] as const;
      await a.store.accept([inQueue, ended], NOW);
      await a.store.cancel(ACCOUNT, [ended.id], NOW, NOW + RETENTION);
      assert.equal(await a.store.deliverNow(ACCOUNT, inQueue.id, NOW), 'inQueue');
      assert.equal(await a.store.deliverNow(ACCOUNT, ended.id, NOW), 'notWaiting');
      assert.equal(await a.store.deliverNow(ACCOUNT, 'msg_none', NOW), 'notWaiting');
      assert.equal(await a.store.deliverNow(OTHER_ACCOUNT, inQueue.id, NOW), 'notWaiting');
      assert.deepEqual(await a.claims(NOW), []);
    });

    test('does not break a limit of its flow key', async ({ a }) => {
      const flow = { key: 'f', limits: { parallelism: 1, rate: null, periodMs: SECOND } };
      const [one, two] = [message({ flow }), message({ flow, dueAt: NOW + DAY })] as const;
      await a.store.accept([one, two], NOW);
      assert.equal(await a.store.deliverNow(ACCOUNT, two.id, NOW), 'due');
      assert.deepEqual(await a.claimedIds(NOW), [one.id]);
    });
  });

  describe('what is known of the attempts', () => {
    test('when the one under way was claimed, what the last was answered, when the next follows', async ({ a }) => {
      const one = message();
      await a.store.accept([one], NOW);
      const stored = async () => (await a.store.getMessage(ACCOUNT, one.id))!;
      assert.deepEqual([(await stored()).message.claimedAt, (await stored()).message.lastStatus], [null, null]);
      const claim = await a.claimOne(NOW + 3);
      assert.equal(claim.message.claimedAt, NOW + 3);
      assert.equal((await stored()).message.claimedAt, NOW + 3);
      await a.store.settle([settlementOf(claim, ERROR, NOW + 9)], NOW + 9);
      const retrying = await stored();
      assert.deepEqual([retrying.message.claimedAt, retrying.message.lastStatus], [null, 500]);
      assert.equal(retrying.attempts[0]!.nextAt, NOW + 9 + SECOND);
      await a.store.settle([settlementOf(await a.claimOne(NOW + 2 * SECOND), OK, NOW + 2 * SECOND)], NOW + 2 * SECOND);
      const delivered = await stored();
      assert.equal(delivered.message.lastStatus, 200);
      assert.equal(delivered.attempts[1]!.nextAt, null);
    });
  });

  describe('deleting a queue', () => {
    test.onTwo('is refused while it has open messages, and says how many', async ({ a, b }) => {
      await a.store.accept([queued(), queued(), queued({ dueAt: NOW + DAY })], NOW);
      assert.equal(await a.store.deleteQueue(ACCOUNT, QUEUE), 3);
      const claim = await a.claimOne(NOW);
      await a.store.settle([settlementOf(claim, OK, NOW)], NOW);
      assert.equal(await b.store.deleteQueue(ACCOUNT, QUEUE), 2);
      assert.equal((await b.store.getQueue(ACCOUNT, QUEUE))!.lag, 2);
    });

    test('of an empty queue removes it; a new message creates it again', async ({ a }) => {
      await a.store.saveQueue(ACCOUNT, QUEUE, { parallelism: 7, isPaused: true }, NOW);
      assert.equal(await a.store.deleteQueue(OTHER_ACCOUNT, QUEUE), null);
      assert.equal(await a.store.deleteQueue(ACCOUNT, QUEUE), 0);
      assert.equal(await a.store.deleteQueue(ACCOUNT, QUEUE), null);
      assert.deepEqual((await a.store.listQueues(ACCOUNT)).entries, []);
      await a.store.accept([queued()], NOW);
      const { parallelism, isPaused } = (await a.store.getQueue(ACCOUNT, QUEUE))!;
      assert.deepEqual({ parallelism, isPaused }, { parallelism: 1, isPaused: false });
      assert.equal((await a.claims(NOW)).length, 1);
    });
  });
}
