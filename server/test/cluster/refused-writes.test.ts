// A database that answers but takes no writes: it is read-only, its tables are locked, or its commits wait for a standby
// that is away. Publishers are refused and not kept waiting, /readyz says so, and it ends by itself.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { PostgresServer } from '../postgres/server.ts';
import { type Answered, ask } from '../support/client.ts';
import type { Cleanup } from '../support/receiver.ts';
import { waitFor } from '../support/wait.ts';
import { type Node, Nodes } from './nodes.ts';

/** Nobody publishes to it: the messages are only stored. */
const LATER = { 'Upstash-Delay': '1h' };
/** Far more than a refusal takes, and less than the 25 s after which callers were cut off. */
const REFUSED_MS_MAX = 12_000;
/** The drain, which has nothing to wait for, and 10 s for a store that does not respond; and room for a slow machine. */
const STOP_MS_MAX = 60_000;

interface Fault {
  /** Begins it. Returns what ends it. */
  begin(server: PostgresServer, url: string): Promise<() => Promise<unknown>>;
  readonly says: RegExp;
}

const FAULTS: Readonly<Record<string, Fault>> = {
  'is read-only': {
    begin: (server) => setting(server, 'default_transaction_read_only', 'on'),
    says: /read-only/,
  },
  'has its tables locked by somebody': {
    async begin(_server, url) {
      const client = new pg.Client(url);
      client.on('error', () => {});
      await client.connect();
      await client.query('BEGIN; LOCK TABLE messages IN ACCESS EXCLUSIVE MODE');
      return () => client.end();
    },
    says: /locked/,
  },
  'waits at every commit for a standby that is away': {
    begin: (server) => setting(server, 'synchronous_standby_names', 'nowhere'),
    says: /standby/,
  },
};

async function setting(server: PostgresServer, name: string, value: string): Promise<() => Promise<unknown>> {
  await server.query(`ALTER SYSTEM SET ${name} = '${value}'`);
  await server.query('SELECT pg_reload_conf()');
  return async () => {
    await server.query(`ALTER SYSTEM RESET ${name}`);
    await server.query('SELECT pg_reload_conf()');
  };
}

/** Publishes what only its body tells apart. */
class Publishing {
  readonly answers = new Map<string, Answered>();
  readonly #node: Node;

  constructor(node: Node) {
    this.#node = node;
  }

  async one(body = `message ${this.answers.size}`, queue = false): Promise<Answered> {
    const path = queue ? '/v2/enqueue/line/http://127.0.0.1:9/' : '/v2/publish/http://127.0.0.1:9/';
    const published = this.#node.call('POST', path, { headers: LATER, body });
    const answer = await Promise.race([published, tooLate()]);
    this.answers.set(body, answer);
    return answer;
  }

  /** Of each kind, at once. */
  several(name: string): Promise<Answered[]> {
    return Promise.all(
      [1, 2, 3].flatMap((number) => [this.one(`${name} ${number}`), this.one(`${name} in line ${number}`, true)]),
    );
  }
}

function tooLate(what = 'a publisher was kept waiting', ms = REFUSED_MS_MAX): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new Error(what)), ms).unref();
  });
}

async function readiness({ api }: Node): Promise<{ status: number; error?: string; code?: string }> {
  const { status, text } = await ask(api, '/readyz', {});
  return { ...(JSON.parse(text) as object), status };
}

async function readyMetric({ api }: Node): Promise<number> {
  const { text } = await ask(api, '/metrics', {});
  return Number(/^postrider_ready (\d)$/m.exec(text)?.[1]);
}

async function startNode(t: Cleanup): Promise<{ server: PostgresServer; url: string; node: Node }> {
  const server = await PostgresServer.start();
  t.after(() => server.stop());
  const url = server.url(await server.createDatabase());
  const [node] = await new Nodes(t, url).start(1);
  return { server, url, node: node! };
}

for (const [what, { begin, says }] of Object.entries(FAULTS)) {
  test(`a node whose database ${what} refuses and is not ready, until that is over`, async (t) => {
    const { server, url, node } = await startNode(t);
    const publishing = new Publishing(node);
    await waitFor('a node that is ready', async () => (await readiness(node)).status === 200);
    assert.equal((await publishing.one()).status, 201);

    const end = await begin(server, url);
    // Each session of the server takes a new setting over in its own time.
    let round = 0;
    await waitFor('publishes that are all refused', async () => {
      round += 1;
      return (await publishing.several(`round ${round}`)).every(({ status }) => status === 503);
    });
    for (const { status, text } of await publishing.several('next')) assert.equal(status, 503, text);
    const refused = await waitFor('a node that is not ready', async () => {
      const found = await readiness(node);
      return found.status === 503 && found;
    });
    assert.equal(refused.code, 'store_unavailable');
    assert.match(refused.error!, says);
    assert.equal(await readyMetric(node), 0, 'the metric agrees');
    for (const { status, text } of await publishing.several('last')) assert.equal(status, 503, text);

    await end();
    await waitFor('a node that is ready again', async () => (await readiness(node)).status === 200);
    await waitFor('a metric that agrees', async () => (await readyMetric(node)) === 1);
    for (const { status, text } of await publishing.several('after it')) assert.equal(status, 201, text);
    await checkStored(url, publishing);
  });
}

test('a node that nobody publishes to finds out by itself that its database takes no writes', async (t) => {
  const { server, url, node } = await startNode(t);
  for (const { begin } of Object.values(FAULTS)) {
    await waitFor('a node that is ready', async () => (await readiness(node)).status === 200);
    const end = await begin(server, url);
    await waitFor('a node that is not ready', async () => (await readiness(node)).status === 503);
    await end();
  }
  await waitFor('a node that is ready', async () => (await readiness(node)).status === 200);
});

test('a node that is told to stop while its commits wait for a standby ends all the same', async (t) => {
  const { server, url, node } = await startNode(t);
  await waitFor('a node that is ready', async () => (await readiness(node)).status === 200);
  await FAULTS['waits at every commit for a standby that is away']!.begin(server, url);
  await waitFor('a node that is not ready', async () => (await readiness(node)).status === 503);
  node.process.signal('SIGTERM');
  const code = await Promise.race([node.process.exit, tooLate('it does not end', STOP_MS_MAX)]);
  assert.ok(code === 0 || code === 3, String(code));
});

/** What was acknowledged is there once, and what was refused for certain is not. */
async function checkStored(url: string, { answers }: Publishing): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const { rows } = await client.query<{ body: string; count: number }>(
      "SELECT convert_from(body, 'UTF8') AS body, count(*)::int AS count FROM messages GROUP BY 1",
    );
    const stored = new Map(rows.map(({ body, count }) => [body, count]));
    for (const [body, { status, text }] of answers) {
      const isUnknown = text.includes('outcome_unknown');
      if (!isUnknown) assert.equal(stored.get(body) ?? 0, status === 201 ? 1 : 0, `${body}: ${text}`);
    }
  } finally {
    await client.end();
  }
}
