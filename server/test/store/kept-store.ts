// Stores as earlier versions of the program have left them, one folder for each in kept/: the data directory of SQLite, and the
// schema and rows of PostgreSQL. `npm run keep-store -- NAME` adds the one of this version.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { withClient } from '../postgres/databases.ts';
import type { Rider } from '../support/harness.ts';
import { waitFor } from '../support/wait.ts';

export const KEPT = join(import.meta.dirname, 'kept');
/** When it was filled. It is opened at the same time, so that nothing in it has expired. */
export const KEPT_AT = Date.UTC(2026, 0, 1);

/** What it shows of itself, by path. */
export type Shown = Readonly<Record<string, unknown>>;

const NOWHERE = 'http://127.0.0.1:9/';
const LARGE_BYTES = 20_000;
const SHOWN = [
  '/v2/topics',
  '/v2/queues',
  '/v2/schedules',
  '/v2/flowControl',
  '/v2/alerts',
  '/v2/dlq',
  '/v2/usage',
  '/v2/messages/counts',
];

/** Something of most kinds that a store can have. Returns a token of its account. */
export async function fill(admin: Rider): Promise<string> {
  const { token } = await admin.account('kept', 'paid');
  const call = async (method: string, path: string, headers: Readonly<Record<string, string>> = {}, body?: unknown) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const { status, text: answer } = await admin.call(method, path, {
      token,
      headers,
      ...(body !== undefined && { body: text }),
    });
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${answer}`);
  };
  await call(
    'POST',
    '/v2/topics/orders/endpoints',
    {},
    {
      endpoints: [
        { name: 'one', url: NOWHERE },
        { name: 'two', url: `${NOWHERE}2` },
      ],
    },
  );
  await call('POST', '/v2/queues', {}, { queueName: 'line', parallelism: 2 });
  await call('POST', '/v2/queues/line/pause');
  await call('POST', `/v2/enqueue/line/${NOWHERE}`, { 'Service-Order-Key': 'a' }, 'first');
  await call('POST', `/v2/enqueue/line/${NOWHERE}`, { 'Service-Order-Key': 'a' }, 'second');
  await call(
    'POST',
    `/v2/schedules/${NOWHERE}`,
    { 'Service-Cron': '0 12 * * *', 'Service-Schedule-Id': 'noon' },
    'tick',
  );
  await call(
    'POST',
    `/v2/publish/${NOWHERE}`,
    { 'Service-Delay': '1h', 'Service-Label': 'blue', 'Service-Retries': '2' },
    'later',
  );
  await call(
    'POST',
    `/v2/publish/${NOWHERE}`,
    { 'Service-Delay': '2h', 'Service-Deduplication-Id': 'once' },
    'x'.repeat(LARGE_BYTES),
  );
  await call('POST', '/v2/publish/orders', { 'Service-Delay': '1h', 'Service-Callback': NOWHERE }, 'to both');
  await call('POST', `/v2/publish/${NOWHERE}`, {
    'Service-Flow-Control-Key': 'k',
    'Service-Flow-Control-Value': 'rate=1, parallelism=1',
    'Service-Delay': '1h',
  });
  await call('POST', `/v2/publish/${NOWHERE}`, { 'Service-Retries': '0' }, 'fails');
  await call('POST', `/v2/publish/${admin.url}/dev/sink/ok`, {}, 'delivered');
  await admin.quiet();
  await waitFor('all to have been tried', async () => {
    const { states } = await admin.manage<{ states: Record<string, number> }>(
      'GET',
      '/v2/messages/counts',
      undefined,
      token,
    );
    return states.DELIVERED === 1 && states.FAILED === 1;
  });
  await call(
    'POST',
    '/v2/alerts',
    {},
    { rule: { type: 'queueStalled' }, target: { url: 'https://example.com/alert' } },
  );
  return token;
}

export async function show(rider: Rider, token: string): Promise<Shown> {
  const shown: Record<string, unknown> = {};
  for (const path of SHOWN) shown[path] = await rider.manage('GET', path, undefined, token);
  const { messages } = await rider.manage<{ messages: { messageId: string }[] }>(
    'GET',
    '/v2/messages',
    undefined,
    token,
  );
  for (const { messageId } of messages) shown[messageId] = await rider.message(messageId, token);
  return shown;
}

export function keepFiles(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (entry.isFile())
      writeFileSync(join(to, `${entry.name}.gz`), gzipSync(readFileSync(join(from, entry.name)), { level: 9 }));
  }
}

export function restoreFiles(from: string, to: string): void {
  for (const name of readdirSync(from)) {
    writeFileSync(join(to, name.replace(/\.gz$/, '')), gunzipSync(readFileSync(join(from, name))));
  }
}

/** The rows of all tables, as JSON. */
export function keepRows(url: string, schema: string, file: string): Promise<void> {
  return withClient(url, async (client) => {
    const { rows: tables } = await client.query<{ name: string }>(
      "SELECT relname::text AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace ORDER BY 1",
    );
    const kept: Record<string, unknown> = {};
    for (const { name } of tables) {
      const { rows } = await client.query(`SELECT coalesce(jsonb_agg(to_jsonb(t)), '[]') AS rows FROM ${name} t`);
      kept[name] = rows[0].rows;
    }
    const { rows } = await client.query('SELECT last_value::text AS at FROM message_seq');
    writeFileSync(file, gzipSync(JSON.stringify({ schema, tables: kept, messageSeq: rows[0].at }), { level: 9 }));
  });
}

export function restoreRows(url: string, file: string): Promise<void> {
  const { schema, tables, messageSeq } = JSON.parse(gunzipSync(readFileSync(file)).toString('utf8')) as {
    readonly schema: string;
    readonly tables: Readonly<Record<string, unknown>>;
    readonly messageSeq: string;
  };
  return withClient(url, async (client) => {
    await client.query(schema);
    // In the order of the schema they may refer to rows that come later.
    await client.query("SET session_replication_role = 'replica'; DELETE FROM schema_version");
    for (const [name, rows] of Object.entries(tables)) {
      await client.query(`INSERT INTO ${name} SELECT * FROM jsonb_populate_recordset(NULL::${name}, $1)`, [
        JSON.stringify(rows),
      ]);
    }
    await client.query('SELECT setval($1, $2)', ['message_seq', messageSeq]);
  });
}
