// What it costs to end an expired message does not depend on how many others have expired, also with statistics from
// before they came: measured by the rows that the server looked at, not by the clock.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decideExpiration } from '../../../src/rules/delivery/settle.ts';
import { ACCOUNT, KEYS, NOW, newId, RETENTION } from '../../conformance/given.ts';
import { withClient } from '../../postgres/databases.ts';
import { openPatiently } from '../../postgres/open-patiently.ts';
import { sharedServer } from '../../postgres/server.ts';
import { waitFor } from '../../support/wait.ts';

const COUNT = 20_000;
const PIECE = 200;
/** Each statement looks at the messages of the piece alone; the planner is free in how often. */
const ROWS_MAX = 10 * PIECE;

test('a piece of many expired messages reads only these', async () => {
  const server = await sharedServer();
  const database = await server.createDatabase();
  const url = server.url(database);
  const store = await openPatiently({ url, node: 'nod_a', knownForMs: 0 });
  await store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  await fill(url);
  const { expired } = await store.dueExpiries(NOW, { messages: PIECE, after: '' });
  const ends = expired.map((each) => decideExpiration(each, { now: NOW, retentionMs: RETENTION, newId }));
  await store.close();
  const before = await rowsSeen(url);
  const again = await openPatiently({ url, node: 'nod_a', knownForMs: 0 });
  assert.equal((await again.expireMessages(ends, NOW)).length, PIECE);
  await again.close();
  const rows = (await rowsSeen(url)) - before;
  await server.dropDatabase(database);
  assert.ok(rows < ROWS_MAX, `${rows} rows for ${PIECE} messages`);
});

async function fill(url: string): Promise<void> {
  await withClient(url, async (client) => {
    const insert = (id: string, mustStartBefore: number | null, count: number) =>
      client.query(
        `INSERT INTO messages (account_id, id, kind, state, due_at, first_due_at, url, host, method, headers, retries_max,
           timeout_ms, attempts, hops, created_at, must_start_before, body)
         SELECT $1, $2 || n, 'publish', 'ready', $3, $3, 'https://a.example/hook', 'a.example:443', 'POST', '[]',
           3, 30000, 0, 0, $3, $4, '' FROM generate_series(1, $5::int) AS n`,
        [ACCOUNT, id, NOW - 1000, mustStartBefore, count],
      );
    await client.query('ALTER TABLE messages SET (autovacuum_enabled = false)');
    await insert('msg_old', null, 1000);
    await client.query('ANALYZE messages');
    await insert('msg_new', NOW, COUNT);
  });
}

/** Index entries of messages read in this database since it was made; the sessions have ended, and so have reported. */
async function rowsSeen(url: string): Promise<number> {
  return withClient(url, async (client) => {
    await waitFor('the other sessions to end', async () => {
      const { rows } = await client.query(
        `SELECT 1 FROM pg_stat_activity
           WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
      );
      return rows.length === 0;
    });
    const { rows } = await client.query<{ rows: string }>(
      "SELECT sum(idx_tup_read) AS rows FROM pg_stat_user_indexes WHERE relname = 'messages'",
    );
    return Number(rows[0]!.rows);
  });
}
