// A start with a million open messages: the first claim comes at once and with little memory, because nothing is
// loaded and nothing is walked through.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { openDatabase } from '../../../src/store/sqlite/files/open.ts';
import { NOW } from '../../conformance/given.ts';
import { scratchDirectory } from '../scratch-directory.ts';

const COUNT = 1_000_000;
const ACCOUNTS = 100;

test('with a million open messages the start and the first claim take less than 5 s of the processor', async (t) => {
  const directory = scratchDirectory(t);
  fill(join(directory, 'postrider.db'));
  const program = join(import.meta.dirname, 'first-claim.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [program, directory, String(NOW)]);
  const first = JSON.parse(stdout) as { tookMs: number; rssGrowth: number; claimed: number; orphaned: number };
  t.diagnostic(`open and first claim: ${first.tookMs.toFixed(0)} ms, ${(first.rssGrowth / 2 ** 20).toFixed(0)} MiB`);
  assert.equal(first.claimed, 64);
  assert.equal(first.orphaned, 500);
  assert.ok(first.tookMs < 5000, `${first.tookMs} ms`);
  // A thread with its code, and a few pages; a list of a million anything would be more.
  assert.ok(first.rssGrowth < 150 * 2 ** 20, `${first.rssGrowth} bytes`);
});

/** Straight into the file, which is not what is tested: a half is ready, a quarter each due by now and in queues; 500 are claimed, as many as a node may have. */
function fill(path: string): void {
  const database = openDatabase(path);
  database.exec('PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -1000000;');
  const numbers = 'WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ?)';
  database.transaction(() => {
    database.run(
      `INSERT INTO accounts (id, name, tier, current_key, next_key, created_at)
         ${numbers} SELECT 'acc_' || (i - 1), 'n' || i, 'free', 'sig_1', 'sig_2', 0 FROM numbers`,
      ACCOUNTS,
    );
    database.run(
      `INSERT INTO queues (account_id, name, parallelism, is_paused, next_start_at, created_at, updated_at)
         ${numbers} SELECT 'acc_' || (i - 1), 'q', 1, 0, 1, 0, 0 FROM numbers`,
      ACCOUNTS,
    );
    database.run(
      `INSERT INTO messages (id, account_id, kind, state, due_at, first_due_at, url, host, method, headers, retries_max,
           timeout_ms, queue_name, lease, node, hops, created_at, body)
         ${numbers}
         SELECT printf('msg_%026d', i), 'acc_' || (i % ${ACCOUNTS}), 'publish',
           CASE i % 4 WHEN 0 THEN 'delayed' WHEN 1 THEN 'queued' WHEN 2 THEN iif(i <= 2000, 'claimed', 'ready') ELSE 'ready' END, i, i,
           'https://h' || (i % 1000) || '.example/', 'h' || (i % 1000) || '.example:443', 'POST', '[]', 3,
           30000, iif(i % 4 = 1, 'q', NULL), iif(i % 4 = 2 AND i <= 2000, 'nod_dead.' || i, NULL),
           iif(i % 4 = 2 AND i <= 2000, 'nod_dead', NULL),
           0, i, x'7b7d' FROM numbers`,
      COUNT,
    );
  });
  database.close();
}
