// Section 6 of the spec: the callback after each attempt, the failure callback when all retries are exhausted, what
// they carry, how they are retried, and that each is charged as a regular message.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jwtVerify } from 'jose';
import { type Rider, ridersOfOneService } from '../../support/harness.ts';
import { type Arrival, inTurn, startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

interface Report {
  readonly status: number;
  readonly error?: string;
  readonly header: Readonly<Record<string, readonly string[]>>;
  readonly body: string;
  readonly retried: number;
  readonly maxRetries: number;
  readonly sourceMessageId: string;
  readonly dlqId?: string;
  readonly [field: string]: unknown;
}

function reportIn(arrival: Arrival): Report {
  return JSON.parse(arrival.body.toString()) as Report;
}

async function usageOf(rider: Rider): Promise<Record<string, number>> {
  const { usage } = await rider.manage<{ usage: { kind: string; count: number }[] }>('GET', '/v2/usage');
  return Object.fromEntries(usage.map(({ kind, count }) => [kind, count]));
}

test('6 callback: it is called after each delivery attempt, failed or not', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, inTurn(500, 404, 200));
  const reports = await startReceiver(t);
  const messageId = await rider.accepted(receiver.url, { headers: { 'Service-Callback': reports.url } });
  await rider.attempted(messageId, 1);
  await reports.received(1);
  await rider.advance(1000);
  await rider.attempted(messageId, 2);
  await reports.received(2);
  await rider.advance(7390);
  const calls = (await reports.received(3)).map(reportIn);
  assert.deepEqual(
    calls.map(({ status, retried }) => [status, retried]),
    [
      [500, 0],
      [404, 1],
      [200, 2],
    ],
  );
  for (const { sourceMessageId } of calls) assert.equal(sourceMessageId, messageId);
});

test('6 callback: without the header there is none', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, inTurn(500, 200));
  const messageId = await rider.accepted(receiver.url);
  await rider.attempted(messageId, 1);
  await rider.advance(1000);
  await rider.ended(messageId);
  assert.deepEqual(await usageOf(rider), { publish: 1 });
});

test('6 callback: it reports the attempt and its source', async (t) => {
  const rider = await startRider(t);
  const answer = { status: 201, headers: { 'X-Answer': 'yes', 'Set-Cookie': 'a=b' }, body: 'thank you' };
  const receiver = await startReceiver(t, () => answer);
  const reports = await startReceiver(t);
  const messageId = await rider.accepted(`${receiver.url}/in?x=1`, {
    body: 'the body',
    headers: {
      'Content-Type': 'text/plain',
      'Service-Method': 'PUT',
      'Service-Retries': '7',
      'Service-Forward-X-Tag': 'a',
      'Service-Callback': `${reports.url}/done?y=2`,
    },
  });
  const [call] = await reports.received(1);
  assert.equal(call!.requestLine, 'POST /done?y=2 HTTP/1.1');
  assert.equal(call!.header('Content-Type'), 'application/json');
  const { createdAt } = await rider.message(messageId);
  assert.deepEqual(reportIn(call!), {
    status: 201,
    header: { 'Content-Length': ['9'], 'X-Answer': ['yes'], 'Set-Cookie': ['a=b'] },
    body: Buffer.from('thank you').toString('base64'),
    retried: 0,
    maxRetries: 7,
    sourceMessageId: messageId,
    url: `${receiver.url}/in?x=1`,
    method: 'PUT',
    sourceHeader: { 'Content-Type': ['text/plain'], 'X-Tag': ['a'] },
    sourceBody: Buffer.from('the body').toString('base64'),
    notBefore: createdAt,
    createdAt,
    callerIP: '127.0.0.1',
  });
});

test('6 callback: without an HTTP response it has status 0 and the reason', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 'reset');
  const reports = await startReceiver(t);
  await rider.accepted(receiver.url, { headers: { 'Service-Retries': '0', 'Service-Callback': reports.url } });
  const report = reportIn((await reports.received(1))[0]!);
  assert.equal(report.status, 0);
  assert.match(report.error ?? '', /connection (closed|reset) before a response/);
  assert.equal(report.body, '');
  assert.deepEqual(report.header, {});
});

test('6 callback: for a topic there is one per endpoint, which names both', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const reports = await startReceiver(t);
  const endpoints = [{ url: `${receiver.url}/1`, name: 'one' }, { url: `${receiver.url}/2` }];
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints });
  await rider.enqueue('q', 'news', { headers: { 'Service-Callback': reports.url } });
  const calls = (await reports.received(2)).map(reportIn);
  assert.deepEqual(
    calls.map(({ topicName, endpointName, url }) => [topicName, endpointName, url]),
    [
      ['news', 'one', `${receiver.url}/1`],
      ['news', undefined, `${receiver.url}/2`],
    ],
  );
});

test('6 callback: it is a message of its own, with its own id and signature, in no queue', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const reports = await startReceiver(t);
  const source = await rider.accepted(receiver.url, { headers: { 'Service-Callback': reports.url } });
  const [call] = await reports.received(1);
  const messageId = call!.header('Service-Message-Id')!;
  assert.notEqual(messageId, source);
  assert.equal(call!.header('Service-Queue-Name'), undefined);
  const { current } = await rider.manage<{ current: string }>('GET', '/v2/keys');
  const jwt = await jwtVerify(call!.header('Service-Signature')!, new TextEncoder().encode(current), {
    currentDate: new Date(rider.clock.now()),
  });
  assert.equal(jwt.payload.sub, reports.url);
  const message = await rider.ended(messageId);
  assert.equal(message.sourceMessageId, source);
  assert.equal(message.state, 'DELIVERED');
});

test('6 callback: a callback that fails delays no other message and is not reported itself', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const reports = await startReceiver(t, () => 500);
  const headers = { 'Service-Retries': '0', 'Service-Callback': reports.url, 'Service-Failure-Callback': reports.url };
  await rider.accepted(`${receiver.url}/1`, { headers });
  const [call] = await reports.received(1);
  assert.equal((await rider.ended(call!.header('Service-Message-Id')!)).state, 'FAILED');
  await rider.accepted(`${receiver.url}/2`);
  await receiver.received(2);
  await rider.quiet();
  assert.equal(reports.arrivals.length, 1);
});

test('6 failure callback: it is called once, when all retries are exhausted', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => ({ status: 502, body: 'down' }));
  const reports = await startReceiver(t);
  const headers = { 'Service-Retries': '1', 'Service-Failure-Callback': reports.url };
  const messageId = await rider.accepted(receiver.url, { headers });
  await rider.attempted(messageId, 1);
  await rider.advance(999);
  assert.equal(reports.arrivals.length, 0);
  await rider.advance(1);
  await rider.ended(messageId);
  const [call] = await reports.received(1);
  const report = reportIn(call!);
  assert.equal(report.status, 502);
  assert.equal(Buffer.from(report.body, 'base64').toString(), 'down');
  assert.equal(report.retried, 1);
  assert.equal(report.maxRetries, 1);
  assert.equal(report.sourceMessageId, messageId);
  assert.match(report.dlqId ?? '', /^dlq_/);
  await rider.advance(86_400_000);
  assert.equal(reports.arrivals.length, 1);
  assert.deepEqual(await usageOf(rider), { failureCallback: 1, publish: 1 });
});

test('6 failure callback: it is never called for a delivery that succeeds in the end', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, inTurn(500, 200));
  const reports = await startReceiver(t);
  const headers = { 'Service-Retries': '1', 'Service-Failure-Callback': reports.url };
  const messageId = await rider.accepted(receiver.url, { headers });
  await rider.attempted(messageId, 1);
  await rider.advance(1000);
  assert.equal((await rider.ended(messageId)).state, 'DELIVERED');
  await rider.quiet();
  assert.deepEqual(await usageOf(rider), { publish: 1 });
  assert.equal(reports.arrivals.length, 0);
});

test('6 failure callback: without the header there is none', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 500);
  const messageId = await rider.accepted(receiver.url, { headers: { 'Service-Retries': '0' } });
  assert.equal((await rider.ended(messageId)).state, 'FAILED');
  assert.deepEqual(await usageOf(rider), { publish: 1 });
});

test('6 failure callback: a failure that is not worth retrying is reported at once', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 489);
  const reports = await startReceiver(t);
  await rider.accepted(receiver.url, { headers: { 'Service-Failure-Callback': reports.url } });
  assert.equal(reportIn((await reports.received(1))[0]!).status, 489);
});

test('6 rule 1: every callback is charged as a regular message', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 500);
  const reports = await startReceiver(t);
  const headers = {
    'Service-Retries': '2',
    'Service-Callback': `${reports.url}/each`,
    'Service-Failure-Callback': `${reports.url}/failed`,
  };
  const messageId = await rider.accepted(receiver.url, { headers });
  assert.deepEqual((await usageOf(rider)).publish, 1);
  await rider.attempted(messageId, 1);
  await rider.advance(1000);
  await rider.attempted(messageId, 2);
  await rider.advance(7390);
  await rider.ended(messageId);
  assert.deepEqual(await usageOf(rider), { callback: 3, failureCallback: 1, publish: 1 });
});

test('6 rule 1: a topic is charged one message per endpoint', async (t) => {
  const rider = await startRider(t);
  const endpoints = [{ url: 'http://127.0.0.1:1/a' }, { url: 'http://127.0.0.1:1/b' }, { url: 'http://127.0.0.1:1/c' }];
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints });
  await rider.enqueue('q', 'news');
  await rider.batch([{ destination: 'news' }, { destination: 'http://127.0.0.1:1/' }]);
  assert.deepEqual(await usageOf(rider), { publish: 7 });
});
