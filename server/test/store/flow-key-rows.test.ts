// What a change of limits writes: of a flow key with thousands that wait, a bounded number of rows, and once for all the
// messages that share a transaction.

import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import pg from 'pg';
import { eachMax } from '../../src/domain/budgets.ts';
import type { NewMessage } from '../../src/domain/message.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import type { Store } from '../../src/store/store.ts';
import { flowing } from '../conformance/flow-control.ts';
import { ACCOUNT, KEYS, NOW } from '../conformance/given.ts';
import { withNodes } from '../conformance/harness.ts';
import { ownDatabase } from '../conformance/postgres-harness.ts';
import { ManualClock } from '../manual-clock.ts';
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

test('other limits for a flow key rewrite a bounded number of rows, on SQLite', async () => {
  const executor = new WatchedExecutor();
  const onBroken = (error: Error) => assert.fail(error);
  const store = createSqliteStore({ executor, clock: new ManualClock(NOW), node: 'nod_a', onBroken });
  await store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  let before = 0;
  await assertBounded(store, () => {
    const { n } = executor.database.get<{ n: number }>('SELECT total_changes() AS n')!;
    const changes = n - before;
    before = n;
    return changes;
  });
  await store.close();
});

test('other limits for a flow key rewrite a bounded number of rows, on PostgreSQL', () =>
  withNodes(ownDatabase, async ({ a }) => {
    let rows = 0;
    client.query = async function (this: unknown, ...args: unknown[]) {
      const answer = await query.apply(this, args);
      const text = typeof args[0] === 'string' ? args[0] : (args[0] as { text: string }).text;
      if (/\b(UPDATE|INSERT)\b/.test(text)) rows += answer.rowCount ?? 0;
      return answer;
    };
    await assertBounded(a.store, () => {
      const changes = rows;
      rows = 0;
      return changes;
    });
  }));
