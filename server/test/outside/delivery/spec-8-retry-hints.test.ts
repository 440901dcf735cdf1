// Section 8 of the spec leaves open what a receiver may say about retries: it may put one off, or call them all off,
// and the publisher may replace the formula.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusal, ridersOfOneService, sharedRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

const HINTS: readonly (readonly [what: string, headers: Readonly<Record<string, string>>, waitMs: number])[] = [
  ['Retry-After in seconds moves it later', { 'Retry-After': '120' }, 120_000],
  ['Retry-After below the backoff moves nothing', { 'Retry-After': '0.5' }, 1000],
  ['Retry-After of 0 means now', { 'Retry-After': '0' }, 0],
  ['Retry-After in the past moves nothing', { 'Retry-After': 'Thu, 01 Jan 2015 00:00:00 GMT' }, 1000],
  ['Retry-After is cut to one day', { 'Retry-After': '864000' }, 86_400_000],
  ['Retry-After that cannot be read moves nothing', { 'Retry-After': 'later' }, 1000],
  ['X-RateLimit-Reset moves it later', { 'X-RateLimit-Reset': '30' }, 30_000],
  ['X-RateLimit-Reset-Requests as a duration moves it later', { 'X-RateLimit-Reset-Requests': '1m30s' }, 90_000],
];

const shared = sharedRider();

for (const [what, headers, waitMs] of HINTS) {
  test(`8.3 backoff and what the receiver asks for: ${what}`, async (t) => {
    const rider = shared();
    const receiver = await startReceiver(t, (_arrival, index) => (index === 0 ? { status: 429, headers } : 200));
    const messageId = await rider.accepted(receiver.url);
    await rider.attempted(messageId, 1);
    if (waitMs > 0) {
      await rider.advance(waitMs - 1);
      assert.equal((await rider.message(messageId)).attempts.length, 1);
      await rider.advance(1);
    }
    const { attempts } = await rider.ended(messageId);
    assert.equal(attempts[1]!.startedAt - attempts[0]!.endedAt, waitMs);
  });
}

test('8.3 backoff and what the receiver asks for: Retry-After as a date delays the attempt until then', async (t) => {
  const rider = await startRider(t);
  const date = new Date(rider.clock.now() + 300_000);
  const headers = { 'Retry-After': date.toUTCString() };
  const receiver = await startReceiver(t, (_arrival, index) => (index === 0 ? { status: 503, headers } : 200));
  const messageId = await rider.accepted(receiver.url);
  await rider.attempted(messageId, 1);
  await rider.advance(299_999);
  await rider.advance(1);
  const { attempts } = await rider.ended(messageId);
  assert.equal(attempts[1]!.startedAt, date.getTime());
});

for (const [what, answer] of [
  ['the status 489', { status: 489 }],
  ['Service-NonRetryable-Error: true', { status: 500, headers: { 'Service-NonRetryable-Error': 'true' } }],
  ['service-nonretryable-error: TRUE', { status: 404, headers: { 'service-nonretryable-error': 'TRUE' } }],
] as const) {
  test(`8.1 total deliveries: ${what} ends the retries`, async (t) => {
    const rider = shared();
    const receiver = await startReceiver(t, () => answer);
    const message = await rider.ended(await rider.accepted(receiver.url));
    assert.equal(message.state, 'FAILED');
    assert.match(message.failure ?? '', /requested no retry/);
    await rider.advance(86_400_000);
    assert.equal(receiver.arrivals.length, 1);
  });
}

test('8.1 total deliveries: the header against retries has no effect on a success, or with another value', async (t) => {
  const rider = await startRider(t);
  const headers = { 'Service-NonRetryable-Error': 'true' };
  const happy = await startReceiver(t, () => ({ status: 200, headers }));
  assert.equal((await rider.ended(await rider.accepted(happy.url))).state, 'DELIVERED');
  const unsure = await startReceiver(t, () => ({ status: 500, headers: { 'Service-NonRetryable-Error': 'false' } }));
  assert.equal((await rider.attempted(await rider.accepted(unsure.url), 1)).state, 'RETRY');
});

test('8.3 backoff: Service-Retry-Delay replaces the formula', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 500);
  const headers = { 'Service-Retries': '3', 'Service-Retry-Delay': '100 * pow(2, retried) + 1' };
  const messageId = await rider.accepted(receiver.url, { headers });
  for (const [index, ms] of [101, 201, 401].entries()) {
    await rider.attempted(messageId, index + 1);
    await rider.advance(ms - 1);
    await rider.advance(1);
  }
  const { attempts } = await rider.ended(messageId);
  const gaps = attempts.slice(1).map(({ startedAt }, index) => startedAt - attempts[index]!.endedAt);
  assert.deepEqual(gaps, [101, 201, 401]);
});

test('8.3 backoff: a Service-Retry-Delay that cannot be computed is refused with 400', async (t) => {
  const rider = await startRider(t);
  for (const expression of ['retried +', 'process.exit()', 'x', '1;2', 'pow(1)', '`a`', '1 2']) {
    const answer = await rider.enqueue('q', 'https://example.com', { headers: { 'Service-Retry-Delay': expression } });
    assert.match(refusal(answer, 400, 'bad_header'), /^Service-Retry-Delay: /, expression);
  }
});
