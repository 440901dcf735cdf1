// Queues over HTTP: first in, first out, one at a time. A message that retries holds its queue, one that is delayed
// holds nobody.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ridersOfOneService } from '../../support/harness.ts';
import { type Arrival, type Reply, startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

const targetsOf = (arrivals: readonly Arrival[]) => arrivals.map(({ target }) => target);

test('a queue delivers in the order of acceptance, one at a time', async (t) => {
  const rider = await startRider(t);
  let running = 0;
  let runningMost = 0;
  const receiver = await startReceiver(t, async () => {
    running += 1;
    runningMost = Math.max(runningMost, running);
    for (let turns = 0; turns < 5; turns += 1) await new Promise((turn) => setImmediate(turn));
    running -= 1;
    return 200;
  });
  const targets = Array.from({ length: 40 }, (_, index) => `/${index}`);
  for (const target of targets) await rider.accepted(receiver.url + target);
  assert.deepEqual(targetsOf(await receiver.received(40)), targets);
  assert.equal(runningMost, 1);
});

test('a queue waits while its head is being delivered', async (t) => {
  const rider = await startRider(t);
  const { promise: held, resolve: letGo } = Promise.withResolvers<Reply>();
  const receiver = await startReceiver(t, (_arrival, index) => (index === 0 ? held : 200));
  await rider.accepted(`${receiver.url}/1`);
  const second = await rider.accepted(`${receiver.url}/2`);
  await receiver.received(1);
  await rider.quiet();
  assert.equal((await rider.message(second)).state, 'CREATED');
  letGo(200);
  assert.deepEqual(targetsOf(await receiver.received(2)), ['/1', '/2']);
});

test('a queue waits while its head retries, and continues when it is delivered', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, (_arrival, index) => (index < 2 ? 500 : 200));
  const head = await rider.accepted(`${receiver.url}/1`);
  await rider.accepted(`${receiver.url}/2`);
  await rider.attempted(head, 1);
  await rider.advance(1000);
  await rider.attempted(head, 2);
  await rider.advance(7389);
  assert.deepEqual(targetsOf(receiver.arrivals), ['/1', '/1']);
  await rider.advance(1);
  assert.deepEqual(targetsOf(await receiver.received(4)), ['/1', '/1', '/1', '/2']);
});

test('a queue goes on when its head has failed for good', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, ({ target }) => (target === '/1' ? 500 : 200));
  const head = await rider.accepted(`${receiver.url}/1`, { headers: { 'Service-Retries': '1' } });
  const next = await rider.accepted(`${receiver.url}/2`);
  await rider.attempted(head, 1);
  await rider.advance(1000);
  assert.equal((await rider.ended(head)).state, 'FAILED');
  assert.equal((await rider.ended(next)).state, 'DELIVERED');
  assert.deepEqual(targetsOf(receiver.arrivals), ['/1', '/1', '/2']);
});

test('a delayed message delays no other, and takes its place when it becomes due', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const delayed = await rider.accepted(`${receiver.url}/delayed`, { headers: { 'Service-Delay': '10s' } });
  await rider.accepted(`${receiver.url}/1`);
  await rider.accepted(`${receiver.url}/2`);
  assert.deepEqual(targetsOf(await receiver.received(2)), ['/1', '/2']);
  await rider.advance(10_000);
  await rider.ended(delayed);
  assert.deepEqual(targetsOf(receiver.arrivals), ['/1', '/2', '/delayed']);
});

test('messages that become due while the head retries follow in the order they became due', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, (_arrival, index) => (index === 0 ? 500 : 200));
  const head = await rider.accepted(`${receiver.url}/head`);
  await rider.attempted(head, 1);
  await rider.accepted(`${receiver.url}/due-3`, { headers: { 'Service-Delay': '800ms' } });
  await rider.accepted(`${receiver.url}/due-2`, { headers: { 'Service-Delay': '400ms' } });
  await rider.accepted(`${receiver.url}/due-1`);
  await rider.advance(999);
  assert.equal(receiver.arrivals.length, 1);
  await rider.advance(1);
  const arrivals = await receiver.received(5);
  assert.deepEqual(targetsOf(arrivals), ['/head', '/head', '/due-1', '/due-2', '/due-3']);
});

test('queues do not hold each other up, and a publish without a queue waits for none', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, ({ target }) => (target === '/stuck' ? 'hang' : 200));
  await rider.accepted(`${receiver.url}/stuck`, { queue: 'a' });
  await receiver.received(1);
  await rider.accepted(`${receiver.url}/behind`, { queue: 'a' });
  await rider.accepted(`${receiver.url}/other`, { queue: 'b' });
  assert.equal((await rider.call('POST', `/v2/publish/${receiver.url}/direct`)).status, 201);
  assert.deepEqual(targetsOf(await receiver.received(3)).sort(), ['/direct', '/other', '/stuck']);
});

test('a topic on a queue delivers to its endpoints in their order', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const targets = ['/c', '/a', '/b'];
  const endpoints = targets.map((target) => ({ url: receiver.url + target }));
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints });
  await rider.enqueue('q', 'news');
  await rider.enqueue('q', 'news');
  assert.deepEqual(targetsOf(await receiver.received(6)), [...targets, ...targets]);
});

test('a publish without a queue delivers in parallel', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 'hang');
  for (let i = 0; i < 10; i += 1) await rider.call('POST', `/v2/publish/${receiver.url}`);
  const arrivals = await receiver.received(10);
  for (const arrival of arrivals) assert.equal(arrival.header('Service-Queue-Name'), undefined);
});
