// api.md, Debouncing: with Debounce-Key and Debounce, a new message takes the place of the one that waits.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type MessageView, type Rider, refusal, ridersOfOneService, startRider } from '../../support/harness.ts';
import { inTurn, startReceiver } from '../../support/receiver.ts';

const riderOf = ridersOfOneService();

const NOWHERE = 'http://127.0.0.1:1/';
const SECOND = 1000;

interface Debounced extends MessageView {
  readonly version: string;
  readonly debounceKey?: string;
  readonly debounced?: number;
  readonly debounceUntil?: number;
  readonly nextDeliveryTime?: number;
}

interface Accepted {
  readonly messageId: string;
  readonly debounced?: number;
}

const debounce = (more: Record<string, string> = {}) => ({
  'Service-Debounce-Key': 'cart-42',
  'Service-Debounce': '5s',
  ...more,
});
const view = (rider: Rider, id: string) => rider.message(id) as Promise<Debounced>;

async function publish(rider: Rider, url: string, body: string, more: Record<string, string> = {}): Promise<Accepted> {
  const answer = await rider.publish(url, { headers: debounce(more), body });
  assert.equal(answer.status, 201, answer.text);
  return answer.json<Accepted>();
}

const updatesOf = async (rider: Rider, id: string) => {
  type Event = { readonly state: string; readonly changed?: string[] };
  const { events } = await rider.manage<{ events: readonly Event[] }>(
    'GET',
    `/v2/events?messageId=${id}&order=oldestFirst`,
  );
  return events.map(({ state, changed }) => (changed ? [state, ...changed] : [state]));
};

test('of several publishes with a key the newest is sent, once, under the id of the first', async (t) => {
  const rider = await riderOf(t);
  const [before, after] = [await startReceiver(t), await startReceiver(t)];
  const now = rider.clock.now();
  const max = { 'Service-Debounce-Max': '1m' };
  const { messageId: id, ...first } = await publish(rider, before.url, 'one', { ...max, 'Service-Label': 'old' });
  assert.deepEqual(first, { url: before.url, debounced: 1 });
  await rider.advance(4 * SECOND);
  const second = { ...max, 'Service-Method': 'PUT', 'Service-Forward-X-New': '2' };
  assert.deepEqual(await publish(rider, `${after.url}/new`, 'two', second), {
    messageId: id,
    url: `${after.url}/new`,
    debounced: 2,
  });
  const shown = await view(rider, id);
  assert.deepEqual(
    [shown.debounceKey, shown.debounced, shown.debounceUntil, shown.nextDeliveryTime, shown.createdAt, shown.version],
    ['cart-42', 2, now + 60 * SECOND, now + 9 * SECOND, now, '0-1'],
  );
  assert.deepEqual([shown.url, shown.method, shown.body], [`${after.url}/new`, 'PUT', 'two']);
  assert.deepEqual(await updatesOf(rider, id), [
    ['CREATED'],
    ['UPDATED', 'nextDeliveryTime', 'url', 'body', 'header', 'method', 'labels', 'debounced'],
  ]);
  await rider.advance(4 * SECOND);
  assert.equal(after.arrivals.length, 0);
  await rider.advance(SECOND);
  const [arrival] = await after.received(1);
  assert.deepEqual(
    [arrival!.method, arrival!.target, String(arrival!.body), arrival!.header('X-New')],
    ['PUT', '/new', 'two', '2'],
  );
  assert.equal((await rider.ended(id)).state, 'DELIVERED');
  assert.equal((await view(rider, id)).debounced, 2);
  assert.equal(before.arrivals.length, 0);
  const again = await publish(rider, after.url, 'three');
  assert.notEqual(again.messageId, id);
  assert.equal(again.debounced, 1);
});

test('Debounce-Max: however many come, it is sent that long after the first', async (t) => {
  const rider = await riderOf(t);
  const receiver = await startReceiver(t);
  const max = { 'Service-Debounce-Max': '12s' };
  const ids = new Set<string>();
  for (let at = 0; at < 4; at += 1) {
    ids.add((await publish(rider, receiver.url, String(at), max)).messageId);
    if (at < 3) await rider.advance(4 * SECOND);
    // At 12 s the first message is sent, so that the fourth publish is a new one.
    if (at === 2) await receiver.received(1);
  }
  assert.equal(ids.size, 2);
  assert.equal(String(receiver.arrivals[0]!.body), '2');
});

test('a key without a window, and what it does not go together with, are refused; nothing is stored', async (t) => {
  const rider = await riderOf(t);
  const refusedWith = async (headers: Record<string, string>, wanted: RegExp, status = 400, code = 'bad_header') => {
    const answer = await rider.publish(NOWHERE, { headers });
    refusal(answer, status, code);
    assert.match(answer.json<{ error: string }>().error, wanted);
  };
  await refusedWith({ 'Service-Debounce-Key': 'k' }, /^Service-Debounce: missing/);
  await refusedWith({ 'Service-Debounce': '5s' }, /^Service-Debounce-Key: missing/);
  await refusedWith({ 'Service-Debounce-Max': '5s' }, /^Service-Debounce-Key: missing/);
  await refusedWith(debounce({ 'Service-Debounce': '0s' }), /^Service-Debounce: must be a duration over 0/);
  await refusedWith(debounce({ 'Service-Debounce': 'soon' }), /^Service-Debounce: must be/);
  await refusedWith(debounce({ 'Service-Debounce-Max': '4s' }), /^Service-Debounce-Max: must be at least as long/);
  await refusedWith(debounce({ 'Service-Debounce-Key': 'k\u00e9' }), /^Service-Debounce-Key: must be 1 to 256/);
  await refusedWith(debounce({ 'Service-Debounce-Key': 'k'.repeat(257) }), /^Service-Debounce-Key: must be 1 to 256/);
  await refusedWith(debounce({ 'Service-Delay': '1s' }), /not together with Service-Delay/);
  await refusedWith(debounce({ 'Service-Not-Before': '1' }), /not together with Service-Not-Before/);
  for (const name of ['Service-Deduplication-Id', 'Idempotency-Key', 'Service-Content-Based-Deduplication']) {
    await refusedWith(debounce({ [name]: 'true' }), /not together with deduplication/);
  }
  await refusedWith(debounce({ 'Service-Expires': '5s' }), /^Service-Debounce: the message would expire/);
  await refusedWith(debounce({ 'Service-Cron': '* * * * *' }), /Service-Cron: only for a schedule/);
  await refusedWith(debounce({ 'Service-Debounce': '366d' }), /^Service-Debounce exceeds/, 412, 'limit_exceeded');
  await refusedWith(
    debounce({ 'Service-Debounce-Max': '366d' }),
    /^Service-Debounce-Max exceeds/,
    412,
    'limit_exceeded',
  );
  assert.equal(
    (await publish(rider, NOWHERE, '', { 'Service-Delay': '0', 'Service-Debounce-Max': '5s' })).debounced,
    1,
  );
  const { messages } = await rider.manage<{ messages: unknown[] }>('GET', '/v2/messages');
  assert.equal(messages.length, 1);
});

test('schedules, topics, retries and changes take no debounce key', async (t) => {
  const rider = await riderOf(t);
  const name = /Service-Debounce-Key: /;
  const refused = (answer: Awaited<ReturnType<Rider['call']>>) => {
    refusal(answer, 400, 'bad_header');
    assert.match(answer.json<{ error: string }>().error, name);
  };
  const cron = debounce({ 'Service-Cron': '0 0 1 1 *' });
  refused(await rider.call('POST', `/v2/schedules/${NOWHERE}`, { headers: cron }));
  const topic = { endpoints: [{ url: NOWHERE }], headers: debounce() };
  refused(await rider.call('PATCH', '/v2/topics/news', { body: JSON.stringify(topic) }));
  const id = await rider.published(NOWHERE, { headers: { 'Service-Delay': '1h' } });
  refused(await rider.call('PATCH', `/v2/messages/${id}`, { body: JSON.stringify({ headers: debounce() }) }));
  const dead = await rider.published(NOWHERE, { headers: { 'Service-Retries': '0' } });
  await rider.ended(dead);
  refused(await rider.call('POST', `/v2/dlq/retry/${dead.replace('msg_', 'dlq_')}`, { headers: debounce() }));
});

test('each endpoint of a topic has a message of its own that waits', async (t) => {
  const rider = await riderOf(t);
  const receiver = await startReceiver(t);
  const endpoints = ['a', 'b'].map((path) => ({ name: path, url: `${receiver.url}/${path}` }));
  await rider.manage('POST', '/v2/topics/pair/endpoints', { endpoints });
  const send = async (body: string) => {
    const answer = await rider.publish('pair', { headers: debounce(), body });
    assert.equal(answer.status, 201, answer.text);
    return answer.json<readonly Accepted[]>();
  };
  const first = await send('one');
  assert.deepEqual(
    first.map(({ debounced }) => debounced),
    [1, 1],
  );
  const second = await send('two');
  assert.deepEqual(
    second.map(({ messageId, debounced }) => [messageId, debounced]),
    first.map(({ messageId }) => [messageId, 2]),
  );
  const plain = await publish(rider, `${receiver.url}/a`, 'plain');
  assert.equal(plain.debounced, 1, 'a publish to a URL has a key of its own');
  assert.equal((await view(rider, first[0]!.messageId)).debounceKey, 'cart-42');
  await rider.advance(5 * SECOND);
  const arrivals = await receiver.received(3);
  assert.deepEqual(arrivals.map(({ target, body }) => `${target} ${body}`).toSorted(), [
    '/a plain',
    '/a two',
    '/b two',
  ]);
});

test('debounceKey is a filter: of lists, counts, events, a cancel and dead letters, and of every endpoint of a topic', async (t) => {
  const rider = await riderOf(t);
  const receiver = await startReceiver(t, ({ target }) => (target === '/bad' ? 404 : 200));
  const endpoints = ['a', 'b'].map((path) => ({ name: path, url: `${receiver.url}/${path}` }));
  await rider.manage('POST', '/v2/topics/pair/endpoints', { endpoints });
  const sent = await publish(rider, `${receiver.url}/bad`, 'sent', { 'Service-Retries': '0' });
  await rider.advance(5 * SECOND);
  await rider.ended(sent.messageId);
  const waits = await publish(rider, receiver.url, 'waits');
  await publish(rider, receiver.url, 'other', { 'Service-Debounce-Key': 'cart-4' });
  const topic = (await rider.publish('pair', { headers: debounce() })).json<readonly Accepted[]>();
  const of = async (query: string) =>
    (await rider.manage<{ messages: readonly Accepted[] }>('GET', `/v2/messages?${query}`)).messages.map(
      ({ messageId }) => messageId,
    );
  const ids = [...topic.map(({ messageId }) => messageId).toReversed(), waits.messageId, sent.messageId];
  assert.deepEqual(await of('debounceKey=cart-42'), ids);
  assert.deepEqual(await of('debounceKey=cart-42&count=1000&order=earliestFirst'), ids.toReversed());
  assert.deepEqual(await of('debounceKey=cart-42&state=CREATED'), ids.slice(0, 3));
  assert.deepEqual(await of('debounceKey=cart-42&debounceKey=cart-4&state=CREATED&host=127.0.0.1'), [
    ...ids.slice(0, 2),
    (await of('debounceKey=cart-4'))[0],
    ids[2],
  ]);
  for (const none of ['cart-42%0A', 'cart', 'CART-42', 'cart-42%00'])
    assert.deepEqual(await of(`debounceKey=${none}`), []);
  const { states } = await rider.manage<{ states: Record<string, number> }>(
    'GET',
    '/v2/messages/counts?debounceKey=cart-42',
  );
  assert.deepEqual([states.CREATED, states.FAILED], [3, 1]);
  const { events } = await rider.manage<{ events: readonly Accepted[] }>('GET', '/v2/events?debounceKey=cart-4');
  assert.equal(events.length, 1);
  const { messages: dead } = await rider.manage<{ messages: readonly Accepted[] }>(
    'GET',
    '/v2/dlq?debounceKey=cart-42',
  );
  assert.deepEqual(
    dead.map(({ messageId }) => messageId),
    [sent.messageId],
  );
  assert.deepEqual(await rider.manage('DELETE', '/v2/messages?debounceKey=cart-42'), { cancelled: 3 });
});

test('a batch tells for each element what waits; a place in another line refuses all of it', async (t) => {
  const rider = await riderOf(t);
  const element = (body: string, more: object = {}) => ({ destination: NOWHERE, headers: debounce(), body, ...more });
  const batch = async (elements: readonly object[]) =>
    rider.call('POST', '/v2/batch', { body: JSON.stringify(elements) });
  const good = await batch([element('one'), { destination: NOWHERE }, element('two')]);
  assert.equal(good.status, 201, good.text);
  const entries = good.json<readonly Accepted[]>();
  assert.deepEqual(
    entries.map(({ debounced }) => debounced),
    [1, undefined, 2],
  );
  assert.equal(entries[0]!.messageId, entries[2]!.messageId);
  const bad = await batch([{ destination: NOWHERE }, element('three', { queue: 'line' })]);
  refusal(bad, 400, 'bad_header');
  assert.match(
    bad.json<{ error: string }>().error,
    /another queue \(message 2 of this request\); nothing was accepted/,
  );
  const shown = await view(rider, entries[0]!.messageId);
  assert.deepEqual([shown.body, shown.debounced], ['two', 2]);
  const inQueue = await rider.call('POST', `/v2/enqueue/line/${NOWHERE}`, { headers: debounce() });
  refusal(inQueue, 400, 'bad_header');
});

test('while an attempt is under way, and while it waits for a retry, a publish is a new message', async (t) => {
  const rider = await riderOf(t);
  const receiver = await startReceiver(t, inTurn('hang', 500, 200));
  const { messageId: id } = await publish(rider, receiver.url, 'old', {
    'Service-Retry-Delay': '60000',
    'Service-Timeout': '10m',
  });
  await rider.advance(5 * SECOND);
  await receiver.received(1);
  const next = await publish(rider, receiver.url, 'new', { 'Service-Retry-Delay': '60000' });
  assert.notEqual(next.messageId, id);
  await rider.advance(5 * SECOND);
  await receiver.received(2);
  await rider.attempted(next.messageId, 1);
  const last = await publish(rider, receiver.url, 'last');
  assert.equal(last.debounced, 1);
  const { messageId } = await publish(rider, receiver.url, 'last but one');
  assert.equal(messageId, last.messageId);
});

test('a change and a cancel of the one that waits', async (t) => {
  const rider = await riderOf(t);
  const { messageId: id } = await publish(rider, NOWHERE, 'one');
  const changed = await rider.call('PATCH', `/v2/messages/${id}`, {
    body: JSON.stringify({ delay: '1h', body: 'changed' }),
    headers: { 'If-Match': '"0-0"' },
  });
  assert.equal(changed.status, 200, changed.text);
  assert.equal((await publish(rider, NOWHERE, 'two')).messageId, id);
  const stale = await rider.call('PATCH', `/v2/messages/${id}`, {
    body: JSON.stringify({ body: 'late' }),
    headers: { 'If-Match': '"0-1"' },
  });
  refusal(stale, 412, 'version_changed');
  const shown = await view(rider, id);
  assert.deepEqual([shown.body, shown.nextDeliveryTime], ['two', rider.clock.now() + 5 * SECOND]);
  await rider.manage('DELETE', `/v2/messages/${id}`);
  assert.notEqual((await publish(rider, NOWHERE, 'three')).messageId, id);
});

test('an expiry is that of the newest; an expired message is a dead letter, and its retry has no key', async (t) => {
  const rider = await riderOf(t);
  await rider.manage('POST', '/v2/queues', { queueName: 'stopped', paused: true });
  const send = async (more: Record<string, string>) => {
    const answer = await rider.call('POST', `/v2/enqueue/stopped/${NOWHERE}`, { headers: debounce(more) });
    return answer.json<Accepted>().messageId;
  };
  const id = await send({ 'Service-Expires': '10s' });
  await rider.advance(4 * SECOND);
  await send({ 'Service-Expires': '20s' });
  await rider.advance(19 * SECOND);
  assert.equal((await view(rider, id)).state, 'CREATED');
  await rider.advance(SECOND);
  assert.equal((await rider.ended(id)).state, 'FAILED');
  assert.notEqual(await send({}), id);
  const { messages } = await rider.manage<{ messages: readonly { dlqId: string }[] }>('GET', '/v2/dlq');
  const retry = await rider.call('POST', `/v2/dlq/retry/${messages[0]!.dlqId}`);
  assert.equal(retry.status, 201, retry.text);
  const { messageId } = retry.json<Accepted>();
  assert.equal((await view(rider, messageId)).debounceKey, undefined);
});

test('why says until when it waits, for how many it stands, and when it is due at the latest', async (t) => {
  const rider = await riderOf(t);
  const { messageId: id } = await publish(rider, NOWHERE, '', { 'Service-Debounce-Max': '1m' });
  const why = () => rider.manage<{ reason: string; text: string }>('GET', `/v2/messages/${id}/why`);
  assert.equal((await why()).reason, 'delayed');
  await publish(rider, NOWHERE, '', { 'Service-Debounce-Max': '1m' });
  const { text } = await why();
  const now = new Date(rider.clock.now() + 60 * SECOND).toISOString();
  const next = 'it stands for 2 messages, and the next with the debounce key "cart-42" takes its place';
  assert.match(text, /^it is delayed until .*, in 5s; it stands for 2/);
  assert.ok(text.endsWith(`${next}, due at ${now} at the latest`), text);
});

test('many publishes at once: one message waits, and each has a number of its own', async (t) => {
  const rider = await riderOf(t);
  const answers = await Promise.all(Array.from({ length: 60 }, (_, n) => publish(rider, NOWHERE, String(n))));
  assert.equal(new Set(answers.map(({ messageId }) => messageId)).size, 1);
  assert.deepEqual(
    answers.map(({ debounced }) => debounced!).toSorted((a, b) => a - b),
    answers.map((_, n) => n + 1),
  );
  const last = answers.findIndex(({ debounced }) => debounced === 60);
  assert.equal((await view(rider, answers[0]!.messageId)).body, String(last));
});

test('every publish counts for the daily quota, and one that took a place is counted by a metric', async (t) => {
  const rider = await startRider(t, {
    flags: ['--tiers', '{"free":{"messagesPerDayMax":3},"paid":{"messagesPerDayMax":3}}'],
  });
  for (let n = 1; n <= 3; n += 1) assert.equal((await publish(rider, NOWHERE, String(n))).debounced, n);
  const answer = await rider.publish(NOWHERE, { headers: debounce(), body: '4' });
  refusal(answer, 429, 'quota_exceeded');
  const { messages } = await rider.manage<{ messages: readonly Debounced[] }>('GET', '/v2/messages');
  assert.deepEqual(
    messages.map(({ debounced }) => debounced),
    [3],
  );
  const { text: metrics } = await rider.call('GET', '/metrics', { token: null });
  assert.match(metrics, /^postrider_messages_debounced_total 2$/m);
  assert.match(metrics, /^postrider_messages_accepted_total\{way="publish"\} 3$/m);
});
