// A body that several messages share is stored once, read by every one of them, and gone with the last.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { NewMessage } from '../../src/rules/delivery/message.ts';
import { countMatching } from '../../src/store/ports/count-in-pieces.ts';
import type { PageRequest } from '../../src/store/ports/message-store.ts';
import { SHARED_BODY_BYTES_MIN } from '../../src/store/shared/shared-bodies.ts';
import {
  ACCOUNT,
  DAY,
  ERROR,
  INTERRUPTED,
  message,
  messages,
  NOW,
  OK,
  OTHER_ACCOUNT,
  QUEUE,
  REFUSED,
  RETENTION,
  settlementOf,
} from './given.ts';
import { type HarnessFactory, type Node, storeTests } from './harness.ts';
import { job } from './jobs.ts';
import { schedule } from './schedules.ts';

const PAGE: PageRequest = { limit: 100, cursor: null, order: 'oldestFirst', withBodies: true };
const LARGE = 2 * SHARED_BODY_BYTES_MIN;
const DAY_OF_NOW = '2026-01-01';

function bytes(text: string, length = LARGE): Uint8Array {
  return new Uint8Array(Buffer.alloc(length, text));
}

/** One message for each of as many hosts, all with the same body. */
function fanOut(count: number, body: Uint8Array, some: Partial<NewMessage> = {}): NewMessage[] {
  return Array.from({ length: count }, (_, n) => message({ body, host: `h${n}.example:443`, topicName: 't', ...some }));
}

async function failAll(node: Node, count: number, now = NOW): Promise<void> {
  const claims = await node.claims(now);
  assert.equal(claims.length, count);
  await node.store.settle(
    claims.map((claim) => settlementOf(claim, REFUSED, now)),
    now,
  );
}

const idsOf = (some: readonly { readonly id: string }[]) => some.map(({ id }) => id);

export function sharedBodiesConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('shared bodies', () => {
    test('to a page of messages that are to be changed, a body that they share counts once, and each other one', async ({
      a,
    }) => {
      const changed: PageRequest = { ...PAGE, withBodies: false, isForChange: true, bytesMax: 100_000 };
      await a.store.accept(fanOut(20, bytes('shared ', 60_000)), NOW);
      assert.equal((await a.store.searchMessages(ACCOUNT, {}, changed)).messages.length, 20);
      await a.store.accept(
        ['one', 'two', 'three'].map((text) => message({ body: bytes(text, 60_000), labels: ['own'] })),
        NOW,
      );
      assert.equal((await a.store.searchMessages(ACCOUNT, { labels: ['own'] }, changed)).messages.length, 2);
    });

    test.onTwo(
      'a body of several messages is stored once, and every reader sees it',
      async ({ a, b, storedBodies }) => {
        const body = bytes('Body with a word ');
        const many = fanOut(5, body, { dueAt: NOW + 1 });
        const alone = message({ body: bytes('alone '), dueAt: NOW + 1 });
        await a.store.accept([...many, alone], NOW);
        assert.deepEqual(await storedBodies(), { count: 1, bytes: LARGE, unused: 0, wrong: 0 });
        const all = new Map([...many, alone].map((each) => [each.id, each.body]));

        for (const [id, expected] of all) {
          assert.deepEqual((await b.store.getMessage(ACCOUNT, id))!.message.body, expected);
          assert.equal((await b.store.waitFacts(ACCOUNT, id))!.message.body.length, 0, 'a reason needs no body');
        }
        const found = (await b.store.searchMessages(ACCOUNT, {}, PAGE)).messages;
        assert.deepEqual(new Map(found.map((each) => [each.id, each.body])), all);
        const without = await b.store.searchMessages(ACCOUNT, {}, { ...PAGE, withBodies: false });
        assert.ok(without.messages.every((each) => each.body.length === 0));
        const byText = await b.store.searchMessages(ACCOUNT, { text: 'with a word' }, PAGE);
        assert.deepEqual(idsOf(byText.messages), idsOf(many));
        assert.equal((await countMatching(b.store, ACCOUNT, { text: 'WITH A WORD' }, 100)).count, 5);
        const { events } = await b.store.listEvents(ACCOUNT, { messages: {} }, { ...PAGE, order: 'newestFirst' });
        assert.deepEqual(new Map(events.map((event) => [event.message.id, event.message.body])), all);
        const claims = await b.claims(NOW + 1);
        assert.deepEqual(new Map(claims.map((claim) => [claim.message.id, claim.message.body])), all);
      },
    );

    test.onTwo('claims, found messages and events that share a body have it in memory once', async ({ a, b }) => {
      const [one, other] = [bytes('one '), bytes('other ')];
      const both = [...fanOut(3, one, { dueAt: NOW + 1 }), ...fanOut(3, other, { dueAt: NOW + 1 })];
      await a.store.accept(both, NOW);
      const found = (await b.store.searchMessages(ACCOUNT, {}, PAGE)).messages;
      assert.equal(new Set(found.map((each) => each.body)).size, 2);
      const claims = await b.claims(NOW + 1);
      assert.equal(claims.length, 6);
      assert.equal(new Set(claims.map((claim) => claim.message.body)).size, 2);
    });

    test('a message leased at accept has its body', async ({ a, storedBodies }) => {
      await a.claims(NOW);
      const many = fanOut(3, bytes('at once '));
      await a.store.accept(many, NOW);
      const claims = await a.claims(NOW);
      assert.equal(claims.length, 3);
      for (const { message: each } of claims) assert.deepEqual(each.body, many[0]!.body);
      assert.equal((await storedBodies()).count, 1);
    });

    test.onTwo(
      'a retry, an orphaned claim and a message that was given back have their body',
      async ({ a, b, letTimePass }) => {
        const body = bytes('again ');
        await a.store.heartbeat('nod_a', 15_000);
        await a.store.accept(fanOut(3, body), NOW);
        const [first, second, third] = await a.claims(NOW);
        await a.store.settle([settlementOf(first!, ERROR, NOW)], NOW);
        await a.store.release([second!.lease], NOW);
        const again = await a.claims(NOW + DAY);
        assert.deepEqual(
          again.map((claim) => claim.message.body),
          [body, body],
        );
        await letTimePass(16_000);
        const orphans = await b.store.orphanedClaims('nod_b');
        assert.equal(orphans.length, 3);
        assert.ok(orphans.some(({ lease }) => lease === third!.lease));
        await b.store.settle(
          orphans.map((orphan) => settlementOf(orphan, INTERRUPTED, NOW + DAY)),
          NOW + DAY,
        );
        const taken = await b.claims(NOW + DAY);
        assert.deepEqual(
          taken.map((claim) => claim.message.body),
          [body, body, body],
        );
      },
    );

    test('the next of a queue takes over the slot with its body', async ({ a }) => {
      for (const length of [LARGE, 100 * 1024]) {
        const body = bytes('in line ', length);
        const many = messages(3, { body, queueName: QUEUE });
        await a.store.accept(many, NOW);
        for (const each of many) {
          const claim = await a.claimOne(NOW);
          assert.equal(claim.message.id, each.id);
          assert.deepEqual(claim.message.body, body);
          await a.store.settle([settlementOf(claim, OK, NOW)], NOW, { takesOver: [ACCOUNT] });
        }
      }
    });

    test.onTwo('a claim counts the bytes of each message, shared or not', async ({ a, b }) => {
      const length = 100 * 1024;
      await a.store.accept(fanOut(5, bytes('heavy ', length), { dueAt: NOW + 1 }), NOW);
      const claimed = async () => {
        const counts: number[] = [];
        for (const allowed of [0, 2, 20]) counts.push((await b.claims(NOW + 1, { bytes: allowed * length })).length);
        return counts;
      };
      const shared = await claimed();
      assert.ok(shared[1]! < 5 && shared[2]! > 0, `claimed ${shared}`);
      const own = fanOut(5, new Uint8Array(0), { dueAt: NOW + 1 });
      await a.store.accept(
        own.map((each) => ({ ...each, body: bytes('heavy ', length) })),
        NOW,
      );
      assert.deepEqual(await claimed(), shared);
    });

    test('small bodies, bodies of one message and bodies that are only equal are kept in their rows', async ({
      a,
      storedBodies,
    }) => {
      await a.store.accept(fanOut(3, bytes('small ', SHARED_BODY_BYTES_MIN - 1)), NOW);
      await a.store.accept([message({ body: bytes('one ') })], NOW);
      await a.store.accept([message({ body: bytes('equal ') }), message({ body: bytes('equal ') })], NOW);
      assert.equal((await storedBodies()).count, 0);
    });

    test('nothing is shared by two requests or by two accounts', async ({ a, storedBodies }) => {
      const body = bytes('everywhere ');
      const own = fanOut(2, body);
      const foreign = fanOut(2, body, { accountId: OTHER_ACCOUNT });
      await Promise.all([a.store.accept(own, NOW), a.store.accept(foreign, NOW), a.store.accept(fanOut(2, body), NOW)]);
      assert.equal((await storedBodies()).count, 3);
      await a.store.cancel(OTHER_ACCOUNT, idsOf(foreign), NOW, NOW);
      await a.store.deleteExpired(NOW, 10);
      assert.equal((await storedBodies()).count, 2);
      assert.deepEqual((await a.store.getMessage(ACCOUNT, own[0]!.id))!.message.body, body);
      // Even if they came in one call.
      const mixed = [...fanOut(1, body), ...fanOut(1, body, { accountId: OTHER_ACCOUNT })];
      await a.store.accept(mixed, NOW);
      assert.equal((await storedBodies()).count, 2);
      for (const { accountId, id } of mixed) {
        assert.deepEqual((await a.store.getMessage(accountId, id))!.message.body, body);
      }
    });

    test('a refused message leaves no body', async ({ a, storedBodies }) => {
      const body = bytes('refused ');
      const once = { deduplication: { key: 'k', expiresAt: NOW + DAY } };
      await a.store.accept([message(once)], NOW);
      await a.store.accept(fanOut(3, body, once), NOW);
      assert.equal((await a.store.accept(fanOut(3, body), NOW, 1)).isOverQuota, true);
      const [first, second] = fanOut(2, body) as [NewMessage, NewMessage];
      await assert.rejects(a.store.accept([first, { ...second, id: first.id }], NOW));
      assert.deepEqual(await storedBodies(), { count: 0, bytes: 0, unused: 0, wrong: 0 });
      assert.equal((await a.store.usage(ACCOUNT, DAY_OF_NOW, DAY_OF_NOW)).entries[0]!.count, 1);
    });

    test('in a fan-out with duplicates the other messages have their body', async ({ a, storedBodies }) => {
      const body = bytes('twice ');
      const many = fanOut(4, body).map((each, n) => ({
        ...each,
        deduplication: { key: n < 2 ? 'same' : `k${n}`, expiresAt: NOW + DAY },
      }));
      const { duplicates } = await a.store.accept(many, NOW);
      assert.deepEqual(duplicates, [null, many[0]!.id, null, null]);
      assert.equal((await storedBodies()).count, 1);
      for (const { id } of many.filter((_, n) => n !== 1)) {
        assert.deepEqual((await a.store.getMessage(ACCOUNT, id))!.message.body, body);
      }
    });

    test('retention deletes it with the last message that has it, and not before', async ({ a, storedBodies }) => {
      const body = bytes('kept ');
      const many = fanOut(5, body);
      await a.store.accept(many, NOW);
      const claims = await a.claims(NOW);
      await a.store.settle(
        claims.slice(0, 4).map((claim) => settlementOf(claim, OK, NOW)),
        NOW,
      );
      const open = claims[4]!.message.id;
      for (const deleted of [3, 1, 0]) {
        assert.equal(await a.store.deleteExpired(NOW + RETENTION, 3), deleted);
        assert.equal((await storedBodies()).count, 1);
      }
      assert.deepEqual((await a.store.getMessage(ACCOUNT, open))!.message.body, body);
      await a.store.settle([settlementOf(claims[4]!, OK, NOW)], NOW);
      assert.equal(await a.store.deleteExpired(NOW + RETENTION, 3), 1);
      assert.equal((await storedBodies()).count, 0);
    });

    test.onTwo(
      'of two nodes that delete the last messages at once, one deletes the body',
      async ({ a, b, storedBodies }) => {
        for (let round = 0; round < 10; round += 1) {
          const many = fanOut(8, bytes('race '));
          await a.store.accept(many, NOW);
          await failAll(a, 8);
          const ids = idsOf(many);
          await Promise.all([
            a.store.deleteDeadLetters(ACCOUNT, ids.slice(0, 3)),
            b.store.deleteDeadLetters(ACCOUNT, ids.slice(3, 6)),
            a.store.deleteExpired(NOW + RETENTION, 4),
            b.store.deleteExpired(NOW + RETENTION, 4),
          ]);
          await a.store.deleteExpired(NOW + RETENTION, 100);
          assert.equal((await storedBodies()).count, 0);
        }
      },
    );

    test('dead letters are deleted and sent again with their body', async ({ a, storedBodies }) => {
      const body = bytes('dead ');
      const many = fanOut(4, body, { topicName: 't' });
      await a.store.accept(many, NOW);
      await failAll(a, 4);
      assert.equal(await a.store.deleteDeadLetters(ACCOUNT, [many[0]!.id]), 1);
      const dead = (await a.store.searchMessages(ACCOUNT, { states: ['FAILED'] }, PAGE)).messages;
      assert.equal(dead.length, 3);
      const again = (each: NewMessage) => ({
        messageId: each.id,
        message: message({ body: each.body, host: each.host, sourceMessageId: each.id }),
      });
      assert.deepEqual(await a.store.retryDeadLetters([again(dead[0]!)], NOW), [true]);
      assert.deepEqual(await storedBodies(), { count: 1, bytes: LARGE, unused: 0, wrong: 0 });
      assert.deepEqual(await a.store.retryDeadLetters(dead.slice(1).map(again), NOW), [true, true]);
      assert.equal((await storedBodies()).count, 2, 'the two that are sent again together share theirs anew');
      const claims = await a.claims(NOW);
      assert.equal(claims.length, 3);
      for (const claim of claims) assert.deepEqual(claim.message.body, body);
    });

    test('a bulk retry keeps shared bodies shared', async ({ a, storedBodies }) => {
      const body = bytes('bulk ');
      await a.store.accept(fanOut(4, body), NOW);
      await failAll(a, 4);
      await a.store.createJob(job({ action: 'retry', filter: {} }));
      const { messages: dead } = await a.store.searchMessages(ACCOUNT, { states: ['FAILED'] }, PAGE);
      const retries = dead.map((each) => ({
        messageId: each.id,
        message: message({ body: each.body, host: each.host, sourceMessageId: each.id }),
      }));
      assert.equal(
        await a.store.runJobStep(ACCOUNT, 'job_1', { action: 'retry', retries, dayMax: null }, { atSeq: 1, now: NOW }),
        4,
      );
      assert.deepEqual(await storedBodies(), { count: 2, bytes: 2 * LARGE, unused: 0, wrong: 0 });
      await failAll(a, 4);
      // Those that were sent again, too.
      const { messages: deadAgain } = await a.store.searchMessages(ACCOUNT, { states: ['FAILED'] }, PAGE);
      const work = { action: 'delete', messageIds: idsOf(deadAgain) } as const;
      assert.equal(await a.store.runJobStep(ACCOUNT, 'job_1', work, { atSeq: 1, now: NOW }), 8);
      assert.equal((await storedBodies()).count, 0);
    });

    test('the tick of a schedule to a topic stores its body once', async ({ a, storedBodies }) => {
      const one = schedule({ body: bytes('tick '), nextAt: NOW });
      await a.store.saveSchedule(one);
      const made = fanOut(3, one.body, { kind: 'schedule', scheduleId: one.id });
      assert.deepEqual(await a.store.fireSchedules([{ schedule: one, messages: made, nextAt: NOW + DAY }], NOW), [3]);
      assert.deepEqual(await storedBodies(), { count: 1, bytes: LARGE, unused: 0, wrong: 0 });
      for (const { id } of made) assert.deepEqual((await a.store.getMessage(ACCOUNT, id))!.message.body, one.body);
    });

    test.onTwo('labels, flow keys and queues work as without shared bodies', async ({ a, b, storedBodies }) => {
      const flow = { key: 'slow', limits: { parallelism: 2, rate: null, periodMs: 1000 } };
      const many = fanOut(4, bytes('keyed '), { labels: ['red', 'blue'], flow });
      await a.store.accept(many, NOW);
      assert.equal((await storedBodies()).count, 1);
      assert.equal((await countMatching(b.store, ACCOUNT, { labels: ['red'] }, 10)).count, 4);
      const claims = await b.claims(NOW);
      assert.equal(claims.length, 2);
      for (const claim of claims) assert.deepEqual(claim.message.body, many[0]!.body);
    });
  });
}
