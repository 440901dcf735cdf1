// Behind the real pgbouncer: in session mode everything works, a restart of it included; any other mode is refused, at the
// start and when it is chosen later.

import assert from 'node:assert/strict';
import { get } from 'node:http';
import { test } from 'node:test';
import type pg from 'pg';
import { systemWorld } from '../../src/runtime/world.ts';
import { prepareSession, serversOf, WRITER_SETTINGS } from '../../src/store/postgres/sessions/connection.ts';
import { CommitInDoubt } from '../../src/store/postgres/sessions/errors.ts';
import { type Node, Nodes } from '../cluster/nodes.ts';
import { StoreTables } from '../cluster/store-tables.ts';
import { ACCOUNT, KEYS, message, NOW } from '../conformance/given.ts';
import { lacks } from '../support/machine.ts';
import { startProcess } from '../support/process.ts';
import { type Cleanup, startReceiver } from '../support/receiver.ts';
import { waitFor } from '../support/wait.ts';
import { withClient } from './databases.ts';
import { openPatiently } from './open-patiently.ts';
import { Bouncer, type BouncerOptions } from './pgbouncer.ts';
import { sharedServer } from './server.ts';

const behindPgbouncer = { skip: lacks('pgbouncer') };

async function newDatabase(t: Cleanup): Promise<string> {
  const server = await sharedServer();
  const name = await server.createDatabase();
  t.after(() => server.dropDatabase(name));
  return server.url(name);
}

/** The settings under which rows are written, as the rows saw them. */
async function noteSettings(url: string): Promise<() => Promise<Record<string, string>[]>> {
  const tables = new StoreTables(url);
  await tables.query('CREATE TABLE seen (at_work text)');
  await tables.query(`CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO seen SELECT json_object_agg(name, setting)::text FROM pg_settings WHERE name IN
      ('synchronous_commit', 'statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'enable_seqscan',
       'jit', 'application_name'); RETURN NULL; END $$`);
  await tables.query('CREATE TRIGGER note AFTER INSERT OR UPDATE ON messages FOR EACH ROW EXECUTE FUNCTION note()');
  return async () =>
    (await tables.query<{ at_work: string }>('SELECT DISTINCT at_work FROM seen')).map(({ at_work }) =>
      JSON.parse(at_work),
    );
}

/** Whether the live stream of a node has told of the delivery of a message. */
async function follow(t: Cleanup, node: Node): Promise<(messageId: string) => boolean> {
  let text = '';
  const request = get(`${node.api}/v2/events/stream`, { headers: node.authorization });
  t.after(() => void request.destroy());
  await new Promise<void>((resolve, reject) => {
    request.on('error', reject);
    request.on('response', (response) => {
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.on('error', () => {});
      resolve();
    });
  });
  return (messageId) =>
    text.split('\n\n').some((block) => block.includes('event: DELIVERED') && block.includes(messageId));
}

test(
  'behind pgbouncer in session mode: publish, deliver, settings, live events of the other node, a restart of it',
  behindPgbouncer,
  async (t) => {
    const direct = await newDatabase(t);
    const settings = await noteSettings(direct);
    // It adds to the names of its clients, by which a reader of the journal finds the writers.
    const bouncer = await Bouncer.start(t, direct, { mode: 'session', more: ['application_name_add_host = 1'] });
    const nodes = new Nodes(t, bouncer.url);
    const [one, other] = (await nodes.start(2)) as [Node, Node];
    const receiver = await startReceiver(t);
    let heard = await follow(t, other);

    const first = await one.published(receiver.url);
    assert.equal((await one.call('POST', `/v2/enqueue/q/${receiver.url}`)).status, 201);
    await receiver.received(2);
    await waitFor('the end of the first, heard at the other node', () => heard(first));
    // A plain publish waits less long for a lock than the others.
    for (const { lock_timeout, ...others } of await settings()) {
      assert.ok(lock_timeout === '1000' || lock_timeout === '1500', String(lock_timeout));
      assert.deepEqual(others, {
        application_name: 'postrider writer',
        enable_seqscan: 'off',
        idle_in_transaction_session_timeout: '3000',
        jit: 'off',
        statement_timeout: '30000',
        synchronous_commit: 'on',
      });
    }

    await bouncer.restart();
    for (const node of [one, other])
      await waitFor('a node to be ready again', async () => (await node.call('GET', '/readyz')).status === 200);
    // A live stream ends with the database, and its readers come back.
    heard = await follow(t, other);
    const second = await one.published(receiver.url);
    await receiver.received(3);
    await waitFor('the end of the second, heard at the other node', () => heard(second));

    // Its operator chooses another mode while they run.
    bouncer.change({ mode: 'transaction', poolSize: 4 });
    const statuses = new Set<number>();
    await waitFor('the node to refuse', async () => {
      statuses.add((await one.call('POST', `/v2/publish/${receiver.url}`)).status);
      return statuses.has(503);
    });
    assert.ok(!statuses.has(500), 'no call is answered with a fault');
    await one.process.prints('stderr', /postrider needs session mode/);
    bouncer.change({ mode: 'session' });
    await waitFor('the node to be ready', async () => (await one.call('GET', '/readyz')).status === 200);
    await one.published(`${receiver.url}/last`);
    await waitFor('the last one', () => receiver.arrivals.some(({ target }) => target === '/last'));
    await waitFor('all to end', async () => (await new StoreTables(direct).countOpen()) === 0);
  },
);

const SHARED: readonly (readonly [string, BouncerOptions])[] = [
  ['transaction mode', { mode: 'transaction' }],
  ['transaction mode and one server connection', { mode: 'transaction', poolSize: 1 }],
  [
    'transaction mode, sessions lent in turn',
    { mode: 'transaction', more: ['server_round_robin = 1', 'min_pool_size = 2'] },
  ],
  ['statement mode', { mode: 'statement' }],
];

for (const [what, options] of SHARED) {
  test(`pgbouncer in ${what} is refused, alone and beside others that use it`, behindPgbouncer, async (t) => {
    const direct = await newDatabase(t);
    const bouncer = await Bouncer.start(t, direct, options);
    const start = () => openPatiently({ url: bouncer.url, node: 'nod_a' });
    const refused = /does not keep a session for each connection.*set pool_mode = session/s;
    await assert.rejects(start, refused);
    let isOver = false;
    const others = Array.from({ length: 3 }, () =>
      withClient(bouncer.url, async (client) => {
        while (!isOver) await client.query('SELECT pg_sleep(0.001)');
      }),
    );
    try {
      for (let starts = 0; starts < 5; starts += 1) await assert.rejects(start, refused);
    } finally {
      isOver = true;
      await Promise.all(others);
    }
  });
}

test('a service that is started behind pgbouncer in transaction mode says why it ends', behindPgbouncer, async (t) => {
  const bouncer = await Bouncer.start(t, await newDatabase(t), { mode: 'transaction' });
  const node = startProcess(t, ['serve', '--json', '--port', '0', '--host', '127.0.0.1', '--store', bouncer.url]);
  assert.equal(await node.exit, 1);
  assert.match(node.stderr, /postrider needs session mode: set pool_mode = session/);
});

test('settings in the options of the URL hold behind pgbouncer too, and ours over them', behindPgbouncer, async (t) => {
  const direct = await newDatabase(t);
  const bouncer = await Bouncer.start(t, direct, { mode: 'session' });
  await new StoreTables(direct).query('CREATE SCHEMA other');
  const url = new URL(bouncer.url);
  url.searchParams.set('options', '-c search_path=other --synchronous-commit=off');
  const store = await openPatiently({ url: url.href, node: 'nod_a' });
  await store.close();
  const made = await new StoreTables(direct).query(
    "SELECT 1 FROM pg_tables WHERE schemaname = 'other' AND tablename = 'messages'",
  );
  assert.equal(made.length, 1);
});

test(
  'a commit that was not answered names the server process that may still make it, behind pgbouncer too',
  behindPgbouncer,
  async (t) => {
    const direct = await newDatabase(t);
    const bouncer = await Bouncer.start(t, direct, { mode: 'session' });
    const store = await openPatiently({ url: bouncer.url, node: 'nod_a' });
    t.after(() => store.close());
    await store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
    await store.accept([message()], NOW);
    const tables = new StoreTables(direct);
    const writers = "SELECT pid FROM pg_stat_activity WHERE application_name = 'postrider writer' ORDER BY pid";
    const pids = (await tables.query<{ pid: number }>(writers)).map(({ pid }) => pid);
    await tables.query(
      'CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$',
    );
    await tables.query('CREATE TRIGGER die AFTER INSERT ON messages EXECUTE FUNCTION die()');
    await assert.rejects(store.accept([message()], NOW), (error: unknown) => {
      assert.ok(error instanceof CommitInDoubt, String(error));
      assert.ok(pids.includes(error.session!), `${error.session} is none of ${pids}`);
      return true;
    });
  },
);

test('a session in which one of our settings does not hold is refused, whichever it is', async () => {
  const given = {
    server: serversOf('postgres://localhost/none')[0]!,
    name: 'postrider writer',
    settings: WRITER_SETTINGS,
    timers: systemWorld().clock,
  };
  // What was set, read back but for one.
  const session = (lost: string | null, seen: string[] = []) => {
    const query = async (sql: string) => {
      const sets = [...sql.matchAll(/set_config\('([^']+)', '([^']*)'/g)].map(([, name, setting]) => ({
        name,
        setting,
      }));
      const asked = sets.filter(({ name }) => sql.split('WHERE name IN')[1]!.includes(`'${name}'`));
      seen.push(...asked.map(({ name }) => name!));
      return [
        { rows: asked.map((row) => (row.name === lost ? { pid: 1, ...row, setting: 'lost' } : { pid: 1, ...row })) },
      ];
    };
    return { query } as unknown as pg.ClientBase;
  };
  const demanded: string[] = [];
  assert.equal((await prepareSession(session(null, demanded), given)).pid, 1);
  assert.ok(demanded.length >= 12, demanded.join());
  for (const name of demanded)
    await assert.rejects(prepareSession(session(name), given), new RegExp(`^Error: ${name} is lost although`));
});
