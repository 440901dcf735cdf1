// The journal: what happened to messages, told as events, in both orders, page by page and live.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { EventFilter, EventState, MessageEvent } from '../../src/rules/delivery/event.ts';
import type { EventPage, PageRequest } from '../../src/store/ports/message-store.ts';
import { waitFor } from '../support/wait.ts';
import {
  ACCOUNT,
  callbackTo,
  ERROR,
  INTERRUPTED,
  message,
  messages,
  NOW,
  OK,
  OTHER_ACCOUNT,
  RETENTION,
  SECOND,
  settlementOf,
} from './given.ts';
import { type HarnessFactory, type Node, storeTests } from './harness.ts';

const PAGE: PageRequest = { limit: 1000, cursor: null, order: 'oldestFirst', withBodies: false };

async function listed(node: Node, filter: Partial<EventFilter> = {}, some: Partial<PageRequest> = {}) {
  return (await node.store.listEvents(ACCOUNT, { messages: {}, ...filter }, { ...PAGE, ...some })).events;
}

const states = (events: readonly MessageEvent[]): EventState[] => events.map(({ state }) => state);
const shown = (events: readonly MessageEvent[]) => events.map(({ state, message: { id } }) => `${id} ${state}`);

/** Some messages with every kind of end, a few steps each. */
async function lively(node: Node): Promise<void> {
  const batch = messages(6, { retriesMax: 1, labels: ['x'], body: new Uint8Array(9) });
  await node.store.accept(batch, NOW);
  for (const after of [0, SECOND]) {
    const claims = await node.claims(NOW + after);
    const at = NOW + after + 10;
    await node.store.settle(
      claims.slice(1).map((claim, index) => settlementOf(claim, index % 2 ? OK : ERROR, at)),
      at,
    );
  }
  await node.store.cancel(
    ACCOUNT,
    batch.map(({ id }) => id),
    NOW + 5 * SECOND,
    NOW + RETENTION,
  );
}

export function eventsConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('events', () => {
    test('a message without retries to a dead URL has exactly four', async ({ a }) => {
      await a.store.accept([message({ retriesMax: 0 })], NOW);
      await a.store.settle([settlementOf(await a.claimOne(NOW), ERROR, NOW + 7)], NOW + 7);
      const events = await listed(a);
      assert.deepEqual(states(events), ['CREATED', 'ACTIVE', 'ERROR', 'FAILED']);
      assert.deepEqual(
        events.map(({ at }) => at),
        [NOW, NOW, NOW + 7, NOW + 7],
      );
      assert.deepEqual(
        events.map(({ attempt }) => attempt?.status ?? null),
        [null, null, 500, 500],
      );
    });

    test('the start of an attempt is recorded once, for every kind of claim', async ({ a }) => {
      const numbers = async (filter: Partial<EventFilter> = {}) =>
        (await listed(a, { ...filter, states: ['ACTIVE'] })).map(({ at, attemptNumber }) => [at, attemptNumber]);
      // Found ready.
      await a.store.accept([message({ retriesMax: 1 })], NOW);
      const first = await a.claimOne(NOW + 1);
      assert.deepEqual(states(await listed(a)), ['CREATED', 'ACTIVE']);
      assert.deepEqual(await numbers(), [[NOW + 1, 1]]);
      await a.store.settle([settlementOf(first, ERROR, NOW + 5)], NOW + 5);
      const again = await a.claimOne(NOW + 5 + SECOND);
      assert.deepEqual(states(await listed(a)), ['CREATED', 'ACTIVE', 'ERROR', 'RETRY', 'ACTIVE']);
      await a.store.settle([settlementOf(again, OK, NOW + 9 + SECOND)], NOW + 9 + SECOND);
      assert.deepEqual(await numbers(), [
        [NOW + 1, 1],
        [NOW + 5 + SECOND, 2],
      ]);
      // Leased when it was accepted.
      const later = NOW + 10 * SECOND;
      await a.claims(later);
      const leased = message({ createdAt: later, dueAt: later });
      await a.store.accept([leased], later);
      const ofLeased = { messages: { messageIds: [leased.id] } };
      assert.deepEqual(states(await listed(a, ofLeased)), ['CREATED', 'ACTIVE']);
      await a.store.settle([settlementOf(await a.claimOne(later), OK, later + 3)], later + 3);
      assert.deepEqual(states(await listed(a, ofLeased)), ['CREATED', 'ACTIVE', 'DELIVERED']);
      // In place of the one before it in its queue.
      const line = messages(2, { queueName: 'q', createdAt: later, dueAt: later });
      await a.store.accept(line, later);
      const head = await a.claimOne(later);
      await a.store.settle([settlementOf(head, OK, later + 4)], later + 4, { takesOver: [ACCOUNT] });
      await a.claimOne(later + 4);
      assert.deepEqual(await numbers({ messages: { messageIds: [line[1]!.id] } }), [[later + 4, 1]]);
    });

    test('a claim that is given back is no start: the event is recorded when the attempt really starts', async ({
      a,
    }) => {
      await a.store.accept([message()], NOW);
      const ready = await a.claimOne(NOW);
      await a.store.release([ready.lease], NOW);
      assert.deepEqual(states(await listed(a)), ['CREATED']);
      await a.store.settle([settlementOf(await a.claimOne(NOW), OK, NOW)], NOW);
      assert.deepEqual(states(await listed(a)), ['CREATED', 'ACTIVE', 'DELIVERED']);
      await a.claims(NOW);
      const leased = message();
      await a.store.accept([leased], NOW);
      await a.store.release([(await a.claimOne(NOW)).lease], NOW);
      assert.deepEqual(states(await listed(a, { messages: { messageIds: [leased.id] } })), ['CREATED']);
      const [bucket] = await a.store.activity(ACCOUNT, NOW, NOW + SECOND, 60 * SECOND);
      assert.equal(bucket?.activity.accepted, 2);
    });

    for (const how of ['found ready', 'leased when it was accepted', 'the head of a queue'] as const) {
      test.onTwo(
        `a live reader is told of a start once, however often the claim is given back: ${how}`,
        async ({ a, b }) => {
          if (how === 'leased when it was accepted') await a.claims(NOW);
          const one = message({ queueName: how === 'the head of a queue' ? 'q' : null, retriesMax: 1 });
          let cursor = await a.store.journalEnd(ACCOUNT);
          const next = async () => {
            const page = await b.store.listEvents(ACCOUNT, { messages: {} }, { ...PAGE, cursor, isLive: true });
            cursor = page.endedAt;
            return states(page.events);
          };
          await a.store.accept([one], NOW);
          const told = await next();
          for (let time = 0; time < 3; time += 1) {
            const node = time === 0 ? a : b;
            const claim = await node.claimOne(NOW + time);
            told.push(...(await next()));
            await node.store.release([claim.lease], NOW + time);
            told.push(...(await next()));
            assert.deepEqual(states(await listed(a)), ['CREATED'], 'a list leaves out what has not started');
          }
          const claim = await a.claimOne(NOW + 3);
          assert.deepEqual(states(await listed(a)), ['CREATED', 'ACTIVE']);
          await a.store.settle([settlementOf(claim, ERROR, NOW + 4)], NOW + 4);
          const again = await a.claimOne(NOW + 4 + SECOND);
          await a.store.settle([settlementOf(again, OK, NOW + 5 + SECOND)], NOW + 5 + SECOND);
          told.push(...(await next()));
          assert.deepEqual(told, ['CREATED', 'ACTIVE', 'ERROR', 'RETRY', 'ACTIVE', 'DELIVERED']);
          assert.deepEqual(states(await listed(a)), told);
        },
      );
    }

    test('an attempt that was claimed, given back and never started has no event once its message has ended', async ({
      a,
    }) => {
      await a.store.accept([message({ retriesMax: 0 })], NOW);
      await a.store.release([(await a.claimOne(NOW)).lease], NOW);
      const [found] = (await listed(a))!;
      await a.store.cancel(ACCOUNT, [found!.message.id], NOW + 1, NOW + RETENTION);
      const expected = ['CREATED', 'CANCEL_REQUESTED', 'CANCELLED'];
      assert.deepEqual(states(await listed(a)), expected);
      assert.deepEqual(states(await listed(a, {}, { isLive: true })), expected);
    });

    test('each path of a message is recorded as it happened', async ({ a }) => {
      const one = message({ retriesMax: 1, callback: callbackTo('https://back.example/') });
      await a.store.accept([one], NOW);
      await a.store.settle([settlementOf(await a.claimOne(NOW), INTERRUPTED, NOW)], NOW);
      const ofOne = { messages: { messageIds: [one.id] } };
      assert.deepEqual(states(await listed(a, ofOne)), ['CREATED', 'ACTIVE', 'ERROR', 'RETRY']);
      await a.store.settle([settlementOf(await a.claimOne(NOW), ERROR, NOW)], NOW);
      const again = (await a.claims(NOW + SECOND)).find(({ message: { id } }) => id === one.id)!;
      await a.store.settle([settlementOf(again, OK, NOW + SECOND)], NOW + SECOND);
      assert.deepEqual(states(await listed(a, ofOne)).slice(4), ['ACTIVE', 'ERROR', 'RETRY', 'ACTIVE', 'DELIVERED']);
      assert.equal((await listed(a, { states: ['CREATED'] })).length, 3, 'the callbacks have events of their own');
    });

    test('a cancelled message has the events CANCEL_REQUESTED and CANCELLED', async ({ a }) => {
      const one = message();
      await a.store.accept([one], NOW);
      await a.store.cancel(ACCOUNT, [one.id], NOW + 3, NOW + RETENTION);
      await a.store.cancel(ACCOUNT, [one.id], NOW + 4, NOW + RETENTION);
      const events = await listed(a);
      assert.deepEqual(states(events), ['CREATED', 'CANCEL_REQUESTED', 'CANCELLED']);
      assert.equal(events[2]!.at, NOW + 3);
    });

    test('a settlement that lost leaves no event', async ({ a }) => {
      await a.store.accept([message()], NOW);
      const settlement = settlementOf(await a.claimOne(NOW), OK, NOW);
      await a.store.settle([settlement, settlement], NOW);
      assert.deepEqual(states(await listed(a)), ['CREATED', 'ACTIVE', 'DELIVERED']);
    });

    test('newest first is the reverse of oldest first, and the pages together are complete', async ({ a }) => {
      await lively(a);
      const all = shown(await listed(a));
      assert.ok(all.length > 20);
      assert.deepEqual(shown(await listed(a, {}, { order: 'newestFirst' })), all.toReversed());
      for (const order of ['newestFirst', 'oldestFirst'] as const) {
        for (const limit of [1, 4, 10, all.length]) {
          const seen: string[] = [];
          for (let cursor: number | null = null; ; ) {
            const page = await a.store.listEvents(ACCOUNT, { messages: {} }, { ...PAGE, limit, order, cursor });
            assert.ok(page.events.length <= Math.max(limit, 3), 'a step of three may go over a page of one');
            seen.push(...shown(page.events));
            cursor = page.cursor;
            if (cursor === null) break;
          }
          assert.deepEqual(seen, order === 'oldestFirst' ? all : all.toReversed());
        }
      }
    });

    test('two steps that share a position are on one page, wherever the rows before them end', async ({ a }) => {
      const page = { limit: 1, order: 'oldestFirst', withBodies: false } as const;
      // A cancelled attempt ends and its message is cancelled at one position, behind more and more other rows.
      for (let others = 0; others < 8; others += 1) {
        const from = (await a.store.listEvents(ACCOUNT, { messages: {} }, { ...PAGE, order: 'newestFirst', limit: 1 }))
          .events;
        const after = from[0]?.position ?? 0;
        if (others > 0) await a.store.accept(messages(others, { dueAt: NOW + RETENTION }), NOW);
        const one = message({ retriesMax: 0 });
        await a.store.accept([one], NOW);
        const claim = await a.claimOne(NOW);
        await a.store.cancel(ACCOUNT, [one.id], NOW, NOW + RETENTION);
        await a.store.settle([settlementOf(claim, ERROR, NOW)], NOW);
        for (const state of ['ERROR', 'CANCELLED'] as const) {
          const filter = { messages: {}, states: [state] };
          const seen: string[] = [];
          await waitFor('all to be final', async () => (await a.store.journalEnd(ACCOUNT)) > after);
          for (let cursor: number | null = after; cursor !== null; ) {
            const next: EventPage = await a.store.listEvents(ACCOUNT, filter, { ...page, cursor });
            seen.push(...shown(next.events));
            cursor = next.cursor;
          }
          assert.deepEqual(seen, [`${one.id} ${state}`], `behind ${others} others`);
        }
      }
    });

    test('by state, by time and by what the message is', async ({ a }) => {
      await lively(a);
      const all = await listed(a);
      const only = (keep: (event: MessageEvent) => boolean) => shown(all.filter(keep));
      assert.deepEqual(
        shown(await listed(a, { states: ['ERROR', 'DELIVERED'] })),
        only(({ state }) => /ERROR|DELIV/.test(state)),
      );
      const [fromAt, toAt] = [NOW + 8, NOW + SECOND + 5];
      assert.deepEqual(
        shown(await listed(a, { fromAt, toAt })),
        only(({ at }) => at >= fromAt && at <= toAt),
      );
      assert.deepEqual(
        shown(await listed(a, { fromAt })),
        only(({ at }) => at >= fromAt),
      );
      assert.deepEqual(
        shown(await listed(a, { fromAt }, { order: 'newestFirst' })),
        only(({ at }) => at >= fromAt).toReversed(),
      );
      const messageIds = [all[0]!.message.id, all[3]!.message.id];
      assert.deepEqual(
        shown(await listed(a, { messages: { messageIds } })),
        only(({ message: { id } }) => messageIds.includes(id)),
      );
      assert.deepEqual(shown(await listed(a, { messages: { labels: ['x'] } })), shown(all));
      assert.deepEqual(await listed(a, { messages: { labels: ['none'] } }), []);
      assert.deepEqual(await listed(a, { messages: { messageIds: ['msg_none'] } }), []);
    });

    test('bodies are returned only on request', async ({ a }) => {
      await lively(a);
      assert.ok((await listed(a)).every(({ message: { body } }) => body.length === 0));
      assert.ok((await listed(a, {}, { withBodies: true })).every(({ message: { body } }) => body.length === 9));
    });

    test('another account sees nothing of it', async ({ a }) => {
      await lively(a);
      const page = await a.store.listEvents(OTHER_ACCOUNT, { messages: {} }, PAGE);
      assert.deepEqual(page.events, []);
      assert.equal(await a.store.journalEnd(OTHER_ACCOUNT), 0);
    });

    test.onTwo('a reader that continues from the end sees each new event once', async ({ a, b }) => {
      await lively(a);
      let cursor = await a.store.journalEnd(ACCOUNT);
      const next = async () => {
        const page = await a.store.listEvents(ACCOUNT, { messages: {} }, { ...PAGE, cursor });
        cursor = page.endedAt;
        return states(page.events);
      };
      assert.deepEqual(await next(), []);
      await b.store.accept([message()], NOW);
      assert.deepEqual(await next(), ['CREATED']);
      assert.deepEqual(await next(), []);
      const claims = await b.claims(NOW);
      assert.deepEqual(await next(), ['ACTIVE']);
      await b.store.settle(
        claims.map((claim) => settlementOf(claim, OK, NOW)),
        NOW,
      );
      assert.deepEqual(await next(), ['DELIVERED']);
      assert.equal(cursor, await a.store.journalEnd(ACCOUNT));
    });

    test('a position never comes twice and never goes back, also when the clock does', async ({ a }) => {
      for (const now of [NOW, NOW - 5 * SECOND, NOW - SECOND]) await a.store.accept([message({ createdAt: now })], now);
      const positions = (await listed(a)).map(({ position }) => position!);
      assert.deepEqual(
        positions,
        [...new Set(positions)].toSorted((one, other) => one - other),
      );
      assert.equal(positions.length, 3);
    });

    test.onTwo('a listener on any node is notified until it stops listening', async ({ a, b }) => {
      let heard = 0;
      const stop = a.store.onJournal(() => {
        heard += 1;
      });
      await b.store.accept([message()], NOW);
      await waitFor('the news of the other node', () => heard > 0);
      stop();
      const before = heard;
      await a.store.accept([message()], NOW);
      assert.equal(heard, before);
    });

    test('only older events are deleted, a bounded number in each call', async ({ a }) => {
      for (const at of [0, 10, 20]) await a.store.accept([message({ createdAt: NOW + at })], NOW + at);
      await a.store.setTier(OTHER_ACCOUNT, 'paid');
      await a.store.accept([message({ accountId: OTHER_ACCOUNT })], NOW);
      const upTo = async (at: number, rows: number) =>
        (await a.store.deleteJournal({ free: at, paid: NOW }, { after: '', accounts: 10, rows })).deleted;
      assert.equal(await upTo(NOW, 10), 0);
      assert.equal(await upTo(NOW + 20, 1), 1);
      assert.equal(await upTo(NOW + 20, 10), 1);
      assert.deepEqual(
        (await listed(a)).map(({ at }) => at),
        [NOW + 20],
      );
      assert.equal((await a.store.listEvents(OTHER_ACCOUNT, { messages: {} }, PAGE)).events.length, 1);
    });

    test('events of many accounts are deleted a part of the accounts at a time, until all were looked at', async ({
      a,
    }) => {
      await a.store.accept([...messages(3), ...messages(3, { accountId: OTHER_ACCOUNT })], NOW);
      const before = { free: NOW + 1, paid: NOW + 1 };
      const first = await a.store.deleteJournal(before, { after: '', accounts: 1, rows: 10 });
      assert.deepEqual(first, { deleted: 3, after: ACCOUNT });
      const second = await a.store.deleteJournal(before, { after: ACCOUNT, accounts: 1, rows: 2 });
      assert.deepEqual(second, { deleted: 2, after: OTHER_ACCOUNT });
      const third = await a.store.deleteJournal(before, { after: '', accounts: 10, rows: 10 });
      assert.deepEqual(third, { deleted: 1, after: null });
    });

    test('the events of a message are deleted with it, and the next message has only its own', async ({ a }) => {
      const one = message({ retriesMax: 0 });
      await a.store.accept([one], NOW);
      await a.store.settle([settlementOf(await a.claimOne(NOW), ERROR, NOW)], NOW);
      await a.store.deleteDeadLetters(ACCOUNT, [one.id]);
      assert.deepEqual(await listed(a), []);
      await a.store.accept([message({ dueAt: NOW + SECOND })], NOW + 1);
      assert.deepEqual(states(await listed(a)), ['CREATED']);
    });
  });
}
