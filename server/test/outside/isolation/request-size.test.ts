// What one request may make: messages and bytes are counted before any message is made. Beyond the budget the whole request
// is refused and nothing is stored, and other accounts go on.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import { refusal, sharedRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const NOWHERE = 'http://127.0.0.1:9';
const ENDPOINTS = 1000;
const MOST = eachMax('plannedMessages');
const HOLD = { 'Service-Delay': '1d' };

const shared = sharedRider({ flags: ['--tiers', JSON.stringify({ paid: { endpointsPerTopicMax: null } })] });
let making: Promise<string> | null = null;

/** The token of the account that asks for too much; it has a topic of a thousand endpoints. */
function attacker(): Promise<string> {
  making ??= (async () => {
    const { token } = await shared().account('wide', 'paid');
    await addEndpoints(token, 'thousand', ENDPOINTS);
    return token;
  })();
  return making;
}

async function addEndpoints(token: string, topic: string, count: number): Promise<void> {
  const endpoints = Array.from({ length: count }, (_, index) => ({ url: `${NOWHERE}/${index}` }));
  await shared().manage('POST', `/v2/topics/${topic}/endpoints`, { endpoints }, token);
}

async function stored(): Promise<number> {
  return (await shared().manage<{ all: number }>('GET', '/v2/overview', undefined, await attacker())).all;
}

test('elements times endpoints over the budget: the whole batch is refused and nothing is stored', async () => {
  const rider = shared();
  const token = await attacker();
  const before = await stored();
  const element = { destination: 'thousand', headers: HOLD };
  const elements = Array.from({ length: MOST / ENDPOINTS + 1 }, () => element);
  const answer = await rider.batch(elements, { token });
  assert.match(refusal(answer, 413, 'request_too_large'), /would create 6000 messages.*limit for one request is 5000/);
  assert.equal(await stored(), before);
});

test('a thousand elements to a topic of a thousand endpoints are a million messages: refused, nobody waits', async (t) => {
  const rider = shared();
  const token = await attacker();
  const other = await rider.account('beside-the-million');
  const receiver = await startReceiver(t);
  const before = await stored();
  const elements = Array.from({ length: 1000 }, () => ({ destination: 'thousand' }));
  const attack = rider.batch(elements, { token });
  const id = await rider.published(receiver.url, { token: other.token });
  assert.equal((await rider.ended(id, other.token)).state, 'DELIVERED');
  assert.match(refusal(await attack, 413, 'request_too_large'), /1000000 messages/);
  assert.equal(await stored(), before);
});

test('a topic with more endpoints than one request may make messages is refused, also for a schedule', async () => {
  const rider = shared();
  const token = await attacker();
  await addEndpoints(token, 'too-wide', MOST);
  await rider.manage('POST', '/v2/topics/too-wide/endpoints', { endpoints: [{ url: `${NOWHERE}/more` }] }, token);
  const before = await stored();
  for (const path of ['/v2/publish/too-wide', '/v2/enqueue/q/too-wide']) {
    refusal(await rider.call('POST', path, { token }), 413, 'request_too_large');
  }
  const headers = { 'Service-Cron': '* * * * *' };
  refusal(await rider.call('POST', '/v2/schedules/too-wide', { token, headers }), 413, 'request_too_large');
  assert.equal(await stored(), before);
});

test('headers count for every message: the bytes over the budget are refused and nothing is stored', async () => {
  const rider = shared();
  const token = await attacker();
  const before = await stored();
  const long = 'x'.repeat(16_000);
  const headers = {
    'Service-Forward-X': long,
    'Service-Callback': NOWHERE,
    'Service-Callback-Forward-X': long,
    'Service-Failure-Callback': NOWHERE,
    'Service-Failure-Callback-Forward-X': long,
  };
  const element = { destination: 'thousand', headers };
  const answer = await rider.batch([element, element, element], { token });
  assert.match(refusal(answer, 413, 'request_too_large'), /would store \d+ bytes.*limit for one request is 128 MiB/);
  assert.equal(await stored(), before);
});

test('what is within the budget is accepted: a body counts once for a fan-out', async () => {
  const rider = shared();
  const token = await attacker();
  const before = await stored();
  const element = { destination: 'thousand', headers: HOLD, body: 'x'.repeat(100_000) };
  const answer = await rider.batch([element], { token });
  assert.equal(answer.status, 201, answer.text.slice(0, 300));
  assert.equal(answer.json<unknown[][]>()[0]!.length, ENDPOINTS);
  assert.ok((await stored()) > before);
});
