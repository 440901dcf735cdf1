// The headers of a delivery have one limit, whichever way they came: named, passed on, from a topic, for a callback, for
// a retry. Beyond it nothing is accepted.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import { refusal, sharedRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const TOO_LONG = 'x'.repeat(eachMax('headerBytes') + 1);
const NOWHERE = 'http://127.0.0.1:9';

const shared = sharedRider();

async function countMessages(): Promise<number> {
  const { messages } = await shared().manage<{ messages: unknown[] }>('GET', '/v2/messages?count=1000');
  return messages.length;
}

test('headers that Header-Forward passes on are refused over the budget', async () => {
  const rider = shared();
  const before = await countMessages();
  const headers = { 'Service-Header-Forward': 'true', 'X-One': 'x'.repeat(9000), 'X-Two': 'x'.repeat(9000) };
  const answer = await rider.publish(NOWHERE, { headers });
  assert.match(refusal(answer, 400, 'bad_forward_header'), /headers .* bytes in total; the limit is 16384/);
  const many = Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`X-${index}`, '1']));
  const tooMany = await rider.publish(NOWHERE, { headers: { 'Service-Header-Forward': 'true', ...many } });
  assert.match(refusal(tooMany, 400, 'bad_forward_header'), /headers; the limit is 67/);
  assert.equal(await countMessages(), before);
});

test('traceparent and tracestate are refused over the budget, however often they stand', async () => {
  const rider = shared();
  const before = await countMessages();
  for (const name of ['traceparent', 'tracestate']) {
    refusal(await rider.publish(NOWHERE, { headers: { [name]: TOO_LONG } }), 400, 'bad_forward_header');
    const many = Array.from({ length: 80 }, () => 'a=1');
    refusal(await rider.publish(NOWHERE, { headers: { [name]: many } }), 400, 'bad_forward_header');
  }
  const batch = await rider.batch([{ destination: NOWHERE }], { headers: { tracestate: TOO_LONG } });
  assert.equal(batch.status, 400, batch.text);
  assert.equal(await countMessages(), before);
});

test('the Content-Type of an element of a batch is refused over the budget, for a URL and for a topic', async () => {
  const rider = shared();
  const before = await countMessages();
  const endpoints = Array.from({ length: 100 }, (_, index) => ({ url: `${NOWHERE}/${index}` }));
  await rider.manage('POST', '/v2/topics/wide/endpoints', { endpoints });
  const headers = { 'Content-Type': 'x'.repeat(1_000_000) };
  const elements = ['wide', NOWHERE, 'wide'].map((destination) => ({ destination, headers }));
  const answer = await rider.batch(elements);
  assert.equal(answer.status, 400, answer.text);
  const codes = answer.json<{ code: string }[]>().map(({ code }) => code);
  assert.deepEqual(codes, ['bad_forward_header', 'bad_forward_header', 'bad_forward_header']);
  assert.equal(await countMessages(), before);
});

test('headers that are the defaults of a topic count', async () => {
  const rider = shared();
  const before = await countMessages();
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [{ url: NOWHERE }] });
  await rider.manage('PATCH', '/v2/topics/news', { headers: { 'Service-Forward-X-Default': 'x'.repeat(9000) } });
  const answer = await rider.publish('news', { headers: { 'Service-Forward-X-Own': 'x'.repeat(9000) } });
  refusal(answer, 400, 'bad_forward_header');
  assert.equal(await countMessages(), before);
});

test('headers of callbacks count for each callback', async () => {
  const rider = shared();
  const before = await countMessages();
  for (const callback of ['Callback', 'Failure-Callback']) {
    const headers = { [`Service-${callback}`]: NOWHERE, [`Service-${callback}-Forward-X`]: TOO_LONG };
    refusal(await rider.publish(NOWHERE, { headers }), 400, 'bad_forward_header');
  }
  assert.equal(await countMessages(), before);
});

test('headers that a retry adds to those of the dead letter count together', async (t) => {
  const rider = shared();
  const receiver = await startReceiver(t, () => 500);
  const headers = { 'Service-Retries': '0', 'Service-Forward-X-First': 'x'.repeat(9000) };
  const id = await rider.published(receiver.url, { headers });
  await rider.ended(id);
  const body = JSON.stringify({ headers: { 'Service-Forward-X-Second': 'x'.repeat(9000) } });
  const dlqId = id.replace('msg_', 'dlq_');
  refusal(await rider.call('POST', `/v2/dlq/retry/${dlqId}`, { body }), 400, 'bad_forward_header');
  assert.equal((await rider.message(id)).state, 'FAILED');
});

test('a schedule is refused as its publish would be', async () => {
  const rider = shared();
  const headers = { 'Service-Cron': '* * * * *', traceparent: TOO_LONG };
  refusal(await rider.call('POST', `/v2/schedules/${NOWHERE}`, { headers }), 400, 'bad_forward_header');
  assert.deepEqual(await rider.manage('GET', '/v2/schedules'), []);
});

test('what is within the budget arrives whole: 64 forwarded headers, Content-Type and trace beside them', async (t) => {
  const rider = shared();
  const receiver = await startReceiver(t);
  const forwarded = Array.from({ length: 64 }, (_, index) => [`Service-Forward-X-${index}`, String(index)]);
  const beside = { 'Content-Type': 'text/plain', traceparent: '00-0-0-00', tracestate: 'a=1' };
  await rider.published(receiver.url, { headers: { ...Object.fromEntries(forwarded), ...beside } });
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.headers.filter(([name]) => name.startsWith('X-')).length, 64);
  assert.deepEqual([arrival!.header('content-type'), arrival!.header('tracestate')], ['text/plain', 'a=1']);
});

test('values of headers that steer a delivery are refused over their length, before they are taken apart', async () => {
  const rider = shared();
  const names = ['Label', 'Redact-Fields', 'Flow-Control-Value', 'Method', 'Callback', 'Order-Key', 'Retry-Delay'];
  const elements = names.map((name) => ({
    destination: NOWHERE,
    headers: { [`Service-${name}`]: 'a,'.repeat(500_000) },
  }));
  const answer = await rider.batch([...elements, { destination: `http%3A%2F%2F${'%61'.repeat(500_000)}` }]);
  assert.equal(answer.status, 400, answer.text.slice(0, 500));
  const slots = answer.json<{ error: string; code: string }[]>();
  assert.deepEqual(
    slots
      .slice(0, -1)
      .map(({ error, code }) => [code, /^Service-[\w-]+: has 1000000 characters; the limit is 16384/.test(error)]),
    names.map(() => ['bad_header', true]),
  );
  assert.equal(slots.at(-1)!.code, 'bad_destination');
  assert.match(slots.at(-1)!.error, /1500013 characters/);
});

test('another account is served while header bytes are refused', async (t) => {
  const rider = shared();
  const { token } = await rider.account('other');
  const receiver = await startReceiver(t);
  const element = { destination: NOWHERE, headers: { 'Content-Type': 'x'.repeat(100_000) } };
  const attacks = Array.from({ length: 8 }, () => rider.batch(Array.from({ length: 20 }, () => element)));
  const id = await rider.published(receiver.url, { token, body: 'mine' });
  assert.equal((await rider.ended(id, token)).state, 'DELIVERED');
  for (const answer of await Promise.all(attacks)) assert.equal(answer.status, 400);
});
