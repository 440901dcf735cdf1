// api.md, sections 3 and 4: queues made, changed, paused, deleted, and the order inside them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusal, ridersOfOneService } from '../../support/harness.ts';
import { type Reply, startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const startRider = ridersOfOneService();

interface QueueView {
  readonly name: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly parallelism: number;
  readonly paused: boolean;
  readonly lag: number;
}

const NOWHERE = 'http://127.0.0.1:1/';

test('POST /v2/queues: makes a queue, changes it, and answers it whole', async (t) => {
  const rider = await startRider(t);
  const now = rider.clock.now();
  const made = await rider.manage<QueueView>('POST', '/v2/queues', { queueName: 'orders', parallelism: 3 });
  const expected = { name: 'orders', createdAt: now, updatedAt: now, parallelism: 3, paused: false, lag: 0 };
  assert.deepEqual(made, expected);
  await rider.advance(1000);
  const changed = await rider.manage<QueueView>('POST', '/v2/queues', { queueName: 'orders', paused: true });
  assert.deepEqual(changed, { ...expected, updatedAt: now + 1000, paused: true });
  assert.deepEqual(await rider.manage('GET', '/v2/queues/orders'), changed);
  assert.deepEqual(await rider.manage('GET', '/v2/queues'), [changed]);
  for (const body of [{ queueName: 'a b' }, { queueName: 'a', parallelism: 0 }, { queueName: 'a', size: 1 }, {}]) {
    assert.equal((await rider.call('POST', '/v2/queues', { body: JSON.stringify(body) })).status, 400);
  }
  refusal(await rider.call('GET', '/v2/queues/none'), 404, 'queue_not_found');
});

test('POST /v2/queues: parallelism N lets N heads go at once, from the next message on', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 'hang');
  for (let i = 0; i < 4; i += 1) await rider.accepted(`${receiver.url}/${i}`, { queue: 'wide' });
  await receiver.received(1);
  await rider.quiet();
  assert.equal(receiver.arrivals.length, 1);
  await rider.manage('POST', '/v2/queues', { queueName: 'wide', parallelism: 3 });
  await receiver.received(3);
  await rider.quiet();
  assert.equal(receiver.arrivals.length, 3);
});

test('POST /v2/queues/{name}/pause and /resume: accepts but starts nothing, then goes on in order', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  await rider.manage('POST', '/v2/queues', { queueName: 'q' });
  assert.equal((await rider.manage<QueueView>('POST', '/v2/queues/q/pause')).paused, true);
  const ids: string[] = [];
  for (let i = 0; i < 3; i += 1) ids.push(await rider.accepted(`${receiver.url}/${i}`));
  await rider.advance(60_000);
  assert.equal(receiver.arrivals.length, 0);
  assert.equal((await rider.manage<QueueView>('GET', '/v2/queues/q')).lag, 3);
  assert.equal((await rider.manage<QueueView>('POST', '/v2/queues/q/resume')).paused, false);
  await rider.ended(ids[2]!);
  assert.deepEqual(
    receiver.arrivals.map(({ target }) => target),
    ['/0', '/1', '/2'],
  );
});

test('GET /v2/queues/{name}: lag is how many of its messages have not ended', async (t) => {
  const rider = await startRider(t);
  const waiting: ((reply: Reply) => void)[] = [];
  const receiver = await startReceiver(t, () => new Promise((resolve) => waiting.push(resolve)));
  const lag = async () => (await rider.manage<QueueView>('GET', '/v2/queues/q')).lag;
  const first = await rider.accepted(receiver.url);
  const second = await rider.accepted(receiver.url);
  await rider.accepted(NOWHERE, { headers: { 'Service-Delay': '1h' } });
  assert.equal(await lag(), 3);
  await receiver.received(1);
  waiting.shift()!(200);
  await rider.ended(first);
  assert.equal(await lag(), 2);
  await receiver.received(2);
  await rider.manage('DELETE', `/v2/messages/${second}`);
  assert.equal(await lag(), 2, 'it has an attempt under way, and keeps its place until that has ended');
  for (const answer of waiting) answer(200);
  await rider.ended(second);
  assert.equal(await lag(), 1);
});

test('DELETE /v2/queues/{name}: 409 while messages are open; with force=true they are cancelled', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const open = await rider.accepted(receiver.url, { headers: { 'Service-Delay': '1h' } });
  assert.match(refusal(await rider.call('DELETE', '/v2/queues/q'), 409, 'queue_not_empty'), /1 open message/);
  assert.deepEqual(await rider.manage('DELETE', '/v2/queues/q?force=true'), {});
  assert.equal((await rider.message(open)).state, 'CANCELLED');
  refusal(await rider.call('GET', '/v2/queues/q'), 404, 'queue_not_found');
  refusal(await rider.call('DELETE', '/v2/queues/q'), 404, 'queue_not_found');
  await rider.ended(await rider.accepted(receiver.url));
  assert.deepEqual(await rider.manage('DELETE', '/v2/queues/q'), {});
});

test('Order-Key: messages of one key go one after the other, those of others beside them', async (t) => {
  const rider = await startRider(t);
  const waiting = new Map<string, (reply: Reply) => void>();
  const receiver = await startReceiver(t, ({ target }) => new Promise((resolve) => waiting.set(target, resolve)));
  await rider.manage('POST', '/v2/queues', { queueName: 'q', parallelism: 10 });
  const ids = new Map<string, string>();
  for (const target of ['/a1', '/a2', '/b1', '/b2']) {
    const headers = { 'Service-Order-Key': target[1]!, 'Service-Retries': '0' };
    ids.set(target, await rider.accepted(receiver.url + target, { headers }));
  }
  await receiver.received(2);
  await rider.quiet();
  assert.deepEqual(receiver.arrivals.map(({ target }) => target).sort(), ['/a1', '/b1']);
  waiting.get('/b1')!(500);
  await rider.ended(ids.get('/b1')!);
  await waitFor('the next of b', () => waiting.has('/b2'));
  await rider.quiet();
  assert.equal(waiting.has('/a2'), false);
  waiting.get('/a1')!(200);
  await waitFor('the next of a', () => waiting.has('/a2'));
  for (const target of ['/a2', '/b2']) waiting.get(target)!(200);
  await rider.ended(ids.get('/b2')!);
  assert.equal((await rider.manage<{ orderKey?: string }>('GET', `/v2/messages/${ids.get('/a2')}`)).orderKey, 'a');
});

test('Order-Key: without a queue it is refused', async (t) => {
  const rider = await startRider(t);
  const answer = await rider.publish(NOWHERE, { headers: { 'Service-Order-Key': 'a' } });
  assert.match(refusal(answer, 400, 'bad_header'), /Order-Key: only allowed in a queue/);
});
