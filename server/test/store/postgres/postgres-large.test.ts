// What a message costs does not grow with the history behind it: the same work on an empty database and on one with
// very many ended messages, measured by the pages that the server looked at, not by the clock.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Store } from '../../../src/store/ports/store.ts';
import {
  ACCOUNT,
  ERROR,
  KEYS,
  limits,
  message,
  messages,
  NOW,
  OK,
  queued,
  settlementOf,
} from '../../conformance/given.ts';
import { withClient } from '../../postgres/databases.ts';
import { openPatiently } from '../../postgres/open-patiently.ts';
import { sharedServer } from '../../postgres/server.ts';
import { claimDue } from '../../support/claim-due.ts';
import { waitFor } from '../../support/wait.ts';

/** A million in long runs: `LARGE=1000000`. */
const COUNT = Number(process.env.LARGE ?? 200_000);
const ROUNDS = 30;
/** Deeper indexes, and no more. */
const RATIO_MAX = 1.5;

const FLOW = { key: 'few', limits: { parallelism: 2, rate: null, periodMs: 1000 } };

test(`with ${COUNT} ended messages behind, a message costs what it costs without`, { timeout: 900_000 }, async (t) => {
  const server = await sharedServer();
  const pages: number[] = [];
  for (const count of [0, COUNT]) {
    const database = await server.createDatabase();
    const url = server.url(database);
    await makeAccount(url);
    await fill(url, count);
    const before = await pagesSeen(url);
    const ended = await work(url);
    pages.push(((await pagesSeen(url)) - before) / ended);
    await server.dropDatabase(database);
  }
  const [empty, full] = pages as [number, number];
  t.diagnostic(`pages a message: ${empty.toFixed(0)} on an empty database, ${full.toFixed(0)} with ${COUNT} behind`);
  assert.ok(full < empty * RATIO_MAX, `${full} pages a message against ${empty}`);
});

/** Everything a message can go through; answers how many attempts were settled. */
async function work(url: string): Promise<number> {
  const store = await open(url);
  let settled = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const now = NOW + round * 10_000;
    // Nothing is leased at acceptance: all of it is to be claimed.
    await claimDue(store, now, limits({ slots: 0 }));
    await store.accept(messages(10, { dueAt: now }), now);
    await store.accept(
      [1, 2, 3].map(() => queued({ dueAt: now })),
      now,
    );
    await store.accept(messages(5, { dueAt: now + 1000 }), now);
    await store.accept(messages(4, { dueAt: now, flow: FLOW }), now);
    await store.accept([message({ dueAt: now, deduplication: { key: `${round}`, expiresAt: now + 1000 } })], now);
    for (let at = now; at < now + 5000; at += 1000) {
      const { claims } = await claimDue(store, at, limits());
      const outcomeOf = (index: number) => (index % 7 === 6 ? ERROR : OK);
      const settlements = claims.map((claim, index) => settlementOf(claim, outcomeOf(index), at));
      await store.settle(settlements, at);
      settled += claims.length;
    }
    await store.deleteExpired(now, 100);
  }
  await store.close();
  return settled;
}

function open(url: string): Promise<Store> {
  return openPatiently({ url, node: 'nod_a', knownForMs: 0 });
}

async function makeAccount(url: string): Promise<void> {
  const store = await open(url);
  await store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  await store.close();
}

/** Ended messages with an attempt and two steps each, of the same account, queue, flow key and host as the new ones. */
async function fill(url: string, count: number): Promise<void> {
  await withClient(url, async (client) => {
    await client.query(
      `INSERT INTO messages (account_id, id, kind, state, due_at, first_due_at, url, host, method, headers, retries_max,
         timeout_ms, attempts, queue_name, flow_key, flow_limits, hops, created_at, ended_at, expires_at, last_status, body)
       SELECT $1, 'msg_old' || n, 'publish', 'delivered', $2, $2, 'https://a.example/hook', 'a.example:443', 'POST', '[]',
         3, 30000, 1, CASE n % 3 WHEN 0 THEN 'orders' END, CASE n % 3 WHEN 1 THEN 'few' END,
         CASE n % 3 WHEN 1 THEN '{}' END, 0, $2, $2, $2 + 864000000000, 200, ''
         FROM generate_series(1, $3::int) AS n`,
      [ACCOUNT, NOW - 1000, count],
    );
    await client.query(
      `INSERT INTO attempts SELECT account_id, seq, 1, $1, $1, 'answered', 200, NULL, NULL, '[]', false, '' FROM messages`,
      [NOW - 1000],
    );
    await client.query(
      `INSERT INTO journal SELECT account_id, seq, $1, seq, step FROM messages CROSS JOIN (VALUES (0), (1)) AS s (step)`,
      [NOW - 1000],
    );
    await client.query('VACUUM ANALYZE');
  });
}

/** Of this database since it was made; the sessions that looked at them have ended, and so have reported. */
async function pagesSeen(url: string): Promise<number> {
  return withClient(url, async (client) => {
    // A session reports before it leaves this list, which is a moment after it was told to end.
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
