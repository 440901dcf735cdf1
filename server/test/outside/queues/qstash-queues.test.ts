// The client's `queue`: made, read, paused, resumed, deleted.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refused, startOracle } from '../../support/qstash-client.ts';
import { startReceiver } from '../../support/receiver.ts';

const oracle = await startOracle();

test('queue.upsert: makes a queue and changes it', async () => {
  const { client } = await oracle.account();
  const queue = client.queue({ queueName: 'made' });
  const before = Date.now();
  await queue.upsert({ parallelism: 3 });
  const { createdAt, updatedAt, ...rest } = await queue.get();
  assert.deepEqual(rest, { name: 'made', parallelism: 3, paused: false, lag: 0 });
  assert.ok(createdAt >= before && updatedAt >= createdAt && updatedAt <= Date.now());
  await queue.upsert({ parallelism: 1, paused: true });
  assert.deepEqual(pick(await queue.get()), { parallelism: 1, paused: true });
});

test('queue.upsert: always says paused, so that it resumes a queue unless told otherwise', async () => {
  const { client } = await oracle.account();
  const queue = client.queue({ queueName: 'paused' });
  await queue.upsert({});
  await queue.pause();
  await queue.upsert({ parallelism: 2 });
  assert.deepEqual(pick(await queue.get()), { parallelism: 2, paused: false });
});

test('queue.list: all queues of the account', async () => {
  const { client } = await oracle.account();
  assert.deepEqual(await client.queue().list(), []);
  await client.queue({ queueName: 'one' }).upsert({});
  await client.queue({ queueName: 'two' }).upsert({ parallelism: 2 });
  const listed = await client.queue().list();
  assert.deepEqual(
    listed.map(({ name, parallelism }) => [name, parallelism]),
    [
      ['one', 1],
      ['two', 2],
    ],
  );
});

test('queue.pause: holds what comes, counts it as lag, and queue.resume lets it go', async (t) => {
  const { client } = await oracle.account();
  const receiver = await startReceiver(t);
  const queue = client.queue({ queueName: 'held' });
  await queue.upsert({});
  await queue.pause();
  await queue.enqueueJSON({ url: receiver.url, body: 1 });
  await queue.enqueueJSON({ url: receiver.url, body: 2 });
  assert.deepEqual(pick(await queue.get(), 'paused', 'lag'), { paused: true, lag: 2 });
  assert.equal(receiver.arrivals.length, 0);
  await queue.resume();
  assert.equal((await queue.get()).paused, false);
  const arrivals = await receiver.received(2);
  assert.deepEqual(
    arrivals.map(({ body }) => body.toString()),
    ['1', '2'],
  );
});

test('queue.delete: removes a queue, and cancels its open messages', async () => {
  const { client } = await oracle.account();
  const queue = client.queue({ queueName: 'gone' });
  const { messageId } = await queue.enqueueJSON({ url: 'https://example.com/', delay: '1h' });
  await queue.delete();
  assert.match(await refused(404, () => queue.get()), /gone/);
  await refused(404, () => client.messages.cancel(messageId));
});

function pick(from: object, ...names: string[]): Record<string, unknown> {
  const wanted = names.length > 0 ? names : ['parallelism', 'paused'];
  return Object.fromEntries(Object.entries(from).filter(([name]) => wanted.includes(name)));
}
