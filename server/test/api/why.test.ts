// api.md, section 4: why a message is not delivered yet, each reason once, in words and in data.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Rider, refusal, startRider } from '../http/harness.ts';
import { startReceiver } from '../http/receiver.ts';

interface Why {
  readonly messageId: string;
  readonly reason: string;
  readonly text: string;
  readonly nextAttemptAt?: number;
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
