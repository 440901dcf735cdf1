// Two servers, a primary and a standby that follows it: a node finds the one it can write to, at its start and when the other
// one has taken over.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { PostgresServer } from '../postgres/server.ts';
import { ask } from '../support/client.ts';
import { startProcess } from '../support/process.ts';
import { waitFor } from '../support/wait.ts';
import { Nodes } from './nodes.ts';

const LATER = { 'Upstash-Delay': '1h' };
const MESSAGES = 20;

test('a node finds the primary among its servers, and the new one after a failover, and nothing acknowledged is lost', async (t) => {
  const primary = await PostgresServer.start();
  t.after(() => primary.stop());
  const name = await primary.createDatabase();
  const standby = await primary.startStandby();
  t.after(() => standby.stop());
  // A message that is acknowledged is on both.
  await primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
  await primary.query('SELECT pg_reload_conf()');
  await waitFor('the standby to follow', async () => {
    const { rows } = await primary.query("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'");
    return rows.length === 1;
  });

  const only = standby.url(name);
  const alone = startProcess(t, ['serve', '--port', '0', '--store', only]);
  assert.equal(await alone.exit, 1);
  assert.match(alone.stderr, /the server is a standby, which cannot be written to/);

  // The standby is first in the list.
  const url = only.replace(`:${standby.port}/`, `:${standby.port},127.0.0.1:${primary.port}/`);
  const [node] = await new Nodes(t, `${url}?target_session_attrs=read-write`).start(1);
  const published: string[] = [];
  const publish = async () => {
    const body = `message ${published.length}`;
    const answer = await node!.call('POST', '/v2/publish/http://127.0.0.1:9/', { headers: LATER, body });
    if (answer.status === 201) published.push(answer.json<{ messageId: string }>().messageId);
    else assert.equal(answer.status, 503, answer.text);
    return answer.status === 201;
  };
  const isReady = async () => (await ask(node!.api, '/readyz', {})).status === 200;
  while (published.length < MESSAGES) await publish();

  await primary.stopImmediate();
  await waitFor('a node that is not ready', async () => {
    await publish();
    return !(await isReady());
  });
  await standby.query('SELECT pg_promote()');
  await waitFor('a node that is ready again', isReady);
  while (published.length < 2 * MESSAGES) await publish();

  const client = new pg.Client(only);
  await client.connect();
  try {
    const { rows } = await client.query<{ id: string }>('SELECT id FROM messages');
    const stored = new Set(rows.map(({ id }) => id));
    assert.deepEqual(
      published.filter((id) => !stored.has(id)),
      [],
    );
  } finally {
    await client.end();
  }
});

test('an unknown parameter of the URL, and a server that cannot be written to, are refused before anything is connected', async (t) => {
  for (const [parameter, text] of [
    ['schema=mine', /must not have the parameter "schema"/],
    ['target_session_attrs=standby', /target_session_attrs=read-write, primary or any/],
  ] as const) {
    for (const command of [['serve'], ['token', 'create', '--admin'], ['migrate-store']]) {
      const started = startProcess(t, [...command, '--store', `postgres://127.0.0.1:9/none?${parameter}`]);
      assert.notEqual(await started.exit, 0);
      assert.match(started.stderr, text, command.join(' '));
    }
  }
});
