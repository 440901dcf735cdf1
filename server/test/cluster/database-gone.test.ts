// A database that is dropped, emptied or made again under a running node: the node accepts nothing into another store than the one
// it has opened.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sharedServer } from '../postgres/server.ts';
import { ask } from '../support/client.ts';
import { waitFor } from '../support/wait.ts';
import { type Node, Nodes } from './nodes.ts';

const LATER = { 'Upstash-Delay': '1h' };

type Server = Awaited<ReturnType<typeof sharedServer>>;
const WAYS: Readonly<Record<string, (server: Server, name: string, nodes: Nodes) => Promise<unknown>>> = {
  'is dropped': (server, name) => server.dropDatabase(name),
  async 'is dropped and made again'(server, name) {
    await server.dropDatabase(name);
    await server.query(`CREATE DATABASE ${name}`);
  },
  async 'is made again and used by another node'(server, name, nodes) {
    await server.dropDatabase(name);
    await server.query(`CREATE DATABASE ${name}`);
    await nodes.start(1);
  },
  async 'is emptied'(_server, _name, nodes) {
    // It takes the locks of all tables one after the other, and the node may hold one and wait for another.
    await waitFor('the tables to be gone', () =>
      nodes.tables.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public').then(
        () => true,
        (error: { readonly code?: string }) => {
          if (error.code !== '40P01') throw error;
          return false;
        },
      ),
    );
  },
};

function publish(node: Node) {
  return node.call('POST', '/v2/publish/http://127.0.0.1:9/', { headers: LATER, body: 'x' });
}

async function readiness({ api }: Node): Promise<{ status: number; code?: string }> {
  const { status, text } = await ask(api, '/readyz', {});
  return { ...(JSON.parse(text) as object), status };
}

for (const [what, way] of Object.entries(WAYS)) {
  test(`a node whose database ${what} accepts nothing any more, is not ready, and says once why`, async (t) => {
    const server = await sharedServer();
    const name = await server.createDatabase();
    t.after(() => server.dropDatabase(name));
    const nodes = new Nodes(t, server.url(name));
    const [node] = await nodes.start(1);
    assert.equal((await publish(node!)).status, 201);

    await way(server, name, nodes);
    await waitFor('a node that knows it', async () => {
      const { status, text } = await publish(node!);
      assert.equal(status, 503, text);
      return text.includes('store_gone');
    });
    const { status, code } = await readiness(node!);
    assert.deepEqual([status, code], [503, 'store_gone']);
    const lines = node!.process.stderr.split('\n').filter((line) => line.includes('no longer holds the tables'));
    assert.equal(lines.length, 1, node!.process.stderr);
    assert.doesNotMatch(node!.process.stderr, /internal error/);
  });
}

test('a node whose tables were out of sight goes on when they are back', async (t) => {
  const server = await sharedServer();
  const name = await server.createDatabase();
  t.after(() => server.dropDatabase(name));
  const nodes = new Nodes(t, server.url(name));
  const [node] = await nodes.start(1);
  await nodes.tables.query('ALTER SCHEMA public RENAME TO aside');
  await waitFor('a node that knows it', async () => (await publish(node!)).text.includes('store_gone'));
  await nodes.tables.query('ALTER SCHEMA aside RENAME TO public');
  await waitFor('a node that goes on', async () => (await readiness(node!)).status === 200);
  assert.equal((await publish(node!)).status, 201);
});
