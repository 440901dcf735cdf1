// Expiry: from then on nothing starts, and what waits ends as failed, once, with all that follows from the end of a
// failed message, wherever it waits.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { messageEvents } from '../../src/rules/delivery/event.ts';
import type { NewMessage } from '../../src/rules/delivery/message.ts';
import { decideExpiration } from '../../src/rules/delivery/settle.ts';
import {
  ACCOUNT,
  callbackTo,
  ERROR,
  INTERRUPTED,
  INTERRUPTED_ALONE,
  limits,
  message,
  messages,
  NOW,
  newId,
  OK,
  OTHER_ACCOUNT,
  QUEUE,
  queued,
  RETENTION,
  SECOND,
  settlementOf,
} from './given.ts';
import { type HarnessFactory, type Node, storeTests } from './harness.ts';

const END = NOW + 10 * SECOND;
const LATER = END + 60 * SECOND;
const ALL = { limit: 100, cursor: null, order: 'oldestFirst', withBodies: false } as const;
const FLOW = { key: 'k', limits: { parallelism: 1, rate: null, periodMs: SECOND } };
const BACK = 'https://back.example/failed';

/** Ends what has expired, a piece of `most`, as the upkeep of a node does. */
async function expire({ store }: Node, now: number, most = 100, after = '') {
  const { expired, nextAt, lastInTurn } = await store.dueExpiries(now, { messages: most, after });
  const expirations = expired.map((each) => decideExpiration(each, { now, retentionMs: RETENTION, newId }));
  const ids = await store.expireMessages(expirations, now);
  return { ids, expirations, nextAt, lastInTurn };
}

const idsOf = (some: readonly NewMessage[]) => some.map(({ id }) => id);
const expiring = (some: Partial<NewMessage> = {}) => message({ mustStartBefore: END, ...some });

export function expiryConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);
  const stored = async ({ store }: Node, { id, accountId }: NewMessage) => (await store.getMessage(accountId, id))!;
  const failuresOf = async ({ store }: Node, { id, accountId }: NewMessage) =>
    (await store.searchMessages(accountId, { sourceMessageIds: [id] }, { ...ALL, withBodies: true })).messages;

  describe('expiry', () => {
    test('an expired message is not claimed, and one before its expiry is', async ({ a }) => {
      const [early, late] = [expiring(), expiring({ mustStartBefore: END + 1 })];
      await a.store.accept([early, late], NOW);
      assert.deepEqual(await a.claimedIds(END), [late.id]);
      assert.equal(await a.stateOf(early), 'pending');
    });

    test('a claim passes over expired messages to those behind them', async ({ a }) => {
      const [gone, live] = [messages(5, { mustStartBefore: END }), message({ dueAt: NOW + 1 })];
      await a.store.accept([...gone, live], NOW + 1);
      assert.deepEqual(await a.claimedIds(END, { slots: 1 }), [live.id]);
    });

    test('a message that waits ends as failed, once, with its reason', async ({ a }) => {
      const sent = expiring({ dueAt: NOW + SECOND });
      await a.store.accept([sent], NOW);
      assert.deepEqual(await expire(a, END - 1), { ids: [], expirations: [], nextAt: END, lastInTurn: null });
      assert.deepEqual((await expire(a, END)).ids, [sent.id]);
      const { message: ended, attempts } = await stored(a, sent);
      assert.equal(ended.state, 'failed');
      assert.equal(ended.endedAt, END);
      assert.equal(ended.failure, 'expired before its first attempt');
      assert.equal(ended.failureCode, 'expired');
      assert.equal(ended.mustStartBefore, END);
      assert.deepEqual(attempts, []);
      assert.deepEqual(await expire(a, END), { ids: [], expirations: [], nextAt: null, lastInTurn: null });
      assert.deepEqual(await a.claimedIds(END + SECOND), []);
      await a.store.deleteExpired(END + RETENTION, 10);
      assert.equal(await a.stateOf(sent), null);
    });

    test('its events end with FAILED, in a list and of the message alone', async ({ a }) => {
      const sent = expiring({ retryDelay: '60000' });
      await a.store.accept([sent], NOW);
      // Its own retry would come too late, so that the next claim is released and the message waits again.
      const claim = await a.claimOne(NOW);
      await a.store.release([claim.lease], NOW + 1);
      await expire(a, END);
      const { events } = await a.store.listEvents(ACCOUNT, { messages: {} }, ALL);
      assert.deepEqual(
        events.map(({ state, at, attempt }) => [state, at, attempt]),
        [
          ['CREATED', NOW, null],
          ['FAILED', END, null],
        ],
      );
      const { message: ended, attempts } = await stored(a, sent);
      assert.deepEqual(
        messageEvents(ended, attempts).map(({ state, at }) => [state, at]),
        [
          ['CREATED', NOW],
          ['FAILED', END],
        ],
      );
    });

    test('a retry that would start after the expiry is not waited for', async ({ a }) => {
      const sent = expiring({ retryDelay: '5000', retriesMax: 9, failureCallback: callbackTo(BACK) });
      await a.store.accept([sent], NOW);
      await a.store.settle([settlementOf(await a.claimOne(NOW), ERROR, NOW + 1)], NOW + 1);
      assert.equal(await a.stateOf(sent), 'pending');
      await a.store.settle([settlementOf(await a.claimOne(NOW + 6000), ERROR, NOW + 6001)], NOW + 6001);
      const { message: ended } = await stored(a, sent);
      assert.equal(ended.state, 'failed');
      assert.equal(ended.failureCode, 'expired');
      assert.equal(ended.retried, 1);
      assert.match(ended.failure!, /^expired before its next attempt: .*500$/);
      assert.equal((await failuresOf(a, sent)).length, 1);
      assert.deepEqual((await expire(a, END)).ids, []);
      const { events } = await a.store.listEvents(ACCOUNT, { messages: { messageIds: [sent.id] } }, ALL);
      assert.deepEqual(
        events.map(({ state }) => state),
        ['CREATED', 'ACTIVE', 'ERROR', 'RETRY', 'ACTIVE', 'ERROR', 'FAILED'],
      );
    });

    test('an attempt that was cut off after the expiry is not repeated', async ({ a }) => {
      const sent = expiring();
      await a.store.accept([sent], NOW);
      await a.store.settle([settlementOf(await a.claimOne(NOW), INTERRUPTED, END)], END);
      const { message: ended, attempts } = await stored(a, sent);
      assert.deepEqual([ended.state, ended.failureCode], ['failed', 'expired']);
      const states = ['CREATED', 'ACTIVE', 'ERROR', 'FAILED'];
      const { events } = await a.store.listEvents(ACCOUNT, { messages: {} }, ALL);
      assert.deepEqual(
        events.map(({ state }) => state),
        states,
      );
      assert.deepEqual(
        messageEvents(ended, attempts).map(({ state }) => state),
        states,
      );
      const [bucket] = await a.store.activity(ACCOUNT, NOW, END + 1, 60_000);
      assert.equal(bucket!.activity.failed, 1);
    });

    test('an attempt under way runs to its end', async ({ a }) => {
      const sent = expiring();
      await a.store.accept([sent], NOW);
      const claim = await a.claimOne(END - 1);
      assert.deepEqual((await expire(a, END)).ids, []);
      await a.store.settle([settlementOf(claim, OK, END + 1)], END + 1);
      assert.equal(await a.stateOf(sent), 'delivered');
    });

    test('a claim that is released after the expiry is ended, not claimed again', async ({ a }) => {
      const sent = expiring();
      await a.store.accept([sent], NOW);
      const claim = await a.claimOne(END - 1);
      await a.store.release([claim.lease], END);
      assert.deepEqual(await a.claimedIds(END), []);
      assert.deepEqual((await expire(a, END)).ids, [sent.id]);
      assert.deepEqual((await stored(a, sent)).attempts, []);
    });

    test('a message that is claimed, cancelled or ended since it was read is left alone', async ({ a }) => {
      const [claimed, cancelled, delivered] = [expiring(), expiring({ dueAt: END }), expiring({ dueAt: NOW - 1 })];
      await a.store.accept([claimed, cancelled, delivered], NOW);
      const { expired } = await a.store.dueExpiries(END, { messages: 10, after: '' });
      assert.equal(expired.length, 3);
      const claims = await a.claims(END - 1);
      const settled = claims.filter((claim) => claim.message.id === delivered.id);
      await a.store.settle([settlementOf(settled[0]!, OK, END - 1)], END - 1);
      await a.store.cancel(ACCOUNT, [cancelled.id], END - 1, END + RETENTION);
      const what = { now: END, retentionMs: RETENTION, newId };
      const ends = expired.map((each) => decideExpiration(each, what));
      assert.deepEqual(await a.store.expireMessages(ends, END), []);
      const states = await Promise.all([claimed, cancelled, delivered].map((each) => a.stateOf(each)));
      assert.deepEqual(states, ['claimed', 'cancelled', 'delivered']);
    });

    test('a message whose cancel was requested ends as cancelled', async ({ a }) => {
      const sent = expiring();
      await a.store.accept([sent], NOW);
      const claim = await a.claimOne(NOW);
      await a.store.cancel(ACCOUNT, [sent.id], NOW, END + RETENTION);
      assert.deepEqual((await expire(a, END)).ids, []);
      await a.store.release([claim.lease], END);
      assert.equal(await a.stateOf(sent), 'cancelled');
    });
  });

  describe('expiry in lines', () => {
    test('messages of a paused queue end at their time, and the queue goes on behind them', async ({ a }) => {
      const [first, second] = [queued({ mustStartBefore: END }), queued({ dueAt: NOW + 1 })];
      await a.store.accept([first, second], NOW + 1);
      await a.store.saveQueue(ACCOUNT, QUEUE, { isPaused: true }, NOW + 1);
      assert.deepEqual((await expire(a, END)).ids, [first.id]);
      assert.deepEqual(await a.claimedIds(END), []);
      await a.store.saveQueue(ACCOUNT, QUEUE, { isPaused: false }, END);
      assert.deepEqual(await a.claimedIds(END), [second.id]);
    });

    test('the head of a queue that expires gives its place to the next', async ({ a }) => {
      const [head, ...others] = [
        queued({ mustStartBefore: END }),
        queued({ dueAt: NOW + 1 }),
        queued({ dueAt: NOW + 2 }),
      ];
      await a.store.accept([head!, ...others], NOW + 2);
      assert.deepEqual(await a.claimedIds(END), []);
      await expire(a, END);
      assert.deepEqual(await a.claimedIds(END), [others[0]!.id]);
    });

    test('a message behind others in a queue ends before its turn', async ({ a }) => {
      const [head, behind] = [queued(), queued({ mustStartBefore: END })];
      await a.store.accept([head, behind], NOW);
      const claim = await a.claimOne(NOW);
      assert.deepEqual((await expire(a, END)).ids, [behind.id]);
      await a.store.settle([settlementOf(claim, OK, END)], END, { takesOver: [ACCOUNT] });
      assert.deepEqual(await a.claimedIds(END), []);
      assert.equal((await a.store.getQueue(ACCOUNT, QUEUE))!.lag, 0);
    });

    test('the next of a queue takes over a slot only before its expiry', async ({ a }) => {
      const [head, next] = [queued(), queued({ mustStartBefore: END })];
      await a.store.accept([head, next], NOW);
      const claim = await a.claimOne(NOW);
      const handedOut: string[] = [];
      const restore = a.store.onClaims((claims) => handedOut.push(...claims.map((each) => each.message.id)));
      a.store.offer(limits());
      await a.store.settle([settlementOf(claim, OK, END)], END, { takesOver: [ACCOUNT] });
      restore();
      assert.deepEqual(handedOut, []);
      assert.deepEqual((await expire(a, END)).ids, [next.id]);
    });

    test('the next message with the order key starts', async ({ a }) => {
      await a.store.saveQueue(ACCOUNT, QUEUE, { parallelism: 5 }, NOW);
      const [first, second] = [
        queued({ orderKey: 'o', mustStartBefore: END }),
        queued({ orderKey: 'o', dueAt: NOW + 1 }),
      ];
      await a.store.accept([first, second], NOW + 1);
      assert.deepEqual(await a.claimedIds(END), []);
      await expire(a, END);
      assert.deepEqual(await a.claimedIds(END), [second.id]);
    });

    test('the place under a flow key becomes free', async ({ a }) => {
      const [first, second] = [expiring({ flow: FLOW }), message({ flow: FLOW, dueAt: NOW + 1 })];
      await a.store.accept([first, second], NOW + 1);
      assert.deepEqual(await a.claimedIds(END), []);
      await expire(a, END);
      assert.deepEqual(await a.claimedIds(END), [second.id]);
    });

    test('a message behind a paused flow key ends', async ({ a }) => {
      const sent = expiring({ flow: FLOW });
      await a.store.accept([message({ flow: FLOW })], NOW - 1);
      await a.store.pauseFlowKey(ACCOUNT, FLOW.key, true, NOW);
      await a.store.accept([sent], NOW);
      assert.deepEqual((await expire(a, END)).ids, [sent.id]);
    });

    test('its deduplication id is free again', async ({ a }) => {
      const deduplication = { key: 'id:1', expiresAt: END + 60 * SECOND };
      const [first, again] = [expiring({ deduplication }), message({ deduplication })];
      await a.store.accept([first], NOW);
      await expire(a, END);
      assert.deepEqual((await a.store.accept([again], END)).duplicates, [null]);
    });

    test('a message that is held for a person ends, and one that must start alone is not started', async ({ a }) => {
      const held = expiring();
      await a.store.accept([held], NOW);
      for (let time = 0; time < 3; time += 1) {
        const claim = (await a.claims(NOW))[0] ?? (await a.store.claimAlone(NOW)).claim!;
        await a.store.settle([settlementOf(claim, INTERRUPTED_ALONE, NOW)], NOW);
      }
      const suspect = expiring();
      await a.store.accept([suspect], NOW);
      for (let time = 0; time < 3; time += 1) {
        await a.store.settle([settlementOf(await a.claimOne(NOW), INTERRUPTED, NOW)], NOW);
      }
      assert.deepEqual([await a.stateOf(held), await a.stateOf(suspect)], ['held', 'pending']);
      assert.equal((await a.store.claimAlone(END)).claim, null);
      assert.deepEqual(new Set((await expire(a, END)).ids), new Set(idsOf([held, suspect])));
      assert.deepEqual([await a.stateOf(held), await a.stateOf(suspect)], ['failed', 'failed']);
      assert.deepEqual(await a.store.recovery(), { nextAloneAt: null, held: 0 });
      const { message: ended, attempts } = await stored(a, held);
      assert.deepEqual(
        messageEvents(ended, attempts)
          .map(({ state }) => state)
          .slice(-2),
        ['HELD', 'FAILED'],
      );
    });

    test('a message of a suspended account ends too', async ({ a }) => {
      const sent = expiring({ failureCallback: callbackTo(BACK) });
      await a.store.accept([sent], NOW);
      await a.store.setSuspended(ACCOUNT, NOW, NOW);
      assert.deepEqual((await expire(a, END)).ids, [sent.id]);
      assert.deepEqual(await a.claimedIds(END), []);
    });
  });

  describe('the expiry of a queue', () => {
    test('is given to new messages that have none, of a batch to many queues too', async ({ a }) => {
      const names = Array.from({ length: 40 }, (_, index) => `queue-${index}`);
      for (const name of names) await a.store.saveQueue(ACCOUNT, name, { expiresMs: 1000, isPaused: true }, NOW);
      const before = message({ queueName: 'other' });
      const batch = names.map((queueName) => message({ queueName }));
      const own = message({ queueName: names[0]!, mustStartBefore: END });
      const delayed = message({ queueName: names[0]!, dueAt: END });
      await a.store.accept([before, ...batch, own, delayed], NOW);
      const expiryOf = async (each: NewMessage) => (await stored(a, each)).message.mustStartBefore;
      for (const each of batch) assert.equal(await expiryOf(each), NOW + 1000);
      assert.deepEqual(await Promise.all([before, own, delayed].map(expiryOf)), [null, END, END + 1000]);
      assert.deepEqual(new Set((await expire(a, NOW + 1000)).ids), new Set(idsOf(batch)));
    });

    test('stays when something else of the queue is changed, and can be removed', async ({ a }) => {
      assert.equal((await a.store.saveQueue(ACCOUNT, QUEUE, { expiresMs: 1000 }, NOW)).expiresMs, 1000);
      assert.equal((await a.store.saveQueue(ACCOUNT, QUEUE, { parallelism: 2 }, NOW)).expiresMs, 1000);
      assert.equal((await a.store.getQueue(ACCOUNT, QUEUE))!.expiresMs, 1000);
      assert.equal((await a.store.saveQueue(ACCOUNT, QUEUE, { expiresMs: null }, NOW)).expiresMs, null);
    });
  });

  describe('the failure callback of an expired message', () => {
    test('reports that there was no attempt', async ({ a }) => {
      const body = new TextEncoder().encode('hello');
      const sent = expiring({ failureCallback: callbackTo(BACK), body, dueAt: END + 1 });
      await a.store.accept([sent], NOW);
      await expire(a, END);
      const [callback, ...others] = await failuresOf(a, sent);
      assert.deepEqual([callback!.kind, callback!.url, others.length], ['failureCallback', BACK, 0]);
      const report = JSON.parse(Buffer.from(callback!.body).toString());
      assert.deepEqual(
        [report.status, report.error, report.failureCode, report.retried, report.body],
        [0, 'expired before its first attempt', 'expired', 0, ''],
      );
      assert.equal(report.dlqId, sent.id.replace('msg_', 'dlq_'));
      assert.equal(Buffer.from(report.sourceBody, 'base64').toString(), 'hello');
      assert.deepEqual(await a.claimedIds(END), [callback!.id]);
    });

    test('reports the last response, if there was one', async ({ a }) => {
      const sent = queued({ mustStartBefore: END, retryDelay: '1000', failureCallback: callbackTo(BACK) });
      await a.store.accept([sent], NOW);
      await a.store.settle([settlementOf(await a.claimOne(NOW), ERROR, NOW)], NOW);
      await a.store.saveQueue(ACCOUNT, QUEUE, { isPaused: true }, NOW);
      await expire(a, END);
      const [callback] = await failuresOf(a, sent);
      const report = JSON.parse(Buffer.from(callback!.body).toString());
      assert.deepEqual(
        [report.status, report.error, report.failureCode, report.retried],
        [500, undefined, 'expired', 1],
      );
      assert.equal(report.body, Buffer.from([1, 2]).toString('base64'));
      assert.equal((await stored(a, sent)).message.failure, 'expired before its next attempt');
    });

    test.onTwo('is sent once, however many nodes end the message', async ({ a, b }) => {
      const sent = messages(20, { mustStartBefore: END, failureCallback: callbackTo(BACK) });
      await a.store.accept(sent, NOW);
      const ends = await Promise.all([expire(a, END), expire(b, END), expire(a, END + 1), expire(b, END + 1)]);
      assert.equal(ends.flatMap(({ ids }) => ids).length, sent.length);
      for (const each of sent) assert.equal((await failuresOf(a, each)).length, 1);
      const { messages: dead } = await a.store.searchMessages(ACCOUNT, { states: ['FAILED'] }, ALL);
      assert.equal(dead.length, sent.length);
    });
  });

  describe('the end of many', () => {
    test('comes in pieces, those that expired first, and a few of other accounts before the rest', async ({ a }) => {
      const many = Array.from({ length: 30 }, (_, index) => expiring({ mustStartBefore: NOW + 1 + index }));
      const other = expiring({ accountId: OTHER_ACCOUNT, mustStartBefore: END });
      await a.store.accept(many, NOW);
      await a.store.accept([other], NOW);
      const first = await expire(a, END, 10);
      assert.equal(first.ids.length, 10);
      assert.ok(first.ids.includes(many[0]!.id));
      let { ids, lastInTurn } = first;
      for (let piece = 0; piece < 2 && !ids.includes(other.id); piece += 1) {
        ({ ids, lastInTurn } = await expire(a, END, 10, lastInTurn ?? ''));
      }
      assert.ok(ids.includes(other.id), 'the other account waits behind all of the first');
      for (let piece = 0; piece < 4; piece += 1) await expire(a, END, 10, '');
      for (const each of many) assert.equal(await a.stateOf(each), 'failed');
    });

    test('accounts take turns, also behind accounts whose messages have not expired yet', async ({ a }) => {
      const idOf = (index: number) => `acc_turn${100 + index}`;
      const waiting = Array.from({ length: 70 }, (_, index) =>
        expiring({ accountId: idOf(index), mustStartBefore: LATER }),
      );
      const oldest = Array.from({ length: 1000 }, () => expiring({ accountId: idOf(80) }));
      const other = expiring({ accountId: idOf(90), mustStartBefore: END + 1 });
      for (const each of waiting) await a.store.accept([each], NOW);
      await a.store.accept(oldest, NOW);
      await a.store.accept([other], NOW);
      const ended: string[] = [];
      for (let piece = 0, after = ''; piece < 4; piece += 1) {
        const { ids, lastInTurn } = await expire(a, END + 1, 100, after);
        ended.push(...ids);
        after = lastInTurn ?? '';
      }
      assert.ok(ended.includes(other.id), 'it waits behind all of another account');
    });

    test('an account whose messages are among the oldest does not end the turns of those before it', async ({ a }) => {
      const idOf = (index: number) => `acc_turn${100 + index}`;
      const others = Array.from({ length: 20 }, (_, index) =>
        expiring({ accountId: idOf(index), mustStartBefore: END + 1 }),
      );
      const oldest = Array.from({ length: 200 }, () => expiring({ accountId: idOf(30) }));
      for (const each of others) await a.store.accept([each], NOW);
      await a.store.accept(oldest, NOW);
      const ended: string[] = [];
      for (let piece = 0, after = ''; piece < 5; piece += 1) {
        const { ids, lastInTurn } = await expire(a, END + 1, 10, after);
        ended.push(...ids);
        after = lastInTurn ?? '';
      }
      for (const { id } of others) assert.ok(ended.includes(id), 'an account had no turn');
    });

    test('the turns go on behind the last account whose messages fit', async ({ a }) => {
      const idOf = (index: number) => `acc_turn${100 + index}`;
      const large = (index: number, byte: number) => {
        const body = new Uint8Array(3 * 1024 * 1024).fill(byte);
        return expiring({ failureCallback: callbackTo(BACK), accountId: idOf(index), mustStartBefore: END + 1, body });
      };
      const others = [1, 2, 3].map((index) => large(index, index));
      for (const each of [...[10, 11, 12, 13].map((byte) => large(0, byte)), ...others])
        await a.store.accept([each], NOW);
      await a.store.accept(
        Array.from({ length: 100 }, () => expiring({ accountId: idOf(30) })),
        NOW,
      );
      const ended: string[] = [];
      for (let piece = 0, after = ''; piece < 4; piece += 1) {
        const { ids, lastInTurn } = await expire(a, END + 1, 10, after);
        ended.push(...ids);
        after = lastInTurn ?? '';
      }
      for (const { id } of others) assert.ok(ended.includes(id), 'an account had no turn');
    });

    test('reads only as many bodies as fit, and those that nobody reports not at all', async ({ a }) => {
      const body = new Uint8Array(3 * 1024 * 1024).fill(7);
      const reported = messages(3, { mustStartBefore: END, failureCallback: callbackTo(BACK), body: body.slice() });
      for (const each of reported) await a.store.accept([{ ...each, body: body.slice() }], NOW);
      const due = await a.store.dueExpiries(END, { messages: 10, after: '' });
      assert.ok(due.expired.length < 3);
      const silent = expiring({ body });
      await a.store.accept([silent], NOW);
      for (let piece = 0; piece < 3; piece += 1) await expire(a, END);
      assert.equal(await a.stateOf(silent), 'failed');
      assert.equal((await stored(a, silent)).message.body.length, body.length);
    });
  });
}
