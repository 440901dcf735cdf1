// What the limits of a flow key cost, in pages that the server looked at: few for each message, whether the database is
// new or its account has many ready messages. The planner once went through all messages of the account for each key.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import { flowing } from '../../conformance/flow-control.ts';
import { ACCOUNT, KEYS, limits, NOW } from '../../conformance/given.ts';
import { withClient } from '../../postgres/databases.ts';
import { openPatiently } from '../../postgres/open-patiently.ts';
import { sharedServer } from '../../postgres/server.ts';
import { claimDue } from '../../support/claim-due.ts';
import { waitFor } from '../../support/wait.ts';

const READY = 10_000;
const REQUESTS = 20;
/** Most are those of the indexes into which the message goes. */
const PAGES_MAX = 400;

test('a message that changes the limits of its flow key costs few pages, with and without others that are ready', async (t) => {
  const server = await sharedServer();
  const pages: number[] = [];
  for (const ready of [0, READY]) {
    const database = await server.createDatabase();
    const url = server.url(database);
    await useKeys(url, 0);
    await addReady(url, ready);
    const before = await pagesSeen(url);
    await useKeys(url, REQUESTS);
    pages.push(((await pagesSeen(url)) - before) / (2 * REQUESTS * eachMax('flowKeysChecked')));
    await server.dropDatabase(database);
  }
  t.diagnostic(`pages a message: ${pages.map(Math.round).join(' and ')}`);
  assert.ok(Math.max(...pages) < PAGES_MAX, `${pages.join(' and ')} pages a message`);
});

/** Each request makes as many keys as one transaction changes, the next one changes them, and a claim starts one. */
async function useKeys(url: string, requests: number): Promise<void> {
  const store = await openPatiently({ url, node: 'nod_a', knownForMs: 0 });
  if (requests === 0) await store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  for (let request = 0; request < requests; request += 1) {
    const names = Array.from({ length: eachMax('flowKeysChecked') }, (_, index) => `k${request}-${index}`);
    for (const parallelism of [1, 2]) {
      await store.accept(
        names.map((name) => flowing({ parallelism }, {}, name)),
        NOW,
      );
    }
    await claimDue(store, NOW, limits({ slots: 1 }));
  }
  await store.close();
}

async function addReady(url: string, count: number): Promise<void> {
  await withClient(url, async (client) => {
    await client.query(
      `INSERT INTO messages (account_id, id, kind, state, due_at, first_due_at, url, host, method, headers, retries_max,
         timeout_ms, attempts, hops, created_at, body)
       SELECT $1, 'msg_ready' || n, 'publish', 'ready', $2, $2, 'https://a.example/hook', 'a.example:443', 'POST', '[]',
         3, 30000, 0, 0, $2, '' FROM generate_series(1, $3::int) AS n`,
      [ACCOUNT, NOW - 1000, count],
    );
  });
}

/** Of this database since it was made; the sessions that looked at them have ended, and so have reported. */
async function pagesSeen(url: string): Promise<number> {
  return withClient(url, async (client) => {
    await waitFor('the other sessions to end', async () => {
      const { rows } = await client.query(
        `SELECT 1 FROM pg_stat_activity
           WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
      );
      return rows.length === 0;
    });
    const { rows } = await client.query<{ pages: string }>(
      `SELECT sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit, 0) + coalesce(idx_blks_read, 0)) AS pages
         FROM pg_statio_user_tables`,
    );
    return Number(rows[0]!.pages);
  });
}
