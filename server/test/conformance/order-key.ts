// Order keys: inside a queue, messages of one key go one after the other, and keys go beside each other as far as the
// queue's parallelism allows.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { NewMessage } from '../../src/rules/delivery/message.ts';
import { ACCOUNT, ERROR, NOW, OK, QUEUE, queued, REFUSED, RETENTION, SECOND, settlementOf } from './given.ts';
import { type HarnessFactory, type Node, storeTests } from './harness.ts';

function keyed(orderKey: string | null, some: Partial<NewMessage> = {}): NewMessage {
  return queued({ orderKey, ...some });
}

const ids = (some: readonly NewMessage[]) => some.map(({ id }) => id);

export function orderKeyConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);
  const parallel = (node: Node, parallelism: number) => node.store.saveQueue(ACCOUNT, QUEUE, { parallelism }, NOW);

  describe('order keys', () => {
    test.onTwo('the first of each key starts; the next of a key when the one before has ended', async ({ a, b }) => {
      await parallel(a, 10);
      const [x1, x2, y1, y2, x3] = [keyed('x'), keyed('x'), keyed('y'), keyed('y'), keyed('x')] as const;
      await a.store.accept([x1, x2, y1, y2, x3], NOW);
      const first = await a.claims(NOW);
      assert.deepEqual(ids(first.map((claim) => claim.message)), [x1.id, y1.id]);
      await a.store.settle([settlementOf(first[0]!, OK, NOW)], NOW);
      const second = await b.claimOne(NOW);
      assert.equal(second.message.id, x2.id);
      await b.store.settle([settlementOf(second, REFUSED, NOW)], NOW);
      assert.deepEqual(await b.claimedIds(NOW), [x3.id]);
    });

    test('accepted together: a new key, one that comes twice, and one that the queue has, with another time', async ({
      a,
    }) => {
      await parallel(a, 10);
      const [later, ended] = [keyed('x', { dueAt: NOW + SECOND }), keyed('z')] as const;
      await a.store.accept([later, ended], NOW);
      await a.store.settle([settlementOf(await a.claimOne(NOW), OK, NOW)], NOW);
      const [x1, x2, y, z1, z2, w1, w2] = [
        keyed('x', { dueAt: NOW }),
        keyed('x', { dueAt: NOW }),
        keyed('y'),
        keyed('z'),
        keyed('z'),
        keyed('w', { dueAt: NOW + SECOND }),
        keyed('w'),
      ] as const;
      await a.store.accept([x1, x2, y, z1, z2, w1, w2], NOW);
      const started: string[] = [];
      for (let claims = await a.claims(NOW); claims.length > 0; claims = await a.claims(NOW)) {
        started.push(ids(claims.map((claim) => claim.message)).join(' '));
        await a.store.settle(
          claims.map((claim) => settlementOf(claim, OK, NOW)),
          NOW,
        );
      }
      assert.deepEqual(started, [ids([x1, y, z1, w2]).join(' '), ids([x2, z2]).join(' ')]);
      assert.deepEqual((await a.claimedIds(NOW + SECOND)).toSorted(), ids([later, w1]).toSorted());
    });

    test('keys share the parallelism of their queue with messages without one', async ({ a }) => {
      await parallel(a, 3);
      const line = [keyed('x'), keyed('x'), keyed(null), keyed('y'), keyed(null)];
      await a.store.accept(line, NOW);
      assert.deepEqual(await a.claimedIds(NOW), ids([line[0]!, line[2]!, line[3]!]));
    });

    test('with a parallelism of one, order keys only change which messages wait for a retry', async ({ a }) => {
      const line = [keyed('x'), keyed('y'), keyed('x')];
      await a.store.accept(line, NOW);
      for (const expected of line) {
        const claim = await a.claimOne(NOW);
        assert.equal(claim.message.id, expected.id);
        await a.store.settle([settlementOf(claim, OK, NOW)], NOW);
      }
    });

    test('a retrying head holds its key and no other', async ({ a }) => {
      await parallel(a, 2);
      const [x1, x2, y1, y2] = [keyed('x'), keyed('x'), keyed('y'), keyed('y')] as const;
      await a.store.accept([x1, x2, y1, y2], NOW);
      const [x, y] = await a.claims(NOW);
      await a.store.settle([settlementOf(x!, ERROR, NOW), settlementOf(y!, OK, NOW)], NOW);
      assert.deepEqual(await a.claimedIds(NOW + SECOND - 1), [y2.id]);
      assert.deepEqual(await a.claimedIds(NOW + SECOND), [x1.id]);
    });

    test('a delayed message holds nobody of its key back until it is due', async ({ a }) => {
      await parallel(a, 5);
      const [delayed, now] = [keyed('x', { dueAt: NOW + SECOND }), keyed('x')] as const;
      await a.store.accept([delayed], NOW);
      await a.store.accept([now], NOW);
      const claim = await a.claimOne(NOW);
      assert.equal(claim.message.id, now.id);
      assert.deepEqual(await a.claimedIds(NOW + SECOND), [], 'one at a time, also when it is due');
      await a.store.settle([settlementOf(claim, OK, NOW + SECOND)], NOW + SECOND);
      assert.deepEqual(await a.claimedIds(NOW + SECOND), [delayed.id]);
    });

    test('the place in the line of a key is the time of first becoming due', async ({ a }) => {
      await parallel(a, 5);
      const [late, early] = [keyed('x', { dueAt: NOW + 20 }), keyed('x', { dueAt: NOW + 10 })] as const;
      await a.store.accept([late, early], NOW);
      assert.equal((await a.claimDue(NOW)).nextDueAt, NOW + 10);
      const claim = await a.claimOne(NOW + 30);
      assert.equal(claim.message.id, early.id);
    });

    test('a message cancelled anywhere in the line of its key leaves the others in order', async ({ a }) => {
      await parallel(a, 5);
      const line = Array.from({ length: 5 }, () => keyed('x'));
      await a.store.accept(line, NOW);
      const cancel = (index: number) => a.store.cancel(ACCOUNT, [line[index]!.id], NOW, NOW + RETENTION);
      await cancel(0);
      await cancel(2);
      const claim = await a.claimOne(NOW);
      assert.equal(claim.message.id, line[1]!.id);
      await cancel(1);
      assert.deepEqual(await a.claimedIds(NOW), []);
      await a.store.settle([settlementOf(claim, ERROR, NOW)], NOW);
      const fourth = await a.claimOne(NOW);
      assert.equal(fourth.message.id, line[3]!.id);
      await cancel(3);
      await a.store.release([fourth.lease], NOW);
      assert.deepEqual(await a.claimedIds(NOW), [line[4]!.id]);
    });

    test('pausing and lowering the parallelism keep the order of a key', async ({ a }) => {
      await parallel(a, 3);
      const [x1, x2, y1] = [keyed('x'), keyed('x'), keyed('y')] as const;
      await a.store.accept([x1, x2, y1], NOW);
      await a.store.saveQueue(ACCOUNT, QUEUE, { isPaused: true }, NOW);
      assert.deepEqual(await a.claimedIds(NOW), []);
      await a.store.saveQueue(ACCOUNT, QUEUE, { isPaused: false, parallelism: 1 }, NOW);
      const claim = await a.claimOne(NOW);
      assert.equal(claim.message.id, x1.id);
      await a.store.settle([settlementOf(claim, OK, NOW)], NOW);
      await parallel(a, 3);
      assert.deepEqual(await a.claimedIds(NOW), [x2.id, y1.id]);
    });

    test('a key that lost its place to a lower parallelism still goes one by one', async ({ a }) => {
      await parallel(a, 2);
      const [x1, y1, x2, y2] = [keyed('x'), keyed('y'), keyed('x'), keyed('y')] as const;
      await a.store.accept([x1, y1, x2, y2], NOW);
      const claims = await a.claims(NOW);
      await a.store.settle(
        claims.map((claim) => settlementOf(claim, ERROR, NOW)),
        NOW,
      );
      await parallel(a, 1);
      await a.store.accept([keyed('y')], NOW);
      const served: string[] = [];
      for (let turn = 0; turn < 5; turn += 1) {
        const claim = await a.claimOne(NOW + 10 * SECOND);
        served.push(claim.message.id);
        await a.store.settle([settlementOf(claim, OK, NOW + 10 * SECOND)], NOW + 10 * SECOND);
      }
      assert.deepEqual(served.slice(0, 4), [x1.id, y1.id, x2.id, y2.id]);
    });

    test('the same key in two queues is two keys', async ({ a }) => {
      const line = [keyed('x'), keyed('x', { queueName: 'elsewhere' })];
      await a.store.accept(line, NOW);
      assert.equal((await a.claims(NOW)).length, 2);
    });

    test.onTwo('a released message is the first of its key again', async ({ a, b }) => {
      await parallel(a, 5);
      const line = [keyed('x'), keyed('x')];
      await a.store.accept(line, NOW);
      await a.store.release([(await a.claimOne(NOW)).lease], NOW);
      assert.deepEqual(await b.claimedIds(NOW), [line[0]!.id]);
    });
  });
}
