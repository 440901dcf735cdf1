// api.md, section 2: a message that repeats another within the window is not accepted again; the old one is answered.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CallOptions, type Published, type Rider, refusal, ridersOfOneService } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

const NOWHERE = 'http://127.0.0.1:1/';
const MINUTE_MS = 60_000;

interface Answer extends Published {
  readonly deduplicated?: boolean;
}

/** Published twice: the second must be answered as a duplicate of the first. */
async function requireDuplicate(rider: Rider, url: string, first: CallOptions, second: CallOptions): Promise<string> {
  const messageId = await rider.published(url, first);
  const answer = await rider.publish(url, second);
  assert.equal(answer.status, 202, answer.text);
  assert.deepEqual(answer.json<Answer>(), { messageId, url, deduplicated: true });
  return messageId;
}

test('Deduplication-Id: within the window 202, the old id and deduplicated; delivered once', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const headers = { 'Service-Deduplication-Id': 'order-1' };
  const messageId = await requireDuplicate(rider, receiver.url, { headers }, { headers, body: 'other' });
  await rider.ended(messageId);
  await rider.advance(10 * MINUTE_MS - 1);
  assert.equal((await rider.publish(receiver.url, { headers })).status, 202);
  assert.equal(receiver.arrivals.length, 1);
  await rider.advance(1);
  assert.notEqual(await rider.published(receiver.url, { headers }), messageId);
});

test('Deduplication-Id: a duplicate is answered with the URL of the message that stands, not with its own', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const headers = { 'Service-Deduplication-Id': 'order-1' };
  const url = `${receiver.url}/first`;
  const messageId = await rider.published(url, { headers });
  for (const again of [
    await rider.publish(`${receiver.url}/second`, { headers }),
    await rider.enqueue('q', `${receiver.url}/third`, { headers }),
  ]) {
    assert.equal(again.status, 202);
    assert.deepEqual(again.json<Answer>(), { messageId, url, deduplicated: true });
  }
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [{ url }] });
  await rider.publish('news', { headers });
  const [copy] = (await rider.publish('news', { headers })).json<[Answer]>();
  assert.deepEqual([copy.url, copy.deduplicated], [url, true]);
  await rider.call('POST', `/v2/schedules/${receiver.url}/fourth`, {
    headers: { ...headers, 'Service-Cron': '0 0 1 1 *', 'Service-Schedule-Id': 'yearly' },
  });
  assert.deepEqual(await rider.manage('POST', '/v2/schedules/yearly/run'), [{ messageId, url }]);
});

test('Deduplication-Id: a colon is refused, another account may use the same id', async (t) => {
  const rider = await startRider(t);
  const bad = await rider.publish(NOWHERE, { headers: { 'Service-Deduplication-Id': 'a:b' } });
  assert.match(refusal(bad, 400, 'bad_header'), /^Service-Deduplication-Id: /);
  const headers = { 'Service-Deduplication-Id': 'same', 'Service-Delay': '1h' };
  await rider.published(NOWHERE, { headers });
  const { token } = await rider.account('other');
  await rider.published(NOWHERE, { headers, token });
});

test('Deduplication-Id: Idempotency-Key is an alias', async (t) => {
  const rider = await startRider(t);
  const delay = { 'Service-Delay': '1h' };
  const alias = { headers: { 'Idempotency-Key': 'order-1', ...delay } };
  await requireDuplicate(rider, NOWHERE, alias, alias);
  await rider.published(NOWHERE, { headers: { 'Idempotency-Key': 'order-2', ...delay } });
});

test('Deduplication-Id: a message that ended failed no longer swallows a re-send', async (t) => {
  const rider = await startRider(t);
  const headers = { 'Service-Deduplication-Id': 'order-1', 'Service-Retries': '0' };
  const failed = await rider.published(NOWHERE, { headers });
  assert.equal((await rider.ended(failed)).state, 'FAILED');
  assert.notEqual(await rider.published(NOWHERE, { headers }), failed);
});

test('Deduplication-Id: repeats inside one batch, and of a batch before, are answered in their slots', async (t) => {
  const rider = await startRider(t);
  const element = (id: string) => ({
    destination: NOWHERE,
    headers: { 'Service-Deduplication-Id': id, 'Service-Delay': '1h' },
  });
  const first = await rider.batch([element('a'), element('b'), element('a')]);
  assert.equal(first.status, 201);
  const [a, b, again] = first.json<Answer[]>();
  assert.deepEqual(again, { messageId: a!.messageId, deduplicated: true });
  assert.notEqual(a!.messageId, b!.messageId);
  const second = await rider.batch([element('b'), element('a')]);
  assert.equal(second.status, 202);
  assert.deepEqual(second.json(), [
    { messageId: b!.messageId, deduplicated: true },
    { messageId: a!.messageId, deduplicated: true },
  ]);
});

test('Deduplication-Id: each copy of a topic has its own, so all endpoints get it once', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const endpoints = [{ url: `${receiver.url}/a` }, { url: `${receiver.url}/b` }];
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints });
  const headers = { 'Service-Deduplication-Id': 'n1' };
  const first = await rider.publish('news', { headers });
  assert.equal(first.status, 201);
  const second = await rider.publish('news', { headers });
  assert.equal(second.status, 202);
  const expected = first.json<Answer[]>().map((entry) => ({ ...entry, deduplicated: true }));
  assert.deepEqual(second.json(), expected);
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [{ url: `${receiver.url}/c` }] });
  const third = await rider.publish('news', { headers });
  assert.equal(third.status, 201);
  assert.deepEqual(
    third.json<Answer[]>().map(({ deduplicated }) => deduplicated === true),
    [true, true, false],
  );
  assert.deepEqual((await receiver.received(3)).map(({ target }) => target).sort(), ['/a', '/b', '/c']);
});

test('Content-Based-Deduplication: the same destination, body, type and headers are the same message', async (t) => {
  const rider = await startRider(t);
  const own = { 'Service-Content-Based-Deduplication': 'true', 'Service-Delay': '1h' };
  const options = {
    headers: { ...own, 'Content-Type': 'text/plain', 'Service-Forward-X-Shop': '7' },
    body: 'hello',
  };
  await requireDuplicate(rider, NOWHERE, options, options);
  const others = [
    { ...options, body: 'hello!' },
    { ...options, headers: { ...options.headers, 'Content-Type': 'text/html' } },
    { ...options, headers: { ...options.headers, 'Service-Forward-X-Shop': '8' } },
    { ...options, headers: { ...options.headers, 'Service-Deduplication-Id': 'explicit' } },
  ];
  for (const other of others) await rider.published(NOWHERE, other);
  await rider.published(`${NOWHERE}elsewhere`, options);
});
