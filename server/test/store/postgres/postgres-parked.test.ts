// Messages that wait for a parked host cost a claim nothing, however many they are, also with statistics from before they
// came: measured by the rows that the server looked at and wrote, not by the clock.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ACCOUNT, KEYS, limits, message, NOW } from '../../conformance/given.ts';
import { withClient } from '../../postgres/databases.ts';
import { openPatiently } from '../../postgres/open-patiently.ts';
import { sharedServer } from '../../postgres/server.ts';
import { claimDue } from '../../support/claim-due.ts';
import { waitFor } from '../../support/wait.ts';

const HOST = 'a.example:443';
const [FEW, MANY] = [10, 20_000];
/** The planner is free in how it reads the few rows that are wanted. */
const ROWS_READ_MAX = 20 * FEW;
/** To park, resume, accept two and claim three: far fewer than there are parked messages. */
const ROWS_WRITTEN_MAX = 20;

test('a claim beside many parked messages reads none of them, and parking writes a few rows', async () => {
  const server = await sharedServer();
  const database = await server.createDatabase();
  const url = server.url(database);
  const store = await openPatiently({ url, node: 'nod_a', knownForMs: 0 });
  await store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  await store.close();
  await park(url, 'msg_few', FEW);
  await withClient(url, (client) => client.query('ANALYZE messages'));
  await look(url, 'with a few');
  await park(url, 'msg_many', MANY);
  await look(url, 'with statistics from before');
  await withClient(url, (client) => client.query('ANALYZE messages'));
  await look(url, 'with many');
  await server.dropDatabase(database);
});

/** Claims beside the parked messages, and parks and resumes the host. */
async function look(url: string, name: string): Promise<void> {
  const before = await touched(url);
  const store = await openPatiently({ url, node: 'nod_a', knownForMs: 0 });
  const claimed = async () => (await claimDue(store, NOW, limits({ parked: [[ACCOUNT, HOST, 0]] }))).claims;
  assert.equal(await store.parkHost(ACCOUNT, HOST, NOW, 9, 9), 'parked');
  assert.equal((await claimed()).length, 0, name);
  const others = [message({ host: HOST }), message({ host: 'b.example:443' })];
  await store.accept(others, NOW);
  const claims = await claimed();
  assert.equal(claims.length, others.length, name);
  const probe = await claimDue(store, NOW, limits({ parked: [[ACCOUNT, HOST, 1]] }));
  assert.equal(probe.claims.length, 1, `${name}: the probe`);
  await store.release(
    probe.claims.map(({ lease }) => lease),
    NOW,
  );
  assert.equal(await store.resumeHost(ACCOUNT, HOST, NOW), true);
  await store.close();
  const after = await touched(url);
  const [read, written] = [after.read - before.read, after.written - before.written];
  assert.ok(read < ROWS_READ_MAX, `${name}: ${read} rows read`);
  assert.ok(written < ROWS_WRITTEN_MAX, `${name}: ${written} rows written`);
}

async function park(url: string, id: string, count: number): Promise<void> {
  await withClient(url, async (client) => {
    await client.query('ALTER TABLE messages SET (autovacuum_enabled = false)');
    await client.query(
      `INSERT INTO messages (account_id, id, kind, state, due_at, first_due_at, url, host, method, headers, retries_max,
         timeout_ms, attempts, hops, created_at, outage, body)
       SELECT $1, $2 || n, 'publish', 'ready', $3, $3, 'https://a.example/hook', $4, 'POST', '[]',
         3, 30000, 0, 0, $3, 'park', '' FROM generate_series(1, $5::int) AS n`,
      [ACCOUNT, id, NOW - 1000, HOST, count],
    );
  });
}

/** Rows of messages read and rows written in this database since it was made; the sessions have ended, and so have reported. */
async function touched(url: string): Promise<{ readonly read: number; readonly written: number }> {
  return withClient(url, async (client) => {
    await waitFor('the other sessions to end', async () => {
      const { rows } = await client.query(
        `SELECT 1 FROM pg_stat_activity
           WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
      );
      return rows.length === 0;
    });
    const { rows } = await client.query<{ read: string; written: string }>(
      `SELECT sum(i.read) + sum(t.seq_tup_read) FILTER (WHERE t.relname = 'messages') AS read,
           sum(n_tup_ins + n_tup_upd + n_tup_del) AS written
         FROM pg_stat_user_tables AS t
         LEFT JOIN (SELECT relid, sum(idx_tup_read) AS read FROM pg_stat_user_indexes WHERE relname = 'messages' GROUP BY 1) AS i
           USING (relid)`,
    );
    return { read: Number(rows[0]!.read), written: Number(rows[0]!.written) };
  });
}
