// What an account may store, and what happens beyond it: publishes, schedules, topics and retries are refused, and other
// accounts, deliveries, callbacks and deletes go on.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusal, sharedRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const MAX = 100_000;
const shared = sharedRider({ flags: ['--tiers', JSON.stringify({ free: { storedBytesMax: MAX } })] });
const NOWHERE = 'http://127.0.0.1:9/';
const LATER = { 'Service-Delay': '300d' };

interface UsageView {
  readonly storedBytes: number;
  readonly storedBytesMax?: number;
}

test('one account cannot store more than its tier allows, in any way that stores something', async (t) => {
  const rider = shared();
  const receiver = await startReceiver(t);
  const { token } = await rider.account('fills');
  const { token: other } = await rider.account('beside');
  const usage = (whose: string) => rider.manage<UsageView>('GET', '/v2/usage', undefined, whose);
  const body = 'x'.repeat(10_000);
  let status = 201;
  let count = 0;
  for (; status === 201 && count < 50; count += 1) {
    status = (await rider.publish(NOWHERE, { token, headers: LATER, body })).status;
  }
  assert.equal(status, 412);
  const { storedBytes, storedBytesMax } = await usage(token);
  assert.equal(storedBytesMax, MAX);
  assert.ok(storedBytes <= MAX && storedBytes > MAX - 12_000, String(storedBytes));

  refusal(await rider.publish(NOWHERE, { token, headers: LATER, body }), 412, 'storage_exceeded');
  const elements = [{ destination: NOWHERE, body, headers: LATER }];
  refusal(await rider.batch(elements, { token }), 412, 'storage_exceeded');
  refusal(await rider.call('POST', `/v2/enqueue/q/${NOWHERE}`, { token, body }), 412, 'storage_exceeded');
  const cron = { 'Service-Cron': '0 0 1 1 *' };
  refusal(
    await rider.call('POST', `/v2/schedules/${NOWHERE}`, { token, headers: cron, body }),
    412,
    'storage_exceeded',
  );
  assert.deepEqual(await usage(token), { ...(await usage(token)), storedBytes });

  // Another account is not concerned, and what the full one has is delivered and can be deleted.
  const mine = await rider.published(receiver.url, { token: other });
  assert.equal((await rider.ended(mine, other)).state, 'DELIVERED');
  const { messages } = await rider.manage<{ messages: { messageId: string }[] }>(
    'GET',
    '/v2/messages',
    undefined,
    token,
  );
  const [first] = messages;
  await rider.manage('POST', `/v2/messages/${first!.messageId}/retry`, undefined, token);
  await waitFor('an attempt', async () => {
    const { attempts } = await rider.message(first!.messageId, token);
    return attempts.length > 0;
  });
  const cancelled = await rider.call('DELETE', '/v2/messages?all=true', { token });
  assert.equal(cancelled.status, 200);
});

test('a deleted dead letter makes room, and a response is not kept for an account that is full', async (t) => {
  const rider = shared();
  const answer = 'y'.repeat(30_000);
  const receiver = await startReceiver(t, () => ({ status: 489, body: answer }));
  const { token } = await rider.account('fails-full');
  const usage = () => rider.manage<UsageView>('GET', '/v2/usage', undefined, token);
  const ids: string[] = [];
  for (let n = 0; n < 6; n += 1) {
    const id = await rider.published(receiver.url, { token, headers: { 'Service-Retries': '0' } });
    ids.push(id);
    await rider.ended(id, token);
  }
  // Three responses fit below the limit, and none after them.
  assert.ok((await usage()).storedBytes <= MAX, String((await usage()).storedBytes));
  const last = await rider.message(ids.at(-1)!, token);
  assert.equal(last.attempts[0]!.responseStatus, 489);
  const large = { token, headers: LATER, body: 'x'.repeat(30_000) };
  refusal(await rider.publish(NOWHERE, large), 412, 'storage_exceeded');
  await rider.manage('DELETE', `/v2/dlq/${ids[0]!.replace('msg_', 'dlq_')}`, undefined, token);
  await rider.advance(1000);
  assert.equal((await rider.publish(NOWHERE, large)).status, 201);
});

test('an account near its limit that cancels has room again soon; otherwise a cancelled message is kept', async () => {
  const rider = shared();
  const { token } = await rider.account('cancels');
  const body = 'x'.repeat(10_000);
  const kept = await rider.published(NOWHERE, { token, headers: LATER, body });
  await rider.manage('DELETE', `/v2/messages/${kept}`, undefined, token);
  let published: string | null = null;
  for (;;) {
    const { status, json } = await rider.publish(NOWHERE, { token, headers: LATER, body });
    if (status !== 201) break;
    published = json<{ messageId: string }>().messageId;
  }
  await rider.manage('DELETE', '/v2/messages?all=true', undefined, token);
  // Retention looks every half minute, once the clock is proven.
  await rider.advance(11 * 60_000);
  await waitFor('room', async () => {
    const { storedBytes } = await rider.manage<UsageView>('GET', '/v2/usage', undefined, token);
    return storedBytes < 15_000;
  });
  assert.equal((await rider.publish(NOWHERE, { token, headers: LATER, body })).status, 201);
  assert.equal((await rider.message(kept, token)).state, 'CANCELLED');
  assert.equal((await rider.call('GET', `/v2/messages/${published}`, { token })).status, 404);
});

test('what a person sets up counts, is refused beyond the limit, and makes room when it is deleted', async () => {
  const rider = shared();
  const { token } = await rider.account('sets-up');
  const stored = async () => (await rider.manage<UsageView>('GET', '/v2/usage', undefined, token)).storedBytes;
  const call = (method: string, path: string, body?: unknown) =>
    rider.call(method, path, { token, ...(body !== undefined && { body: JSON.stringify(body) }) });
  const schedule = (id: string, bytes: number) =>
    rider.call('POST', `/v2/schedules/${NOWHERE}`, {
      token,
      headers: { 'Service-Cron': '0 0 1 1 *', 'Service-Schedule-Id': id },
      body: 'x'.repeat(bytes),
    });
  const headers = { 'Service-Forward-X-Long': 'v'.repeat(10_000) };
  const endpoints = [{ url: NOWHERE }];

  assert.equal((await call('POST', '/v2/topics/one/endpoints', { endpoints })).status, 200);
  assert.ok((await stored()) > 1000);
  assert.equal((await call('PATCH', '/v2/topics/one', { headers })).status, 200);
  assert.ok((await stored()) > 11_000);
  assert.equal((await schedule('one', 60_000)).status, 201);
  assert.ok((await stored()) > 72_000);
  assert.equal((await schedule('one', 80_000)).status, 201, 'only what it adds must fit');
  const full = await stored();
  assert.ok(full > 92_000 && full <= MAX, String(full));

  refusal(await schedule('two', 20_000), 412, 'storage_exceeded');
  refusal(await schedule('one', 90_000), 412, 'storage_exceeded');
  assert.equal((await call('POST', '/v2/topics/two/endpoints', { endpoints })).status, 200);
  refusal(await call('PATCH', '/v2/topics/two', { headers }), 412, 'storage_exceeded');
  let status = 200;
  for (let n = 0; n < 20 && status === 200; n += 1) {
    status = (await call('POST', '/v2/queues', { queueName: `q${n}` })).status;
  }
  assert.equal(status, 412);
  refusal(await call('POST', '/v2/flowControl/key/pin?parallelism=1'), 412, 'storage_exceeded');
  refusal(await call('POST', '/v2/topics/three/endpoints', { endpoints }), 412, 'storage_exceeded');

  await rider.manage('DELETE', '/v2/schedules/one', undefined, token);
  await rider.manage('DELETE', '/v2/topics/one', undefined, token);
  await rider.manage('DELETE', '/v2/topics/two', undefined, token);
  for (let n = 0; n < 20; n += 1) await call('DELETE', `/v2/queues/q${n}`);
  assert.equal(await stored(), 0);
  await rider.advance(1000);
  assert.equal((await call('POST', '/v2/topics/three/endpoints', { endpoints })).status, 200);
});

test('a full account can cancel and delete in bulk, but not with filters that are large themselves', async () => {
  const rider = shared();
  const { token } = await rider.account('bulk-when-full');
  const start = (filter: object) =>
    rider.call('POST', '/v2/bulk', { token, body: JSON.stringify({ action: 'cancel', filter }) });
  let status = 201;
  while (status === 201) {
    status = (await rider.publish(NOWHERE, { token, headers: LATER, body: 'x'.repeat(30_000) })).status;
  }
  const ids = (count: number) => Array.from({ length: count }, (_, n) => `msg_${String(n).padStart(26, '0')}`);
  const text = refusal(await start({ messageIds: ids(3000) }), 412, 'storage_exceeded');
  assert.match(text, /would store more/);
  assert.equal((await start({ messageIds: ids(50) })).status, 201);
  assert.equal((await start({ all: true })).status, 201);
});

test('of a debounce key one message is stored, however many publishes, and no key is without its bytes', async () => {
  const rider = shared();
  const { token } = await rider.account('debounces');
  const usage = async () => (await rider.manage<UsageView>('GET', '/v2/usage', undefined, token)).storedBytes;
  const publish = (key: string, body: string) =>
    rider.publish(NOWHERE, { token, headers: { 'Service-Debounce-Key': key, 'Service-Debounce': '300d' }, body });
  for (let count = 0; count < 20; count += 1) {
    assert.equal((await publish('same', 'x'.repeat(40_000 + count))).status, 201);
    // What an account stores is read again after a while.
    await rider.advance(1000);
  }
  const one = await usage();
  assert.ok(one > 40_000 && one < 50_000, String(one));
  assert.equal((await publish('same', '')).status, 201);
  const empty = await usage();
  assert.ok(empty < 5000, String(empty));
  let keys = 0;
  let answer = await publish('k', '');
  for (; answer.status === 201 && keys < 500; keys += 1) answer = await publish(`k${keys}`, '');
  refusal(answer, 412, 'storage_exceeded');
  assert.ok(keys < MAX / empty + 1, `${keys} keys`);
  // What takes the place of another is refused too while there is no room for both.
  refusal(await publish('same', 'x'.repeat(20_000)), 412, 'storage_exceeded');
});

test('what is stored is shown in the metrics', async () => {
  const rider = shared();
  const { token } = await rider.account('counted');
  await rider.published(NOWHERE, { token, headers: LATER, body: 'z'.repeat(5000) });
  await rider.advance(10_000);
  await waitFor('the numbers', async () => {
    const text = await (await fetch(`${rider.url}/metrics`)).text();
    const value = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
    return value('postrider_stored_bytes') > 5000 && value('postrider_stored_bytes_largest') > 5000;
  });
});
