// The PostgreSQL schema: committed as the migrations make it, in words that make the same database again.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { renderMigratedPostgres } from '../../../scripts/generate-schema.ts';
import { renderPostgresSchema } from '../../../scripts/postgres-schema.ts';
import { withClient } from '../../postgres/databases.ts';
import { sharedServer } from '../../postgres/server.ts';

const SCHEMA = readFileSync(new URL('../../../src/store/postgres/schema.sql', import.meta.url), 'utf8');

test('schema.sql is what the migrations add up to', async () => {
  const message = 'run "node server/scripts/generate-schema.ts" and commit the result';
  assert.equal(SCHEMA, await renderMigratedPostgres(), message);
});

test('schema.sql by itself makes the same database', async (t) => {
  const server = await sharedServer();
  const name = await server.createEmptyDatabase();
  t.after(() => server.dropDatabase(name));
  await withClient(server.url(name), async (client) => {
    await client.query(SCHEMA);
    assert.equal(await renderPostgresSchema(client), SCHEMA);
  });
});

for (const [what, sql] of [
  ['a column', 'ALTER TABLE topics ADD COLUMN extra text'],
  ['a type', 'ALTER TABLE topics ALTER COLUMN version TYPE bigint'],
  ['a collation', 'ALTER TABLE topics ALTER COLUMN name TYPE text COLLATE "POSIX"'],
  ['a default', 'ALTER TABLE messages ALTER COLUMN retried SET DEFAULT 1'],
  ['a null that is allowed', 'ALTER TABLE topics ALTER COLUMN name DROP NOT NULL'],
  ['a storage', 'ALTER TABLE messages ALTER COLUMN body SET STORAGE EXTENDED'],
  ['a parameter of a table', 'ALTER TABLE usage SET (fillfactor = 60)'],
  ['a check', 'ALTER TABLE queues DROP CONSTRAINT queues_parallelism_check'],
  ['an index', 'DROP INDEX messages_ranked'],
  ['a sequence', 'ALTER SEQUENCE message_seq CACHE 5'],
  ['a foreign key', 'ALTER TABLE tokens DROP CONSTRAINT tokens_account_id_fkey'],
] as const) {
  test(`a difference in ${what} shows`, async (t) => {
    const server = await sharedServer();
    const name = await server.createDatabase();
    t.after(() => server.dropDatabase(name));
    await withClient(server.url(name), async (client) => {
      await client.query(sql);
      assert.notEqual(await renderPostgresSchema(client), SCHEMA);
    });
  });
}

test('what the file cannot tell is not left out in silence', async (t) => {
  const server = await sharedServer();
  const name = await server.createDatabase();
  t.after(() => server.dropDatabase(name));
  await withClient(server.url(name), async (client) => {
    await client.query('CREATE VIEW seen AS SELECT 1 AS one');
    await assert.rejects(renderPostgresSchema(client), /does not know how to tell seen/);
  });
});
