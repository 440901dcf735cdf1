// What a topic may hold: so many endpoints, so many default headers. Beyond that it is refused before anything is
// compared or kept, because every message to the topic reads all of it again.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import { withoutEndpoints } from '../../../src/rules/publish/topic.ts';
import { refusal, sharedRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const COUNT_MAX = eachMax('topicHeaders');
const shared = sharedRider();

const headers = (count: number, length = 1) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`service-x${index}`, 'y'.repeat(length)]));

test('default headers of a topic that mean nothing are counted all the same, and nothing is changed beyond the limit', async (t) => {
  const rider = shared();
  const receiver = await startReceiver(t);
  const { token } = await rider.account('with-a-topic');
  const before = await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [{ url: receiver.url }] }, token);
  const patch = (given: object) => rider.call('PATCH', '/v2/topics/news', { token, body: JSON.stringify(given) });
  assert.match(
    refusal(await patch({ headers: headers(COUNT_MAX + 1) }), 400, 'bad_header'),
    /257 headers; the limit is 256/,
  );
  const repeated = { 'service-x': Array.from({ length: COUNT_MAX + 1 }, () => 'y') };
  refusal(await patch({ headers: repeated }), 400, 'bad_header');
  const long = headers(COUNT_MAX, eachMax('topicHeaderBytes') / COUNT_MAX);
  assert.match(refusal(await patch({ headers: long }), 400, 'bad_header'), /bytes in total; the limit is 65536/);
  assert.deepEqual(await rider.manage('GET', '/v2/topics/news', undefined, token), before);
  assert.equal((await patch({ headers: headers(COUNT_MAX) })).status, 200);
  const [made] = (await rider.publish('news', { token })).json<{ messageId: string }[]>();
  assert.equal((await rider.ended(made!.messageId, token)).state, 'DELIVERED');
});

test('more endpoints than a topic may have are refused before any two of them are compared', async () => {
  const rider = shared();
  const { token } = await rider.account('with-endpoints');
  // The last one is no URL: whoever says so has looked at all of them.
  const endpoints = Array.from({ length: 10_000 }, (_, index) => ({
    url: index === 9999 ? 'x' : `http://a.b/${index}`,
  }));
  const body = JSON.stringify({ endpoints });
  refusal(await rider.call('POST', '/v2/topics/wide/endpoints', { token, body }), 412, 'limit_exceeded');
  refusal(await rider.call('PATCH', '/v2/topics/wide', { token, body }), 412, 'limit_exceeded');
  refusal(await rider.call('GET', '/v2/topics/wide', { token }), 404, 'topic_not_found');
});

test('endpoints are taken away by names and URLs, each looked at once', () => {
  let looks = 0;
  const selector = (name: string) => ({
    get name() {
      looks += 1;
      return name;
    },
  });
  const existing = Array.from({ length: 100 }, (_, index) => ({ name: `n${index}`, url: `http://a.b/${index}` }));
  const unnamed = { name: null, url: 'http://a.b/unnamed' };
  const removed = Array.from({ length: 1000 }, (_, index) => selector(`n${index + 1}`));
  assert.deepEqual(withoutEndpoints([...existing, unnamed], removed), [existing[0], unnamed]);
  assert.ok(looks <= 2 * removed.length, `${looks} looks`);
  assert.deepEqual(withoutEndpoints([existing[0]!, unnamed], [{ url: unnamed.url }]), [existing[0]]);
});
