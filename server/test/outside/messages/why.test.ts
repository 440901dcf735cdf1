// api.md, section 4: why a message is not delivered yet, each reason once, in words and in data.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Rider, refusal, ridersOfOneService } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const startRider = ridersOfOneService();

interface Why {
  readonly messageId: string;
  readonly reason: string;
  readonly text: string;
  readonly nextAttemptAt?: number;
  readonly isEarliest?: boolean;
  readonly estimatedAt?: number;
  readonly behindMessageId?: string;
  readonly aheadCount?: number;
}

const why = (rider: Rider, messageId: string) => rider.manage<Why>('GET', `/v2/messages/${messageId}/why`);

test('GET /v2/messages/{id}/why: delayed until its time', async (t) => {
  const rider = await startRider(t);
  const messageId = await rider.published('http://127.0.0.1:1/', { headers: { 'Service-Delay': '90s' } });
  assert.deepEqual(await why(rider, messageId), {
    messageId,
    reason: 'delayed',
    text: 'it is delayed until 2026-01-01T00:01:30.000Z, in 1m30s',
    nextAttemptAt: rider.clock.now() + 90_000,
  });
});

test('GET /v2/messages/{id}/why: active, and behind another of its queue', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 'hang');
  const head = await rider.accepted(receiver.url);
  await receiver.received(1);
  const second = await rider.accepted(receiver.url);
  const third = await rider.accepted(receiver.url);
  assert.equal((await why(rider, head)).reason, 'active');
  const { reason, behindMessageId, aheadCount } = await why(rider, third);
  assert.deepEqual({ reason, behindMessageId, aheadCount }, { reason: 'behind', behindMessageId: head, aheadCount: 2 });
  assert.equal((await why(rider, second)).aheadCount, 1);
});

test('GET /v2/messages/{id}/why: behind others it estimates the time from what was measured of the host', async (t) => {
  const rider = await startRider(t);
  let isDown = false;
  const receiver = await startReceiver(t, () => (isDown ? 'hang' : 200));
  await rider.ended(await rider.published(receiver.url));
  isDown = true;
  await rider.accepted(receiver.url);
  await receiver.received(2);
  const second = await rider.accepted(receiver.url);
  // A read of the hosts writes what the node has measured until now.
  await rider.manage('GET', '/v2/hosts');
  const { reason, text, estimatedAt } = await why(rider, second);
  assert.equal(reason, 'behind');
  assert.match(text, /; at the usual pace of its host, in about \d+s$/);
  assert.ok(estimatedAt! >= rider.clock.now());
});

/** Two messages of a queue, and two under a flow key that delivers one at a time. */
async function twoLines(rider: Rider, url: string, headers: Record<string, string>) {
  const flow = { 'Service-Flow-Control-Key': url, 'Service-Flow-Control-Value': 'parallelism=1' };
  const inQueue = () => rider.accepted(url, { headers });
  const underKey = () => rider.published(url, { headers: { ...headers, ...flow } });
  return { queue: [await inQueue(), await inQueue()], key: [await underKey(), await underKey()] } as const;
}

test('GET /v2/messages/{id}/why: behind one whose host is parked by hand there is no estimate', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  await rider.ended(await rider.published(receiver.url));
  const { host } = new URL(receiver.url);
  await rider.manage('POST', `/v2/hosts/${encodeURIComponent(host)}/park`);
  await rider.quiet();
  const { queue, key } = await twoLines(rider, receiver.url, { 'Service-Outage': 'park' });
  // A read of the hosts writes what the node has measured until now.
  const [measured] = await rider.manage<{ p50Ms: number }[]>('GET', '/v2/hosts');
  assert.ok(measured!.p50Ms > 0);
  const waits = `waits until its host ${host}, which is parked by hand, is resumed`;
  for (const [[head, second], reason, text] of [
    [queue, 'behind', `first ${queue[0]}, which is pending and ${waits}`],
    [key, 'flowFull', `1 of 1 deliveries under way, of which ${key[0]} ${waits}; it is next`],
  ] as const) {
    assert.equal((await why(rider, head)).reason, 'parked');
    const told = await why(rider, second);
    assert.deepEqual([told.reason, told.estimatedAt], [reason, undefined]);
    assert.ok(told.text.includes(text), told.text);
  }
});

test('GET /v2/messages/{id}/why: behind one whose host has failed, it is estimated from the next probe', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 503);
  const headers = { 'Service-Outage': 'park', 'Service-Retries': '0' };
  for (let count = 0; count < 10; count += 1) await rider.ended(await rider.published(receiver.url, { headers }));
  await rider.quiet();
  const { queue, key } = await twoLines(rider, receiver.url, headers);
  await rider.manage('GET', '/v2/hosts');
  const probeAt = rider.clock.now() + 5000;
  for (const [head, second] of [queue, key]) {
    const ofHead = await why(rider, head);
    assert.deepEqual([ofHead.reason, ofHead.nextAttemptAt], ['parked', probeAt]);
    const { text, estimatedAt } = await why(rider, second);
    assert.ok(estimatedAt! > probeAt, text);
    assert.match(text, /waits for a probe of its parked host .*, at .*Z at the earliest;.* in about \d+s$/);
  }
});

test('GET /v2/messages/{id}/why: behind one that awaits its ack, it is estimated from the deadline', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 202);
  const { queue, key } = await twoLines(rider, receiver.url, { 'Service-Await-Ack': '30m' });
  await receiver.received(2);
  for (const [head, second] of [queue, key]) {
    const isAwaiting = async () => (await why(rider, head)).reason === 'awaitingAck';
    await waitFor('the head to await its ack', isAwaiting);
    await rider.manage('GET', '/v2/hosts');
    const { text, estimatedAt } = await why(rider, second);
    const deadline = rider.clock.now() + 30 * 60_000;
    assert.ok(estimatedAt! > deadline, text);
    assert.ok(text.includes(`waits for its ack until ${new Date(deadline).toISOString()} at the latest;`), text);
    assert.match(text, /, in about 30m\d+s$/);
  }
});

test('GET /v2/messages/{id}/why: its queue is paused', async (t) => {
  const rider = await startRider(t);
  await rider.manage('POST', '/v2/queues', { queueName: 'q', paused: true });
  const { reason, text } = await why(rider, await rider.accepted('http://127.0.0.1:1/'));
  assert.equal(reason, 'queuePaused');
  assert.match(text, /queue "q" is paused/);
});

test('GET /v2/messages/{id}/why: its flow key is full, by parallelism or by rate, or paused', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 'hang');
  const flow = (key: string, value: string) => ({
    headers: { 'Service-Flow-Control-Key': key, 'Service-Flow-Control-Value': value },
  });
  await rider.published(receiver.url, flow('wide', 'parallelism=1'));
  await rider.published(receiver.url, flow('often', 'rate=1,period=1m'));
  await receiver.received(2);
  const wide = await rider.published(receiver.url, flow('wide', 'parallelism=1'));
  assert.equal((await why(rider, wide)).reason, 'flowFull');
  const often = await why(rider, await rider.published(receiver.url, flow('often', 'rate=1,period=1m')));
  assert.deepEqual([often.reason, often.nextAttemptAt], ['flowFull', rider.clock.now() + 60_000]);
  await rider.manage('POST', '/v2/flowControl/wide/pause');
  assert.equal((await why(rider, wide)).reason, 'flowPaused');
});

test('GET /v2/messages/{id}/why: the time it gives for a flow key comes true, from the place in its line', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const publish = (path: string, value: string) =>
    rider.published(`${receiver.url}/${path}`, {
      headers: { 'Service-Flow-Control-Key': path, 'Service-Flow-Control-Value': value },
    });
  const ids: string[] = [];
  for (let index = 0; index < 7; index += 1) ids.push(await publish('rated', 'rate=2,period=1m'));
  await receiver.received(2);
  const start = rider.clock.now();
  const told = [];
  for (const id of ids.slice(2)) told.push(await why(rider, id));
  assert.deepEqual(
    told.map(({ reason, nextAttemptAt, aheadCount }) => [reason, (nextAttemptAt! - start) / 60_000, aheadCount]),
    [0, 1, 2, 3, 4].map((ahead) => ['flowFull', 1 + Math.floor(ahead / 2), ahead]),
  );
  await rider.advance(30_000);
  const last = await why(rider, ids[6]!);
  assert.deepEqual([last.nextAttemptAt, last.isEarliest], [start + 3 * 60_000, undefined]);
  // A period begins with its first start: the clock stops at each.
  for (const [ms, arrived] of [
    [30_000, 4],
    [60_000, 6],
  ] as const) {
    await rider.advance(ms);
    await receiver.received(arrived);
  }
  await rider.advance(last.nextAttemptAt! - rider.clock.now() - 1);
  assert.equal((await rider.message(ids[6]!)).state, 'CREATED');
  await rider.advance(1);
  assert.equal((await rider.ended(ids[6]!)).state, 'DELIVERED');
});

test('GET /v2/messages/{id}/why: where others must end first, a flow key gives the earliest time, or none', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 'hang');
  const publish = (key: string, value: string) =>
    rider.published(receiver.url, {
      headers: { 'Service-Flow-Control-Key': key, 'Service-Flow-Control-Value': value },
    });
  for (const value of ['parallelism=1', 'parallelism=1,rate=1,period=1m']) {
    const [, second, third] = [await publish(value, value), await publish(value, value), await publish(value, value)];
    const [next, after] = [await why(rider, second), await why(rider, third)];
    assert.deepEqual([next.reason, next.aheadCount, after.aheadCount], ['flowFull', 0, 1]);
    if (value === 'parallelism=1') {
      assert.deepEqual([next.nextAttemptAt, after.nextAttemptAt], [undefined, undefined]);
      assert.match(after.text, /when 2 more messages of the key have ended/);
    } else {
      const now = rider.clock.now();
      assert.deepEqual([next.nextAttemptAt, after.nextAttemptAt], [now + 60_000, now + 120_000]);
      assert.equal(after.isEarliest, true);
      assert.match(after.text, /at the earliest/);
    }
  }
});

test('GET /v2/messages/{id}/why: delayed or retrying, with a flow key or a queue the time is the earliest', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 503);
  const rated = { 'Service-Flow-Control-Key': 'k', 'Service-Flow-Control-Value': 'rate=1,period=1m' };
  const failing = await rider.published(receiver.url, { headers: rated });
  const { nextDeliveryTime } = await rider.attempted(failing, 1);
  const delayed = await rider.published(receiver.url, { headers: { ...rated, 'Service-Delay': '90s' } });
  const queued = await rider.accepted(receiver.url, { headers: { 'Service-Delay': '90s' } });
  const now = rider.clock.now();
  for (const [id, reason, at] of [
    [failing, 'retrying', nextDeliveryTime],
    [delayed, 'delayed', now + 90_000],
    [queued, 'delayed', now + 90_000],
  ] as const) {
    const told = await why(rider, id);
    assert.deepEqual([told.reason, told.nextAttemptAt, told.isEarliest], [reason, at, true]);
    assert.match(told.text, /, at the earliest$/);
  }
});

test('GET /v2/messages/{id}/why: retrying, with the time of the next attempt, then ended', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, (_arrival, index) => (index === 0 ? 503 : 200));
  const messageId = await rider.published(receiver.url);
  const { nextDeliveryTime } = await rider.attempted(messageId, 1);
  const retrying = await why(rider, messageId);
  assert.deepEqual([retrying.reason, retrying.nextAttemptAt], ['retrying', nextDeliveryTime]);
  assert.match(retrying.text, /attempt 1 failed with status 503/);
  await rider.advance(1000);
  await rider.ended(messageId);
  assert.deepEqual(await why(rider, messageId), { messageId, reason: 'ended', text: 'it has ended: delivered' });
});

test('GET /v2/messages/{id}/why: 404 when there is no such message', async (t) => {
  const rider = await startRider(t);
  refusal(await rider.call('GET', '/v2/messages/msg_none/why'), 404, 'message_not_found');
});
