// Expires and Expires-At: from then on no attempt starts, and a message that waits ends as failed, as its caller, its
// receiver and everybody who looks on see it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type MessageView, type Published, type Rider, refusal, ridersOfOneService } from '../../support/harness.ts';
import { inTurn, startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

const NOWHERE = 'http://127.0.0.1:1/';
const SECOND = 1000;

interface Expiring extends MessageView {
  readonly expiresAt?: number;
  readonly failureCode?: string;
}

const view = (rider: Rider, id: string) => rider.message(id) as Promise<Expiring>;
const expires = (after: string, more: Record<string, string> = {}) => ({
  headers: { 'Service-Expires': after, ...more },
});
const paused = (rider: Rider, queueName: string) => rider.manage('POST', '/v2/queues', { queueName, paused: true });

test('Expires: a message that is sent in time is delivered, and says when it would have expired', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const now = rider.clock.now();
  const id = await rider.published(receiver.url, expires('10m', { 'Service-Delay': '9m59s' }));
  assert.equal((await view(rider, id)).expiresAt, now + 600 * SECOND);
  await rider.advance(599 * SECOND);
  assert.equal((await rider.ended(id)).state, 'DELIVERED');
  await rider.advance(2 * SECOND);
  const ended = await view(rider, id);
  assert.deepEqual([ended.state, ended.failureCode], ['DELIVERED', undefined]);
});

test('Expires: a message in a paused queue ends at its expiry, as a dead letter with a failure callback', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  await paused(rider, 'stopped');
  const headers = { 'Service-Failure-Callback': `${receiver.url}/failed`, 'Service-Expires': '90s' };
  const id = await rider.accepted(`${receiver.url}/never`, { queue: 'stopped', headers, body: 'hello' });
  await rider.advance(89 * SECOND);
  assert.equal((await view(rider, id)).state, 'CREATED');
  await rider.advance(SECOND);
  const ended = (await rider.ended(id)) as Expiring;
  assert.equal(ended.state, 'FAILED');
  assert.equal(ended.failureCode, 'expired');
  assert.equal(ended.failure, 'expired before its first attempt');
  assert.deepEqual(ended.attempts, []);
  const [callback] = await receiver.received(1);
  assert.equal(callback!.target, '/failed');
  const report = JSON.parse(callback!.body.toString());
  assert.deepEqual([report.status, report.failureCode, report.sourceMessageId], [0, 'expired', id]);
  const { messages } = await rider.manage<{ messages: readonly (Expiring & { dlqId: string })[] }>('GET', '/v2/dlq');
  assert.deepEqual(
    messages.map(({ messageId, failureCode, dlqId }) => [messageId, failureCode, dlqId]),
    [[id, 'expired', report.dlqId]],
  );
  const { events } = await rider.manage<{ events: readonly { state: string; error?: string; failureCode?: string }[] }>(
    'GET',
    `/v2/events?messageId=${id}&order=earliestFirst`,
  );
  assert.deepEqual(
    events.map(({ state, error, failureCode }) => [state, error, failureCode]),
    [
      ['CREATED', undefined, undefined],
      ['FAILED', 'expired before its first attempt', 'expired'],
    ],
  );
  assert.equal((await rider.manage<{ lag: number }>('GET', '/v2/queues/stopped')).lag, 0);
});

test('Expires: a retry that would come later is not waited for', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => ({ status: 503, headers: { 'Retry-After': '60' } }));
  const id = await rider.published(receiver.url, expires('1m'));
  await receiver.received(1);
  const ended = (await rider.ended(id)) as Expiring;
  assert.equal(ended.failureCode, 'expired');
  assert.equal(ended.failure, 'expired before its next attempt: the destination returned 503');
  assert.equal(ended.attempts.length, 1);
});

test('Expires: a retry within it is made', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, inTurn(500, 200));
  const id = await rider.published(receiver.url, expires('5s'));
  await rider.attempted(id, 1);
  await rider.advance(SECOND);
  assert.equal((await rider.ended(id)).state, 'DELIVERED');
});

test('Expires-At: seconds since 1970, and why says when', async (t) => {
  const rider = await startRider(t);
  const at = rider.clock.now() / 1000 + 120;
  const id = await rider.published(NOWHERE, {
    headers: { 'Service-Expires-At': String(at), 'Service-Delay': '30s' },
  });
  const why = await rider.manage<{ reason: string; text: string; expiresAt: number }>('GET', `/v2/messages/${id}/why`);
  assert.equal(why.reason, 'delayed');
  assert.equal(why.expiresAt, at * 1000);
  assert.match(why.text, new RegExp(`; no attempt starts after ${new Date(at * 1000).toISOString()}, in 2m$`));
});

test('Expires: what cannot be is refused with 400, and nothing is stored', async (t) => {
  const rider = await startRider(t);
  const soon = rider.clock.now() / 1000 + 60;
  for (const [headers, text] of [
    [{ 'Service-Expires': '0s' }, /^Service-Expires: must be a duration over 0/],
    [{ 'Service-Expires': 'soon' }, /^Service-Expires: must be a duration/],
    [{ 'Service-Expires-At': 'tomorrow' }, /^Service-Expires-At: must be a time in seconds/],
    [{ 'Service-Expires-At': String(soon * 1000) }, /^Service-Expires-At: .*looks like milliseconds/],
    [{ 'Service-Expires-At': String(soon - 120) }, /^Service-Expires-At: is in the past/],
    [{ 'Service-Expires': '1m', 'Service-Expires-At': String(soon) }, /^Service-Expires: .*not both/],
    [{ 'Service-Expires': '1m', 'Service-Delay': '1m' }, /^Service-Delay: the message would expire .*Service-Expires$/],
    [
      { 'Service-Expires-At': String(soon), 'Service-Not-Before': String(soon + 1) },
      /^Service-Not-Before: the message would expire .*Service-Expires-At$/,
    ],
  ] as const) {
    assert.match(refusal(await rider.publish(NOWHERE, { headers }), 400, 'bad_header'), text);
  }
  const { messages } = await rider.manage<{ messages: readonly unknown[] }>('GET', '/v2/messages');
  assert.deepEqual(messages, []);
});

test('Expires: however long, it is kept; empty is absent', async (t) => {
  const rider = await startRider(t);
  const long = await rider.published(NOWHERE, expires('9'.repeat(30), { 'Service-Delay': '1h' }));
  assert.equal((await view(rider, long)).expiresAt, 8_640_000_000_000_000);
  const none = await rider.published(NOWHERE, expires('', { 'Service-Delay': '1h' }));
  assert.equal((await view(rider, none)).expiresAt, undefined);
});

test('Expires: in a batch each element has its own; a bad one is refused in its slot', async (t) => {
  const rider = await startRider(t);
  await paused(rider, 'b');
  const element = (after: string) => ({ destination: NOWHERE, queue: 'b', headers: { 'Service-Expires': after } });
  const answer = await rider.batch([element('10s'), element('-1'), { destination: NOWHERE, queue: 'b' }]);
  const [first, second, third] = answer.json<(Published & { code?: string })[]>();
  assert.equal(second!.code, 'bad_header');
  await rider.advance(10 * SECOND);
  assert.equal((await rider.ended(first!.messageId)).state, 'FAILED');
  assert.equal((await view(rider, third!.messageId)).state, 'CREATED');
});

test('Expires: as a default of a topic; the one of a request wins, in whichever of the two forms', async (t) => {
  const rider = await startRider(t);
  const now = rider.clock.now();
  await rider.manage('POST', '/v2/topics/news/endpoints', {
    endpoints: [{ url: `${NOWHERE}a` }, { url: `${NOWHERE}b` }],
  });
  await rider.manage('PATCH', '/v2/topics/news', { headers: { 'Service-Expires': '10m' } });
  const expiriesOf = async (headers: Record<string, string>) => {
    const answer = await rider.publish('news', { headers: { 'Service-Delay': '1m', ...headers } });
    const results = answer.json<Published[]>();
    return Promise.all(results.map(async ({ messageId }) => (await view(rider, messageId)).expiresAt));
  };
  assert.deepEqual(await expiriesOf({}), [now + 600 * SECOND, now + 600 * SECOND]);
  assert.deepEqual(await expiriesOf({ 'Service-Expires': '2m' }), [now + 120 * SECOND, now + 120 * SECOND]);
  const at = now / 1000 + 300;
  assert.deepEqual(await expiriesOf({ 'Service-Expires-At': String(at) }), [at * 1000, at * 1000]);
  const late = await rider.publish('news', { headers: { 'Service-Delay': '1h' } });
  assert.match(refusal(late, 400, 'bad_header'), /^Service-Delay: the message would expire/);
});

test('Expires: of a schedule counts from each tick', async (t) => {
  const rider = await startRider(t);
  await paused(rider, 'ticks');
  const headers = { 'Service-Cron': '* * * * *', 'Service-Expires': '30s', 'Service-Queue-Name': 'ticks' };
  await rider.call('POST', `/v2/schedules/${NOWHERE}`, { headers });
  const jitter = await rider.call('POST', `/v2/schedules/${NOWHERE}`, {
    headers: { ...headers, 'Service-Schedule-Jitter': '30s' },
  });
  assert.match(refusal(jitter, 400, 'bad_header'), /^Service-Schedule-Jitter: a message could expire/);
  await rider.advance(61 * SECOND);
  const { messages } = await rider.manage<{ messages: readonly Expiring[] }>('GET', '/v2/messages?queueName=ticks');
  const [tick] = messages;
  assert.equal(tick!.expiresAt! - tick!.createdAt, 30 * SECOND);
  await rider.advance(30 * SECOND);
  assert.equal(((await rider.ended(tick!.messageId)) as Expiring).failureCode, 'expired');
});

test('Expires-At of a schedule: a tick after it makes no message', async (t) => {
  const rider = await startRider(t);
  await paused(rider, 'last-ticks');
  const at = rider.clock.now() / 1000 + 90;
  const headers = { 'Service-Cron': '* * * * *', 'Service-Expires-At': String(at), 'Service-Queue-Name': 'last-ticks' };
  await rider.call('POST', `/v2/schedules/${NOWHERE}`, { headers });
  const ticked = async () =>
    (await rider.manage<{ messages: readonly Expiring[] }>('GET', '/v2/messages?queueName=last-ticks')).messages;
  await rider.advance(60 * SECOND);
  const [tick] = await ticked();
  assert.equal(tick!.expiresAt, at * 1000);
  for (let minute = 0; minute < 3; minute += 1) await rider.advance(60 * SECOND);
  assert.equal(((await rider.ended(tick!.messageId)) as Expiring).failureCode, 'expired');
  const all = await ticked();
  assert.deepEqual(
    all.map(({ messageId }) => messageId),
    [tick!.messageId],
  );
});

test('expires of a queue is for messages that have no expiry, and counts from when they are due', async (t) => {
  const rider = await startRider(t);
  const now = rider.clock.now();
  const save = (expires: string | null) =>
    rider.manage<{ expires?: string }>('POST', '/v2/queues', { queueName: 'kept', paused: true, expires });
  assert.equal((await save('600s')).expires, '10m');
  assert.equal((await rider.manage<{ expires?: string }>('GET', '/v2/queues/kept')).expires, '10m');
  assert.equal((await rider.manage<{ expires?: string }>('POST', '/v2/queues/kept/pause')).expires, '10m');
  const publish = (headers: Record<string, string>) => rider.accepted(NOWHERE, { queue: 'kept', headers });
  const [bare, delayed, own] = [
    await publish({}),
    await publish({ 'Service-Delay': '1h' }),
    await publish({ 'Service-Expires': '20m' }),
  ];
  const expiries = await Promise.all([bare, delayed, own].map(async (id) => (await view(rider, id)).expiresAt! - now));
  assert.deepEqual(expiries, [600 * SECOND, 4200 * SECOND, 1200 * SECOND]);
  assert.equal((await save(null)).expires, undefined);
  assert.equal((await view(rider, await publish({}))).expiresAt, undefined);
  await rider.advance(600 * SECOND);
  assert.equal(((await rider.ended(bare)) as Expiring).failureCode, 'expired');
  const wrong = await rider.call('POST', '/v2/queues', { body: JSON.stringify({ queueName: 'kept', expires: '0s' }) });
  assert.match(refusal(wrong, 400, 'bad_body'), /^expires: must be a duration over 0/);
});

test('Expires: a change of a waiting message counts from the change, and must leave time for it', async (t) => {
  const rider = await startRider(t);
  const id = await rider.published(NOWHERE, expires('10m', { 'Service-Delay': '5m' }));
  await rider.advance(60 * SECOND);
  const change = (body: object) => rider.call('PATCH', `/v2/messages/${id}`, { body: JSON.stringify(body) });
  assert.match(refusal(await change({ delay: '9m' }), 400, 'bad_header'), /^Service-Expires: .*change both/);
  const changed = await change({ delay: '9m', headers: { 'Service-Expires': '20m' } });
  assert.equal(changed.json<Expiring>().expiresAt, rider.clock.now() + 1200 * SECOND);
  const past = await change({ headers: { 'Service-Expires-At': '1000000000' } });
  assert.match(refusal(past, 400, 'bad_header'), /^Service-Expires-At: is in the past/);
});

test('Expires: neither its callbacks nor the retry of its dead letter have it, unless the retry says so', async (t) => {
  const rider = await startRider(t);
  const headers = { 'Service-Failure-Callback': NOWHERE, 'Service-Failure-Callback-Delay': '1h' };
  const id = await rider.published(NOWHERE, {
    headers: { ...headers, 'Service-Expires': '2s', 'Service-Retries': '0' },
  });
  await rider.ended(id);
  const { messages } = await rider.manage<{ messages: readonly Expiring[] }>(
    'GET',
    `/v2/messages?sourceMessageId=${id}`,
  );
  assert.deepEqual(
    messages.map(({ expiresAt }) => expiresAt),
    [undefined],
  );
  const retry = async (more: Record<string, string>) => {
    const answer = await rider.call('POST', `/v2/dlq/retry/${id.replace('msg_', 'dlq_')}`, {
      headers: { 'Service-Delay': '1h', ...more },
    });
    return answer.json<Published>().messageId;
  };
  const again = await retry({ 'Service-Expires': '2h' });
  assert.equal((await view(rider, again)).expiresAt, rider.clock.now() + 7200 * SECOND);
  await rider.manage('DELETE', `/v2/messages/${again}`);
  const other = await rider.published(NOWHERE, { headers: { 'Service-Expires': '2s', 'Service-Retries': '0' } });
  await rider.ended(other);
  const bare = await rider.manage<Published>('POST', `/v2/dlq/retry/${other.replace('msg_', 'dlq_')}`);
  assert.equal((await view(rider, bare.messageId)).expiresAt, undefined);
});

test('Expires: an attempt that has started in time is not cut off', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 'hang');
  const id = await rider.published(receiver.url, expires('5s', { 'Service-Timeout': '20s' }));
  await receiver.received(1);
  await rider.advance(10 * SECOND);
  assert.equal((await view(rider, id)).state, 'ACTIVE');
  await rider.advance(10 * SECOND);
  const ended = (await rider.ended(id)) as Expiring;
  assert.equal(ended.failure, 'expired before its next attempt: no complete response within 20s');
});
