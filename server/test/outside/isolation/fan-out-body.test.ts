// A message to a topic becomes one for each endpoint, and its body is stored and held in memory once. Every reader sees it,
// it is gone with the last of the messages, and other accounts do not feel it.

import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Database } from '../../../src/store/sqlite/thread/database.ts';
import { withClient } from '../../postgres/databases.ts';
import { STORED_BODIES, type StoredBodies } from '../../store/stored-bodies.ts';
import { startRider, temporaryFolder } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';
import { isOnPostgres, storeOf } from '../../support/store-under-test.ts';
import { waitFor } from '../../support/wait.ts';
import { startChild } from './child.ts';

const MIB = 1024 * 1024;
const DAY_MS = 86_400_000;
const NOWHERE = 'http://127.0.0.1:9';
const isLinux = process.platform === 'linux';

/** Asks the database of the store in this directory, beside the service that uses it. */
async function ask<T extends object>(data: string, sql: string): Promise<T> {
  if (!isOnPostgres) {
    const database = new Database(join(data, 'postrider.db'), { isReader: true });
    try {
      return { ...database.get<T>(sql)! };
    } finally {
      database.close();
    }
  }
  const store = await storeOf(data);
  try {
    return await withClient(store.flags[1]!, async (client) => {
      const { rows } = await client.query<Record<string, string>>(sql);
      return Object.fromEntries(Object.entries(rows[0]!).map(([name, value]) => [name, Number(value)])) as T;
    });
  } finally {
    await store.release();
  }
}

const storedBodies = (data: string) => ask<StoredBodies>(data, STORED_BODIES);

/** The reserve that a node keeps in PostgreSQL is no part of it: it may be made at any moment after the start. */
const TABLE_BYTES = `SELECT sum(pg_total_relation_size(c.oid)) AS bytes FROM pg_class c
  WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND c.relname NOT LIKE 'reserve%'`;

/** What the store takes up on disk. */
async function storeBytes(data: string): Promise<number> {
  if (isOnPostgres) {
    return (await ask<{ bytes: number }>(data, TABLE_BYTES)).bytes;
  }
  return ['postrider.db', 'postrider.db-wal'].reduce((sum, name) => sum + statSync(join(data, name)).size, 0);
}

test('10 MiB to a hundred endpoints: stored once, held once, and another account is delivered to meanwhile', async (t) => {
  const tiers = JSON.stringify({ free: { bodyBytesMax: 10 * MIB } });
  const child = await startChild(t, ['--tiers', tiers]);
  const wide = await child.account('wide');
  const other = await child.account('other');
  const endpoints = Array.from({ length: 100 }, (_, index) => ({ url: `${NOWHERE}/${index}` }));
  await child.json('POST', '/v2/topics/wide/endpoints', { endpoints }, wide);
  await child.delivers(other);
  const [bytes, memory] = [await storeBytes(child.data), isLinux ? child.residentBytes('peak') : 0];

  const body = Buffer.alloc(10 * MIB, 'fan-out ');
  const headers = { 'Service-Delay': '2h' };
  const publishing = child.call('POST', '/v2/publish/wide', wide, { body, headers });
  await child.delivers(other);
  const answer = await publishing;
  assert.equal(answer.status, 201, answer.text);
  const ids = answer.json<{ messageId: string }[]>().map(({ messageId }) => messageId);
  assert.equal(ids.length, 100);
  await child.delivers(other);

  // On SQLite twice: in the file, and in its log until that is written anew.
  const grown = (await storeBytes(child.data)) - bytes;
  assert.ok(grown < 3 * body.length, `the store grew by ${(grown / MIB).toFixed(1)} MiB`);
  if (isLinux) {
    // The request, its copies on the way to the store, and what the store has of it in its caches.
    const more = child.residentBytes('peak') - memory;
    assert.ok(more < 160 * MIB, `memory grew by ${(more / MIB).toFixed(1)} MiB`);
  }
  assert.deepEqual(await storedBodies(child.data), { count: 1, bytes: body.length, unused: 0, wrong: 0 });
  const last = await child.json<{ body: string }>('GET', `/v2/messages/${ids.at(-1)}`, undefined, wide);
  assert.ok(Buffer.from(last.body).equals(body));
});

test('all that is made of a fan-out has its body: deliveries, retries, callbacks, dead letters, lists', async (t) => {
  const data = temporaryFolder(t);
  const rider = await startRider(t, { data });
  const receiver = await startReceiver(t, ({ target }) => (target.startsWith('/dead') ? 489 : 200));
  const endpoints = ['ok/1', 'ok/2', 'dead/1', 'dead/2'].map((path) => ({ url: `${receiver.url}/${path}` }));
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints });
  const body = 'What the news said. '.repeat(200);
  const headers = { 'Service-Callback': `${receiver.url}/callback`, 'Service-Label': 'news' };
  const answer = await rider.publish('news', { body, headers });
  assert.equal(answer.status, 201, answer.text);
  const ids = answer.json<{ messageId: string }[]>().map(({ messageId }) => messageId);
  assert.deepEqual(await storedBodies(data), { count: 1, bytes: body.length, unused: 0, wrong: 0 });

  for (const id of ids) assert.equal((await rider.ended(id)).body, body);
  const arrivals = await waitFor('four deliveries and two callbacks', () => {
    const delivered = receiver.arrivals.filter(({ target }) => !target.startsWith('/callback'));
    const callbacks = receiver.arrivals.filter(({ target }) => target.startsWith('/callback'));
    return delivered.length >= 4 && callbacks.length >= 2 && { delivered, callbacks };
  });
  for (const arrival of arrivals.delivered) assert.equal(arrival.body.toString(), body);
  for (const arrival of arrivals.callbacks) {
    const { sourceBody } = JSON.parse(arrival.body.toString()) as { sourceBody: string };
    assert.equal(Buffer.from(sourceBody, 'base64').toString(), body);
  }
  interface Page {
    readonly messages: readonly { readonly messageId: string; readonly body?: string }[];
  }
  const found = await rider.manage<Page>('GET', '/v2/messages?text=news%20said&label=news');
  assert.deepEqual(found.messages.map(({ messageId }) => messageId).toSorted(), ids.toSorted());
  const dead = await rider.manage<Page>('GET', '/v2/dlq');
  assert.equal(dead.messages.length, 2);
  const letter = ids[2]!.replace('msg_', 'dlq_');
  assert.equal((await rider.manage<{ body: string }>('GET', `/v2/dlq/${letter}`)).body, body);

  // One is sent again by itself, the other with all that are left.
  receiver.answer = () => 200;
  const again = [await rider.manage<{ messageId: string }>('POST', `/v2/dlq/retry/${letter}`)];
  const rest = await rider.manage<{ responses: { messageId: string }[] }>('POST', '/v2/dlq/retry', { all: true });
  again.push(...rest.responses);
  assert.equal(again.length, 2);
  for (const { messageId } of again) {
    const message = await rider.ended(messageId);
    assert.deepEqual([message.state, message.body], ['DELIVERED', body]);
  }
  assert.deepEqual(await storedBodies(data), { count: 1, bytes: body.length, unused: 0, wrong: 0 });

  // Past their retention, with the messages.
  await waitFor('the body to be deleted', async () => {
    await rider.advance(DAY_MS);
    return (await storedBodies(data)).count === 0;
  });
  assert.equal((await rider.call('GET', `/v2/messages/${ids[0]}`)).status, 404);
});

test('elements of a batch and ticks of a schedule that go to a topic share a body each', async (t) => {
  const data = temporaryFolder(t);
  const rider = await startRider(t, { data });
  const endpoints = [1, 2, 3].map((n) => ({ url: `${NOWHERE}/${n}` }));
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints });
  const texts = ['first ', 'second ', 'alone '].map((text) => text.repeat(1000));
  const headers = { 'Service-Delay': '1d' };
  const batch = await rider.batch([
    { destination: 'news', headers, body: texts[0] },
    { destination: 'news', headers, body: texts[1] },
    { destination: `${NOWHERE}/alone`, headers, body: texts[2] },
  ]);
  assert.equal(batch.status, 201, batch.text);
  assert.equal((await storedBodies(data)).count, 2);
  const made = batch.json<[{ messageId: string }[], { messageId: string }[], { messageId: string }]>();
  for (const [index, element] of made.entries()) {
    for (const { messageId } of Array.isArray(element) ? element : [element]) {
      assert.equal((await rider.message(messageId)).body, texts[index]);
    }
  }

  const tick = 'tick '.repeat(1000);
  const cron = { 'Service-Cron': '* * * * *', 'Service-Schedule-Id': 'minutely', ...headers };
  assert.equal((await rider.call('POST', '/v2/schedules/news', { headers: cron, body: tick })).status, 201);
  const schedule = await waitFor('a tick', async () => {
    await rider.advance(60_000);
    const view = await rider.manage<{ lastScheduleStates?: Record<string, string> }>('GET', '/v2/schedules/minutely');
    const ids = Object.keys(view.lastScheduleStates ?? {});
    return ids.length === 3 && ids;
  });
  for (const id of schedule) assert.equal((await rider.message(id)).body, tick);
  const { count, unused, wrong } = await storedBodies(data);
  assert.ok(count >= 3);
  assert.deepEqual([unused, wrong], [0, 0]);
});
