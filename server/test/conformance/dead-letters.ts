// Dead letters: failed messages, deleted or sent again, each once.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { NewMessage } from '../../src/rules/delivery/message.ts';
import type { MessageFilter } from '../../src/rules/reads/message-filter.ts';
import { countMatching, readOverview } from '../../src/store/ports/count-in-pieces.ts';
import { countStates } from '../support/count-states.ts';
import {
  ACCOUNT,
  message,
  messages,
  NOW,
  OK,
  OTHER_ACCOUNT,
  REFUSED,
  RETENTION,
  SECOND,
  settlementOf,
} from './given.ts';
import { type HarnessFactory, type Node, storeTests } from './harness.ts';

async function fail(node: Node, dead: readonly NewMessage[]): Promise<void> {
  await node.store.accept(dead, NOW);
  const claims = await node.claims(NOW);
  await node.store.settle(
    claims.map((claim) => settlementOf(claim, REFUSED, NOW)),
    NOW,
  );
}

const again = (dead: NewMessage) => ({ messageId: dead.id, message: message({ sourceMessageId: dead.id }) });

export function deadLettersConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('dead letters', () => {
    test('only failed messages of the account are deleted, and each is counted once', async ({ a }) => {
      const [one, two, foreign] = [
        message({ labels: ['x'] }),
        message(),
        message({ accountId: OTHER_ACCOUNT }),
      ] as const;
      await fail(a, [one, two, foreign]);
      const [open, delivered] = messages(2) as [NewMessage, NewMessage];
      await a.store.accept([delivered], NOW);
      await a.store.settle([settlementOf(await a.claimOne(NOW), OK, NOW)], NOW);
      await a.store.accept([open], NOW);
      const ids = [one.id, foreign.id, open.id, delivered.id, 'msg_none', one.id];
      assert.equal(await a.store.deleteDeadLetters(ACCOUNT, ids), 1);
      assert.equal(await a.store.getMessage(ACCOUNT, one.id), null);
      assert.equal(await a.stateOf(foreign), 'failed');
      assert.equal(await a.stateOf(two), 'failed');
      const page = { limit: 9, cursor: null, order: 'newestFirst', withBodies: false } as const;
      assert.deepEqual((await a.store.searchMessages(ACCOUNT, { labels: ['x'] }, page)).messages, []);
    });

    test.onTwo(
      'after a retry it stays with its attempts and the id of the new message, until its retention ends',
      async ({ a, b }) => {
        const dead = message();
        await fail(a, [dead]);
        const retry = again(dead);
        assert.deepEqual(await a.store.retryDeadLetters([retry], NOW + SECOND), [true]);
        const old = (await a.store.getMessage(ACCOUNT, dead.id))!;
        assert.deepEqual(
          [old.message.state, old.message.retriedAs, old.message.retriedAt],
          ['failed', retry.message.id, NOW + SECOND],
        );
        assert.equal(old.attempts.length, 1);
        const stored = (await a.store.getMessage(ACCOUNT, retry.message.id))!;
        assert.equal(stored.message.state, 'pending');
        assert.equal(stored.message.sourceMessageId, dead.id);
        assert.deepEqual(stored.attempts, []);
        assert.deepEqual(await b.claimedIds(NOW), [retry.message.id]);
        assert.deepEqual(await a.store.retryDeadLetters([again(dead)], NOW), [false], 'once');
        assert.equal(await a.store.deleteExpired(NOW + RETENTION, 10), 1);
        assert.equal(await a.store.getMessage(ACCOUNT, dead.id), null);
      },
    );

    test('after a retry it is in no list, group or count of dead letters, unless the filter asks for it', async ({
      a,
    }) => {
      const [retried, dead] = [message(), message()];
      await fail(a, [retried, dead]);
      await a.store.retryDeadLetters([again(retried)], NOW);
      const page = { limit: 9, cursor: null, order: 'newestFirst', withBodies: false } as const;
      const found = async (filter: MessageFilter) => {
        const { messages: listed } = await a.store.searchMessages(ACCOUNT, { states: ['FAILED'], ...filter }, page);
        const { count } = await countMatching(a.store, ACCOUNT, { states: ['FAILED'], ...filter }, 9);
        assert.equal(count, listed.length);
        return listed.map(({ id }) => id);
      };
      assert.deepEqual(await found({ isRetried: false }), [dead.id]);
      assert.deepEqual(await found({ isRetried: true }), [retried.id]);
      assert.deepEqual(await found({}), [dead.id, retried.id]);
      assert.deepEqual(await found({ isRetried: 'any', endedToAt: NOW }), [dead.id, retried.id]);
      assert.deepEqual(await found({ isRetried: false, endedToAt: NOW - 1 }), []);
      const [group, ...others] = await a.store.failureGroups(ACCOUNT, 100);
      assert.deepEqual([group!.count, group!.sample.id, others], [1, dead.id, []]);
      const standing = await readOverview(a.store, ACCOUNT, NOW, 100);
      assert.deepEqual([standing.failed, standing.retried, standing.all], [1, 1, 3]);
      assert.equal(await a.store.deleteDeadLetters(ACCOUNT, [retried.id]), 1);
    });

    test('a deleted, open or foreign one creates no message, and the others are retried', async ({ a }) => {
      const [one, two] = messages(2) as [NewMessage, NewMessage];
      await fail(a, [one, two]);
      const open = message({ dueAt: NOW + 1 });
      await a.store.accept([open], NOW);
      const retries = [again(one), again(one), again(open), again(message()), again(two)];
      assert.deepEqual(await a.store.retryDeadLetters(retries, NOW), [true, false, false, false, true]);
      const foreign = { messageId: two.id, message: message({ accountId: OTHER_ACCOUNT }) };
      assert.deepEqual(await a.store.retryDeadLetters([foreign], NOW), [false]);
      assert.deepEqual(await countStates(a.store), {
        pending: 3,
        claimed: 0,
        held: 0,
        delivered: 0,
        failed: 2,
        cancelled: 0,
      });
    });

    test.onTwo('when two nodes retry the same dead letter, one succeeds', async ({ a, b }) => {
      const dead = message();
      await fail(a, [dead]);
      const results = await Promise.all([a, b, a, b].map(({ store }) => store.retryDeadLetters([again(dead)], NOW)));
      assert.equal(results.flat().filter(Boolean).length, 1);
      assert.equal((await countStates(a.store)).pending, 1);
    });

    test('one whose deduplication id is in use creates no message and stays', async ({ a }) => {
      const [one, two] = messages(2) as [NewMessage, NewMessage];
      await fail(a, [one, two]);
      const deduplication = { key: 'id:k', expiresAt: NOW + 1000 };
      await a.store.accept([message({ deduplication, dueAt: NOW + 1 })], NOW);
      const repeated = { messageId: one.id, message: message({ deduplication }) };
      assert.deepEqual(await a.store.retryDeadLetters([repeated, again(two)], NOW), [false, true]);
      assert.equal(await a.stateOf(one), 'failed');
      assert.equal((await a.store.getMessage(ACCOUNT, one.id))!.message.retriedAs, undefined);
      assert.equal((await countStates(a.store)).pending, 2);
    });

    test('a retry into a queue waits for its turn, and counts as usage', async ({ a }) => {
      const dead = message({ queueName: 'q' });
      await fail(a, [dead]);
      const [head] = messages(1, { queueName: 'q' });
      await a.store.accept([head!], NOW);
      const retry = again(dead);
      await a.store.retryDeadLetters([{ ...retry, message: { ...retry.message, queueName: 'q' } }], NOW);
      assert.deepEqual(await a.claimedIds(NOW), [head!.id]);
      assert.equal((await a.store.getQueue(ACCOUNT, 'q'))!.lag, 2);
      assert.equal((await a.store.usage(ACCOUNT, '2026-01-01', '2026-01-01')).entries[0]!.count, 3);
    });
  });
}
