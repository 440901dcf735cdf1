// What every delivery carries besides the caller's own headers: who sent it, which message and attempt it is, and the
// signatures, checked here with an implementation that is not ours. All of it under the prefix that is set.

import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { test } from 'node:test';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import { VERSION } from '../../../src/node/main.ts';
import { type Rider, ridersOfOneService } from '../../support/harness.ts';
import { type Arrival, inTurn, startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

interface Keys {
  readonly current: string;
  readonly next: string;
}

const keysOf = (rider: Rider) => rider.manage<Keys>('GET', '/v2/keys');

function verify(arrival: Arrival, key: string, rider: Rider, prefix = 'Service-') {
  return jwtVerify(arrival.header(`${prefix}Signature`)!, new TextEncoder().encode(key), {
    currentDate: new Date(rider.clock.now()),
    algorithms: ['HS256'],
  });
}

test('a delivery names the message, the attempt, the queue, the caller and the sender', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, inTurn(500, 200));
  const messageId = await rider.accepted(receiver.url, { queue: 'orders' });
  await rider.attempted(messageId, 1);
  await rider.advance(1000);
  const arrivals = await receiver.received(2);
  for (const [index, arrival] of arrivals.entries()) {
    assert.deepEqual(arrival.values('Service-Message-Id'), [messageId]);
    assert.deepEqual(arrival.values('Service-Retried'), [String(index)]);
    assert.deepEqual(arrival.values('Service-Queue-Name'), ['orders']);
    assert.deepEqual(arrival.values('Service-Caller-Ip'), ['127.0.0.1']);
    assert.deepEqual(arrival.values('User-Agent'), [`postrider/${VERSION}`]);
    assert.deepEqual(arrival.values('Service-Topic-Name'), []);
  }
});

test('a delivery from a topic names it', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const { id } = await rider.manage<{ id: string }>('POST', '/v2/topics/news/endpoints', {
    endpoints: [{ url: receiver.url }],
  });
  await rider.call('POST', `/v2/publish/${id}`);
  const [arrival] = await receiver.received(1);
  assert.deepEqual(arrival!.values('Service-Topic-Name'), ['news']);
  assert.deepEqual(arrival!.values('Service-Queue-Name'), []);
});

test('the signature is a JWT over URL and body that verifies with the current key, and with no other', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const url = `${receiver.url}/a%2Fb?x=//`;
  const body = Buffer.from([0, 255, 128, 10]);
  await rider.accepted(url, { body });
  const [arrival] = await receiver.received(1);
  const { current, next } = await keysOf(rider);
  const { payload } = await verify(arrival!, current, rider);
  const nowS = rider.clock.now() / 1000;
  assert.deepEqual(decodeProtectedHeader(arrival!.header('Service-Signature')!), { alg: 'HS256', typ: 'JWT' });
  assert.equal(payload.iss, 'Service');
  assert.equal(payload.sub, url);
  assert.equal(payload.iat, nowS);
  assert.equal(payload.nbf, nowS);
  assert.equal(payload.exp, nowS + 300);
  assert.match(payload.jti ?? '', /^jwt_/);
  assert.equal(payload.body, createHash('sha256').update(body).digest('base64url'));
  await assert.rejects(verify(arrival!, next, rider), { code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' });
});

test('every attempt is signed anew, with its own time', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, inTurn(500, 200));
  const messageId = await rider.accepted(receiver.url);
  const startedAt = rider.clock.now();
  await rider.attempted(messageId, 1);
  await rider.advance(1000);
  const { current } = await keysOf(rider);
  const claims = [];
  for (const arrival of await receiver.received(2)) claims.push((await verify(arrival, current, rider)).payload);
  assert.deepEqual(
    claims.map(({ iat }) => iat! * 1000 - startedAt),
    [0, 1000],
  );
  assert.notEqual(claims[0]!.jti, claims[1]!.jti);
});

test('the Standard Webhooks headers verify with the current key', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const messageId = await rider.accepted(receiver.url, { body: 'payload' });
  const [arrival] = await receiver.received(1);
  const timestamp = String(rider.clock.now() / 1000);
  assert.deepEqual(arrival!.values('webhook-id'), [messageId]);
  assert.deepEqual(arrival!.values('webhook-timestamp'), [timestamp]);
  const { current } = await keysOf(rider);
  const mac = createHmac('sha256', current).update(`${messageId}.${timestamp}.payload`).digest('base64');
  assert.deepEqual(arrival!.values('webhook-signature'), [`v1,${mac}`]);
});

test('after a rotation, deliveries are signed with what was the next key; those before keep verifying', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  await rider.accepted(receiver.url);
  const [before] = await receiver.received(1);
  const old = await keysOf(rider);
  const rotated = await rider.manage<Keys>('POST', '/v2/keys/rotate');
  assert.equal(rotated.current, old.next);
  assert.notEqual(rotated.next, old.next);
  assert.notEqual(rotated.next, old.current);
  assert.deepEqual(await keysOf(rider), rotated);
  await rider.accepted(receiver.url);
  const [, after] = await receiver.received(2);
  await verify(after!, old.next, rider);
  await verify(before!, old.current, rider);
  await assert.rejects(verify(after!, old.current, rider));
});

test('a retry after a rotation is signed with the new current key', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, inTurn(500, 200));
  const messageId = await rider.accepted(receiver.url);
  await rider.attempted(messageId, 1);
  const rotated = await rider.manage<Keys>('POST', '/v2/keys/rotate');
  await rider.advance(1000);
  const [, retry] = await receiver.received(2);
  await verify(retry!, rotated.current, rider);
});

test('each account signs with its own keys', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const { token } = await rider.account('other');
  await rider.accepted(receiver.url, { token });
  const [arrival] = await receiver.received(1);
  await assert.rejects(verify(arrival!, (await keysOf(rider)).current, rider));
  await verify(arrival!, (await rider.manage<Keys>('GET', '/v2/keys', undefined, token)).current, rider);
});

test('traceparent and tracestate pass through, also those of a batch; an element may have its own', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const trace = (id: string) => `00-${id.repeat(32)}-${id.repeat(16)}-01`;
  const headers = { traceparent: trace('a'), tracestate: 'v=1' };
  await rider.accepted(`${receiver.url}/enqueue`, { headers });
  const elements = [
    { destination: `${receiver.url}/batch` },
    { destination: `${receiver.url}/own`, headers: { traceparent: trace('b') } },
  ];
  await rider.batch(elements, { headers });
  const arrivals = new Map((await receiver.received(3)).map((arrival) => [arrival.target, arrival]));
  assert.deepEqual(arrivals.get('/enqueue')!.values('traceparent'), [trace('a')]);
  assert.deepEqual(arrivals.get('/enqueue')!.values('tracestate'), ['v=1']);
  assert.deepEqual(arrivals.get('/batch')!.values('traceparent'), [trace('a')]);
  assert.deepEqual(arrivals.get('/own')!.values('traceparent'), [trace('b')]);
});

test('with another prefix every own header is renamed, in and out, and the issuer with it', async (t) => {
  const flags = ['--header-prefix', 'Upstash-', '--trusted-proxy', '127.0.0.0/8'];
  const rider = await startRider(t, { flags });
  const notRetryable = { status: 500, headers: { 'Upstash-NonRetryable-Error': 'true' } };
  const receiver = await startReceiver(t, () => notRetryable);
  const reports = await startReceiver(t);
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [{ url: receiver.url }] });
  const headers = {
    'Upstash-Method': 'PUT',
    'Upstash-Retries': '7',
    'Upstash-Forward-X-Tag': '1',
    'Upstash-Forward-Service-Retries': 'not ours here',
    'Upstash-Failure-Callback': reports.url,
    'Service-Method': 'PATCH',
    'Service-Retries': 'ignored',
    'X-Forwarded-For': '198.51.100.1, 203.0.113.7',
  };
  const answer = await rider.enqueue('orders', 'news', { headers });
  const [{ messageId }] = answer.json<[{ messageId: string }]>();
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.method, 'PUT');
  assert.deepEqual(arrival!.values('X-Tag'), ['1']);
  assert.deepEqual(arrival!.values('Service-Retries'), ['not ours here']);
  assert.deepEqual(arrival!.values('Upstash-Message-Id'), [messageId]);
  assert.deepEqual(arrival!.values('Upstash-Retried'), ['0']);
  assert.deepEqual(arrival!.values('Upstash-Queue-Name'), ['orders']);
  assert.deepEqual(arrival!.values('Upstash-Topic-Name'), ['news']);
  assert.deepEqual(arrival!.values('Upstash-Caller-Ip'), ['203.0.113.7'], 'as the trusted proxy says');
  const serviceHeaders = arrival!.headers.filter(([name]) => /^service-/i.test(name));
  assert.deepEqual(serviceHeaders, [['Service-Retries', 'not ours here']]);
  const { payload } = await verify(arrival!, (await keysOf(rider)).current, rider, 'Upstash-');
  assert.equal(payload.iss, 'Upstash');
  const message = await rider.ended(messageId);
  assert.equal(message.maxRetries, 7);
  assert.equal(message.attempts.length, 1);
  assert.equal((await reports.received(1)).length, 1);
});
