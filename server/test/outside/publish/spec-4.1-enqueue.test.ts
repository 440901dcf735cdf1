// Section 4.1 of the spec: the path of an enqueue and its answer. Body, headers and the bytes of a destination have
// files of their own.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Published, refusal, ridersOfOneService } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

test('4.1 enqueue: a URL destination returns { messageId, url }', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const answer = await rider.enqueue('q', `${receiver.url}/hook`);
  assert.equal(answer.status, 201);
  assert.equal(answer.headers['content-type'], 'application/json');
  const result = answer.json<Published>();
  assert.deepEqual(Object.keys(result), ['messageId', 'url']);
  assert.equal(typeof result.messageId, 'string');
  assert.equal(result.url, `${receiver.url}/hook`);
});

test('4.1 enqueue: a topic destination returns an array, one { messageId, url } per endpoint, in their order', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const urls = ['/c', '/a', '/b'].map((path) => receiver.url + path);
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: urls.map((url) => ({ url })) });
  const answer = await rider.enqueue('q', 'news');
  assert.equal(answer.status, 201);
  const results = answer.json<Published[]>();
  assert.deepEqual(
    results.map(({ url }) => url),
    urls,
  );
  for (const result of results) assert.deepEqual(Object.keys(result), ['messageId', 'url']);
  assert.equal(new Set(results.map(({ messageId }) => messageId)).size, 3);
});

test('4.1 enqueue: a topic with one endpoint still returns an array', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  await rider.manage('POST', '/v2/topics/one/endpoints', { endpoints: [{ url: receiver.url }] });
  const results = (await rider.enqueue('q', 'one')).json<Published[]>();
  assert.ok(Array.isArray(results));
  assert.equal(results.length, 1);
});

test('4.1 enqueue: a topic is found by its name and by its id, and both return the same URLs', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const endpoints = [{ url: `${receiver.url}/1` }, { url: `${receiver.url}/2` }];
  const { id } = await rider.manage<{ id: string }>('POST', '/v2/topics/news/endpoints', { endpoints });
  const byName = (await rider.enqueue('q', 'news')).json<Published[]>();
  const byId = (await rider.enqueue('q', id)).json<Published[]>();
  assert.deepEqual(
    byName.map(({ url }) => url),
    byId.map(({ url }) => url),
  );
});

test('4.1 enqueue: an unknown topic is refused with 404 and says what a URL starts with', async (t) => {
  const rider = await startRider(t);
  const error = refusal(await rider.enqueue('q', 'no-such-topic'), 404, 'topic_not_found');
  assert.match(error, /destination: topic no-such-topic not found; .*http:\/\/ or https:\/\//);
});

test('4.1 enqueue: every endpoint of a topic gets the message, with the topic named', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const endpoints = [{ url: `${receiver.url}/1`, name: 'first' }, { url: `${receiver.url}/2` }];
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints });
  const results = (await rider.enqueue('q', 'news', { body: 'x' })).json<Published[]>();
  const arrivals = await receiver.received(2);
  assert.deepEqual(
    arrivals.map((arrival) => [arrival.target, arrival.header('Service-Message-Id')]),
    results.map(({ messageId }, index) => [`/${index + 1}`, messageId]),
  );
  for (const arrival of arrivals) assert.equal(arrival.header('Service-Topic-Name'), 'news');
  const first = await rider.message(results[0]!.messageId);
  assert.equal(first.topicName, 'news');
  assert.equal(first.endpointName, 'first');
});

test('4.1 queueName: a queue is created on first use, and used again afterwards', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  for (const path of ['/1', '/2', '/3']) await rider.accepted(receiver.url + path, { queue: 'orders' });
  const arrivals = await receiver.received(3);
  assert.deepEqual(
    arrivals.map((arrival) => [arrival.target, arrival.header('Service-Queue-Name')]),
    [
      ['/1', 'orders'],
      ['/2', 'orders'],
      ['/3', 'orders'],
    ],
  );
});

test('4.1 queueName: 1 to 128 letters, digits, "-", "_" and "." are a name', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  for (const name of ['a', 'A-Z_0.9', '..', 'batch', 'enqueue', 'x'.repeat(128)]) {
    const messageId = await rider.accepted(receiver.url, { queue: name });
    assert.equal((await rider.message(messageId)).queueName, name);
  }
});

test('4.1 queueName: a percent-encoded name is the same queue as the plain one', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const messageId = await rider.accepted(receiver.url, { queue: 'my%2Dqueue' });
  assert.equal((await rider.message(messageId)).queueName, 'my-queue');
});

test('4.1 queueName: what is not a name is refused with 400', async (t) => {
  const rider = await startRider(t);
  for (const name of ['', 'a%20b', 'a%2Fb', 'caf%C3%A9', '%zz', 'a+b', 'x'.repeat(129)]) {
    const error = refusal(await rider.enqueue(name, 'https://example.com'), 400, 'bad_queue_name');
    assert.match(error, /^queue name: 1 to 128 letters/, name);
  }
});

test('4.1 destination: it is required', async (t) => {
  const rider = await startRider(t);
  for (const path of ['/v2/enqueue/q', '/v2/enqueue/q/']) {
    const error = refusal(await rider.call('POST', path), 400, 'bad_destination');
    assert.match(
      error,
      /^destination: a non-empty destination must be provided; .*\/v2\/enqueue\/q\/https:\/\/example\.com/,
    );
  }
});

test('4.1 destination: what is neither a URL nor the name of a topic is refused with 400', async (t) => {
  const rider = await startRider(t);
  for (const destination of ['ftp://example.com/', '//example.com/', 'example.com/path', 'a%20b', '?']) {
    const error = refusal(await rider.enqueue('q', destination), 400, 'bad_destination');
    assert.match(error, /^destination: neither a URL starting with http:\/\/ or https:\/\//, destination);
  }
  const error = refusal(await rider.enqueue('q', 'news?x=1'), 400, 'bad_destination');
  assert.match(error, /^destination: "\?x=1" follows the name of the topic, but a topic has no query/);
});

test('4.1 enqueue: only POST is accepted, and the response says so', async (t) => {
  const rider = await startRider(t);
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
    const answer = await rider.call(method, '/v2/enqueue/q/https://example.com');
    assert.match(refusal(answer, 405, 'method_not_allowed'), new RegExp(`^${method} .*POST`));
    assert.equal(answer.headers.allow, 'POST');
  }
});

test('4.1 enqueue: a refused message is neither delivered nor counted', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  refusal(await rider.enqueue('q', receiver.url, { headers: { 'Service-Retries': 'x' } }), 400, 'bad_header');
  await rider.quiet();
  assert.equal(receiver.arrivals.length, 0);
  assert.deepEqual((await rider.manage<{ usage: unknown[] }>('GET', '/v2/usage')).usage, []);
});
