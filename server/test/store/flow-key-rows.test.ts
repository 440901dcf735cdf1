// What a change of limits writes: of a flow key with thousands that wait, a bounded number of rows, and once for all the
// messages that share a transaction; of many keys at once, a bounded number of rows in each transaction.

import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import pg from 'pg';
import type { NewMessage } from '../../src/rules/delivery/message.ts';
import { eachMax } from '../../src/rules/limits/budgets.ts';
import type { Store } from '../../src/store/ports/store.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import { flowing } from '../conformance/flow-control.ts';
import { ACCOUNT, KEYS, limits, NOW } from '../conformance/given.ts';
import { withNode } from '../conformance/harness.ts';
import { ownDatabase } from '../conformance/postgres-harness.ts';
import { claimDue } from '../support/claim-due.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { WatchedExecutor } from './watched-executor.ts';

const READY_MAX = eachMax('flowKeyReady');
const WAITING = 2000;
const BATCH = 100;

const client = pg.Client.prototype as unknown as {
  query: (...args: unknown[]) => Promise<{ rowCount: number | null }>;
};
const { query } = client;

afterEach(() => {
  client.query = query;
});

function alternating(count: number): NewMessage[] {
  return Array.from({ length: count }, (_, index) => flowing({ rate: 1_000_000 + (index % 2) }));
}

/** `changed` answers how many rows were changed since it was last asked. */
async function assertBounded(store: Store, changed: () => number): Promise<void> {
  for (let count = 0; count < WAITING; count += BATCH) {
    await store.accept(
      Array.from({ length: BATCH }, () => flowing({ rate: 1_000_000 })),
      NOW,
    );
  }
  const judgedAgain = 2 * READY_MAX;
  changed();
  await store.accept([flowing({ rate: 1 })], NOW);
  const one = changed();
  // Beside those: the message, its entry in the journal and the rows of counters and keys.
  assert.ok(one <= judgedAgain + 10, `one message: ${one}`);
  await store.accept(alternating(BATCH), NOW);
  const batch = changed();
  assert.ok(batch <= judgedAgain + 2 * BATCH + 10, `a batch: ${batch}`);
  await Promise.all(alternating(BATCH).map((each) => store.accept([each], NOW)));
  const atOnce = changed();
  // Some of them may be written before the others are known.
  assert.ok(atOnce <= 3 * judgedAgain + 5 * BATCH, `at the same time: ${atOnce}`);
}

const KEYS_MANY = 40;
const JUDGED_MAX = eachMax('flowKeysChecked');

/** Each key has let through as many as it may; then a batch says other limits for all of them. */
async function assertManyBounded(store: Store, changed: () => number): Promise<void> {
  const names = Array.from({ length: KEYS_MANY }, (_, index) => `k${index}`);
  for (const name of names) {
    const waiting = Array.from({ length: READY_MAX + 20 }, () => flowing({ rate: 1_000_000 }, {}, name));
    await store.accept(waiting, NOW);
  }
  let claimed = 0;
  const claim = async () => {
    const { claims } = await claimDue(store, NOW, limits({ slots: 1 }));
    claimed += claims.length;
    return changed();
  };
  const letThrough = async () => {
    const keys = await Promise.all(names.map((name) => store.getFlowKey(ACCOUNT, name)));
    return keys.reduce((sum, key) => sum + key!.active, 0);
  };
  // Beside the messages that become ready: rows of keys, the claim and its entry in the journal.
  const letInMax = 2 * eachMax('dueMessages') + 3 * KEYS_MANY;
  for (let turns = 0; (await letThrough()) < KEYS_MANY * READY_MAX; turns += 1) {
    assert.ok(turns < KEYS_MANY, 'the keys let through what they may');
    changed();
    const rows = await claim();
    assert.ok(rows <= letInMax, `a claim lets through: ${rows}`);
  }

  const judgedAgain = JUDGED_MAX * 2 * READY_MAX;
  changed();
  await store.accept(
    names.map((name) => flowing({ parallelism: 1 }, {}, name)),
    NOW,
  );
  const batch = changed();
  assert.ok(batch <= judgedAgain + 6 * KEYS_MANY, `a batch: ${batch}`);
  for (const name of names) {
    assert.equal((await store.getFlowKey(ACCOUNT, name))!.limits.parallelism, 1, 'a key shows its newest limits');
  }
  for (let turns = 0; (await letThrough()) > KEYS_MANY + claimed; turns += 1) {
    assert.ok(turns < KEYS_MANY / JUDGED_MAX, 'the limits take effect within a few claims');
    changed();
    const rows = await claim();
    assert.ok(rows <= judgedAgain + letInMax, `a claim: ${rows}`);
  }
}

test('other limits for a flow key rewrite a bounded number of rows, on SQLite', () => onSqlite(assertBounded));

test('other limits for many flow keys rewrite a bounded number of rows in each transaction, on SQLite', () =>
  onSqlite(assertManyBounded));

test('other limits for a flow key rewrite a bounded number of rows, on PostgreSQL', () => onPostgres(assertBounded));

test('other limits for many flow keys rewrite a bounded number of rows in each transaction, on PostgreSQL', () =>
  onPostgres(assertManyBounded));

async function onSqlite(assertOn: typeof assertBounded): Promise<void> {
  const executor = new WatchedExecutor();
  const onBroken = (error: Error) => assert.fail(error);
  const store = createSqliteStore({ executor, clock: new ManualClock(NOW), node: 'nod_a', onBroken });
  await store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  let before = 0;
  await assertOn(store, () => {
    const { n } = executor.database.get<{ n: number }>('SELECT total_changes() AS n')!;
    const changes = n - before;
    before = n;
    return changes;
  });
  await store.close();
}

function onPostgres(assertOn: typeof assertBounded): Promise<void> {
  return withNode(ownDatabase, async ({ a }) => {
    let rows = 0;
    client.query = async function (this: unknown, ...args: unknown[]) {
      const answer = await query.apply(this, args);
      const text = typeof args[0] === 'string' ? args[0] : ((args[0] as { text?: string }).text ?? '');
      if (/\b(UPDATE|INSERT)\b/.test(text)) rows += answer.rowCount ?? 0;
      return answer;
    };
    await assertOn(a.store, () => {
      const changes = rows;
      rows = 0;
      return changes;
    });
  });
}
