// The client's `publish` and `publishJSON` with every option they have: what arrives, and what `messages.get` shows.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '@upstash/qstash';
import { DEAD_URL, refused, startOracle, states } from '../../support/qstash-client.ts';
import { inTurn, startReceiver } from '../../support/receiver.ts';

const oracle = await startOracle();

test('publish: the body arrives as it is, with its type and the headers to forward', async (t) => {
  const { client } = await oracle.account();
  const receiver = await startReceiver(t);
  const url = `${receiver.url}/in?x=1&y=%2F`;
  const headers = { 'Content-Type': 'text/plain', 'X-Custom': 'a b', Authorization: 'Bearer theirs' };
  const published = await client.publish({ url, body: 'grüße', headers });
  assert.deepEqual(Object.keys(published).sort(), ['messageId', 'url']);
  assert.equal(published.url, url);
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.method, 'POST');
  assert.equal(arrival!.target, '/in?x=1&y=%2F');
  assert.equal(arrival!.body.toString('utf8'), 'grüße');
  assert.equal(arrival!.header('Content-Type'), 'text/plain');
  assert.equal(arrival!.header('X-Custom'), 'a b');
  assert.equal(arrival!.header('Authorization'), 'Bearer theirs');
  assert.equal(arrival!.header('Upstash-Message-Id'), published.messageId);
  assert.equal(arrival!.header('Upstash-Retried'), '0');
  assert.deepEqual(
    arrival!.headers.filter(([name]) => /^upstash-(telemetry|forward|method)/i.test(name)),
    [],
  );
});

test('publish: headers of the client itself are forwarded with every message', async (t) => {
  const { token } = await oracle.account();
  const client = new Client({ baseUrl: oracle.url, token, headers: { 'X-Vercel-Bypass': 'yes' }, retry: false });
  const receiver = await startReceiver(t);
  await client.publish({ url: receiver.url, body: 'b' });
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.header('X-Vercel-Bypass'), 'yes');
});

test('publishJSON: method, delay, retries, label and the rest are shown by messages.get as its types say', async () => {
  const { client } = await oracle.account();
  const before = Date.now();
  const { messageId } = await client.publishJSON({
    url: 'https://example.com/a',
    body: { hello: 'world' },
    method: 'PUT',
    headers: { 'X-One': '1' },
    delay: '1h',
    retries: 2,
    retryDelay: '1000 * (1 + retried)',
    callback: 'https://example.com/callback',
    failureCallback: 'https://example.com/failure',
    timeout: 12,
    label: ['first', 'second'],
    flowControl: { key: 'key', parallelism: 3, rate: 10, period: '1m' },
  });
  const after = Date.now();
  const message = await client.messages.get(messageId);
  const { createdAt, notBefore, ...rest } = message;
  assert.ok(createdAt >= before && createdAt <= after, `createdAt is in milliseconds: ${createdAt}`);
  assert.equal(notBefore, createdAt + 3_600_000);
  assert.equal(message.callerIp, '127.0.0.1');
  const promised = {
    messageId,
    url: 'https://example.com/a',
    method: 'PUT',
    header: { 'Content-Type': ['application/json'], 'X-One': ['1'] },
    body: '{"hello":"world"}',
    maxRetries: 2,
    retryDelayExpression: '1000 * (1 + retried)',
    callback: 'https://example.com/callback',
    failureCallback: 'https://example.com/failure',
    label: 'first',
    labels: ['first', 'second'],
    flowControlKey: 'key',
    parallelism: 3,
    rate: 10,
    ratePerSecond: 10,
    period: 60,
  };
  assert.deepEqual(pick(rest, Object.keys(promised)), promised);
  for (const name of ['topicName', 'endpointName', 'queueName', 'scheduleId', 'bodyBase64', 'api']) {
    assert.ok(!(name in message), `${name} is absent when unset`);
  }
});

test('publishJSON: a delay in numbers is seconds, and notBefore is a time in seconds', async () => {
  const { client } = await oracle.account();
  const delayed = await client.publishJSON({ url: 'https://example.com/', delay: 90 });
  const { createdAt, notBefore } = await client.messages.get(delayed.messageId);
  assert.equal(notBefore, createdAt + 90_000);
  const at = Math.floor(Date.now() / 1000) + 500;
  const timed = await client.publishJSON({ url: 'https://example.com/', notBefore: at });
  assert.equal((await client.messages.get(timed.messageId)).notBefore, at * 1000);
});

test('publishJSON: a failed delivery is tried again after the retryDelay, and counted', async (t) => {
  const { client, logOf } = await oracle.account();
  const receiver = await startReceiver(t, inTurn(500, 503, 200));
  const { messageId } = await client.publishJSON({ url: receiver.url, retries: 3, retryDelay: '10 + retried' });
  const arrivals = await receiver.received(3);
  assert.deepEqual(
    arrivals.map((arrival) => arrival.header('Upstash-Retried')),
    ['0', '1', '2'],
  );
  const log = await logOf(messageId, 'DELIVERED');
  const failure = ['ACTIVE', 'ERROR', 'RETRY'];
  assert.deepEqual(states(log), ['CREATED', ...failure, ...failure, 'ACTIVE', 'DELIVERED']);
});

test('publishJSON: with retries: 0 a failing URL leaves exactly CREATED, ACTIVE, ERROR, FAILED', async (t) => {
  const { client, logOf } = await oracle.account();
  const receiver = await startReceiver(t, () => 500);
  const { messageId } = await client.publishJSON({ url: receiver.url, retries: 0 });
  assert.deepEqual(states(await logOf(messageId, 'FAILED')), ['CREATED', 'ACTIVE', 'ERROR', 'FAILED']);
  const { logs } = await client.logs({ messageIds: [messageId] });
  assert.deepEqual(states(logs), ['FAILED', 'ERROR', 'ACTIVE', 'CREATED']);
  assert.equal(receiver.arrivals.length, 1);
});

test('publishJSON: a callback gets each answer and a failure callback the end', async (t) => {
  const { client } = await oracle.account();
  const receiver = await startReceiver(t, ({ target }) => (target === '/' ? { status: 500, body: 'no' } : 200));
  const { messageId } = await client.publishJSON({
    url: `${receiver.url}/`,
    body: { n: 1 },
    retries: 0,
    callback: `${receiver.url}/callback`,
    failureCallback: `${receiver.url}/failure`,
  });
  const arrivals = await receiver.received(3);
  for (const target of ['/callback', '/failure']) {
    const arrival = arrivals.find((each) => each.target === target);
    const report = JSON.parse(arrival!.body.toString('utf8')) as Record<string, unknown>;
    assert.equal(report.status, 500);
    assert.equal(report.sourceMessageId, messageId);
    assert.equal(Buffer.from(String(report.body), 'base64').toString(), 'no');
    assert.equal(Buffer.from(String(report.sourceBody), 'base64').toString(), '{"n":1}');
    assert.equal(typeof report.dlqId, target === '/failure' ? 'string' : 'undefined');
  }
});

test('publishJSON: a timeout ends an attempt that hangs', async (t) => {
  const { client, logOf } = await oracle.account();
  const receiver = await startReceiver(t, () => 'hang');
  const { messageId } = await client.publishJSON({ url: receiver.url, retries: 0, timeout: 1 });
  const log = await logOf(messageId, 'FAILED');
  assert.equal(log.at(-1)!.error, 'no complete response within 1s');
});

test('publishJSON: a deduplicationId and the content find the message that is there already', async () => {
  const { client } = await oracle.account();
  const url = 'https://example.com/';
  const first = await client.publishJSON({ url, delay: '1h', deduplicationId: 'once' });
  assert.ok(!('deduplicated' in first));
  const again = await client.publishJSON({ url, delay: '1h', deduplicationId: 'once' });
  assert.deepEqual(again, { messageId: first.messageId, url, deduplicated: true });
  const content = { url, delay: '1h', contentBasedDeduplication: true } as const;
  const one = await client.publishJSON({ ...content, body: { n: 1 } });
  const two = await client.publishJSON({ ...content, body: { n: 1 } });
  const other = await client.publishJSON({ ...content, body: { n: 2 } });
  assert.deepEqual([two.messageId, two.deduplicated], [one.messageId, true]);
  assert.notEqual(other.messageId, one.messageId);
});

test('publishJSON: what is redacted is delivered, and shown as a hash', async (t) => {
  const { client, logOf } = await oracle.account();
  const receiver = await startReceiver(t);
  const { messageId } = await client.publishJSON({
    url: receiver.url,
    body: { card: 4111 },
    headers: { 'X-Secret': 's', 'X-Open': 'o' },
    redact: { body: true, header: ['X-Secret'] },
  });
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.body.toString(), '{"card":4111}');
  assert.equal(arrival!.header('X-Secret'), 's');
  const message = await client.messages.get(messageId);
  assert.match(message.body ?? '', /^REDACTED:[0-9a-f]{64}$/);
  assert.match(message.header?.['X-Secret']?.[0] ?? '', /^REDACTED:/);
  assert.deepEqual(message.header?.['X-Open'], ['o']);
  const log = await logOf(messageId, 'DELIVERED');
  assert.match(Buffer.from(log[0]!.body ?? '', 'base64').toString(), /^REDACTED:/);
});

test('publish: a message is readable right after it, also when it is delivered already', async (t) => {
  const { client } = await oracle.account();
  const receiver = await startReceiver(t);
  const { messageId } = await client.publish({ url: receiver.url, body: 'b' });
  assert.equal((await client.messages.get(messageId)).messageId, messageId);
  await receiver.received(1);
  assert.equal((await client.messages.get(messageId)).body, 'b');
});

test('publish: a host that does not resolve is accepted, and fails at once', async () => {
  const { client, logOf } = await oracle.account();
  const { messageId } = await client.publish({ url: 'https://does-not-exist.invalid/', retries: 0 });
  const log = await logOf(messageId, 'FAILED');
  assert.deepEqual(states(log), ['CREATED', 'ACTIVE', 'ERROR', 'FAILED']);
  assert.ok(log.at(-1)!.error);
});

test('publish: a URL that refuses connections fails as one that answers with an error does', async () => {
  const { client, logOf } = await oracle.account();
  const { messageId } = await client.publish({ url: DEAD_URL, retries: 0 });
  assert.deepEqual(states(await logOf(messageId, 'FAILED')), ['CREATED', 'ACTIVE', 'ERROR', 'FAILED']);
});

test('publish: what is wrong is refused with a QstashError that says so', async () => {
  const { client, token } = await oracle.account();
  const stranger = new Client({ baseUrl: oracle.url, token: `${token}x`, retry: false });
  assert.match(await refused(401, () => stranger.publish({ url: 'https://example.com/' })), /token/);
  assert.match(await refused(404, () => client.publish({ urlGroup: 'nobody' })), /nobody/);
  assert.match(
    await refused(400, () => client.publish({ url: 'https://example.com/', retryDelay: 'x y' })),
    /Upstash-Retry-Delay/,
  );
});

function pick(from: object, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)));
}
