// A store of the version that counted messages only: its topics, schedules and bulk operations are counted by the upgrade,
// and none of its queues is forgotten.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { WALK_START } from '../../src/store/ports/message-store.ts';
import type { Store } from '../../src/store/ports/store.ts';
import { openDatabase } from '../../src/store/sqlite/files/open.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import { Database } from '../../src/store/sqlite/thread/database.ts';
import { inlineExecutor } from '../../src/store/sqlite/thread/executor.ts';
import { ACCOUNT, DAY, NOW } from '../conformance/given.ts';
import { withClient } from '../postgres/databases.ts';
import { openPatiently } from '../postgres/open-patiently.ts';
import { sharedServer } from '../postgres/server.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { scratchDirectory } from './scratch-directory.ts';

const ROOT = join(import.meta.dirname, '..', '..', 'src', 'store');
const BODY = 5000;

function migrationsBefore(store: 'sqlite' | 'postgres', last: number): string[] {
  const folder = join(ROOT, store, 'migrations');
  return readdirSync(folder)
    .toSorted()
    .slice(0, last)
    .map((name) => readFileSync(join(folder, name), 'utf8').replaceAll(' CONCURRENTLY', ''));
}

/** What the older version had written. `no` is how the store writes false. */
function rows(no: string, body: string): string {
  return `INSERT INTO topics (id, account_id, name, endpoints, defaults, created_at, updated_at, version)
      VALUES ('tpc_1', '${ACCOUNT}', 't', '[]', '[]', 1, 1, 1);
    INSERT INTO schedules (id, account_id, cron, destination, headers, is_paused, last_message_ids, created_at, body)
      VALUES ('scd_1', '${ACCOUNT}', '* * * * *', 'https://a.example/', '[]', ${no}, '[]', 1, ${body});
    INSERT INTO queues (account_id, name, parallelism, is_paused, created_at, updated_at)
      VALUES ('${ACCOUNT}', 'q', 1, ${no}, 1, 1);`;
}

async function check(store: Store): Promise<void> {
  const bytes = await store.storedBytes(ACCOUNT);
  assert.ok(bytes > BODY + 2000 && bytes < BODY + 4000, String(bytes));
  assert.equal(await store.recountStored(ACCOUNT), 0);
  assert.deepEqual(await store.deleteIdleQueues(NOW + 1000 * DAY, WALK_START, 10), { deleted: 0, after: null });
  await store.deleteSchedule(ACCOUNT, 'scd_1');
  await store.saveTopic({ ...(await store.getTopic(ACCOUNT, 't'))!, endpoints: [] });
  assert.equal(await store.storedBytes(ACCOUNT), 0);
}

test('a data directory of an older version is counted when it is opened', async (t) => {
  const path = join(scratchDirectory(t), 'postrider.db');
  const old = new Database(path);
  for (const sql of migrationsBefore('sqlite', 18)) old.exec(sql);
  old.exec(`PRAGMA user_version = 18; ${rows('0', `zeroblob(${BODY})`)}`);
  old.close();
  const executor = inlineExecutor(openDatabase(path));
  const store = createSqliteStore({ executor, clock: new ManualClock(NOW), node: 'nod_a', onBroken: assert.fail });
  t.after(() => store.close());
  await check(store);
});

test('a database of an older version is counted when a node starts on it', async (t) => {
  const server = await sharedServer();
  const name = await server.createEmptyDatabase();
  t.after(() => server.dropDatabase(name));
  const url = server.url(name);
  await withClient(url, async (client) => {
    await client.query('CREATE TABLE schema_version (version integer NOT NULL)');
    for (const sql of migrationsBefore('postgres', 20)) await client.query(sql);
    await client.query(`INSERT INTO schema_version (version, reader_min) VALUES (20, 0)`);
    await client.query(rows('false', `decode(repeat('00', ${BODY}), 'hex')`));
  });
  const store = await openPatiently({ url, node: 'nod_a' });
  t.after(() => store.close());
  await check(store);
});
