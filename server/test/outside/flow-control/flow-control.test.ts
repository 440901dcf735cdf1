// api.md, sections 2 and 4: limits by key, as a receiver feels them and as they are managed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Rider, refusal, ridersOfOneService } from '../../support/harness.ts';
import { type Reply, startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

interface FlowView {
  readonly flowControlKey: string;
  readonly waitListSize: number;
  readonly parallelismMax: number;
  readonly parallelismCount: number;
  readonly rateMax: number;
  readonly rateCount: number;
  readonly ratePeriod: number;
  readonly ratePeriodStart: number;
  readonly isPaused: boolean;
  readonly isPinnedParallelism: boolean;
  readonly isPinnedRate: boolean;
}

const flow = (value: string) => ({ 'Service-Flow-Control-Key': 'k', 'Service-Flow-Control-Value': value });
const read = (rider: Rider) => rider.manage<FlowView>('GET', '/v2/flowControl/k');

async function publishMany(rider: Rider, url: string, count: number, value: string): Promise<void> {
  for (let i = 0; i < count; i += 1) await rider.published(`${url}/${i}`, { headers: flow(value) });
}

test('Flow-Control-Key: no more than the parallelism are at the receiver at once, across URLs', async (t) => {
  const rider = await startRider(t);
  const waiting: ((reply: Reply) => void)[] = [];
  const receiver = await startReceiver(t, () => new Promise((resolve) => waiting.push(resolve)));
  await publishMany(rider, receiver.url, 5, 'parallelism=2');
  await receiver.received(2);
  await rider.quiet();
  assert.equal(receiver.arrivals.length, 2);
  const view = await read(rider);
  assert.deepEqual([view.parallelismMax, view.parallelismCount, view.waitListSize], [2, 2, 3]);
  for (let answered = 1; answered <= 3; answered += 1) {
    waiting.shift()!(200);
    await receiver.received(2 + answered);
    await rider.quiet();
    assert.equal(receiver.arrivals.length, 2 + answered);
  }
  for (const answer of waiting) answer(200);
});

test('Flow-Control-Value: no more than the rate start in a period, and the rest wait for the next', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const startedAt = rider.clock.now();
  await publishMany(rider, receiver.url, 5, 'rate=2, period=10s');
  await receiver.received(2);
  await rider.quiet();
  const { rateMax, rateCount, ratePeriod, ratePeriodStart, waitListSize } = await read(rider);
  assert.deepEqual(
    { rateMax, rateCount, ratePeriod, ratePeriodStart, waitListSize },
    { rateMax: 2, rateCount: 2, ratePeriod: 10, ratePeriodStart: startedAt / 1000, waitListSize: 3 },
  );
  await rider.advance(9999);
  assert.equal(receiver.arrivals.length, 2);
  await rider.advance(1);
  await receiver.received(4);
  await rider.advance(9999);
  assert.equal(receiver.arrivals.length, 4);
  await rider.advance(1);
  await receiver.received(5);
});

test('Flow-Control-Key: needs its value, is refused in a queue, and the value must say a limit', async (t) => {
  const rider = await startRider(t);
  const url = 'http://127.0.0.1:1/';
  refusal(await rider.enqueue('q', url, { headers: flow('rate=1') }), 400, 'bad_header');
  const alone = await rider.publish(url, { headers: { 'Service-Flow-Control-Key': 'k' } });
  assert.match(refusal(alone, 400, 'bad_header'), /^Service-Flow-Control-Value: missing/);
  for (const value of ['fast', 'rate=0', 'period=1m', 'rate=1,period=8d']) {
    refusal(await rider.publish(url, { headers: flow(value) }), 400, 'bad_header');
  }
});

test('POST /v2/flowControl/{key}/pause and /resume: nothing starts while it is paused, all follows after', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  await publishMany(rider, receiver.url, 1, 'parallelism=5');
  await receiver.received(1);
  assert.equal((await rider.manage<FlowView>('POST', '/v2/flowControl/k/pause')).isPaused, true);
  await publishMany(rider, receiver.url, 3, 'parallelism=5');
  await rider.advance(60_000);
  assert.equal(receiver.arrivals.length, 1);
  assert.equal((await read(rider)).waitListSize, 3);
  assert.equal((await rider.manage<FlowView>('POST', '/v2/flowControl/k/resume')).isPaused, false);
  await receiver.received(4);
});

test('POST /v2/flowControl/{key}/pin and /unpin: a pinned limit is held against what messages say', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 'hang');
  const pinned = await rider.manage<FlowView>('POST', '/v2/flowControl/k/pin?parallelism=1&rate=10&period=1m');
  assert.deepEqual(
    [pinned.isPinnedParallelism, pinned.isPinnedRate, pinned.parallelismMax, pinned.rateMax, pinned.ratePeriod],
    [true, true, 1, 10, 60],
  );
  await publishMany(rider, receiver.url, 3, 'parallelism=3, rate=100');
  await receiver.received(1);
  await rider.quiet();
  assert.equal(receiver.arrivals.length, 1);
  const half = await rider.manage<FlowView>('POST', '/v2/flowControl/k/unpin?parallelism=true');
  assert.deepEqual([half.isPinnedParallelism, half.isPinnedRate], [false, true]);
  await publishMany(rider, receiver.url, 1, 'parallelism=3, rate=100');
  await receiver.received(3);
  const both = await rider.manage<FlowView>('POST', '/v2/flowControl/k/unpin');
  assert.deepEqual([both.isPinnedParallelism, both.isPinnedRate], [false, false]);
  refusal(await rider.call('POST', '/v2/flowControl/k/pin'), 400, 'bad_parameter');
  refusal(await rider.call('POST', '/v2/flowControl/k/pin?rate=1&period=8d'), 400, 'bad_parameter');
});

test('POST /v2/flowControl/{key}/pin: a period without a rate is refused, an empty one counts as absent', async (t) => {
  const rider = await startRider(t);
  for (const query of [
    'parallelism=2&period=1m',
    'parallelism=2&period=8d',
    'parallelism=2&rate=&period=1m',
    'period=1m',
  ]) {
    const response = await rider.call('POST', `/v2/flowControl/k/pin?${query}`);
    assert.equal(refusal(response, 400, 'bad_parameter'), 'period: needs a rate');
  }
  refusal(await rider.call('GET', '/v2/flowControl/k'), 404, 'flow_key_not_found');
  const pinned = await rider.manage<FlowView>('POST', '/v2/flowControl/k/pin?parallelism=2&period=');
  assert.deepEqual([pinned.isPinnedParallelism, pinned.parallelismMax, pinned.isPinnedRate], [true, 2, false]);
});

test('POST /v2/flowControl/{key}/resetRate: a new period starts now', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  await publishMany(rider, receiver.url, 3, 'rate=1, period=1h');
  await receiver.received(1);
  await rider.quiet();
  assert.equal(receiver.arrivals.length, 1);
  await rider.manage('POST', '/v2/flowControl/k/resetRate');
  await receiver.received(2);
  await rider.quiet();
  assert.equal(receiver.arrivals.length, 2);
});

test('GET /v2/flowControl: lists the keys of the account; an unknown one is 404', async (t) => {
  const rider = await startRider(t);
  assert.deepEqual(await rider.manage('GET', '/v2/flowControl'), []);
  await publishMany(rider, 'http://127.0.0.1:1', 1, 'rate=1');
  const list = await rider.manage<FlowView[]>('GET', '/v2/flowControl');
  assert.deepEqual(
    list.map(({ flowControlKey }) => flowControlKey),
    ['k'],
  );
  refusal(await rider.call('GET', '/v2/flowControl/none'), 404, 'flow_key_not_found');
  const { token } = await rider.account('other');
  assert.deepEqual(await rider.manage('GET', '/v2/flowControl', undefined, token), []);
});

test('GET /v2/globalParallelism: how many attempts are under way, and how many there may be', async (t) => {
  const rider = await startRider(t, { flags: ['--concurrency', '17'] });
  const receiver = await startReceiver(t, () => 'hang');
  const now = () => rider.manage('GET', '/v2/globalParallelism');
  assert.deepEqual(await now(), { parallelismMax: 17, parallelismCount: 0 });
  await rider.published(receiver.url);
  await receiver.received(1);
  assert.deepEqual(await now(), { parallelismMax: 17, parallelismCount: 1 });
});
