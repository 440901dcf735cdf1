// Section 8 of the spec, rules 1 to 3: how often a message is delivered at most, the default number of retries, and
// the backoff between attempts, exact to the millisecond.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type MessageView, type Rider, ridersOfOneService, sharedRider } from '../../support/harness.ts';
import { type Answer, inTurn, startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

/** The smaller of 86400 and e^(2n) seconds, in whole milliseconds, never less than the formula says. */
const BACKOFF_MS = [1000, 7390, 54_599, 403_429, 2_980_958, 22_026_466, 86_400_000, 86_400_000];

/** Lets every wait pass but for its last millisecond, looks that nothing started, then lets that pass too. */
async function passWaits(rider: Rider, messageId: string, waitsMs: readonly number[], token?: string): Promise<void> {
  for (const [index, ms] of waitsMs.entries()) {
    const { nextDeliveryTime } = await rider.attempted(messageId, index + 1, token);
    assert.equal(nextDeliveryTime, rider.clock.now() + ms);
    await rider.advance(ms - 1);
    assert.equal((await rider.message(messageId, token)).attempts.length, index + 1);
    await rider.advance(1);
  }
}

/** The time between the end of each attempt and the start of the next. */
function gapsMs({ attempts }: MessageView): number[] {
  return attempts.slice(1).map(({ startedAt }, index) => startedAt - attempts[index]!.endedAt);
}

for (const [tier, retries] of [
  ['free', 3],
  ['paid', 5],
] as const) {
  test(`8.2 default retries: ${retries} on the ${tier} tier, so ${retries + 1} deliveries and no more`, async (t) => {
    const rider = await startRider(t);
    const receiver = await startReceiver(t, () => 500);
    const { token } = await rider.account('other', tier);
    const messageId = await rider.accepted(receiver.url, { token, headers: { 'Service-Retries': '' } });
    await passWaits(rider, messageId, BACKOFF_MS.slice(0, retries), token);
    const message = await rider.ended(messageId, token);
    assert.equal(message.state, 'FAILED');
    assert.equal(message.attempts.length, 1 + retries);
    await rider.advance(86_400_000);
    assert.equal(receiver.arrivals.length, 1 + retries);
  });
}

test('8.2 default retries: a change of tier applies to messages that are published after it', async (t) => {
  const rider = await startRider(t);
  const { token, accountId } = await rider.account('other', 'free');
  const before = await rider.accepted('http://127.0.0.1:1/', { token });
  await rider.manage('PATCH', `/v2/admin/accounts/${accountId}`, { tier: 'paid' });
  const after = await rider.accepted('http://127.0.0.1:1/', { token });
  assert.equal((await rider.message(before, token)).maxRetries, 3);
  assert.equal((await rider.message(after, token)).maxRetries, 5);
});

for (const retries of [0, 1, 2]) {
  test(`8.1 total deliveries: with ${retries} retries there are at most ${1 + retries}`, async (t) => {
    const rider = await startRider(t);
    const receiver = await startReceiver(t, () => 500);
    const messageId = await rider.accepted(receiver.url, { headers: { 'Service-Retries': `${retries}` } });
    await passWaits(rider, messageId, BACKOFF_MS.slice(0, retries));
    assert.equal((await rider.ended(messageId)).state, 'FAILED');
    await rider.advance(2 * 86_400_000);
    assert.equal(receiver.arrivals.length, 1 + retries);
  });
}

test('8.1 total deliveries: a success ends them', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, inTurn(500, 204));
  const messageId = await rider.accepted(receiver.url);
  await passWaits(rider, messageId, [1000]);
  const message = await rider.ended(messageId);
  assert.equal(message.state, 'DELIVERED');
  assert.equal(message.retried, 1);
  await rider.advance(86_400_000);
  assert.equal(receiver.arrivals.length, 2);
});

test('8.3 backoff: min(86400, e^(2n)) seconds, n = retries so far, up to one day and never earlier', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 500);
  const messageId = await rider.accepted(receiver.url, { headers: { 'Service-Retries': '8' } });
  await passWaits(rider, messageId, BACKOFF_MS);
  const message = await rider.ended(messageId);
  assert.deepEqual(gapsMs(message), BACKOFF_MS);
  for (const [n, ms] of BACKOFF_MS.entries()) {
    const formulaMs = Math.min(86_400, Math.exp(2 * n)) * 1000;
    assert.ok(ms >= formulaMs && ms < formulaMs + 1, `${n}: ${ms} is not ${formulaMs}`);
  }
  assert.deepEqual(
    receiver.arrivals.map((arrival) => arrival.header('Service-Retried')),
    ['0', '1', '2', '3', '4', '5', '6', '7', '8'],
  );
});

const FAILURES: readonly (readonly [what: string, answer: Answer])[] = [
  ['a 3xx, which is never followed', (arrival) => redirectOf(arrival.header('Host')!)],
  ['a 4xx', () => 404],
  ['a 5xx', () => 503],
  ['a 304', () => 304],
  ['a connection that closes without an answer', () => 'reset'],
];

function redirectOf(host: string) {
  return { status: 302, headers: { Location: `http://${host}/elsewhere` } };
}

const shared = sharedRider();

for (const [what, answer] of FAILURES) {
  test(`8.3 backoff: ${what} is a failed attempt and retried`, async (t) => {
    const rider = shared();
    const receiver = await startReceiver(t, answer);
    const messageId = await rider.accepted(`${receiver.url}/here`, { headers: { 'Service-Retries': '1' } });
    await passWaits(rider, messageId, [1000]);
    assert.equal((await rider.ended(messageId)).state, 'FAILED');
    assert.deepEqual(
      receiver.arrivals.map(({ target }) => target),
      ['/here', '/here'],
    );
  });
}

test('8.3 backoff: an attempt without a response in time is a failed attempt', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, (_arrival, index) => (index === 0 ? 'hang' : 200));
  const messageId = await rider.accepted(receiver.url, { headers: { 'Service-Timeout': '7s' } });
  await receiver.received(1);
  await rider.advance(6999);
  assert.equal((await rider.message(messageId)).state, 'ACTIVE');
  await rider.advance(1);
  const { attempts } = await rider.attempted(messageId, 1);
  assert.equal(attempts[0]!.outcome, 'timedOut');
  assert.equal(attempts[0]!.error, 'no complete response within 7s');
  await rider.advance(1000);
  assert.equal((await rider.ended(messageId)).state, 'DELIVERED');
});

test('8.3 backoff: a closed port and an unknown host name are failed attempts with different errors', async (t) => {
  const rider = await startRider(t);
  const refused = await rider.accepted('http://127.0.0.1:1/', { headers: { 'Service-Retries': '0' } });
  assert.match((await rider.ended(refused)).failure ?? '', /connection refused by 127\.0\.0\.1:1/);
  const url = 'http://no-such-host.invalid/';
  const unknown = await rider.accepted(url, { queue: 'other', headers: { 'Service-Retries': '1' } });
  const { attempts, state } = await rider.attempted(unknown, 1);
  assert.equal(attempts[0]!.outcome, 'unreachable');
  assert.match(attempts[0]!.error ?? '', /no-such-host\.invalid/);
  assert.equal(state, 'RETRY');
});

for (const status of [200, 201, 202, 204, 299]) {
  test(`8.1 total deliveries: ${status} is a success`, async (t) => {
    const rider = shared();
    const receiver = await startReceiver(t, () => status);
    const message = await rider.ended(await rider.accepted(receiver.url));
    assert.equal(message.state, 'DELIVERED');
    assert.equal(message.attempts.length, 1);
  });
}
