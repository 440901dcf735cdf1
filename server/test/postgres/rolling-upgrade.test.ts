// Two versions over one database: the program as it is, and a next version that is made here by adding migrations.

import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Files, filesIn } from '../../src/shipped-files.ts';
import type { Store } from '../../src/store/ports/store.ts';
import { type Node, Nodes } from '../cluster/nodes.ts';
import { startProcess } from '../support/process.ts';
import { type Cleanup, startReceiver } from '../support/receiver.ts';
import { waitFor } from '../support/wait.ts';
import { openPatiently } from './open-patiently.ts';
import { sharedServer } from './server.ts';

const MIGRATIONS = fileURLToPath(new URL('../../src/store/postgres/migrations/', import.meta.url));
const NOW = readdirSync(MIGRATIONS).length;
const PUBLISHERS = 3;
const ROWS = 20_000;

/** The migrations of a later version. */
function nextVersion(t: Cleanup, ...added: string[]): Files {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-migrations-'));
  t.after(() => rmSync(folder, { recursive: true }));
  cpSync(MIGRATIONS, folder, { recursive: true });
  for (const [index, sql] of added.entries()) {
    writeFileSync(join(folder, `${String(NOW + index + 1).padStart(4, '0')}-next.sql`), sql);
  }
  return filesIn(pathToFileURL(`${folder}/`));
}

/**
 * Publishes until it is told to stop, and in every way that has tables of its own twice at least: the second message with
 * one deduplication id is a duplicate. Answers how often each status came.
 */
function publish(node: Node, url: string): () => Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  const ways: readonly (readonly [path: string, headers: Readonly<Record<string, string>>])[] = [
    [`/v2/publish/${url}`, {}],
    [`/v2/enqueue/line/${url}`, {}],
    [`/v2/publish/${url}`, { 'Service-Flow-Control-Key': 'key', 'Service-Flow-Control-Value': 'parallelism=5' }],
    [`/v2/publish/${url}`, { 'Service-Deduplication-Id': 'once' }],
  ];
  let isOver = false;
  const publishers = Array.from({ length: PUBLISHERS }, async () => {
    for (let number = 0; !isOver || number < 2 * ways.length; number += 1) {
      const [path, headers] = ways[number % ways.length]!;
      const { status } = await node.call('POST', path, { headers });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  });
  return async () => {
    isOver = true;
    await Promise.all(publishers);
    return statuses;
  };
}

test('a newer version changes the schema beside nodes of this one: no write is refused, all that was accepted ends, and only what this one cannot serve stops it', async (t) => {
  const server = await sharedServer();
  const name = await server.createDatabase();
  const stores = new Set<Store>();
  const close = async (store: Store) => {
    if (stores.delete(store)) await store.close();
  };
  // Before the database is gone: a store would look for it, and the process would not end.
  t.after(() => Promise.all([...stores].map(close)));
  t.after(() => server.dropDatabase(name));
  const url = server.url(name);
  const nodes = new Nodes(t, url);
  const [old] = (await nodes.start(1)) as [Node];
  const receiver = await startReceiver(t);
  await old.published(receiver.url);
  await waitFor('the first to end', async () => (await nodes.tables.countOpen()) === 0);
  await nodes.tables.query(
    `INSERT INTO messages SELECT (jsonb_populate_record(m, jsonb_build_object('seq', nextval('message_seq'), 'id', m.id || n))).*
       FROM messages m, generate_series(1, ${ROWS}) n`,
  );
  // As a start that was killed leaves it.
  await assert.rejects(nodes.tables.query('CREATE UNIQUE INDEX CONCURRENTLY messages_next ON messages (kind)'));
  const start = async (migrations: Files, node: string) => {
    const store = await openPatiently({ url, node, migrations });
    stores.add(store);
    return store;
  };

  const tables = await nodes.tables.query<{ name: string }>(
    "SELECT relname::text AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace",
  );
  const columns = tables.map(({ name }) => `ALTER TABLE ${name} ADD COLUMN next text NOT NULL DEFAULT 'none';`);
  const index = 'CREATE INDEX CONCURRENTLY messages_next ON messages (account_id, next, seq);';
  const next = nextVersion(t, ...columns, index);
  const stop = publish(old, receiver.url);
  const newer = await Promise.all([start(next, 'nod_next_a'), start(next, 'nod_next_b')]);
  const statuses = await stop();
  // The schema has changed under statements that were prepared before.
  // 202 is the status of a duplicate.
  assert.deepEqual([...statuses.keys()].toSorted(), [201, 202], `answers: ${JSON.stringify([...statuses])}`);
  await waitFor('all to end', async () => (await nodes.tables.countOpen()) === 0);
  const [built] = await nodes.tables.query<{ indisvalid: boolean }>(
    "SELECT indisvalid FROM pg_index WHERE indexrelid = 'messages_next'::regclass",
  );
  assert.equal(built!.indisvalid, true);
  for (const store of newer) await close(store);

  // One of this version still starts: nothing that it needs has changed.
  const [again] = (await nodes.start(1)) as [Node];
  await again.published(receiver.url);

  const last = NOW + columns.length + 2;
  const breaking = nextVersion(t, ...columns, index, `-- readers: ${last}\nALTER TABLE messages DROP COLUMN next;`);
  const newest = await start(breaking, 'nod_newest');
  for (const { process } of [old, again]) {
    assert.equal(await process.exit, 4, process.stderr);
    assert.match(process.stderr, /postrider stops: the database is being upgraded to a schema that needs a newer/);
  }
  assert.equal(await nodes.tables.countOpen(), 0);
  await close(newest);
  const refused = startProcess(t, ['serve', '--json', '--port', '0', '--host', '127.0.0.1', '--store', url]);
  assert.equal(await refused.exit, 1);
  assert.match(refused.stderr, new RegExp(`schema version ${last}, but this program only knows versions up to ${NOW}`));
});
