// api.md, sections 3 and 4: what happened to messages, under both keys, with each filter, in either order.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Published, type Rider, refusal, ridersOfOneService } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

interface EventView {
  readonly time: number;
  readonly messageId: string;
  readonly state: string;
  readonly error?: string;
  readonly nextDeliveryTime?: number;
  readonly responseStatus?: number;
  readonly responseBody?: string;
  readonly body?: string;
}

interface Page {
  readonly events: readonly EventView[];
  readonly logs: readonly EventView[];
  readonly cursor?: string;
}

const list = (rider: Rider, query: string) => rider.manage<Page>('GET', `/v2/events?${query}`);
const statesOf = ({ events }: Page) => events.map(({ state }) => state);

test('GET /v2/events and GET /v2/logs: the same list under both keys', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => ({ status: 200, body: 'thanks' }));
  const messageId = await rider.published(receiver.url, { body: 'hello' });
  await rider.ended(messageId);
  const events = await rider.manage<Page>('GET', '/v2/events');
  assert.deepEqual(await rider.manage('GET', '/v2/logs'), events);
  assert.deepEqual(events.events, events.logs);
  assert.deepEqual(statesOf(events), ['DELIVERED', 'ACTIVE', 'CREATED']);
  const [delivered] = events.events;
  assert.equal(delivered!.responseStatus, 200);
  assert.equal(Buffer.from(delivered!.responseBody!, 'base64').toString(), 'thanks');
  assert.equal(Buffer.from(delivered!.body!, 'base64').toString(), 'hello');
});

test('States and events: Retries 0 to a dead URL has exactly four; a retry and a cancel have their own', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, (_arrival, index) => (index === 0 ? 500 : 200));
  const inOrder = async (messageId: string) =>
    statesOf(await list(rider, `messageId=${messageId}&order=earliestFirst`));
  const dead = await rider.published('http://127.0.0.1:1/', { headers: { 'Service-Retries': '0' } });
  await rider.ended(dead);
  assert.deepEqual(await inOrder(dead), ['CREATED', 'ACTIVE', 'ERROR', 'FAILED']);
  const retried = await rider.published(receiver.url);
  await rider.attempted(retried, 1);
  const [retry] = (await list(rider, `messageId=${retried}&state=RETRY`)).events;
  assert.equal(retry!.nextDeliveryTime, rider.clock.now() + 1000);
  await rider.advance(1000);
  await rider.ended(retried);
  assert.deepEqual(await inOrder(retried), ['CREATED', 'ACTIVE', 'ERROR', 'RETRY', 'ACTIVE', 'DELIVERED']);
  const cancelled = await rider.published(receiver.url, { headers: { 'Service-Delay': '1h' } });
  await rider.manage('DELETE', `/v2/messages/${cancelled}`);
  assert.deepEqual(await inOrder(cancelled), ['CREATED', 'CANCEL_REQUESTED', 'CANCELLED']);
});

test('GET /v2/events: each filter finds the events it means', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const startedAt = rider.clock.now();
  const queued = await rider.accepted(`${receiver.url}/a?x=1`, {
    queue: 'orders',
    headers: { 'Service-Label': 'red' },
  });
  await rider.ended(queued);
  await rider.advance(1000);
  const url = `http://localhost:${receiver.port}/b`;
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [{ url }] });
  const headers = { 'Service-Delay': '1h', 'Service-Flow-Control-Key': 'k', 'Service-Flow-Control-Value': 'rate=1' };
  const [{ messageId: ofTopic }] = (await rider.publish('news', { headers })).json<[Published]>();
  const cron = { 'Service-Cron': '0 0 1 1 *', 'Service-Schedule-Id': 'yearly', 'Service-Delay': '1h' };
  await rider.call('POST', `/v2/schedules/${receiver.url}/c`, { headers: cron });
  const [{ messageId: ofSchedule }] = await rider.manage<[Published]>('POST', '/v2/schedules/yearly/run');
  const three = [queued, queued, queued];
  const expected: Record<string, string[]> = {
    [`messageId=${queued}`]: three,
    [`messageIds=${queued}&messageIds=${ofTopic}&state=CREATED`]: [ofTopic, queued],
    [`messageId=${queued}&label=blue`]: [],
    'state=DELIVERED': [queued],
    'state=IN_PROGRESS': [queued],
    'state=CREATED': [ofSchedule, ofTopic, queued],
    [`url=${encodeURIComponent(url)}`]: [ofTopic],
    'host=localhost': [ofTopic],
    'path=/a': three,
    'topicName=news': [ofTopic],
    'scheduleId=yearly': [ofSchedule],
    'queueName=orders': three,
    'label=red&state=CREATED': [queued],
    'flowControlKey=k': [ofTopic],
    'callerIp=127.0.0.1&state=DELIVERED': [queued],
    [`toDate=${startedAt}`]: three,
    [`fromDate=${startedAt + 1}`]: [ofSchedule, ofTopic],
  };
  for (const [query, ids] of Object.entries(expected)) {
    const { events } = await list(rider, query);
    assert.deepEqual(
      events.map(({ messageId }) => messageId),
      ids,
      query,
    );
  }
  const { token } = await rider.account('other');
  for (const path of ['/v2/events', `/v2/events?messageId=${queued}`]) {
    assert.deepEqual(await rider.manage('GET', path, undefined, token), { events: [], logs: [] });
  }
});

test('GET /v2/events: of a message by its id the same as in the list of all, also one cancelled under way', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 'hang');
  const messageId = await rider.published(receiver.url, { headers: { 'Service-Timeout': '5s' } });
  await receiver.received(1);
  await rider.manage('DELETE', `/v2/messages/${messageId}`);
  const requested = ['CREATED', 'ACTIVE', 'CANCEL_REQUESTED'];
  const same = async (states: readonly string[]) => {
    const all = await list(rider, 'order=earliestFirst');
    assert.deepEqual(statesOf(all), states);
    assert.deepEqual((await list(rider, `messageId=${messageId}&order=earliestFirst`)).events, all.events);
  };
  await same(requested);
  await rider.advance(5000);
  await rider.attempted(messageId, 1);
  await same([...requested, 'ERROR', 'CANCELLED']);
});

for (const which of ['', 'messageIds']) {
  for (const order of ['latestFirst', 'earliestFirst']) {
    test(`GET /v2/events: ${order}, pages ${which && 'of named messages '}follow without gap or repeat`, async (t) => {
      const rider = await startRider(t);
      const receiver = await startReceiver(t);
      const ids: string[] = [];
      for (let i = 0; i < 4; i += 1) {
        ids.push(await rider.published(receiver.url));
        await rider.ended(ids[i]!);
      }
      const query = `order=${order}${which && ids.map((id) => `&messageIds=${id}`).join('')}`;
      const whole = await list(rider, query);
      assert.equal(whole.events.length, 12);
      assert.equal('cursor' in whole, false);
      const seen: EventView[] = [];
      let cursor: string | undefined;
      do {
        const page: Page = await list(rider, `${query}&count=5${cursor ? `&cursor=${cursor}` : ''}`);
        assert.ok(page.events.length <= 5);
        seen.push(...page.events);
        cursor = page.cursor;
      } while (cursor !== undefined);
      assert.deepEqual(seen, whole.events);
    });
  }
}

for (const order of ['latestFirst', 'earliestFirst']) {
  test(`GET /v2/events: ${order}, a page has as many as were asked for, and no step is lost between two`, async (t) => {
    const rider = await startRider(t);
    const receiver = await startReceiver(t, (_arrival, index) => (index < 2 ? 500 : 200));
    const retried = await rider.published(receiver.url, { headers: { 'Service-Retry-Delay': '1000' } });
    await rider.attempted(retried, 1);
    const dead = await rider.published(receiver.url, { headers: { 'Service-Retries': '0' } });
    await rider.ended(dead);
    await rider.advance(1000);
    await rider.ended(retried);
    const cancelled = await rider.published(receiver.url, { headers: { 'Service-Delay': '1h' } });
    await rider.manage('DELETE', `/v2/messages/${cancelled}`);
    const whole = (await list(rider, `order=${order}`)).events;
    assert.equal(whole.length, 13);
    for (const count of [1, 2, 3, 13]) {
      const seen: EventView[] = [];
      let cursor: string | undefined;
      do {
        const page: Page = await list(rider, `order=${order}&count=${count}${cursor ? `&cursor=${cursor}` : ''}`);
        assert.ok(page.events.length <= count, `${page.events.length} of ${count}`);
        assert.ok(page.events.length === count || page.cursor === undefined);
        seen.push(...page.events);
        cursor = page.cursor;
      } while (cursor !== undefined);
      assert.deepEqual(seen, whole, String(count));
    }
    refusal(await rider.call('GET', '/v2/events?cursor=1.x'), 400, 'bad_parameter');
    refusal(await rider.call('GET', '/v2/events?cursor=99999999999999999'), 400, 'bad_parameter');
  });
}

test('GET /v2/events: at most 1000 at once; what it does not know is refused', async (t) => {
  const rider = await startRider(t);
  assert.equal((await rider.call('GET', '/v2/events?count=1000')).status, 200);
  refusal(await rider.call('GET', '/v2/events?count=1001'), 400, 'bad_parameter');
  refusal(await rider.call('GET', '/v2/logs?text=x'), 400, 'bad_filter');
  refusal(await rider.call('GET', '/v2/logs?state=LOST'), 400, 'bad_filter');
});
