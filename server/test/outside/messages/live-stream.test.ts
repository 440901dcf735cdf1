// api.md, section 4: the live stream of events. Nothing is lost or repeated over a reconnect, nobody sees the events of
// another account, and a reader that does not read costs nothing but its connection.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusal, startRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';
import { openTail } from '../../support/tail.ts';
import { waitFor } from '../../support/wait.ts';
import { poolUsed } from '../isolation/pools.ts';

test('GET /v2/events/stream: new events come in order, and only those of its filter', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, ({ target }) => (target === '/bad' ? 489 : 200));
  await rider.ended(await rider.published(`${receiver.url}/before`));
  const all = (await openTail(t, rider)).read();
  const failures = (await openTail(t, rider, { query: '?state=FAILED&label=red' })).read();
  assert.equal(all.response.headers['content-type'], 'text/event-stream');
  const good = await rider.published(`${receiver.url}/ok`, { headers: { 'Service-Label': 'red' } });
  await rider.ended(good);
  await all.received(3);
  const bad = await rider.published(`${receiver.url}/bad`, { headers: { 'Service-Label': 'red' } });
  await rider.ended(bad);
  await rider.ended(await rider.published(`${receiver.url}/bad`));
  const events = await all.received(11);
  assert.deepEqual(
    events.slice(0, 7).map(({ event, data }) => [event, data.state, data.messageId]),
    [
      ['CREATED', 'CREATED', good],
      ['ACTIVE', 'ACTIVE', good],
      ['DELIVERED', 'DELIVERED', good],
      ['CREATED', 'CREATED', bad],
      ['ACTIVE', 'ACTIVE', bad],
      ['ERROR', 'ERROR', bad],
      ['FAILED', 'FAILED', bad],
    ],
  );
  const [failure] = await failures.received(1);
  assert.equal(failure!.data.messageId, bad);
  assert.equal(failures.events.length, 1);
});

test('GET /v2/events/stream: ACTIVE comes when the attempt starts, not when it ends', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 'hang');
  const tail = (await openTail(t, rider)).read();
  const messageId = await rider.published(receiver.url, {
    headers: { 'Service-Timeout': '15m' },
  });
  const queued = await rider.accepted(receiver.url, { headers: { 'Service-Timeout': '15m' } });
  await receiver.received(2);
  const events = await tail.received(4);
  for (const id of [messageId, queued]) {
    const own = events.filter(({ data }) => data.messageId === id);
    assert.deepEqual(
      own.map(({ event, data }) => [event, (data as { attempt?: number }).attempt]),
      [
        ['CREATED', undefined],
        ['ACTIVE', 1],
      ],
    );
    assert.equal((await rider.message(id)).state, 'ACTIVE');
  }
});

test('GET /v2/events/stream: behind any Last-Event-ID the rest follows, without loss or repeat', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, (_arrival, index) => (index === 0 ? 500 : 200));
  const tail = (await openTail(t, rider)).read();
  const messageId = await rider.published(receiver.url);
  await rider.attempted(messageId, 1);
  await rider.advance(1000);
  await rider.ended(messageId);
  const whole = await tail.received(6);
  assert.deepEqual(tail.states(), ['CREATED', 'ACTIVE', 'ERROR', 'RETRY', 'ACTIVE', 'DELIVERED']);
  assert.equal(new Set(whole.map(({ id }) => id)).size, 6);
  tail.close();
  for (let seen = 1; seen <= 6; seen += 1) {
    const back = (await openTail(t, rider, { lastEventId: whole[seen - 1]!.id })).read();
    const marker = await rider.published('http://127.0.0.1:1/', { headers: { 'Service-Delay': '1d' } });
    await waitFor('the newest event', () => {
      rider.clock.advance(100);
      return back.events.some(({ data }) => data.messageId === marker);
    });
    const rest = back.events.filter(({ data }) => data.messageId === messageId);
    assert.deepEqual(rest, whole.slice(seen));
    back.close();
  }
});

test('GET /v2/events/stream: the events of another account are never seen, by whatever place is asked for', async (t) => {
  const rider = await startRider(t);
  const { token } = await rider.account('other');
  const theirs = (await openTail(t, rider, { token, lastEventId: '0.0' })).read();
  const mine = (await openTail(t, rider)).read();
  await rider.published('http://127.0.0.1:1/', { headers: { 'Service-Delay': '1d' } });
  await mine.received(1);
  const own = await rider.published('http://127.0.0.1:1/', { token, headers: { 'Service-Delay': '1d' } });
  await theirs.received(1);
  assert.deepEqual(
    theirs.events.map(({ data }) => data.messageId),
    [own],
  );
});

test('GET /v2/events/stream: a reader that does not read is dropped, and no more than fits its socket is kept', async (t) => {
  const rider = await startRider(t);
  const body = 'x'.repeat(64 * 1024);
  const receiver = await startReceiver(t, () => ({ status: 200, body }));
  const stuck = await openTail(t, rider);
  const count = 300;
  const destination = receiver.url;
  await rider.batch(Array.from({ length: count }, () => ({ destination })));
  await receiver.received(count);
  await waitFor('all to be delivered', async () => {
    const { messages } = await rider.manage<{ messages: unknown[] }>('GET', '/v2/messages?state=DELIVERED&count=1000');
    return messages.length === count;
  });
  // Its page is written, its socket is found full, and then the patience with it ends: by the clock of the service, but
  // the database reads the page in its own time.
  await waitFor('the stream to be dropped', async () => {
    rider.clock.advance(1000);
    return (await poolUsed(rider, 'streams')) === 0;
  });
  stuck.read();
  await waitFor('the end of the stream', () => stuck.isEnded);
  assert.ok(stuck.bytes < (count * body.length) / 2, `${stuck.bytes} bytes were kept for it`);
});

test('GET /v2/events/stream: it ends when the service shuts down, which it does not hold up', async (t) => {
  const rider = await startRider(t);
  const tail = (await openTail(t, rider)).read();
  await rider.close();
  await waitFor('the end of the stream', () => tail.isEnded);
});

test('GET /v2/events/stream: a bad filter is refused like any other', async (t) => {
  const rider = await startRider(t);
  refusal(await rider.call('GET', '/v2/events/stream?colour=red'), 400, 'bad_filter');
  refusal(await rider.call('GET', '/v2/events/stream?count=3'), 400, 'bad_filter');
});
