// Sections 1 to 3 of the spec: what the service does, what it is made of, and what becomes of a delivery. The details
// of each operation are in the files of section 4 and on.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Published, ridersOfOneService } from '../../support/harness.ts';
import { inTurn, startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

test('1 service: a message accepted over HTTP is delivered later, as an HTTP request', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const messageId = await rider.accepted(`${receiver.url}/hook`, { body: 'hello' });
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.requestLine, 'POST /hook HTTP/1.1');
  assert.equal(arrival!.body.toString(), 'hello');
  assert.equal((await rider.ended(messageId)).state, 'DELIVERED');
});

test('1 service: the response does not wait for the delivery', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 'hang');
  const messageId = await rider.accepted(receiver.url);
  await receiver.received(1);
  assert.equal((await rider.message(messageId)).state, 'ACTIVE');
});

test('1 destination: it is a URL or a topic', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [{ url: `${receiver.url}/by-topic` }] });
  assert.equal((await rider.enqueue('q', `${receiver.url}/by-url`)).status, 201);
  assert.equal((await rider.enqueue('q', 'news')).status, 201);
  const arrivals = await receiver.received(2);
  assert.deepEqual(
    arrivals.map(({ target }) => target),
    ['/by-url', '/by-topic'],
  );
});

test('1 topic: it fans the message out to several endpoints', async (t) => {
  const rider = await startRider(t);
  const receivers = [await startReceiver(t), await startReceiver(t), await startReceiver(t)];
  const endpoints = receivers.map(({ url }) => ({ url }));
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints });
  assert.equal((await rider.enqueue('q', 'news', { body: 'to all' })).status, 201);
  for (const receiver of receivers) {
    const [arrival] = await receiver.received(1);
    assert.equal(arrival!.body.toString(), 'to all');
  }
});

test('1 delivery: delay, retries, custom headers, callback and failure callback work together', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, inTurn(500));
  const reports = await startReceiver(t);
  const messageId = await rider.accepted(receiver.url, {
    headers: {
      'Service-Delay': '60s',
      'Service-Retries': '1',
      'Service-Forward-X-Kind': 'order',
      'Service-Callback': `${reports.url}/each`,
      'Service-Failure-Callback': `${reports.url}/failed`,
    },
  });
  await rider.advance(60_000);
  await rider.attempted(messageId, 1);
  await rider.advance(1000);
  assert.equal((await rider.ended(messageId)).state, 'FAILED');
  assert.deepEqual(
    receiver.arrivals.map((arrival) => arrival.header('X-Kind')),
    ['order', 'order'],
  );
  const calls = await reports.received(3);
  assert.deepEqual(calls.map(({ target }) => target).sort(), ['/each', '/each', '/failed']);
});

test('1 enqueue: it puts one message on a named queue, which is created when it does not exist', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const messageId = await rider.accepted(receiver.url, { queue: 'never-seen-before' });
  assert.equal((await rider.ended(messageId)).queueName, 'never-seen-before');
  assert.equal(receiver.arrivals.length, 1);
  assert.equal(receiver.arrivals[0]!.header('Service-Queue-Name'), 'never-seen-before');
});

test('1 batch: it puts an array of messages in a single request', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const bodies = ['one', 'two', 'three'];
  const answer = await rider.batch(bodies.map((body) => ({ destination: receiver.url, body })));
  assert.equal(answer.json<unknown[]>().length, 3);
  const arrivals = await receiver.received(3);
  assert.deepEqual(arrivals.map(({ body }) => body.toString()).sort(), [...bodies].sort());
});

test('2 publish result: messageId is a string of its own for every message', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const ids = new Set<string>();
  for (let i = 0; i < 20; i += 1) ids.add(await rider.accepted(receiver.url));
  assert.equal(ids.size, 20);
  for (const id of ids) assert.match(id, /^msg_[0-9A-Z]{26}$/);
});

test('2 publish result: the message can be read under its id at once', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 'hang');
  const url = `${receiver.url}/a?b=c`;
  const answer = await rider.enqueue('q', url, { body: 'text' });
  const { messageId } = answer.json<Published>();
  const message = await rider.message(messageId);
  assert.equal(message.messageId, messageId);
  assert.equal(message.url, url);
  assert.equal(message.body, 'text');
});

test('2 queue: it is identified by its name; the same name is the same queue', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 'hang');
  await rider.accepted(`${receiver.url}/first`, { queue: 'a' });
  const behind = await rider.accepted(`${receiver.url}/second`, { queue: 'a' });
  await rider.accepted(`${receiver.url}/other`, { queue: 'b' });
  const arrivals = await receiver.received(2);
  await rider.quiet();
  assert.deepEqual(arrivals.map(({ target }) => target).sort(), ['/first', '/other']);
  assert.equal((await rider.message(behind)).state, 'CREATED');
});

test('2 topic: it is identified by a name or an id', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const body = { endpoints: [{ url: receiver.url }] };
  const topic = await rider.manage<{ id: string; name: string }>('POST', '/v2/topics/news/endpoints', body);
  assert.match(topic.id, /^tpc_/);
  assert.equal((await rider.enqueue('q', 'news')).status, 201);
  assert.equal((await rider.enqueue('q', topic.id)).status, 201);
  assert.equal((await receiver.received(2)).length, 2);
});

test('3 delivery: one that fails is retried up to the retry count', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 500);
  const messageId = await rider.accepted(receiver.url, { headers: { 'Service-Retries': '2' } });
  await rider.attempted(messageId, 1);
  await rider.advance(1000);
  await rider.attempted(messageId, 2);
  await rider.advance(7390);
  const message = await rider.ended(messageId);
  assert.equal(message.state, 'FAILED');
  assert.equal(receiver.arrivals.length, 3);
});

test('3 delivery: when all retries are exhausted, the failure callback is called', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 500);
  const reports = await startReceiver(t);
  const headers = { 'Service-Retries': '0', 'Service-Failure-Callback': reports.url };
  const messageId = await rider.accepted(receiver.url, { headers });
  const [report] = await reports.received(1);
  assert.equal(JSON.parse(report!.body.toString()).sourceMessageId, messageId);
});
