// Retention deletes a queue or a flow key that nobody uses at the very moment at which somebody uses it again. It holds the
// lock of the row, deletes it and commits; whoever waited for the lock finds no row, and makes another one.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import type { Store } from '../../../src/store/ports/store.ts';
import { flowing } from '../../conformance/flow-control.ts';
import { ACCOUNT, KEYS, limits, NOW, QUEUE, queued } from '../../conformance/given.ts';
import type { Databases } from '../../postgres/databases.ts';
import { openPatiently } from '../../postgres/open-patiently.ts';
import { sharedServer } from '../../postgres/server.ts';
import { claimDue } from '../../support/claim-due.ts';
import { waitFor } from '../../support/wait.ts';

const KEY = 'k';
let server: Databases;
let database: string;
let store: Store;
/** Does what retention does, step by step. */
let walk: pg.Client;

before(async () => {
  server = await sharedServer();
  database = await server.createDatabase();
  store = await openPatiently({ url: server.url(database), node: 'nod_a', knownForMs: 0 });
  await store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  walk = new pg.Client({ connectionString: server.url(database) });
  await walk.connect();
});

after(async () => {
  await walk.end();
  await store.close();
  await server.dropDatabase(database);
});

/** Calls `use` while the row is locked, and deletes the row once it waits for the lock. */
async function useWhileDeleted<T>(table: string, column: string, name: string, use: () => Promise<T>): Promise<T> {
  const where = `WHERE account_id = $1 AND ${column} = $2`;
  await walk.query('BEGIN');
  const { rowCount } = await walk.query(`SELECT 1 FROM ${table} ${where} FOR UPDATE`, [ACCOUNT, name]);
  assert.equal(rowCount, 1);
  const using = use();
  await waitFor('somebody to wait for the lock', async () => {
    const { rows } = await walk.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pg_backend_pid() = ANY(pg_blocking_pids(pid))`,
    );
    return rows.length > 0;
  });
  await walk.query(`DELETE FROM ${table} ${where}`, [ACCOUNT, name]);
  await walk.query('COMMIT');
  return using;
}

/** A row that nobody uses any more. */
async function idleKey(name: string): Promise<void> {
  await walk.query(
    `INSERT INTO flow_keys (account_id, key, parallelism, rate, period_ms, window_start_at, window_count)
       VALUES ($1, $2, 1, NULL, 1000, 0, 0)`,
    [ACCOUNT, name],
  );
}

async function idleQueue(name: string): Promise<void> {
  await walk.query(
    'INSERT INTO queues (account_id, name, parallelism, created_at, updated_at) VALUES ($1, $2, 1, 0, 0)',
    [ACCOUNT, name],
  );
}

test('a message whose flow key is deleted meanwhile is accepted, starts, and has its key', async () => {
  await idleKey(KEY);
  const sent = flowing({ parallelism: 1 }, {}, KEY);
  await useWhileDeleted('flow_keys', 'key', KEY, () => store.accept([sent], NOW));
  assert.equal((await store.getFlowKey(ACCOUNT, KEY))?.limits.parallelism, 1);
  const { claims } = await claimDue(store, NOW, limits());
  assert.deepEqual(
    claims.map(({ message }) => message.id),
    [sent.id],
  );
});

test('a message whose queue is deleted meanwhile is accepted, starts, and has its queue', async () => {
  await idleQueue(QUEUE);
  const sent = queued();
  await useWhileDeleted('queues', 'name', QUEUE, () => store.accept([sent], NOW));
  assert.equal((await store.getQueue(ACCOUNT, QUEUE))?.name, QUEUE);
  const { claims } = await claimDue(store, NOW, limits());
  assert.deepEqual(
    claims.map(({ message }) => message.id),
    [sent.id],
  );
});

test('a flow key that is pinned while it is deleted is there, with its pin', async () => {
  await idleKey('pinned');
  const pins = { parallelism: 7, rate: 'keep' } as const;
  const pinned = await useWhileDeleted('flow_keys', 'key', 'pinned', () =>
    store.pinFlowKey(ACCOUNT, 'pinned', pins, NOW),
  );
  assert.equal(pinned.limits.parallelism, 7);
  assert.equal((await store.getFlowKey(ACCOUNT, 'pinned'))?.isParallelismPinned, true);
});

test('a queue that is changed while it is deleted is there, with its change', async () => {
  await idleQueue('changed');
  const saved = await useWhileDeleted('queues', 'name', 'changed', () =>
    store.saveQueue(ACCOUNT, 'changed', { parallelism: 3 }, NOW),
  );
  assert.equal(saved.parallelism, 3);
  assert.equal((await store.getQueue(ACCOUNT, 'changed'))?.parallelism, 3);
  assert.equal(await store.recountStored(ACCOUNT), 0);
});
