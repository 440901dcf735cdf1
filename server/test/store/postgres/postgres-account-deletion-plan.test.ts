// What a piece of the deletion of an account costs does not depend on how much the account and others have, also with
// statistics from before: measured by the rows that the server looked at, not by the clock.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ACCOUNT, KEYS, NOW, OTHER_ACCOUNT } from '../../conformance/given.ts';
import { withClient } from '../../postgres/databases.ts';
import { openPatiently } from '../../postgres/open-patiently.ts';
import { sharedServer } from '../../postgres/server.ts';
import { waitFor } from '../../support/wait.ts';

const COUNT = 10_000;
const PIECE = 100;
/** Each statement looks at the rows of the piece alone; the planner is free in how often. */
const ROWS_MAX = 20 * PIECE;

test('a piece reads only what it deletes, whichever table it is about', async () => {
  const server = await sharedServer();
  const database = await server.createDatabase();
  const url = server.url(database);
  const run = (...statements: readonly string[]) =>
    withClient(url, async (client) => {
      for (const sql of statements) await client.query(sql);
    });
  const first = await openPatiently({ url, node: 'nod_a', knownForMs: 0 });
  for (const id of [ACCOUNT, OTHER_ACCOUNT]) {
    await first.createAccount({ id, name: id, tier: 'free', createdAt: NOW }, KEYS);
  }
  await first.beginDeletion(ACCOUNT, NOW);
  await first.close();
  await run(...TABLES.map((table) => `ALTER TABLE ${table} SET (autovacuum_enabled = false)`));
  for (const id of [ACCOUNT, OTHER_ACCOUNT]) await run(...filling(id));
  await run('ANALYZE');

  /** How many rows the server looks at for a piece. */
  const cost = async () => {
    const before = await rowsSeen(url);
    const store = await openPatiently({ url, node: 'nod_a', knownForMs: 0 });
    assert.equal((await store.deleteAccountPiece('', NOW, PIECE))?.outcome, 'more');
    await store.close();
    return (await rowsSeen(url)) - before;
  };
  for (const table of TABLES) {
    const rows = await cost();
    assert.ok(rows < ROWS_MAX, `${rows} rows for a piece of ${table}`);
    // The rest of the account goes, and the statistics stay.
    await run(`DELETE FROM ${table} WHERE account_id = '${ACCOUNT}'`, `VACUUM ${table}`);
  }
  await server.dropDatabase(database);
});

const TABLES = ['messages', 'flow_keys', 'deduplication', 'usage'] as const;

function filling(id: string): string[] {
  const numbers = `generate_series(1, ${COUNT}) AS n`;
  return [
    `INSERT INTO messages (account_id, id, kind, state, due_at, first_due_at, url, host, method, headers, retries_max,
       timeout_ms, attempts, hops, created_at, body)
     SELECT '${id}', '${id} ' || n, 'publish', 'ready', ${NOW}, ${NOW}, 'https://a.example/hook', 'a.example:443', 'POST',
       '[]', 3, 30000, 0, 0, ${NOW}, '' FROM ${numbers}`,
    `INSERT INTO flow_keys (account_id, key, period_ms, window_start_at, window_count)
     SELECT '${id}', 'key ' || n, 1000, 0, 0 FROM ${numbers}`,
    `INSERT INTO deduplication (account_id, key, message_id, expires_at)
     SELECT '${id}', 'key ' || n, 'msg', ${NOW} FROM ${numbers}`,
    `INSERT INTO usage (account_id, day, kind, shard, count)
     SELECT '${id}', 'day ' || n, 'publish', 0, 1 FROM ${numbers}`,
  ];
}

/** Rows and index entries read in this database since it was made; the sessions have ended, and so have reported. */
async function rowsSeen(url: string): Promise<number> {
  return withClient(url, async (client) => {
    await waitFor('the other sessions to end', async () => {
      const { rows } = await client.query(
        `SELECT 1 FROM pg_stat_activity
           WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
      );
      return rows.length === 0;
    });
    const names = TABLES.map((table) => `'${table}'`).join(', ');
    const { rows } = await client.query<{ rows: string }>(
      `SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname IN (${names}))
         + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname IN (${names})) AS rows`,
    );
    return Number(rows[0]!.rows);
  });
}
