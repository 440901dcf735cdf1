// The client's `queue.enqueue`, `enqueueJSON`, `batch` and `batchJSON`, with queues and URL groups.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type OracleAccount, refused, startOracle } from '../../support/qstash-client.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const oracle = await startOracle();

test('queue.enqueue: the queue is made, and the message goes through it', async (t) => {
  const { client } = await oracle.account();
  const receiver = await startReceiver(t);
  const published = await client.queue({ queueName: 'fresh' }).enqueue({ url: `${receiver.url}/a`, body: 'raw' });
  assert.equal(published.url, `${receiver.url}/a`);
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.body.toString(), 'raw');
  assert.equal(arrival!.header('Upstash-Queue-Name'), 'fresh');
  assert.equal((await client.messages.get(published.messageId)).queueName, 'fresh');
  assert.equal((await client.queue({ queueName: 'fresh' }).get()).parallelism, 1);
});

test('queue.enqueueJSON: messages arrive in order, as JSON, with their options', async (t) => {
  const { client } = await oracle.account();
  const receiver = await startReceiver(t);
  const queue = client.queue({ queueName: 'fifo' });
  for (let n = 0; n < 5; n += 1) {
    await queue.enqueueJSON({ url: receiver.url, body: { n }, headers: { 'X-N': String(n) }, method: 'PATCH' });
  }
  const arrivals = await receiver.received(5);
  assert.deepEqual(
    arrivals.map(({ body }) => (JSON.parse(body.toString()) as { n: number }).n),
    [0, 1, 2, 3, 4],
  );
  assert.equal(arrivals[0]!.method, 'PATCH');
  assert.equal(arrivals[0]!.header('Content-Type'), 'application/json');
  assert.equal(arrivals[4]!.header('X-N'), '4');
});

test('queue.enqueueJSON: to a URL group answers a plain array', async () => {
  const { client } = await oracle.account();
  await twoEndpoints(client);
  const queue = client.queue({ queueName: 'grouped' });
  const made = await queue.enqueueJSON({ urlGroup: 'group', body: 1, delay: '1h' });
  assert.deepEqual(
    made.map(({ url }) => url),
    ['https://example.com/a', 'https://example.com/b'],
  );
  const message = await client.messages.get(made[0]!.messageId);
  assert.deepEqual([message.urlGroup, message.endpointName, message.queueName], ['group', 'first', 'grouped']);
});

test('batch: URLs, queues and URL groups answer in the order of the request', async (t) => {
  const { client } = await oracle.account();
  const receiver = await startReceiver(t);
  await twoEndpoints(client);
  const results: unknown[] = await client.batch([
    { url: `${receiver.url}/plain`, body: 'plain', headers: { 'X-A': '1', 'Content-Type': 'text/plain' } },
    { urlGroup: 'group', body: 'group', delay: '1h' },
    { url: `${receiver.url}/queued`, body: 'queued', queueName: 'q' },
  ]);
  const [plain, group, queued] = results as [Published, Published[], Published];
  assert.equal(results.length, 3);
  assert.equal(group.length, 2);
  assert.deepEqual(Object.keys(group[0]!).sort(), ['messageId', 'url']);
  const arrivals = await receiver.received(2);
  const arrived = arrivals.find(({ target }) => target === '/plain');
  assert.equal(arrived!.header('Upstash-Message-Id'), plain.messageId);
  assert.equal(arrived!.header('X-A'), '1');
  assert.equal(arrived!.header('Content-Type'), 'text/plain');
  assert.deepEqual(
    arrived!.headers.filter(([name]) => /telemetry/i.test(name)),
    [],
  );
  assert.equal((await client.messages.get(queued.messageId)).queueName, 'q');
  assert.equal((await client.messages.get(group[1]!.messageId)).url, 'https://example.com/b');
});

test('batchJSON: every element has its own options', async () => {
  const { client } = await oracle.account();
  const url = 'https://example.com/';
  const results = await client.batchJSON([
    { url, body: { n: 1 }, delay: 60, retries: 1, label: 'one', deduplicationId: 'd' },
    { url, body: { n: 2 }, delay: '2h', method: 'DELETE', queueName: 'q', headers: { 'X-Two': '2' } },
    { url, body: { n: 1 }, delay: 60, deduplicationId: 'd' },
  ]);
  assert.deepEqual(
    results.map(({ deduplicated }) => deduplicated),
    [undefined, undefined, true],
  );
  assert.equal(results[2]!.messageId, results[0]!.messageId);
  const one = await client.messages.get(results[0]!.messageId);
  assert.deepEqual([one.body, one.maxRetries, one.labels], ['{"n":1}', 1, ['one']]);
  const two = await client.messages.get(results[1]!.messageId);
  assert.deepEqual([two.method, two.queueName], ['DELETE', 'q']);
  assert.deepEqual(two.header, { 'Content-Type': ['application/json'], 'X-Two': ['2'] });
});

test('batchJSON: a bad element spoils only its own place', async () => {
  const { client } = await oracle.account();
  const results: unknown[] = await client.batchJSON([
    { url: 'https://example.com/', body: 1, delay: '1h' },
    { urlGroup: 'nobody', body: 2 },
  ]);
  assert.equal(typeof (results[0] as Published).messageId, 'string');
  assert.match((results[1] as { error: string }).error, /nobody/);
  assert.match(await refused(400, () => client.batchJSON([{ urlGroup: 'nobody', body: 2 }])), /nobody/);
});

test('batch: a queue of its elements keeps their order', async (t) => {
  const { client } = await oracle.account();
  const receiver = await startReceiver(t);
  const bodies = Array.from({ length: 20 }, (_, n) => String(n));
  await client.batch(bodies.map((body) => ({ url: receiver.url, body, queueName: 'ordered' })));
  const arrivals = await receiver.received(20);
  assert.deepEqual(
    arrivals.map(({ body }) => body.toString()),
    bodies,
  );
  const queue = client.queue({ queueName: 'ordered' });
  await waitFor('an empty queue', async () => (await queue.get()).lag === 0);
});

interface Published {
  readonly messageId: string;
  readonly url: string;
}

async function twoEndpoints(client: OracleAccount['client']): Promise<void> {
  const endpoints = [{ name: 'first', url: 'https://example.com/a' }, { url: 'https://example.com/b' }];
  await client.urlGroups.addEndpoints({ name: 'group', endpoints });
}
