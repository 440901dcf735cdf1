// api.md, section 4: listing and searching messages, with each filter, newest first, page by page.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Published, type Rider, refusal, ridersOfOneService } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

interface Page {
  readonly messages: readonly { readonly messageId: string; readonly body?: string }[];
  readonly cursor?: string;
}

async function found(rider: Rider, query: string): Promise<string[]> {
  const { messages } = await rider.manage<Page>('GET', `/v2/messages?${query}`);
  return messages.map(({ messageId }) => messageId);
}

test('GET /v2/messages: each filter finds what it means and nothing else, newest first', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, ({ target }) => (target === '/bad' ? 404 : 200));
  const url = `http://localhost:${receiver.port}/in?x=1`;
  const startedAt = rider.clock.now();
  const delivered = await rider.accepted(`${receiver.url}/ok`, {
    queue: 'orders',
    headers: { 'Service-Label': 'red' },
  });
  await rider.ended(delivered);
  await rider.advance(1000);
  const failed = await rider.published(`${receiver.url}/bad`, { headers: { 'Service-Retries': '0' } });
  await rider.ended(failed);
  const retrying = await rider.published(`${receiver.url}/bad`, { body: 'Hello World' });
  await rider.attempted(retrying, 1);
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [{ url }] });
  const headers = {
    'Service-Delay': '1h',
    'Service-Flow-Control-Key': 'k',
    'Service-Flow-Control-Value': 'rate=5',
    'Service-Label': 'blue,red',
  };
  const [{ messageId: delayed }] = (await rider.publish('news', { headers })).json<[Published]>();
  const cancelled = await rider.published(url, { headers: { 'Service-Delay': '1h' } });
  await rider.manage('DELETE', `/v2/messages/${cancelled}`);
  const all = [cancelled, delayed, retrying, failed, delivered];
  const expected: Record<string, string[]> = {
    '': all,
    'order=earliestFirst': [...all].reverse(),
    [`messageId=${failed}`]: [failed],
    [`messageIds=${failed}&messageIds=${delayed}&messageIds=msg_none`]: [delayed, failed],
    'state=DELIVERED': [delivered],
    'state=FAILED': [failed],
    'state=CANCELLED': [cancelled],
    'state=CREATED': [delayed],
    'state=RETRY': [retrying],
    'state=in_progress': [retrying],
    'state=FAILED&state=CREATED': [delayed, failed],
    [`url=${encodeURIComponent(url)}`]: [cancelled, delayed],
    'host=LOCALHOST': [cancelled, delayed],
    [`host=127.0.0.1:${receiver.port}`]: [retrying, failed, delivered],
    'path=/in': [cancelled, delayed],
    'queueName=orders': [delivered],
    'topicName=news': [delayed],
    'label=red': [delayed, delivered],
    'label=red&state=DELIVERED': [delivered],
    'flowControlKey=k': [delayed],
    'callerIp=127.0.0.1&state=FAILED': [failed],
    'callerIp=192.0.2.1': [],
    'responseStatus=404': [retrying, failed],
    [`toDate=${startedAt}`]: [delivered],
    [`fromDate=${startedAt + 1}&state=FAILED`]: [failed],
    'fromDate=2026-01-01T00:00:01Z&label=red': [delayed],
    'text=hello%20wor': [retrying],
    'text=ORDERS': [delivered],
    'scheduleId=none': [],
  };
  for (const [query, ids] of Object.entries(expected)) assert.deepEqual(await found(rider, query), ids, query);
  const { token } = await rider.account('other');
  assert.deepEqual((await rider.manage<Page>('GET', '/v2/messages', undefined, token)).messages, []);
});

test('GET /v2/messages: pages follow each other without gap or repeat while more come in; no cursor on the last', async (t) => {
  const rider = await startRider(t);
  const headers = { 'Service-Delay': '1h' };
  const ids: string[] = [];
  for (let i = 0; i < 7; i += 1) ids.unshift(await rider.published('http://127.0.0.1:1/', { headers }));
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page: Page = await rider.manage('GET', `/v2/messages?count=3${cursor ? `&cursor=${cursor}` : ''}`);
    seen.push(...page.messages.map(({ messageId }) => messageId));
    cursor = page.cursor;
    await rider.published('http://127.0.0.1:1/', { headers });
  } while (cursor !== undefined);
  assert.deepEqual(seen, ids);
  assert.equal('cursor' in (await rider.manage<Page>('GET', '/v2/messages?count=1000')), false);
});

test('GET /v2/messages: what it does not take is refused by name', async (t) => {
  const rider = await startRider(t);
  const refused: Record<string, string> = {
    'colour=red': 'bad_filter',
    'state=LOST': 'bad_filter',
    'fromDate=soon': 'bad_filter',
    'fromDate=2026-02-30': 'bad_filter',
    'toDate=1790000000': 'bad_filter',
    'count=0': 'bad_parameter',
    'count=1001': 'bad_parameter',
    'order=random': 'bad_parameter',
    'cursor=x': 'bad_parameter',
    'count=1&count=2': 'bad_parameter',
  };
  for (const [query, code] of Object.entries(refused)) {
    const error = refusal(await rider.call('GET', `/v2/messages?${query}`), 400, code);
    assert.ok(error.startsWith(query.split('=')[0]!), error);
  }
});

test('GET /v2/messages/counts: how many match a filter, by state', async (t) => {
  const rider = await startRider(t);
  const later = { 'Service-Delay': '1h', 'Service-Label': 'red' };
  for (const headers of [later, later, { 'Service-Delay': '1h' }]) {
    await rider.published('http://127.0.0.1:1/', { headers });
  }
  const dead = { 'Service-Label': 'red', 'Service-Retries': '0' };
  await rider.ended(await rider.published('http://127.0.0.1:1/', { headers: dead }));
  const none = { CREATED: 0, ACTIVE: 0, RETRY: 0, HELD: 0, CANCEL_REQUESTED: 0, DELIVERED: 0, FAILED: 0, CANCELLED: 0 };
  const counted = (query: string) => rider.manage('GET', `/v2/messages/counts${query}`);
  assert.deepEqual(await counted('?label=red'), { states: { ...none, CREATED: 2, FAILED: 1 } });
  assert.deepEqual(await counted(''), { states: { ...none, CREATED: 3, FAILED: 1 } });
  assert.equal((await rider.call('GET', '/v2/messages/counts?state=FAILED')).status, 400);
});
