// Priority: the order in which ready messages of one account to one host start while they wait for free slots.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { refusal, ridersOfOneService, startRider } from '../../support/harness.ts';
import { type Reply, startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const riderOfOneService = ridersOfOneService();
const NOWHERE = 'http://127.0.0.1:9/';
const MINUTE = 60_000;

/** A service with one slot, which the first message holds until `next` is called. */
async function startFull(t: TestContext) {
  const rider = await startRider(t, { flags: ['--concurrency', '1'] });
  let reply: ((reply: Reply) => void) | null = null;
  const receiver = await startReceiver(t, () => new Promise((resolve) => (reply = resolve)));
  const publish = (path: string, priority: number | null) =>
    rider.published(receiver.url + path, {
      headers: { 'Service-Timeout': '15m', ...(priority !== null && { 'Service-Priority': String(priority) }) },
    });
  const next = async () => {
    const count = receiver.arrivals.length;
    reply!(200);
    await waitFor('the next delivery', () => receiver.arrivals.length > count);
  };
  await publish('/first', null);
  await receiver.received(1);
  return { rider, receiver, publish, next, end: () => reply!(200) };
}

test('the highest priority goes first, and the default is between 4 and 6', async (t) => {
  const { receiver, publish, next, end } = await startFull(t);
  for (const priority of [0, null, 4, 9, 6, 5]) await publish(`/${priority}`, priority);
  for (let count = 0; count < 6; count += 1) await next();
  end();
  assert.deepEqual(
    receiver.arrivals.map(({ target }) => target),
    ['/first', '/9', '/6', '/null', '/5', '/4', '/0'],
  );
});

test('a waiting message rises by one level each minute; why says its level', async (t) => {
  const { rider, receiver, publish, next, end } = await startFull(t);
  const old = await publish('/old', 2);
  await rider.advance(3 * MINUTE);
  await publish('/6', 6);
  await publish('/5', 5);
  await publish('/4', 4);
  const why = await rider.manage<{ reason: string; text: string; level: number }>('GET', `/v2/messages/${old}/why`);
  assert.deepEqual([why.reason, why.level], ['waitingForSlot', 5]);
  assert.match(why.text, /; its priority is 2, and has risen to 5 while it waited$/);
  for (let count = 0; count < 4; count += 1) await next();
  end();
  assert.deepEqual(
    receiver.arrivals.map(({ target }) => target),
    ['/first', '/6', '/old', '/5', '/4'],
  );
});

test('the priority is shown, kept by a retry of the dead letter, and a default of a topic', async (t) => {
  const rider = await riderOfOneService(t);
  const shown = (id: string) => rider.manage<{ priority?: number }>('GET', `/v2/messages/${id}`);
  const headers = { 'Service-Priority': '0', 'Service-Retries': '0' };
  const receiver = await startReceiver(t, () => 500);
  const failed = await rider.published(receiver.url, { headers });
  assert.equal((await rider.ended(failed)).state, 'FAILED');
  assert.equal((await shown(failed)).priority, 0);
  const { messageId } = await rider.manage<{ messageId: string }>(
    'POST',
    `/v2/dlq/retry/${failed.replace('msg_', 'dlq_')}`,
  );
  assert.equal((await shown(messageId)).priority, 0);
  assert.equal(
    (await shown(await rider.published(NOWHERE, { headers: { 'Service-Delay': '1h' } }))).priority,
    undefined,
  );
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [{ url: NOWHERE }] });
  await rider.manage('PATCH', '/v2/topics/news', { headers: { 'Service-Priority': '8' } });
  const ofTopic = await rider.publish('news', { headers: { 'Service-Delay': '1h' } });
  assert.equal((await shown(ofTopic.json<[{ messageId: string }]>()[0].messageId)).priority, 8);
  const inQueue = await rider.enqueue('q', 'news', { headers: { 'Service-Delay': '1h' } });
  assert.equal(inQueue.status, 201, inQueue.text);
  assert.equal((await shown(inQueue.json<[{ messageId: string }]>()[0].messageId)).priority, undefined);
});

test('an element of a batch and a schedule have one too, and a change sets it', async (t) => {
  const rider = await riderOfOneService(t);
  const shown = async (id: string) => (await rider.message(id)) as { priority?: number };
  const later = { 'Service-Delay': '1h' };
  const batch = await rider.batch([
    { destination: NOWHERE, headers: { ...later, 'Service-Priority': '1' } },
    { destination: NOWHERE, headers: later },
  ]);
  const [first, second] = batch.json<[{ messageId: string }, { messageId: string }]>();
  assert.deepEqual([(await shown(first.messageId)).priority, (await shown(second.messageId)).priority], [1, undefined]);
  const headers = { 'Service-Cron': '@every 1h', 'Service-Schedule-Id': 'urgent', 'Service-Priority': '7' };
  const made = await rider.call('POST', `/v2/schedules/${NOWHERE}`, { headers });
  assert.equal(made.status, 201, made.text);
  const [run] = await rider.manage<[{ messageId: string }]>('POST', '/v2/schedules/urgent/run');
  assert.equal((await shown(run.messageId)).priority, 7);
  const change = (body: object) =>
    rider.call('PATCH', `/v2/messages/${second.messageId}`, { body: JSON.stringify(body) });
  const changed = await change({ headers: { 'Service-Priority': '9' } });
  assert.equal(changed.json<{ priority: number }>().priority, 9);
  assert.match(refusal(await change({ headers: { 'Service-Priority': '10' } }), 400, 'bad_header'), /from 0 to 9/);
  const queued = await rider.accepted(NOWHERE, { queue: 'ordered', headers: later });
  const inQueue = await rider.call('PATCH', `/v2/messages/${queued}`, {
    body: JSON.stringify({ headers: { 'Service-Priority': '9' } }),
  });
  assert.match(refusal(inQueue, 400, 'bad_header'), /^Service-Priority: not allowed in a queue/);
  const keyed = { ...later, 'Service-Order-Key': 'k', 'Service-Priority': '9' };
  assert.match(
    refusal(await rider.enqueue('ordered', NOWHERE, { headers: keyed }), 400, 'bad_header'),
    /^Service-Priority: not allowed in a queue/,
  );
});

test('the priority of a queue is that of its messages; a change and a retry keep it', async (t) => {
  const rider = await riderOfOneService(t);
  const shown = (id: string) => rider.manage<{ priority?: number; body: string }>('GET', `/v2/messages/${id}`);
  const queue = { queueName: 'urgent', priority: 9 };
  assert.equal((await rider.manage<{ priority: number }>('POST', '/v2/queues', queue)).priority, 9);
  const waiting = await rider.accepted(NOWHERE, { queue: 'urgent', headers: { 'Service-Delay': '1h' } });
  assert.equal((await shown(waiting)).priority, 9);
  await rider.manage('PATCH', `/v2/messages/${waiting}`, { body: 'changed' });
  assert.deepEqual([(await shown(waiting)).priority, (await shown(waiting)).body], [9, 'changed']);
  const receiver = await startReceiver(t, () => 500);
  const failed = await rider.accepted(receiver.url, { queue: 'urgent', headers: { 'Service-Retries': '0' } });
  await rider.ended(failed);
  await rider.manage('POST', '/v2/queues', { queueName: 'urgent', priority: null });
  const again = await rider.manage<{ messageId: string }>('POST', `/v2/dlq/retry/${failed.replace('msg_', 'dlq_')}`, {
    body: 'changed',
    headers: { 'Service-Delay': '1h' },
  });
  assert.deepEqual([(await shown(again.messageId)).priority, (await shown(again.messageId)).body], [9, 'changed']);
  const { priority } = await rider.manage<{ priority?: number }>('GET', '/v2/queues/urgent');
  assert.equal(priority, undefined);
  for (const bad of [10, -1, 5.5, 'high']) {
    const refused = await rider.call('POST', '/v2/queues', {
      body: JSON.stringify({ queueName: 'urgent', priority: bad }),
    });
    assert.match(refusal(refused, 400, 'bad_body'), /priority/);
  }
});

test('what is no priority is refused, and so is one in a queue', async (t) => {
  const rider = await riderOfOneService(t);
  for (const bad of ['10', '-1', '5.5', 'high']) {
    const refused = await rider.publish(NOWHERE, { headers: { 'Service-Priority': bad } });
    assert.equal(refusal(refused, 400, 'bad_header'), 'Service-Priority: must be a whole number from 0 to 9');
  }
  const queued = await rider.enqueue('q', NOWHERE, { headers: { 'Service-Priority': '5' } });
  assert.match(refusal(queued, 400, 'bad_header'), /^Service-Priority: not allowed in a queue/);
  const inBatch = await rider.call('POST', '/v2/batch', {
    body: JSON.stringify([{ destination: NOWHERE, queue: 'q', headers: { 'Service-Priority': '5' } }]),
    headers: { 'Content-Type': 'application/json' },
  });
  assert.match(inBatch.text, /Service-Priority: not allowed in a queue/);
});
