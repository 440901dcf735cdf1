// A cursor belongs to the list, the filters and the order of the page it came with.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Rider, refusal, ridersOfOneService } from '../../support/harness.ts';

const startRider = ridersOfOneService();
const NOWHERE = 'http://127.0.0.1:1/';
const OTHER = /^cursor: belongs to another list, or to other filters or another order/;

/** Lists that have two entries each, by the path of a page. */
async function startWithLists(
  t: Parameters<typeof startRider>[0],
): Promise<{ rider: Rider; paths: readonly string[] }> {
  const rider = await startRider(t);
  for (const name of ['a', 'b']) {
    await rider.manage('POST', '/v2/queues', { queueName: name });
    await rider.manage('POST', `/v2/topics/${name}/endpoints`, { endpoints: [{ url: NOWHERE }] });
    await rider.ended(await rider.published(NOWHERE, { headers: { 'Service-Retries': '0', 'Service-Label': 'l' } }));
  }
  return { rider, paths: ['/v2/messages', '/v2/events', '/v2/dlq', '/v2/queues', '/v2/topics'] };
}

/** The cursor of the first page with one entry. */
async function cursorOf(rider: Rider, path: string): Promise<string> {
  const answer = await rider.call('GET', `${path}${path.includes('?') ? '&' : '?'}count=1`);
  const link = /cursor=([^&>]+)/.exec(String(answer.headers.link))?.[1];
  const cursor = link ?? answer.json<{ cursor?: string }>().cursor;
  assert.ok(cursor, path);
  return cursor;
}

test('a cursor of one list is refused by every other list', async (t) => {
  const { rider, paths } = await startWithLists(t);
  for (const path of paths) {
    const cursor = await cursorOf(rider, path);
    assert.equal((await rider.call('GET', `${path}?cursor=${cursor}`)).status, 200, path);
    for (const other of paths.filter((each) => each !== path)) {
      refusal(await rider.call('GET', `${other}?cursor=${cursor}`), 400, 'bad_parameter');
    }
  }
  const cursor = await cursorOf(rider, '/v2/messages');
  assert.match(refusal(await rider.call('GET', `/v2/dlq?cursor=${cursor}`), 400, 'bad_parameter'), OTHER);
  const ofTopics = await cursorOf(rider, '/v2/topics');
  assert.match(refusal(await rider.call('GET', `/v2/queues?cursor=${ofTopics}`), 400, 'bad_parameter'), OTHER);
});

test('with other filters or in another order a cursor is refused; another count, or the same order by its other name, is not', async (t) => {
  const { rider } = await startWithLists(t);
  for (const path of ['/v2/messages', '/v2/events', '/v2/dlq']) {
    const cursor = await cursorOf(rider, `${path}?label=l`);
    for (const query of ['', 'label=m&', 'label=l&host=x&', 'label=l&order=oldestFirst&']) {
      const answer = await rider.call('GET', `${path}?${query}cursor=${cursor}`);
      assert.match(refusal(answer, 400, 'bad_parameter'), OTHER, `${path}?${query}`);
    }
    for (const query of ['label=l', 'label=l&count=7', 'label=l&order=latestFirst', 'order=newestFirst&label=l']) {
      assert.equal((await rider.call('GET', `${path}?${query}&cursor=${cursor}`)).status, 200, query);
    }
  }
});

test('a bulk call is refused with the cursor of other filters, and deletes nothing', async (t) => {
  const { rider } = await startWithLists(t);
  const cursor = await cursorOf(rider, '/v2/dlq?label=l');
  refusal(await rider.call('DELETE', `/v2/dlq?all=true&cursor=${cursor}`), 400, 'bad_parameter');
  refusal(await rider.call('POST', `/v2/dlq/retry?all=true&cursor=${cursor}`), 400, 'bad_parameter');
  assert.equal((await rider.manage<{ messages: unknown[] }>('GET', '/v2/dlq')).messages.length, 2);
  assert.deepEqual(await rider.manage('DELETE', `/v2/dlq?label=l&cursor=${cursor}`), { deleted: 1 });
});
