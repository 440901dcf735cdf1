// Section 8 of the spec, rule 4, leaves sizes and lengths open. These are the limits the service has, each at its edge:
// the last value that is taken and the first that is refused.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask, exchange } from '../../support/client.ts';
import { type CallOptions, type Rider, refusal, ridersOfOneService } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

const URL_ = 'http://127.0.0.1:1/';
const MIB = 1024 * 1024;

async function requireTaken(rider: Rider, options: CallOptions): Promise<void> {
  const answer = await rider.enqueue('q', URL_, options);
  assert.equal(answer.status, 201, answer.text);
}

async function requireOver(rider: Rider, options: CallOptions, says: RegExp): Promise<void> {
  assert.match(refusal(await rider.enqueue('q', URL_, options), 412, 'limit_exceeded'), says);
}

test('8.4 limits: 100 retries are accepted, 101 are refused with 412', async (t) => {
  const rider = await startRider(t);
  await requireTaken(rider, { headers: { 'Service-Retries': '100' } });
  await requireOver(rider, { headers: { 'Service-Retries': '101' } }, /^Service-Retries \(101\).*free tier: 100$/);
});

test('8.4 limits: a delay of a year is accepted, a longer one is refused with 412', async (t) => {
  const rider = await startRider(t);
  await requireTaken(rider, { headers: { 'Service-Delay': '365d' } });
  await requireOver(rider, { headers: { 'Service-Delay': '365d1ms' } }, /^Service-Delay .*365d/);
  const seconds = rider.clock.now() / 1000;
  await requireTaken(rider, { headers: { 'Service-Not-Before': String(seconds + 365 * 86_400) } });
  await requireOver(
    rider,
    { headers: { 'Service-Not-Before': String(seconds + 366 * 86_400) } },
    /^Service-Not-Before .*365d/,
  );
});

test('8.4 limits: Service-Not-Before overrides Service-Delay, and a time in the past means now', async (t) => {
  const rider = await startRider(t);
  const seconds = rider.clock.now() / 1000;
  for (const [notBefore, ms] of [
    [seconds + 10, 10_000],
    [seconds + 0.25, 250],
    [seconds - 10, 0],
  ] as const) {
    const headers = { 'Service-Delay': '1h', 'Service-Not-Before': String(notBefore) };
    const message = await rider.message(await rider.accepted(URL_, { headers }));
    assert.equal(message.notBefore - message.createdAt, ms);
  }
});

test('8.4 limits: the free tier accepts a timeout of 15 minutes, the paid tier 2 hours; a longer one is refused with 412', async (t) => {
  const rider = await startRider(t);
  const { token } = await rider.account('payer', 'paid');
  await requireTaken(rider, { headers: { 'Service-Timeout': '15m' } });
  await requireOver(rider, { headers: { 'Service-Timeout': '15m1ms' } }, /^Service-Timeout .*free tier: 15m$/);
  await requireTaken(rider, { token, headers: { 'Service-Timeout': '2h' } });
  await requireOver(rider, { token, headers: { 'Service-Timeout': '2h1ms' } }, /^Service-Timeout .*paid tier: 2h$/);
});

test('8.4 limits: a body over the limit of the tier is refused with 412, whether its length is announced or not', async (t) => {
  const rider = await startRider(t);
  await requireTaken(rider, { body: Buffer.alloc(MIB) });
  for (const bytes of [MIB + 1, 3 * MIB, 20 * MIB]) {
    await requireOver(rider, { body: Buffer.alloc(bytes) }, /^the body exceeds .* free tier: 1048576 bytes$/);
    const chunked = await fetch(`${rider.url}/v2/enqueue/q/${URL_}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${rider.token}` },
      body: ReadableStream.from([Buffer.alloc(bytes / 2), Buffer.alloc(bytes / 2 + 1)]),
      duplex: 'half',
    });
    assert.equal(chunked.status, 412);
    assert.equal(((await chunked.json()) as { code: string }).code, 'limit_exceeded');
  }
  assert.equal((await rider.call('GET', '/healthz')).status, 200);
});

test('8.4 limits: a body over 10 MiB is refused with 412 on the paid tier', async (t) => {
  const rider = await startRider(t);
  const { token } = await rider.account('payer', 'paid');
  await requireOver(rider, { token, body: Buffer.alloc(10 * MIB + 1) }, /paid tier: 10485760 bytes$/);
});

test('8.4 limits: the limits of a tier are settings, and null removes a limit', async (t) => {
  const tiers = { free: { retriesDefault: 1, retriesMax: 2, bodyBytesMax: 10, delayMsMax: null } };
  const rider = await startRider(t, { flags: ['--tiers', JSON.stringify(tiers)] });
  assert.equal((await rider.message(await rider.accepted(URL_))).maxRetries, 1);
  await requireTaken(rider, { headers: { 'Service-Retries': '2' } });
  await requireOver(rider, { headers: { 'Service-Retries': '3' } }, /free tier: 2$/);
  await requireTaken(rider, { body: '0123456789' });
  await requireOver(rider, { body: '0123456789a' }, /10 bytes$/);
  await requireTaken(rider, { headers: { 'Service-Delay': '5000d' } });
});

test('8.4 limits: a request over the hard limit of the server is refused with 413', async (t) => {
  const rider = await startRider(t, { flags: ['--request-bytes-max', '2KiB'] });
  await requireTaken(rider, { body: Buffer.alloc(2048) });
  const publish = await rider.enqueue('q', URL_, { body: Buffer.alloc(2049) });
  assert.match(refusal(publish, 413, 'request_too_large'), /limit of this server: 2048 bytes/);
  const batch = await rider.batch([{ destination: URL_, body: 'x'.repeat(2048) }]);
  assert.match(refusal(batch, 413, 'request_too_large'), /limit of this server: 2048 bytes/);
});

test('8.4 limits: the maximum of elements in a batch is a setting', async (t) => {
  const rider = await startRider(t, { flags: ['--batch-max', '2'] });
  const element = { destination: URL_ };
  assert.equal((await rider.batch([element, element])).status, 201);
  assert.match(refusal(await rider.batch([element, element, element]), 400, 'batch_too_long'), /the limit is 2/);
});

test('8.4 limits: a request line and headers over 64 KiB are refused with 431', async (t) => {
  const rider = await startRider(t);
  const head = `GET /healthz HTTP/1.1\r\nHost: localhost\r\n`;
  const taken = await exchange(rider.url, `${head}X: ${'x'.repeat(60_000)}\r\n\r\n`);
  assert.equal(taken!.status, 200);
  const refused = await exchange(rider.url, `${head}X: ${'x'.repeat(66_000)}\r\n\r\n`);
  refusal(refused!, 431, 'headers_too_large');
});

test('8.4 limits: a header that controls a delivery is read, even after 3,000 other headers', async (t) => {
  const rider = await startRider(t);
  const others = Array.from({ length: 3000 }, (_, index) => `X-${index}: 1\r\n`).join('');
  const head = `POST /v2/enqueue/q/${URL_} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${rider.token}\r\n`;
  const answer = await exchange(rider.url, `${head}${others}Service-Retries: x\r\nContent-Length: 0\r\n\r\n`);
  assert.match(refusal(answer!, 400, 'bad_header'), /^Service-Retries: /);
});

test('8.4 limits: a message that comes back more than 5 times is refused as a loop', async (t) => {
  const rider = await startRider(t);
  const answers: number[] = [];
  // Sends each delivery back in, as a misconfigured proxy would, with the headers it came with.
  const relay = await startReceiver(t, async (arrival) => {
    const headers = Object.fromEntries(arrival.headers.filter(([name]) => /^service-/i.test(name)));
    const again = await ask(rider.url, `/v2/publish/${relay.url}`, {
      method: 'POST',
      headers: { ...headers, Authorization: `Bearer ${rider.token}` },
    });
    answers.push(again.status);
    return again.status === 201 ? 200 : { status: 489, body: again.text };
  });
  await rider.accepted(relay.url);
  const arrivals = await relay.received(6);
  assert.deepEqual(
    arrivals.map((arrival) => arrival.header('Service-Hops')),
    ['1', '2', '3', '4', '5', '6'],
  );
  const last = await rider.ended(arrivals[5]!.header('Service-Message-Id')!);
  assert.equal(last.state, 'FAILED');
  assert.deepEqual(answers, [201, 201, 201, 201, 201, 400]);
});
