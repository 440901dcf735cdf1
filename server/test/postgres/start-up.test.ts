// How a node starts on PostgreSQL: it brings the schema up to date, once for all, and refuses a database in which a
// commit would not mean "on disk".

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import pg from 'pg';
import { StoreTables } from '../cluster/store-tables.ts';
import { ask } from '../support/client.ts';
import { startProcess } from '../support/process.ts';
import { type Cleanup, startReceiver } from '../support/receiver.ts';
import { waitFor } from '../support/wait.ts';
import { PostgresServer, sharedServer } from './server.ts';

const SERVE = ['serve', '--json', '--port', '0', '--host', '127.0.0.1', '--allow-cidr', '127.0.0.0/8', '--store'];

async function newDatabase(t: Cleanup, kind: 'empty' | 'present'): Promise<{ name: string; url: string }> {
  const server = await sharedServer();
  const name = await (kind === 'empty' ? server.createEmptyDatabase() : server.createDatabase());
  t.after(() => server.dropDatabase(name));
  return { name, url: server.url(name) };
}

test('three nodes that start at once on an empty database make its schema once, and all come up', async (t) => {
  const { url } = await newDatabase(t, 'empty');
  const started = [1, 2, 3].map(() => startProcess(t, [...SERVE, url]));
  const ready = await Promise.all(started.map((node) => node.ready()));
  const [{ n }] = (await new StoreTables(url).query('SELECT count(*) AS n FROM schema_version')) as [{ n: number }];
  assert.equal(n, 1);
  const tokens = ready.flatMap(({ token }) => token ?? []);
  assert.equal(tokens.length, 1, 'the first token is made once');
  for (const { api } of ready) {
    const answer = await ask(api, '/v2/queues', { headers: { Authorization: `Bearer ${tokens[0]}` } });
    assert.equal(answer.status, 200, answer.text);
  }
});

test('a node that is told to stop while it starts stops, although its database does not respond', async (t) => {
  const silent = createServer();
  silent.listen(0, '127.0.0.1');
  t.after(() => silent.close());
  await once(silent, 'listening');
  const node = startProcess(t, [...SERVE, `postgres://127.0.0.1:${(silent.address() as AddressInfo).port}/none`]);
  const [socket] = (await once(silent, 'connection')) as [Socket];
  t.after(() => {
    socket.destroy();
  });
  node.signal('SIGTERM');
  assert.equal(await node.exit, 0);
  assert.match(node.stderr, /postrider was stopped before it was ready/);
});

test('a node that waits for another one to change the schema says for whom', async (t) => {
  const { url } = await newDatabase(t, 'empty');
  const other = new pg.Client(url);
  await other.connect();
  // When the database is dropped.
  other.on('error', () => {});
  const { rows } = await other.query<{ pid: number }>(
    "SELECT pg_backend_pid() AS pid, pg_advisory_lock(hashtextextended('postrider schema ' || current_schema(), 8411))",
  );
  const node = startProcess(t, [...SERVE, url]);
  await waitFor('its word', () => node.stderr.includes('waiting for another node that is upgrading the schema'));
  assert.match(node.stderr, new RegExp(`"databaseProcess":${rows[0]!.pid}`));
  await other.end();
  await node.ready();
});

test('a node waits for another one that makes the first token, for longer than a request waits for a lock', async (t) => {
  const { url } = await newDatabase(t, 'present');
  const other = new pg.Client(url);
  await other.connect();
  other.on('error', () => {});
  await other.query("SELECT pg_advisory_lock(hashtextextended('postrider tokens ' || current_schema(), 8411))");
  const node = startProcess(t, [...SERVE, url]);
  await waitFor('the node to wait', async () => {
    const { rows } = await other.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'
         AND clock_timestamp() > query_start + interval '1.7 seconds'`,
    );
    assert.doesNotMatch(node.stderr, /cannot start/);
    return rows.length > 0;
  });
  await other.end();
  const { token } = await node.ready();
  assert.ok(token);
});

test('token create does not make a store in an empty database', async (t) => {
  const { url } = await newDatabase(t, 'empty');
  const command = startProcess(t, ['token', 'create', '--admin', '--store', url]);
  assert.equal(await command.exit, 1);
  assert.equal(command.stderr, 'postrider token create: there is no store in this database\n');
  const tables = await new StoreTables(url).query("SELECT 1 FROM pg_tables WHERE schemaname = 'public'");
  assert.deepEqual(tables, []);
});

test('a database that a newer program has migrated is refused', async (t) => {
  const { url } = await newDatabase(t, 'present');
  await new StoreTables(url).query('UPDATE schema_version SET version = 999, reader_min = 999');
  const node = startProcess(t, [...SERVE, url]);
  assert.equal(await node.exit, 1);
  assert.match(node.stderr, /schema version 999, but this program only knows versions up to \d+/);
});

for (const setting of ['fsync=off', 'full_page_writes=off']) {
  test(`a PostgreSQL with ${setting}, which may lose commits, is refused, and it is said why`, async (t) => {
    const server = await PostgresServer.start({ settings: [setting] });
    t.after(() => server.stop());
    const node = startProcess(t, [...SERVE, server.url(await server.createEmptyDatabase())]);
    assert.equal(await node.exit, 1);
    assert.match(node.stderr, new RegExp(setting));
  });
}

test('every commit is synchronous, whatever the default of the database; and one disk alone is warned of', async (t) => {
  const { name, url } = await newDatabase(t, 'present');
  const tables = new StoreTables(url);
  await tables.query(`ALTER DATABASE ${name} SET synchronous_commit = off`);
  await tables.query('CREATE TABLE seen (setting text)');
  await tables.query(`CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$`);
  await tables.query('CREATE TRIGGER note AFTER INSERT OR UPDATE ON messages FOR EACH ROW EXECUTE FUNCTION note()');
  const [defaults] = await tables.query<{ synchronous_commit: string }>('SHOW synchronous_commit');
  assert.equal(defaults!.synchronous_commit, 'off');

  const receiver = await startReceiver(t);
  const node = startProcess(t, [...SERVE, url]);
  const { api, token } = await node.ready();
  const headers = { Authorization: `Bearer ${token}` };
  for (const call of ['publish', 'enqueue/q']) {
    assert.equal((await ask(api, `/v2/${call}/${receiver.url}`, { method: 'POST', headers })).status, 201);
  }
  const withCallback = { method: 'POST', headers: { ...headers, 'Service-Callback': receiver.url } };
  assert.equal((await ask(api, `/v2/publish/${receiver.url}`, withCallback)).status, 201);
  await receiver.received(4);
  // Counted by the session that accepts, whatever a message comes from: sessions do not wait for each other's row.
  const counted = await tables.query<{
    shard: number;
  }>(`SELECT shard FROM usage WHERE kind = 'callback' AND shard NOT IN
    (SELECT pid % 16 FROM pg_stat_activity WHERE application_name = 'postrider writer' AND datname = current_database())`);
  assert.deepEqual(counted, []);
  node.signal('SIGTERM');
  assert.equal(await node.exit, 0);
  assert.match(node.stderr, /PostgreSQL has no synchronous standby/);
  const seen = await tables.query<{ setting: string; n: number }>('SELECT setting, count(*) AS n FROM seen GROUP BY 1');
  assert.deepEqual(
    seen.map(({ setting }) => setting),
    ['on'],
  );
  assert.ok(seen[0]!.n >= 4, 'two were accepted and settled');
});
