// Section 4.1 of the spec, the table of request headers but for the forwarded ones: each with its default, left empty,
// valid, and invalid.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusal, ridersOfOneService, sharedRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

const shared = sharedRider();

/** Every one of these values must be refused with 400 and a text that starts with the name of the header. */
async function requireRefused(header: string, values: readonly string[]): Promise<void> {
  for (const value of values) {
    const answer = await shared().enqueue('q', 'https://example.com', { headers: { [header]: value } });
    const error = refusal(answer, 400, 'bad_header');
    assert.ok(error.startsWith(`${header}: `), `${header}: ${value} → ${error}`);
  }
}

test('4.1 Content-Type: it is forwarded unchanged', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const types = [
    'application/json',
    'application/xml',
    'application/octet-stream',
    'text/plain',
    'Text/HTML;charset="utf-8"; x=Y',
    'not a type at all',
  ];
  for (const type of types) await rider.accepted(receiver.url, { headers: { 'Content-Type': type } });
  const arrivals = await receiver.received(types.length);
  assert.deepEqual(
    arrivals.map((arrival) => arrival.values('Content-Type')),
    types.map((type) => [type]),
  );
});

test('4.1 Content-Type: none is sent when none was given or it was left empty', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  await rider.accepted(receiver.url, { body: '{"a":1}' });
  await rider.accepted(receiver.url, { body: '{"a":1}', headers: { 'Content-Type': '' } });
  for (const arrival of await receiver.received(2)) assert.deepEqual(arrival.values('Content-Type'), []);
});

test('4.1 Content-Type: a value that cannot be sent, or two values, are refused', async (t) => {
  const rider = await startRider(t);
  const answer = await rider.batch([
    { destination: 'https://example.com', headers: { 'Content-Type': ['text/plain', 'text/html'] } },
    { destination: 'https://example.com', headers: { 'Content-Type': 'text/plain\r\nX-Evil: 1' } },
  ]);
  for (const entry of answer.json<{ error: string; code: string }[]>()) {
    assert.equal(entry.code, 'bad_header');
    assert.match(entry.error, /^Content-Type: /);
  }
});

test('4.1 Service-Method: POST when it is absent or left empty', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  await rider.accepted(receiver.url);
  await rider.accepted(receiver.url, { headers: { 'Service-Method': '' } });
  await rider.accepted(receiver.url, { headers: { 'Service-Method': '  ' } });
  for (const { method } of await receiver.received(3)) assert.equal(method, 'POST');
});

test('4.1 Service-Method: the delivery uses it, with the body', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'get'];
  for (const method of methods) {
    await rider.accepted(receiver.url, { body: 'x', headers: { 'Service-Method': method } });
  }
  const arrivals = await receiver.received(methods.length);
  assert.deepEqual(
    arrivals.map(({ method, body }) => `${method} ${body}`),
    methods.map((method) => `${method.toUpperCase()} x`),
  );
});

test('4.1 Service-Method: an unsupported method is refused with 400', async () => {
  await requireRefused('Service-Method', ['HEAD', 'CONNECT', 'POSTS', 'GET POST', '1', 'G\u00c9T']);
});

test('4.1 Service-Retries: 3 on the free tier and 5 on the paid one when it is absent or left empty', async (t) => {
  const rider = await startRider(t);
  const { token } = await rider.account('payer', 'paid');
  for (const headers of [{}, { 'Service-Retries': '' }]) {
    const free = await rider.accepted('http://127.0.0.1:1/', { headers, queue: 'free' });
    const paid = await rider.accepted('http://127.0.0.1:1/', { headers, token });
    assert.equal((await rider.message(free)).maxRetries, 3);
    assert.equal((await rider.message(paid, token)).maxRetries, 5);
  }
});

test('4.1 Service-Retries: whole numbers from 0 on are accepted', async (t) => {
  const rider = await startRider(t);
  for (const retries of [0, 1, 7, 100]) {
    const messageId = await rider.accepted('http://127.0.0.1:1/', { headers: { 'Service-Retries': `${retries}` } });
    assert.equal((await rider.message(messageId)).maxRetries, retries);
  }
});

test('4.1 Service-Retries: anything but a whole number is refused with 400', async () => {
  const values = ['-1', '1.5', 'three', '0x3', '1e2', '+1', '3 4', 'NaN', 'null'];
  await requireRefused('Service-Retries', values);
});

test('4.1 Service-Delay: without it, or left empty, the message is due at once', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  await rider.accepted(receiver.url);
  await rider.accepted(receiver.url, { headers: { 'Service-Delay': '' } });
  await receiver.received(2);
  assert.equal(rider.clock.now(), Date.UTC(2026, 0, 1));
});

test('4.1 Service-Delay: the delivery starts when the delay is over, to the millisecond', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const messageId = await rider.accepted(receiver.url, { headers: { 'Service-Delay': '10s' } });
  const message = await rider.message(messageId);
  assert.equal(message.notBefore - message.createdAt, 10_000);
  await rider.advance(9999);
  assert.equal((await rider.message(messageId)).state, 'CREATED');
  assert.equal(receiver.arrivals.length, 0);
  await rider.advance(1);
  const { attempts } = await rider.ended(messageId);
  assert.equal(attempts[0]!.startedAt - message.createdAt, 10_000);
});

test('4.1 Service-Delay: seconds, and the units ms, m, h and d, alone or together', async (t) => {
  const rider = await startRider(t);
  const delays: readonly (readonly [string, number])[] = [
    ['90s', 90_000],
    ['250ms', 250],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['1d10h30m', 124_200_000],
    ['1.5s', 1500],
    ['7', 7000],
    ['0s', 0],
    ['365d', 31_536_000_000],
  ];
  for (const [text, ms] of delays) {
    const messageId = await rider.accepted('http://127.0.0.1:1/', { headers: { 'Service-Delay': text } });
    const { notBefore, createdAt } = await rider.message(messageId);
    assert.equal(notBefore - createdAt, ms, text);
  }
});

test('4.1 Service-Delay: anything but a duration is refused with 400', async () => {
  const values = ['soon', '10x', '-5s', 's', '10 s 3', '1m30', '1s,2s', '1e3s', 'Infinity', '9e99d'];
  await requireRefused('Service-Delay', values);
});

for (const header of ['Service-Callback', 'Service-Failure-Callback'] as const) {
  const field = header === 'Service-Callback' ? 'callback' : 'failureCallback';

  test(`4.1 ${header}: an http or https URL is used as it is`, async (t) => {
    const rider = await startRider(t);
    for (const url of ['http://127.0.0.1:1/a%2Fb?x=//', 'https://example.com', 'HTTPS://Example.com/A']) {
      const options = { headers: { [header]: url, 'Service-Delay': '1d' } };
      const message = await rider.message(await rider.accepted('https://example.com', options));
      assert.equal(message[field], url);
    }
  });

  test(`4.1 ${header}: absent or left empty, there is none`, async (t) => {
    const rider = await startRider(t);
    for (const headers of [{}, { [header]: '' }]) {
      const options = { headers: { ...headers, 'Service-Delay': '1d' } };
      const message = await rider.message(await rider.accepted('https://example.com', options));
      assert.equal(field in message, false);
    }
  });

  test(`4.1 ${header}: what does not start with http:// or https://, or is not a URL, is refused with 400`, async () => {
    const values = [
      'example.com/hook',
      'ftp://example.com',
      '/hook',
      'my-topic',
      'http://',
      'https://user:secret@example.com/',
      'https://example.com/#part',
      'https://exa mple.com/',
      'http:/example.com',
      `https://example.com/${'x'.repeat(2048)}`,
    ];
    await requireRefused(header, values);
  });
}

test('4.1 headers: a header that may be given once is refused when it is given twice', async (t) => {
  const rider = await startRider(t);
  for (const header of ['Service-Method', 'Service-Retries', 'Service-Delay', 'Service-Callback']) {
    const answer = await rider.enqueue('q', 'https://example.com', { headers: { [header]: ['1', '1'] } });
    assert.equal(refusal(answer, 400, 'bad_header'), `${header}: given 2 times; give it once`);
  }
});

test('4.1 headers: names are accepted in any letter case', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const headers = { 'service-METHOD': 'PUT', 'SERVICE-RETRIES': '7', 'service-forward-X-a': 'b' };
  const messageId = await rider.accepted(receiver.url, { headers });
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.method, 'PUT');
  assert.equal(arrival!.header('X-a'), 'b');
  assert.equal((await rider.message(messageId)).maxRetries, 7);
});

test('4.1 headers: an unknown header with the prefix of the service is ignored and not forwarded', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const headers = { 'Service-Telemetry-Sdk': 'client/1', 'Service-Message-Id': 'msg_mine', 'X-Request-Id': 'r1' };
  const messageId = await rider.accepted(receiver.url, { headers });
  const [arrival] = await receiver.received(1);
  assert.deepEqual(arrival!.values('Service-Telemetry-Sdk'), []);
  assert.deepEqual(arrival!.values('Service-Message-Id'), [messageId]);
  assert.deepEqual(arrival!.values('X-Request-Id'), []);
});

test('4.1 Authorization: it is for the service and is not forwarded', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  await rider.accepted(receiver.url, { headers: { Cookie: 'a=b' } });
  const [arrival] = await receiver.received(1);
  assert.deepEqual(arrival!.values('Authorization'), []);
  assert.deepEqual(arrival!.values('Cookie'), []);
  assert.equal(arrival!.head.includes(rider.token!), false);
});
