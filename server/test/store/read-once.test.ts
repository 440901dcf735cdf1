// What a list of events takes out of the database, counted where it comes out: rows of the journal once, and of bodies no
// more than a page has room for.

import assert from 'node:assert/strict';
import { StatementSync } from 'node:sqlite';
import { suite, type TestContext, test } from 'node:test';
import pg from 'pg';
import type { EventFilter } from '../../src/rules/delivery/event.ts';
import { BUDGETS } from '../../src/rules/limits/budgets.ts';
import { pieceReadMax } from '../../src/rules/reads/read-amount.ts';
import type { PageRequest } from '../../src/store/ports/message-store.ts';
import type { Store } from '../../src/store/ports/store.ts';
import { withTurnsOfAccounts } from '../../src/store/turns/in-turn.ts';
import { ACCOUNT, message, NOW } from '../conformance/given.ts';
import { type HarnessFactory, withNode } from '../conformance/harness.ts';
import { ownDatabase } from '../conformance/postgres-harness.ts';
import { inMemory } from '../conformance/sqlite-harness.ts';

const MIB = 1024 * 1024;
const PAGE_BYTES = BUDGETS.pageBytes.each!;

/** What came out of a database since it was made. */
class Taken {
  rows = 0;
  bytes = 0;

  add(rows: readonly unknown[]): void {
    this.rows += rows.length;
    for (const row of rows) {
      for (const value of Object.values((row ?? {}) as object)) {
        if (value instanceof Uint8Array) this.bytes += value.length;
      }
    }
  }
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

function watch(t: TestContext): Taken {
  const taken = new Taken();
  const replace = (target: object, name: string, make: (method: Method) => Method) => {
    const methods = target as Record<string, Method>;
    const method = methods[name]!;
    methods[name] = make(method);
    t.after(() => {
      methods[name] = method;
    });
  };
  replace(
    StatementSync.prototype,
    'all',
    (all) =>
      function (...args) {
        const rows = all.apply(this, args) as unknown[];
        taken.add(rows);
        return rows;
      },
  );
  replace(
    StatementSync.prototype,
    'get',
    (get) =>
      function (...args) {
        const row = get.apply(this, args);
        taken.add(row === undefined ? [] : [row]);
        return row;
      },
  );
  replace(
    pg.Client.prototype,
    'query',
    (query) =>
      async function (...args) {
        const result = (await query.apply(this, args)) as { readonly rows?: unknown[] } | undefined;
        taken.add(result?.rows ?? []);
        return result;
      },
  );
  return taken;
}

const AT_ONCE = { lists: 1, lookUps: 1, areNeedsInTurn: true, changes: 1 };
const LIVE = { order: 'oldestFirst', withBodies: false, isLive: true } as const;

/** As a live stream reads: page by page, each from where the one before has ended. */
async function readAll(store: Store, filter: EventFilter): Promise<number> {
  let events = 0;
  for (let cursor: number | null = 0; cursor !== null; ) {
    const page: PageRequest = { ...LIVE, limit: 100, cursor, look: pieceReadMax() };
    const read = await store.listEvents(ACCOUNT, filter, page);
    events += read.events.length;
    cursor = read.cursor;
  }
  return events;
}

async function large(store: Store, count: number): Promise<void> {
  const body = new Uint8Array(MIB).fill(0x78);
  for (let n = 0; n < count; n += 1) {
    await store.accept([message({ id: `msg_large${n}`, body, dueAt: NOW + 1000 })], NOW);
  }
}

function bothStores(factory: HarnessFactory): void {
  test('the past of six hundred messages is read once, from an old position to the end', (t) =>
    withNode(factory, async ({ a: { store } }) => {
      const ids = Array.from({ length: 600 }, (_, n) => `msg_${n}`);
      for (let at = 0; at < ids.length; at += 100) {
        const some = ids.slice(at, at + 100);
        await store.accept(
          some.map((id) => message({ id, dueAt: NOW + 1000 })),
          NOW,
        );
        await store.cancel(ACCOUNT, some, NOW, NOW + 1000);
      }
      const taken = watch(t);
      const events = await readAll(store, { messages: { messageIds: ids } });
      assert.equal(events, 3 * ids.length, 'created, its cancel requested, and cancelled');
      // Two rows of the journal for each message, and with each of them the message. A page may end in the middle of what
      // was read for it; the other half is read again for the next.
      assert.ok(taken.rows <= 3 * 2 * ids.length + 100, `${taken.rows} rows`);
    }));

  test('the events of a message without a body, and of one with a short body, have what it has', () =>
    withNode(factory, async ({ a: { store } }) => {
      const body = new Uint8Array([1, 2, 3]);
      await store.accept([message({ id: 'msg_none', body: new Uint8Array(0), dueAt: NOW + 1000 })], NOW);
      await store.accept([message({ id: 'msg_short', body, dueAt: NOW + 1000 })], NOW);
      const page: PageRequest = { limit: 100, cursor: null, order: 'oldestFirst', withBodies: true };
      const { events } = await store.listEvents(ACCOUNT, { messages: {} }, page);
      assert.deepEqual(
        events.map((event) => [event.message.id, event.message.body, event.isBodyCut]),
        [
          ['msg_none', new Uint8Array(0), undefined],
          ['msg_short', body, undefined],
        ],
      );
    }));

  test('events that the filter leaves out cost no body', (t) =>
    withNode(factory, async ({ a: { store } }) => {
      await large(store, 20);
      const taken = watch(t);
      const page: PageRequest = { limit: 100, cursor: null, order: 'newestFirst', withBodies: true };
      const { events } = await store.listEvents(ACCOUNT, { messages: {}, states: ['FAILED'] }, page);
      assert.deepEqual(events, []);
      assert.ok(taken.bytes < MIB, `${taken.bytes} bytes`);
    }));

  test('a page of events of large messages takes no more of their bodies than it has room for', (t) =>
    withNode(factory, async ({ a: { store } }) => {
      await large(store, 20);
      const taken = watch(t);
      const page: PageRequest = { limit: 100, cursor: null, order: 'newestFirst', withBodies: true };
      const { events, cursor } = await withTurnsOfAccounts(store, AT_ONCE, () => 0).listEvents(
        ACCOUNT,
        { messages: {} },
        page,
      );
      assert.ok(events.length > 1 && cursor !== null);
      assert.ok(events.every(({ isBodyCut }) => isBodyCut));
      assert.ok(taken.bytes <= PAGE_BYTES, `${taken.bytes} bytes`);
    }));

  test('a piece of a list reads the bodies that there is room for, and one in any case', (t) =>
    withNode(factory, async ({ a: { store } }) => {
      await large(store, 4);
      const taken = watch(t);
      const page: PageRequest = { limit: 100, cursor: null, order: 'newestFirst', withBodies: true };
      const sizes: number[] = [];
      for (let cursor: number | null = null; ; ) {
        const look = { rows: 500, bytes: 2.5 * MIB };
        const piece = await store.searchMessages(ACCOUNT, {}, { ...page, cursor, look });
        sizes.push(piece.messages.length);
        assert.ok(taken.bytes <= 2.5 * MIB, `${taken.bytes} bytes`);
        taken.bytes = 0;
        cursor = piece.cursor;
        if (cursor === null) break;
      }
      assert.deepEqual(
        sizes.filter((size) => size > 0),
        [2, 2],
      );
      const look = { rows: 500, bytes: 10 };
      assert.equal((await store.searchMessages(ACCOUNT, {}, { ...page, look })).messages.length, 1);
      const text = { text: 'nowhere' };
      const count = await store.countPiece(ACCOUNT, text, 10, null, look);
      assert.deepEqual([count.count, count.looked.rows], [0, 1]);
      const listed = await store.listEvents(ACCOUNT, { messages: {} }, { ...page, look });
      assert.equal(listed.events.length, 1);
    }));
}

suite('SQLite', () => bothStores(inMemory));
suite('PostgreSQL', () => bothStores(ownDatabase));
