// api.md, section 4: cancelling messages, one, many or by filter, and delivering one now.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Rider, refusal, ridersOfOneService } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

const HOUR = { 'Service-Delay': '1h' };
const cancelBy = (rider: Rider, query: string) =>
  rider.manage<{ cancelled: number }>('DELETE', `/v2/messages?${query}`).then(({ cancelled }) => cancelled);

test('DELETE /v2/messages/{id}: cancels one; 404 when it is unknown or has ended', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const messageId = await rider.published(receiver.url, { headers: HOUR });
  assert.deepEqual(await rider.manage('DELETE', `/v2/messages/${messageId}`), { cancelled: 1 });
  assert.equal((await rider.message(messageId)).state, 'CANCELLED');
  refusal(await rider.call('DELETE', `/v2/messages/${messageId}`), 404, 'message_not_found');
  refusal(await rider.call('DELETE', '/v2/messages/msg_none'), 404, 'message_not_found');
  await rider.advance(2 * 3_600_000);
  assert.equal(receiver.arrivals.length, 0);
});

test('DELETE /v2/messages/{id}: no attempt starts after the answer, also of one that retries', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 500);
  const messageId = await rider.published(receiver.url);
  await rider.attempted(messageId, 1);
  await rider.manage('DELETE', `/v2/messages/${messageId}`);
  await rider.advance(3_600_000);
  assert.equal(receiver.arrivals.length, 1);
  const under = await startReceiver(t, () => 'hang');
  const back = await startReceiver(t);
  const headers = {
    'Service-Callback': back.url,
    'Service-Failure-Callback': `${back.url}/failed`,
    'Service-Retries': '1',
  };
  const active = await rider.published(under.url, { headers });
  await under.received(1);
  const cancelling = () => rider.manage('DELETE', `/v2/messages/${active}`);
  assert.deepEqual(await cancelling(), { cancelled: 1 }, 'its node has confirmed that no attempt starts');
  assert.deepEqual(await cancelling(), { cancelled: 1 }, 'once more, while it has not ended');
  assert.equal((await rider.message(active)).state, 'CANCEL_REQUESTED');
  const why = await rider.manage<{ reason: string }>('GET', `/v2/messages/${active}/why`);
  assert.equal(why.reason, 'cancelRequested');
  const found = await rider.manage<{ messages: unknown[] }>('GET', '/v2/messages?state=CANCEL_REQUESTED');
  assert.equal(found.messages.length, 1);
  await rider.advance(3_600_000);
  assert.equal(under.arrivals.length, 1);
  const [report] = await back.received(1);
  assert.equal((JSON.parse(String(report!.body)) as { sourceMessageId: string }).sourceMessageId, active);
  const { state, attempts } = await rider.message(active);
  assert.deepEqual([state, attempts.map(({ outcome }) => outcome)], ['CANCELLED', ['timedOut']]);
  await rider.advance(3_600_000);
  assert.deepEqual([under.arrivals.length, back.arrivals.length], [1, 1], 'nothing more follows');
});

test('DELETE /v2/messages: by ids, in the query or the body; unknown and ended ones are ignored', async (t) => {
  const rider = await startRider(t);
  const ids: string[] = [];
  for (let i = 0; i < 4; i += 1) ids.push(await rider.published('http://127.0.0.1:1/', { headers: HOUR }));
  assert.equal(await cancelBy(rider, `messageIds=${ids[0]}&messageIds=${ids[1]}&messageIds=msg_none`), 2);
  const body = { messageIds: [ids[1], ids[2]] };
  assert.deepEqual(await rider.manage('DELETE', '/v2/messages', body), { cancelled: 1 });
  assert.deepEqual(await rider.manage('DELETE', '/v2/messages', { messageIds: ids[3] }), { cancelled: 1 });
});

test('DELETE /v2/messages: by each filter, OR within a key and AND between keys', async (t) => {
  const rider = await startRider(t);
  const a = 'http://127.0.0.1:1/a?x=1';
  const b = 'http://localhost:1/b';
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [{ url: a }] });
  const make = async () => {
    await rider.accepted(a, { queue: 'orders', headers: { ...HOUR, 'Service-Label': 'red' } });
    const flow = { 'Service-Flow-Control-Key': 'k', 'Service-Flow-Control-Value': 'rate=1' };
    await rider.published(b, { headers: { ...HOUR, 'Service-Label': 'blue', ...flow } });
    await rider.publish('news', { headers: HOUR });
  };
  const now = rider.clock.now();
  const expected: Record<string, number> = {
    'queueName=orders': 1,
    'topicName=news': 1,
    [`url=${encodeURIComponent(a)}`]: 2,
    'host=127.0.0.1:1': 2,
    'host=localhost': 1,
    'path=/a': 2,
    'label=red': 1,
    'label=red&label=blue': 2,
    'label=red&queueName=none': 0,
    'label=blue&flowControlKey=k': 1,
    'scheduleId=none': 0,
    'callerIp=127.0.0.1': 3,
    [`fromDate=${now}&toDate=${now}`]: 3,
    [`fromDate=${now + 1}`]: 0,
    'path=/a&count=1': 1,
    'all=true': 3,
  };
  for (const [query, count] of Object.entries(expected)) {
    await make();
    assert.equal(await cancelBy(rider, query), count, query);
    await cancelBy(rider, 'all=true');
  }
});

test('DELETE /v2/messages: no filter at all, an empty one or an unknown one is refused and cancels nothing', async (t) => {
  const rider = await startRider(t);
  const messageId = await rider.published('http://127.0.0.1:1/', { headers: HOUR });
  for (const query of ['', '?all=false', '?count=10', '?colour=red', '?label=', '?colour=red&all=true']) {
    refusal(await rider.call('DELETE', `/v2/messages${query}`), 400, 'bad_filter');
  }
  refusal(await rider.call('DELETE', '/v2/messages', { body: '{"colour":"red"}' }), 400, 'bad_filter');
  assert.deepEqual(await rider.manage('DELETE', '/v2/messages', { messageIds: [] }), { cancelled: 0 });
  assert.equal((await rider.message(messageId)).state, 'CREATED');
});

test('DELETE /v2/messages: all may be said as a boolean in the body; false is no filter', async (t) => {
  const rider = await startRider(t);
  for (let i = 0; i < 2; i += 1) await rider.published('http://127.0.0.1:1/', { headers: HOUR });
  for (const body of ['{"all":false}', '{"all":[true]}', '{"all":{}}']) {
    refusal(await rider.call('DELETE', '/v2/messages', { body }), 400, 'bad_filter');
  }
  assert.deepEqual(await rider.manage('DELETE', '/v2/messages', { all: true }), { cancelled: 2 });
});

test('DELETE /v2/messages: more than fit in one transaction are all cancelled', async (t) => {
  const rider = await startRider(t);
  const element = { destination: 'http://127.0.0.1:1/', headers: HOUR };
  await rider.batch(Array(1000).fill(element));
  await rider.batch(Array(201).fill(element));
  assert.equal(await cancelBy(rider, 'all=true'), 1201);
});

test('POST /v2/messages/{id}/retry: a message that waits is delivered now; in a queue it is refused', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, (_arrival, index) => (index === 0 ? 500 : 200));
  const messageId = await rider.published(receiver.url);
  await rider.attempted(messageId, 1);
  assert.deepEqual(await rider.manage('POST', `/v2/messages/${messageId}/retry`), { messageId });
  assert.equal((await rider.ended(messageId)).state, 'DELIVERED');
  const delayed = await rider.published(receiver.url, { headers: HOUR });
  await rider.manage('POST', `/v2/messages/${delayed}/retry`);
  assert.equal((await rider.ended(delayed)).state, 'DELIVERED');
  refusal(await rider.call('POST', `/v2/messages/${delayed}/retry`), 404, 'message_not_found');
  const queued = await rider.accepted(receiver.url, { headers: HOUR });
  refusal(await rider.call('POST', `/v2/messages/${queued}/retry`), 400, 'in_queue');
});
