// Changing a message that waits: which messages can be changed, what is written, and where a message with a new time waits.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { type MessageChange, versionOf } from '../../src/rules/delivery/change.ts';
import { NO_DESCENT } from '../../src/rules/delivery/descent.ts';
import type { NewMessage } from '../../src/rules/delivery/message.ts';
import { NEVER_AT } from '../../src/rules/delivery/recovery.ts';
import { NO_SLOTS } from '../../src/rules/delivery/slots.ts';
import { SHARED_BODY_BYTES_MIN } from '../../src/store/shared/shared-bodies.ts';
import { flowing } from './flow-control.ts';
import {
  ACCOUNT,
  callbackTo,
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
import { makeHeld, makeSuspect } from './interruptions.ts';

export const NO_CHANGE: MessageChange = {
  dueAt: null,
  target: null,
  body: null,
  contentType: null,
  forward: null,
  trace: [],
  method: null,
  retriesMax: null,
  retryDelay: null,
  retryJitter: null,
  timeoutMs: null,
  callback: null,
  failureCallback: null,
  labels: null,
  priority: null,
  outage: null,
  awaitAckMs: null,
  mustStartBefore: null,
  redaction: null,
  descent: NO_DESCENT,
  headerLimits: { countMax: 64, bytesMax: 16 * 1024 },
  versions: null,
};

const LATER = NOW + 10 * SECOND;
const ELSEWHERE = { url: 'https://b.example/other', host: 'b.example:443' };
const CHANGED = { outcome: 'changed' };

const bytes = (length: number, value = 97) => new Uint8Array(length).fill(value);
const ids = (some: readonly NewMessage[]) => some.map(({ id }) => id);

export function changeConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);
  const changeWhole = (node: Node, { id }: NewMessage, some: Partial<MessageChange>, now = NOW) =>
    node.store.changeMessage(ACCOUNT, id, { ...NO_CHANGE, ...some }, now);
  /** The outcome. A test of versions looks at the version too. */
  const change = async (...asked: Parameters<typeof changeWhole>): Promise<object> => {
    const outcome = await changeWhole(...asked);
    return outcome.outcome === 'changed' || outcome.outcome === 'unchanged' ? { outcome: outcome.outcome } : outcome;
  };
  const stored = async (node: Node, { id }: NewMessage) => (await node.store.getMessage(ACCOUNT, id))!.message;
  const settle = async (node: Node, outcome: typeof OK, now: number) => {
    const claims = await node.claims(now);
    await node.store.settle(
      claims.map((claim) => settlementOf(claim, outcome, now)),
      now,
    );
  };
  const isCounted = async (node: Node) => assert.equal(await node.store.recountStored(ACCOUNT), 0, 'stored bytes');
  const update = async (node: Node, { id }: NewMessage) => {
    const page = { limit: 100, cursor: null, order: 'oldestFirst', withBodies: false } as const;
    const { events } = await node.store.listEvents(ACCOUNT, { messages: { messageIds: [id] } }, page);
    return events
      .filter(({ state }) => state === 'UPDATED')
      .map(({ changed, at }) => ({ changed: changed!.names, attempts: changed!.attempts, at }));
  };

  describe('changeMessage', () => {
    test('writes what is given, and leaves the rest', async ({ a }) => {
      const mine = message({
        dueAt: LATER,
        headers: [
          ['Content-Type', 'text/plain'],
          ['X-Old', '1'],
          ['traceparent', '00-a-b-01'],
        ],
        body: bytes(10),
        labels: ['one', 'two'],
        topicName: 'news',
        endpointName: 'first',
      });
      await a.store.accept([mine], NOW);
      const callback = {
        ...callbackTo('https://c.example/done'),
        retriesMax: null,
        retryDelay: null,
        retryJitter: null,
      };
      const all: Partial<MessageChange> = {
        dueAt: LATER + 5,
        target: ELSEWHERE,
        body: bytes(20, 98),
        contentType: 'application/json',
        forward: [['X-New', '2']],
        method: 'PUT',
        retriesMax: 7,
        retryDelay: '1000',
        retryJitter: 20,
        priority: 9,
        outage: 'park',
        awaitAckMs: 60 * SECOND,
        mustStartBefore: LATER + SECOND,
        timeoutMs: 5000,
        callback,
        failureCallback: callback,
        labels: ['two', 'three'],
        redaction: { body: true, allHeaders: false, headers: [] },
      };
      assert.deepEqual(await change(a, mine, all, NOW + 1), CHANGED);
      const after = await stored(a, mine);
      const planned = { ...callback, retriesMax: 7, retryDelay: '1000', retryJitter: 20 };
      const expected = {
        dueAt: LATER + 5,
        firstDueAt: LATER + 5,
        ...ELSEWHERE,
        headers: [
          ['Content-Type', 'application/json'],
          ['X-New', '2'],
          ['traceparent', '00-a-b-01'],
        ],
        method: 'PUT',
        retriesMax: 7,
        retryDelay: '1000',
        retryJitter: 20,
        priority: 9,
        outage: 'park',
        awaitAckMs: 60 * SECOND,
        mustStartBefore: LATER + SECOND,
        timeoutMs: 5000,
        callback: planned,
        failureCallback: planned,
        labels: ['two', 'three'],
        redaction: all.redaction,
        topicName: 'news',
        endpointName: null,
        changes: 1,
        createdAt: NOW,
        state: 'pending',
      };
      for (const [name, value] of Object.entries(expected)) {
        assert.deepEqual(after[name as keyof typeof after], value, name);
      }
      assert.deepEqual(Buffer.from(after.body), Buffer.from(bytes(20, 98)));
      assert.deepEqual(await update(a, mine), [
        {
          changed: [
            'nextDeliveryTime',
            'url',
            'body',
            'header',
            'method',
            'maxRetries',
            'retryDelayExpression',
            'timeoutMs',
            'callback',
            'failureCallback',
            'labels',
            'redactFields',
            'retryJitter',
            'priority',
            'expiresAt',
            'outage',
            'awaitAck',
          ],
          attempts: 0,
          at: NOW + 1,
        },
      ]);
      const page = { limit: 10, cursor: null, order: 'oldestFirst', withBodies: false } as const;
      const having = async (label: string) =>
        (await a.store.searchMessages(ACCOUNT, { labels: [label] }, page)).messages.length;
      assert.deepEqual([await having('one'), await having('two'), await having('three')], [0, 1, 1]);
      const atHost = async (host: string) =>
        (await a.store.searchMessages(ACCOUNT, { hosts: [host] }, page)).messages.length;
      assert.deepEqual([await atHost('a.example'), await atHost('b.example')], [0, 1]);
      await isCounted(a);
      const { message: claimed } = await a.claimOne(LATER + 5);
      assert.deepEqual(
        [claimed.url, claimed.method, Buffer.from(claimed.body).toString()],
        [ELSEWHERE.url, 'PUT', 'b'.repeat(20)],
      );
    });

    test('the same values again change nothing: no event, and the same version', async ({ a }) => {
      const mine = message({ dueAt: LATER, body: bytes(5000), labels: ['one'] });
      await a.store.accept([mine], NOW);
      const same = { dueAt: LATER, body: bytes(5000), labels: ['one'], method: 'POST' } as const;
      assert.deepEqual(await change(a, mine, same), { outcome: 'unchanged' });
      assert.deepEqual(await change(a, mine, { ...same, body: bytes(5000, 98) }), CHANGED);
      assert.deepEqual(await update(a, mine), [{ changed: ['body'], attempts: 0, at: NOW }]);
      assert.equal(versionOf(await stored(a, mine)), '0-1');
    });

    test('unknown, foreign, ended and claimed messages are not changed', async ({ a }) => {
      const [claimed, ended, foreign] = [message(), message(), message({ dueAt: LATER })];
      await a.store.accept([ended], NOW);
      await settle(a, OK, NOW);
      await a.store.accept([claimed, foreign], NOW);
      const [claim] = await a.claims(NOW);
      const some = { ...NO_CHANGE, method: 'PUT' as const };
      assert.deepEqual(await a.store.changeMessage(ACCOUNT, 'msg_unknown', some, NOW), { outcome: 'unknown' });
      assert.deepEqual(await a.store.changeMessage(ACCOUNT, 'msg_\0', some, NOW), { outcome: 'unknown' });
      assert.deepEqual(await a.store.changeMessage(OTHER_ACCOUNT, foreign.id, some, NOW), { outcome: 'unknown' });
      assert.deepEqual(await change(a, ended, some), { outcome: 'unknown' });
      assert.deepEqual(await change(a, claimed, some), { outcome: 'active' });
      await a.store.cancel(ACCOUNT, [claimed.id], NOW, NOW + RETENTION);
      assert.deepEqual(await change(a, claimed, some), { outcome: 'cancelRequested' });
      await a.store.settle([settlementOf(claim!, ERROR, NOW)], NOW);
      assert.deepEqual(await change(a, claimed, some), { outcome: 'unknown' });
      for (const each of [claimed, ended, foreign]) {
        assert.equal((await stored(a, each)).method, 'POST');
        assert.deepEqual(await update(a, each), []);
      }
    });

    test('a version counts changes and attempts, and an other one changes nothing', async ({ a }) => {
      const mine = message({ dueAt: NOW });
      await a.store.accept([mine], NOW);
      const put = (versions: readonly string[], method: 'PUT' | 'PATCH') => change(a, mine, { versions, method });
      assert.deepEqual(await put(['0-1', '1-0'], 'PUT'), { outcome: 'otherVersion', version: '0-0' });
      assert.deepEqual(await put(['1-0', '0-0'], 'PUT'), CHANGED);
      assert.deepEqual(await put(['0-0'], 'PATCH'), { outcome: 'otherVersion', version: '0-1' });
      await settle(a, ERROR, NOW);
      assert.deepEqual(await put(['0-1'], 'PATCH'), { outcome: 'otherVersion', version: '1-1' });
      assert.deepEqual(await put([], 'PATCH'), { outcome: 'otherVersion', version: '1-1' });
      assert.deepEqual(await put(['1-1'], 'PATCH'), CHANGED);
    });

    test('of several changes with one version at once, one is made', async ({ a }) => {
      const mine = message({ dueAt: LATER });
      await a.store.accept([mine], NOW);
      const outcomes = await Promise.all(
        [1, 2, 3, 4].map((n) => changeWhole(a, mine, { versions: ['0-0'], timeoutMs: n * SECOND })),
      );
      assert.equal(outcomes.filter(({ outcome }) => outcome === 'changed').length, 1);
      assert.equal((await stored(a, mine)).changes, 1);
    });

    test.onTwo('of several changes at once, each answers with the version that it made', async ({ a, b }) => {
      const mine = message({ dueAt: LATER });
      await a.store.accept([mine], NOW);
      const outcomes = await Promise.all(
        [1, 2, 3, 4].map((n) => changeWhole(n % 2 === 0 ? a : b, mine, { timeoutMs: n * SECOND })),
      );
      const versions = outcomes.map((outcome) => (outcome.outcome === 'changed' ? outcome.version : outcome.outcome));
      assert.deepEqual(versions.toSorted(), ['0-1', '0-2', '0-3', '0-4']);
      const { timeoutMs } = await stored(a, mine);
      const last = await changeWhole(b, mine, { timeoutMs });
      assert.deepEqual(last, { outcome: 'unchanged', version: '0-4' });
      assert.equal(versions.indexOf('0-4') + 1, timeoutMs / SECOND);
      await settle(a, ERROR, LATER);
      const after = await changeWhole(b, mine, { method: 'PUT' }, LATER);
      assert.deepEqual(after, { outcome: 'changed', version: '1-5' });
    });

    test('work is searched again only if the start of the message was changed', async ({ a }) => {
      const mine = message({ dueAt: LATER });
      await a.store.accept([mine], NOW);
      let wakes = 0;
      a.store.onWork(() => {
        wakes += 1;
      });
      const wakesOf = async (some: Partial<MessageChange>) => {
        assert.deepEqual(await a.claimDue(NOW), { claims: [], nextDueAt: LATER, nextScheduleAt: null });
        const before = wakes;
        assert.deepEqual(await change(a, mine, some), CHANGED);
        // If the known due time was forgotten, this one is news too.
        assert.deepEqual(await change(a, mine, { timeoutMs: SECOND + wakes }), CHANGED);
        return wakes - before;
      };
      const same = { url: 'https://a.example/other', host: mine.host };
      for (const some of [{ method: 'PUT' }, { body: bytes(3) }, { labels: ['l'] }, { target: same }] as const) {
        await change(a, mine, { timeoutMs: 1 });
        assert.equal(await wakesOf(some), 0, JSON.stringify(some));
      }
      await a.claimDue(NOW);
      assert.deepEqual(await change(a, mine, { dueAt: LATER - 1 }), CHANGED);
      assert.equal(wakes, 1);
      assert.deepEqual(await a.claimDue(NOW), { claims: [], nextDueAt: LATER - 1, nextScheduleAt: null });
      assert.deepEqual(await change(a, mine, { dueAt: LATER }), CHANGED);
      assert.deepEqual(await a.claimDue(NOW), { claims: [], nextDueAt: LATER, nextScheduleAt: null });
    });

    test('a message that was made due or released has another version', async ({ a }) => {
      const version = async (each: NewMessage) => versionOf(await stored(a, each));
      const [plain, head, held] = [message({ dueAt: LATER }), queued(), message()] as const;
      await a.store.accept([plain], NOW);
      assert.equal(await a.store.deliverNow(ACCOUNT, plain.id, NOW), 'due');
      assert.equal(await version(plain), '0-1');
      const put = { versions: ['0-0'], dueAt: LATER };
      assert.deepEqual(await change(a, plain, put), { outcome: 'otherVersion', version: '0-1' });
      await settle(a, OK, NOW);
      assert.equal(await a.store.deliverNow(ACCOUNT, plain.id, NOW), 'notWaiting');
      assert.equal(await version(plain), '1-1', 'what did not wait was not moved');
      await makeSuspect(a, head);
      const suspect = await version(head);
      assert.equal(await a.store.deliverNow(ACCOUNT, head.id, NOW), 'due');
      assert.equal(await version(head), suspect.replace('-0', '-1'));
      await makeHeld(a, held);
      const before = await version(held);
      assert.equal(await a.store.deliverNow(ACCOUNT, held.id, NOW), 'held');
      assert.equal(await version(held), before);
      assert.deepEqual(await a.store.releaseHeld(ACCOUNT, [held.id], NOW), [held.id]);
      assert.equal(await version(held), before.replace('-0', '-1'));
      assert.deepEqual(await a.store.releaseHeld(ACCOUNT, [held.id], NOW), []);
      assert.equal(await version(held), before.replace('-0', '-1'));
    });

    test('between two attempts the next one sends what was changed, and comes at the new time', async ({ a }) => {
      const mine = message();
      await a.store.accept([mine], NOW);
      await settle(a, ERROR, NOW);
      assert.deepEqual(await change(a, mine, { dueAt: LATER, target: ELSEWHERE }), CHANGED);
      const after = await stored(a, mine);
      assert.deepEqual([after.dueAt, after.firstDueAt, after.retried], [LATER, NOW, 1]);
      assert.deepEqual(await a.claimDue(NOW + SECOND), { claims: [], nextDueAt: LATER, nextScheduleAt: null });
      const { message: again } = await a.claimOne(LATER);
      assert.deepEqual([again.url, again.attempts, again.retried], [ELSEWHERE.url, 1, 1]);
    });

    test('retries cannot be fewer than were made', async ({ a }) => {
      const mine = message();
      await a.store.accept([mine], NOW);
      await settle(a, ERROR, NOW);
      const refused = { outcome: 'refused', refusal: { why: 'retriesUsed', retried: 1 } };
      assert.deepEqual(await change(a, mine, { retriesMax: 0 }), refused);
      assert.deepEqual(await change(a, mine, { retriesMax: 1 }), CHANGED);
      await settle(a, ERROR, NOW + SECOND);
      assert.equal((await stored(a, mine)).state, 'failed');
    });

    test('a callback has no callback of its own, and can be sent elsewhere', async ({ a }) => {
      const mine = message({ callback: callbackTo('https://c.example/done') });
      await a.store.accept([mine], NOW);
      const claim = await a.claimOne(NOW);
      const settlement = settlementOf(claim, OK, NOW);
      const [callback] = settlement.followUps;
      a.store.offer(NO_SLOTS);
      await a.store.settle([settlement], NOW);
      const own = { ...callbackTo('https://d.example/'), retriesMax: null };
      const refused = { outcome: 'refused', refusal: { why: 'ownCallback' } };
      assert.deepEqual(await change(a, callback!, { callback: own }), refused);
      assert.deepEqual(await change(a, callback!, { failureCallback: own }), refused);
      assert.deepEqual(await change(a, callback!, { target: ELSEWHERE }), CHANGED);
      assert.equal((await a.claimOne(NOW)).message.url, ELSEWHERE.url);
    });

    test('a ready message that gets another host is claimed for that host', async ({ a }) => {
      const [mine, other] = [message(), message()];
      await a.store.accept([mine, other], NOW);
      const full = { hostMax: 1, hostsBusy: [['a.example:443', 1]] as const };
      assert.deepEqual(await a.claimedIds(NOW, full), []);
      assert.deepEqual(await change(a, mine, { target: ELSEWHERE }), CHANGED);
      assert.deepEqual(await a.claimedIds(NOW, full), [mine.id]);
    });

    test('while its host is parked, a message that is changed to retry is claimed, and one changed to park is not', async ({
      a,
    }) => {
      const [parking, retrying] = [message({ outage: 'park' }), message({ outage: 'retry' })];
      const closed = { parked: [[ACCOUNT, parking.host, 0]] } as const;
      await a.store.accept([parking, retrying], NOW);
      assert.deepEqual(await change(a, retrying, { outage: 'park' }), CHANGED);
      assert.deepEqual(await a.claimedIds(NOW, closed), []);
      assert.deepEqual(await change(a, parking, { outage: 'retry' }), CHANGED);
      assert.deepEqual(await a.claimedIds(NOW, closed), [parking.id]);
      assert.deepEqual(await a.claimedIds(NOW, { parked: [[ACCOUNT, parking.host, 1]] }), [retrying.id]);
    });

    test('the start of an attempt that was given back is not an event before the change', async ({ a }) => {
      const [atAccept, later] = [message(), message({ dueAt: NOW + 1 })];
      const claims = await a.claims(NOW);
      assert.deepEqual(claims, []);
      await a.store.accept([atAccept, later], NOW);
      for (const claim of await a.claims(NOW + 1)) await a.store.release([claim.lease], NOW + 1);
      for (const each of [atAccept, later]) {
        assert.deepEqual(await change(a, each, { method: 'PUT' }, NOW + 2), CHANGED);
      }
      await settle(a, OK, NOW + 3);
      for (const { id } of [atAccept, later]) {
        const page = { limit: 100, cursor: null, order: 'oldestFirst', withBodies: false } as const;
        const { events } = await a.store.listEvents(ACCOUNT, { messages: { messageIds: [id] } }, page);
        assert.deepEqual(
          events.map(({ state }) => state),
          ['CREATED', 'UPDATED', 'ACTIVE', 'DELIVERED'],
        );
      }
    });

    test('the start of the first attempt, at the accept, stays an event when a later attempt was given back', async ({
      a,
    }) => {
      const mine = message();
      assert.deepEqual(await a.claims(NOW), []);
      await a.store.accept([mine], NOW);
      await settle(a, ERROR, NOW + 1);
      for (const claim of await a.claims(NOW + SECOND + 1)) await a.store.release([claim.lease], NOW + SECOND + 1);
      assert.deepEqual(await change(a, mine, { method: 'PUT' }, NOW + SECOND + 2), CHANGED);
      const page = { limit: 100, cursor: null, order: 'oldestFirst', withBodies: false } as const;
      const { events } = await a.store.listEvents(ACCOUNT, { messages: { messageIds: [mine.id] } }, page);
      assert.deepEqual(
        events.map(({ state }) => state),
        ['CREATED', 'ACTIVE', 'ERROR', 'RETRY', 'UPDATED'],
      );
    });

    test('limits of its descent are only tightened', async ({ a }) => {
      const mine = message({ dueAt: LATER, hops: 2, descendantsLeft: 100 });
      await a.store.accept([mine], NOW);
      await change(a, mine, { method: 'PUT', descent: { hops: 1, left: 500 } });
      const loose = await stored(a, mine);
      await change(a, mine, { method: 'PATCH', descent: { hops: 3, left: 50 } });
      const tight = await stored(a, mine);
      assert.deepEqual([loose.hops, loose.descendantsLeft, tight.hops, tight.descendantsLeft], [2, 100, 3, 50]);
    });
  });

  describe('changed bodies', () => {
    const LARGE = 20 * 1024;

    test('small and large, own and shared: each is read back, and the stored bytes are right', async ({
      a,
      storedBodies,
    }) => {
      const shared = bytes(2 * SHARED_BODY_BYTES_MIN, 99);
      const [one, two] = [message({ dueAt: LATER, body: shared }), message({ dueAt: LATER, body: shared })];
      const [small, large] = [message({ dueAt: LATER, body: bytes(5) }), message({ dueAt: LATER, body: bytes(LARGE) })];
      await a.store.accept([one, two], NOW);
      await a.store.accept([small], NOW);
      await a.store.accept([large], NOW);
      const lengths = [0, 7, LARGE + 1, LARGE, 3];
      for (const each of [one, small, large]) {
        for (const [index, length] of lengths.entries()) {
          assert.deepEqual(await change(a, each, { body: bytes(length, index) }), CHANGED);
          assert.deepEqual(Buffer.from((await stored(a, each)).body), Buffer.from(bytes(length, index)));
          await isCounted(a);
        }
      }
      assert.deepEqual(Buffer.from((await stored(a, two)).body), Buffer.from(shared));
      assert.equal((await storedBodies()).count, 1, 'the shared body of the message that was not changed');
      await change(a, two, { body: bytes(0) });
      assert.equal((await storedBodies()).count, 0);
      await isCounted(a);
    });
  });

  describe('deduplication of a changed message', () => {
    const DEDUPLICATION = { expiresAt: LATER };
    const again = async (node: Node, key: string) => {
      const { duplicates } = await node.store.accept([message({ deduplication: { key, ...DEDUPLICATION } })], NOW);
      return duplicates[0] ?? null;
    };

    test('the key of its content is forgotten with the content; an id and other changes keep it', async ({ a }) => {
      const keyed = (key: string) => message({ dueAt: LATER, deduplication: { key, ...DEDUPLICATION } });
      const [content, id, kept] = [keyed('content:x'), keyed('id:y'), keyed('content:z')];
      await a.store.accept([content, id, kept], NOW);
      assert.deepEqual(await change(a, content, { body: bytes(1) }), CHANGED);
      assert.deepEqual(await change(a, id, { body: bytes(1) }), CHANGED);
      assert.deepEqual(await change(a, kept, { timeoutMs: SECOND }), CHANGED);
      assert.equal(await again(a, 'content:x'), null);
      assert.equal(await again(a, 'id:y'), id.id);
      assert.equal(await again(a, 'content:z'), kept.id);
    });
  });

  describe('a changed message in a queue', () => {
    test('keeps its place if its time was not changed', async ({ a }) => {
      const line = [queued(), queued(), queued()] as const;
      await a.store.accept(line, NOW);
      assert.deepEqual(await change(a, line[0], { target: ELSEWHERE }), CHANGED);
      assert.deepEqual(await change(a, line[1], { body: bytes(3) }), CHANGED);
      for (const each of line) {
        assert.deepEqual(await a.claimedIds(NOW), [each.id]);
        await a.store.release(await a.store.strayClaims(10), NOW);
        await settle(a, OK, NOW);
      }
    });

    test.onTwo('with a new time, the head gives its place to the next, and comes when it is due', async ({ a, b }) => {
      const line = [queued(), queued(), queued()] as const;
      await a.store.accept(line, NOW);
      assert.deepEqual(await change(b, line[0], { dueAt: LATER }), CHANGED);
      const later = await stored(a, line[0]);
      assert.deepEqual([later.firstDueAt, later.dueAt, later.readyAt], [LATER, LATER, null]);
      assert.deepEqual(await a.claimedIds(NOW), [line[1].id]);
      assert.deepEqual(await change(b, line[2], { dueAt: LATER + 1 }), CHANGED);
      assert.deepEqual((await a.claimDue(LATER - 1)).claims, []);
      const [claim] = await a.claims(LATER + 5);
      assert.equal(claim, undefined, 'the one under way holds the queue');
    });

    test('due now, it goes behind those that are due, and before those that come later', async ({ a }) => {
      const [first, delayed] = [queued({ dueAt: NOW - 2 }), queued({ dueAt: LATER })] as const;
      await a.store.accept([first, delayed], NOW - 2);
      assert.deepEqual(await change(a, delayed, { dueAt: NOW }), CHANGED);
      const last = queued({ dueAt: NOW + 1 });
      await a.store.accept([last], NOW + 1);
      const started: string[] = [];
      for (let turn = 0; turn < 3; turn += 1) {
        const claim = await a.claimOne(NOW + 1);
        started.push(claim.message.id);
        await a.store.settle([settlementOf(claim, OK, NOW + 1)], NOW + 1);
      }
      assert.deepEqual(started, ids([first, delayed, last]));
    });

    test('a head that waits for its retry keeps its place, whatever its new time', async ({ a }) => {
      const [head, next] = [queued(), queued()] as const;
      await a.store.accept([head, next], NOW);
      await settle(a, ERROR, NOW);
      assert.deepEqual(await change(a, head, { dueAt: LATER }), CHANGED);
      assert.deepEqual(await a.claimDue(NOW + SECOND), { claims: [], nextDueAt: LATER, nextScheduleAt: null });
      assert.deepEqual(await change(a, head, { dueAt: NOW + SECOND }, NOW + SECOND), CHANGED);
      assert.deepEqual(await a.claimedIds(NOW + SECOND), [head.id]);
    });

    test('in a paused queue too: a head that was tried keeps its place, another gives it back', async ({ a }) => {
      const pause = (isPaused: boolean, now: number) => a.store.saveQueue(ACCOUNT, QUEUE, { isPaused }, now);
      const line = [queued(), queued(), queued()] as const;
      await a.store.accept(line, NOW);
      await settle(a, ERROR, NOW);
      await pause(true, NOW);
      assert.deepEqual(await change(a, line[0], { dueAt: LATER }), CHANGED);
      assert.deepEqual(await a.claimDue(LATER), { claims: [], nextDueAt: null, nextScheduleAt: null });
      await pause(false, NOW);
      assert.deepEqual(await a.claimDue(NOW), { claims: [], nextDueAt: LATER, nextScheduleAt: null });
      await settle(a, OK, LATER);
      await pause(true, LATER);
      assert.deepEqual(await change(a, line[1], { dueAt: LATER + SECOND }, LATER), CHANGED);
      await pause(false, LATER);
      assert.deepEqual(await a.claimedIds(LATER), [line[2].id]);
    });

    test('a message that lost its place when the parallelism was lowered keeps its turn', async ({ a }) => {
      const parallel = (parallelism: number) => a.store.saveQueue(ACCOUNT, QUEUE, { parallelism }, NOW);
      await parallel(2);
      const line = [queued(), queued()] as const;
      await a.store.accept(line, NOW);
      await settle(a, ERROR, NOW);
      await parallel(1);
      assert.deepEqual(await change(a, line[1], { dueAt: LATER }), CHANGED);
      await settle(a, OK, NOW + SECOND);
      assert.equal((await stored(a, line[0])).state, 'delivered');
      assert.deepEqual(await a.claimDue(NOW + SECOND), { claims: [], nextDueAt: LATER, nextScheduleAt: null });
      assert.deepEqual(await a.claimedIds(LATER), [line[1].id]);
    });

    test('with an order key, the next of the key goes first, and it comes back in its turn', async ({ a }) => {
      await a.store.saveQueue(ACCOUNT, QUEUE, { parallelism: 5 }, NOW);
      const [x1, x2, x3] = [queued({ orderKey: 'x' }), queued({ orderKey: 'x' }), queued({ orderKey: 'x' })] as const;
      await a.store.accept([x1, x2, x3], NOW);
      assert.deepEqual(await change(a, x1, { dueAt: LATER }), CHANGED);
      const claim = await a.claimOne(NOW);
      assert.equal(claim.message.id, x2.id);
      assert.deepEqual(await change(a, x3, { dueAt: LATER + 1 }), CHANGED);
      assert.deepEqual(await change(a, x1, { dueAt: LATER + 2 }), CHANGED);
      await a.store.settle([settlementOf(claim, OK, NOW)], NOW);
      assert.deepEqual(await a.claimDue(NOW), { claims: [], nextDueAt: LATER + 1, nextScheduleAt: null });
      assert.deepEqual(await a.claimedIds(LATER + 2), [x3.id]);
    });

    test('put off behind others of its order key, it does not start beside one of them', async ({ a }) => {
      await a.store.saveQueue(ACCOUNT, QUEUE, { parallelism: 5 }, NOW);
      const line = Array.from({ length: 4 }, () => queued({ orderKey: 'x' }));
      await a.store.accept(line, NOW);
      assert.deepEqual(await change(a, line[0]!, { dueAt: LATER }), CHANGED);
      assert.deepEqual(await a.claimedIds(NOW), [line[1]!.id]);
      assert.deepEqual(await a.claimedIds(LATER), [], 'the next of its key waits for the one under way');
    });

    test('a message that was not the first of its order key becomes it', async ({ a }) => {
      await a.store.saveQueue(ACCOUNT, QUEUE, { parallelism: 5 }, NOW);
      const [x1, x2] = [queued({ orderKey: 'x', dueAt: LATER }), queued({ orderKey: 'x', dueAt: LATER + 1 })] as const;
      await a.store.accept([x1, x2], NOW);
      assert.deepEqual(await change(a, x2, { dueAt: NOW }), CHANGED);
      assert.deepEqual(await a.claimedIds(NOW), [x2.id]);
      assert.deepEqual(await a.claimedIds(LATER), []);
    });
  });

  describe('a changed message under a flow key', () => {
    const key = async (node: Node) => (await node.store.getFlowKey(ACCOUNT, 'k'))!;

    test('keeps its place if its time was not changed', async ({ a }) => {
      const line = [flowing({ parallelism: 1 }), flowing({ parallelism: 1 })] as const;
      await a.store.accept(line, NOW);
      assert.deepEqual(await change(a, line[0], { target: ELSEWHERE }), CHANGED);
      assert.deepEqual(await a.claimedIds(NOW), [line[0].id]);
    });

    test('admitted and put off, it gives its place and its start to the next', async ({ a }) => {
      const limits = { parallelism: 1, rate: 2, periodMs: 60 * SECOND };
      const line = [flowing(limits), flowing(limits), flowing(limits)] as const;
      await a.store.accept(line, NOW);
      assert.deepEqual(await change(a, line[0], { dueAt: LATER }), CHANGED);
      assert.deepEqual([(await key(a)).active, (await key(a)).windowCount], [1, 1]);
      assert.deepEqual(await a.claimedIds(NOW), [line[1].id]);
      assert.deepEqual(await change(a, line[2], { dueAt: LATER + SECOND }), CHANGED);
      assert.equal((await key(a)).waiting, 0, 'both wait for the clock');
    });

    test('put off while it waits, and brought back, it starts in its turn', async ({ a }) => {
      const line = [flowing({ parallelism: 1 }), flowing({ parallelism: 1 }), flowing({ parallelism: 1 })] as const;
      await a.store.accept(line, NOW);
      assert.deepEqual(await change(a, line[1], { dueAt: LATER }), CHANGED);
      assert.deepEqual(await change(a, line[1], { dueAt: NOW + 1 }, NOW + 1), CHANGED);
      const started: string[] = [];
      for (let turn = 0; turn < 3; turn += 1) {
        const claim = await a.claimOne(NOW + 1);
        started.push(claim.message.id);
        await a.store.settle([settlementOf(claim, OK, NOW + 1)], NOW + 1);
      }
      assert.deepEqual(started, ids([line[0], line[2], line[1]]));
    });

    test('between two attempts it waits for its new time, and then for the key', async ({ a }) => {
      const [mine, other] = [flowing({ parallelism: 1 }), flowing({ parallelism: 1 }, { dueAt: LATER })] as const;
      await a.store.accept([mine, other], NOW);
      await settle(a, ERROR, NOW);
      assert.deepEqual(await change(a, mine, { dueAt: LATER + 1 }), CHANGED);
      assert.deepEqual(await a.claimedIds(LATER), [other.id]);
      assert.deepEqual(await a.claimedIds(LATER + 1), []);
    });
  });

  describe('messages that crashes have interrupted', () => {
    test('one that starts alone still does, at its new time', async ({ a }) => {
      for (const suspect of [message(), queued()]) {
        await makeSuspect(a, suspect);
        assert.deepEqual(await change(a, suspect, { dueAt: LATER, target: ELSEWHERE }), CHANGED);
        assert.equal((await stored(a, suspect)).dueAt, LATER);
        assert.deepEqual(await a.claimedIds(LATER + RETENTION), []);
        assert.deepEqual((await a.store.claimAlone(LATER - 1)).claim, null);
        const { claim } = await a.store.claimAlone(LATER);
        assert.deepEqual([claim?.message.id, claim?.message.url], [suspect.id, ELSEWHERE.url]);
        await a.store.settle([settlementOf(claim!, OK, LATER)], LATER);
      }
    });

    test('a held one stays held; it has no time before it is released', async ({ a }) => {
      const held = message();
      await makeHeld(a, held);
      assert.equal((await stored(a, held)).state, 'held');
      assert.deepEqual(await change(a, held, { dueAt: LATER }), { outcome: 'refused', refusal: { why: 'heldTime' } });
      assert.deepEqual(await change(a, held, { body: bytes(3) }), CHANGED);
      const after = await stored(a, held);
      assert.deepEqual([after.state, after.dueAt, after.body.length], ['held', NEVER_AT, 3]);
      await a.store.releaseHeld(ACCOUNT, [held.id], LATER);
      assert.equal((await a.claimOne(LATER)).message.body.length, 3);
    });
  });

  describe('a change while messages are claimed', () => {
    test.onTwo('what is sent is as it was before or after, never mixed', async ({ a, b }) => {
      const line = Array.from({ length: 30 }, () => message({ body: bytes(30, 0), dueAt: NOW }));
      await a.store.accept(line, NOW);
      const changing = line.map((each) => changeWhole(b, each, { target: ELSEWHERE, body: bytes(30, 1) }));
      const claiming = [a.claims(NOW, { slots: 10 }), b.claims(NOW, { slots: 10 }), a.claims(NOW, { slots: 10 })];
      const claims = (await Promise.all(claiming)).flat();
      const outcomes = await Promise.all(changing);
      for (const { message: sent } of claims) {
        const isAfter = sent.url === ELSEWHERE.url;
        assert.equal(sent.host, isAfter ? ELSEWHERE.host : 'a.example:443');
        assert.deepEqual([...new Set(sent.body)], [isAfter ? 1 : 0]);
        const { outcome } = outcomes[line.findIndex(({ id }) => id === sent.id)]!;
        assert.equal(outcome, isAfter ? 'changed' : 'active');
      }
    });
  });
}
