// Topics over HTTP: made with their first endpoint, read by name and id, kept in order, gone with their last.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Published, type Rider, refusal, ridersOfOneService } from '../../support/harness.ts';

const startRider = ridersOfOneService();

interface TopicView {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly endpoints: readonly { readonly url: string; readonly name?: string }[];
}

const A = { url: 'http://127.0.0.1:1/a' };
const B = { url: 'http://127.0.0.1:1/b', name: 'b' };
const C = { url: 'http://127.0.0.1:1/c' };

test('a topic is created with its first endpoints and read by name and by id', async (t) => {
  const rider = await startRider(t);
  const made = await rider.manage<TopicView>('POST', '/v2/topics/news/endpoints', { endpoints: [B, A] });
  assert.deepEqual(made, {
    id: made.id,
    name: 'news',
    createdAt: rider.clock.now(),
    updatedAt: rider.clock.now(),
    endpoints: [B, A],
  });
  assert.match(made.id, /^tpc_[0-9A-Z]{26}$/);
  assert.deepEqual(await rider.manage('GET', '/v2/topics/news'), made);
  assert.deepEqual(await rider.manage('GET', `/v2/topics/${made.id}`), made);
});

test('topics are listed by name', async (t) => {
  const rider = await startRider(t);
  assert.deepEqual(await rider.manage('GET', '/v2/topics'), []);
  for (const name of ['b', 'a', 'c']) await rider.manage('POST', `/v2/topics/${name}/endpoints`, { endpoints: [A] });
  const topics = await rider.manage<TopicView[]>('GET', '/v2/topics');
  assert.deepEqual(
    topics.map(({ name }) => name),
    ['a', 'b', 'c'],
  );
});

test('endpoints are added at the end; one that is there already is changed in its place', async (t) => {
  const rider = await startRider(t);
  const add = (...endpoints: object[]) =>
    rider.manage<TopicView>('POST', '/v2/topics/news/endpoints', { endpoints }).then((topic) => topic.endpoints);
  assert.deepEqual(await add(A, B), [A, B]);
  assert.deepEqual(await add(C), [A, B, C]);
  assert.deepEqual(await add(A), [A, B, C]);
  const moved = { name: 'b', url: 'http://127.0.0.1:1/moved' };
  assert.deepEqual(await add(moved), [A, moved, C]);
  assert.deepEqual(await add({ ...A, name: 'a' }), [{ ...A, name: 'a' }, moved, C]);
});

test('PATCH puts the endpoints in a new order, or replaces them', async (t) => {
  const rider = await startRider(t);
  const { id, createdAt } = await rider.manage<TopicView>('POST', '/v2/topics/news/endpoints', {
    endpoints: [A, B, C],
  });
  await rider.advance(1000);
  const patched = await rider.manage<TopicView>('PATCH', '/v2/topics/news', { endpoints: [C, A, B] });
  assert.deepEqual(patched.endpoints, [C, A, B]);
  assert.equal(patched.id, id);
  assert.equal(patched.createdAt, createdAt);
  assert.equal(patched.updatedAt, createdAt + 1000);
  const results = (await rider.enqueue('q', 'news')).json<Published[]>();
  assert.deepEqual(
    results.map(({ url }) => url),
    [C, A, B].map(({ url }) => url),
  );
  const replaced = await rider.manage<TopicView>('PATCH', `/v2/topics/${id}`, { endpoints: [B] });
  assert.deepEqual(replaced.endpoints, [B]);
});

test('PATCH refuses default headers that would refuse every message to the topic', async (t) => {
  const strict = await startRider(t, { flags: ['--strict-settings'] });
  await strict.manage('POST', '/v2/topics/news/endpoints', { endpoints: [A] });
  const patch = (rider: Rider, headers: object) =>
    rider.call('PATCH', '/v2/topics/news', { body: JSON.stringify({ headers }) });
  refusal(await patch(strict, { 'Service-Retires': '1' }), 400, 'bad_header');
  refusal(await patch(strict, { 'Upstash-Retries': '1' }), 400, 'bad_header');
  refusal(await patch(strict, { 'Service-Retries': '1000000' }), 412, 'limit_exceeded');
  refusal(
    await patch(strict, { 'Service-Callback': 'https://x.example', 'Service-Callback-Timeout': '900d' }),
    412,
    'limit_exceeded',
  );
  const both = { 'Service-Order-Key': 'k', 'Service-Flow-Control-Key': 'k', 'Service-Flow-Control-Value': 'rate=1' };
  refusal(await patch(strict, both), 400, 'bad_header');
  assert.equal((await patch(strict, { 'Service-Order-Key': 'k' })).status, 200, 'fine in a queue');
  assert.equal((await patch(strict, { 'Service-Retries': '1', 'Service-Delay': '1h' })).status, 200);
  assert.equal((await strict.publish('news')).status, 201);
  const lenient = await startRider(t);
  await lenient.manage('POST', '/v2/topics/news/endpoints', { endpoints: [A] });
  const told = await patch(lenient, { 'Service-Retires': '1', 'Service-Delay': '1h' });
  assert.equal(told.status, 200);
  assert.match(String(told.headers['service-warning']), /Service-Retires is not known .* Service-Retries\?/);
  assert.equal((await lenient.publish('news')).status, 201);
});

test('PATCH refuses repeated endpoints, none at all, and a topic that is not there', async (t) => {
  const rider = await startRider(t);
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [A] });
  const patch = (name: string, endpoints: object[]) =>
    rider.call('PATCH', `/v2/topics/${name}`, { body: JSON.stringify({ endpoints }) });
  assert.match(refusal(await patch('news', [A, A]), 400, 'bad_body'), /^endpoints: two of them/);
  assert.match(refusal(await patch('news', []), 400, 'bad_body'), /^endpoints: /);
  refusal(await patch('none', [A]), 404, 'topic_not_found');
  assert.deepEqual((await rider.manage<TopicView>('GET', '/v2/topics/news')).endpoints, [A]);
});

test('endpoints are removed by name or by URL; the topic goes with the last one', async (t) => {
  const rider = await startRider(t);
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [A, B, C] });
  const remove = (...endpoints: object[]) =>
    rider.manage<Partial<TopicView>>('DELETE', '/v2/topics/news/endpoints', { endpoints });
  assert.deepEqual((await remove({ name: 'b' })).endpoints, [A, C]);
  assert.deepEqual((await remove({ url: C.url })).endpoints, [A]);
  assert.deepEqual((await remove({ url: 'http://127.0.0.1:1/none' })).endpoints, [A]);
  assert.deepEqual(await remove({ url: A.url }), {});
  refusal(await rider.call('GET', '/v2/topics/news'), 404, 'topic_not_found');
  refusal(await rider.enqueue('q', 'news'), 404, 'topic_not_found');
});

test('removing endpoints needs a topic that is there, and at least one of name and url', async (t) => {
  const rider = await startRider(t);
  const remove = (endpoints: unknown) =>
    rider.call('DELETE', '/v2/topics/news/endpoints', { body: JSON.stringify({ endpoints }) });
  refusal(await remove([{ name: 'b' }]), 404, 'topic_not_found');
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [A] });
  assert.match(refusal(await remove([{}]), 400, 'bad_body'), /^endpoints\.0: /);
  assert.match(refusal(await remove([]), 400, 'bad_body'), /^endpoints: /);
});

test('deleting a topic is the same the second time', async (t) => {
  const rider = await startRider(t);
  const { id } = await rider.manage<TopicView>('POST', '/v2/topics/news/endpoints', { endpoints: [A, B] });
  for (const name of ['news', 'news', id, 'never-there']) {
    assert.deepEqual(await rider.manage('DELETE', `/v2/topics/${name}`), {});
  }
  refusal(await rider.call('GET', '/v2/topics/news'), 404, 'topic_not_found');
});

test('a topic made again after it was deleted is a new one', async (t) => {
  const rider = await startRider(t);
  const first = await rider.manage<TopicView>('POST', '/v2/topics/news/endpoints', { endpoints: [A] });
  await rider.manage('DELETE', '/v2/topics/news');
  const second = await rider.manage<TopicView>('POST', '/v2/topics/news/endpoints', { endpoints: [B] });
  assert.notEqual(second.id, first.id);
  assert.deepEqual(second.endpoints, [B]);
});

test('messages that were accepted before a change keep their URLs', async (t) => {
  const rider = await startRider(t);
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [A] });
  const headers = { 'Service-Delay': '1h' };
  const [{ messageId }] = (await rider.enqueue('q', 'news', { headers })).json<[Published]>();
  await rider.manage('DELETE', '/v2/topics/news');
  const message = await rider.message(messageId);
  assert.equal(message.url, A.url);
  assert.equal(message.topicName, 'news');
});

test('the tier limits the endpoints of a topic', async (t) => {
  const tiers = { free: { endpointsPerTopicMax: 2 } };
  const rider = await startRider(t, { flags: ['--tiers', JSON.stringify(tiers)] });
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [A, B] });
  for (const [method, path, endpoints] of [
    ['POST', '/v2/topics/news/endpoints', [C]],
    ['PATCH', '/v2/topics/news', [A, B, C]],
    ['POST', '/v2/topics/other/endpoints', [A, B, C]],
  ] as const) {
    const answer = await rider.call(method, path, { body: JSON.stringify({ endpoints }) });
    assert.match(refusal(answer, 412, 'limit_exceeded'), /^endpoints: at most 2 for a topic on the free tier/);
  }
  const { token } = await rider.account('payer', 'paid');
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [A, B, C] }, token);
});

test('another account sees nothing of a topic, and may use its name', async (t) => {
  const rider = await startRider(t);
  const { token } = await rider.account('other');
  const mine = await rider.manage<TopicView>('POST', '/v2/topics/news/endpoints', { endpoints: [A] });
  for (const name of ['news', mine.id]) {
    refusal(await rider.call('GET', `/v2/topics/${name}`, { token }), 404, 'topic_not_found');
    refusal(await rider.enqueue('q', name, { token }), 404, 'topic_not_found');
    assert.deepEqual(await rider.manage('DELETE', `/v2/topics/${name}`, undefined, token), {});
  }
  const theirs = await rider.manage<TopicView>('POST', '/v2/topics/news/endpoints', { endpoints: [B] }, token);
  assert.notEqual(theirs.id, mine.id);
  assert.deepEqual(await rider.manage('GET', '/v2/topics/news'), mine);
});

test('many changes of one topic at the same moment are all made', async (t) => {
  const rider = await startRider(t);
  const urls = Array.from({ length: 12 }, (_, index) => `http://127.0.0.1:1/${index}`);
  await Promise.all(urls.map((url) => rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [{ url }] })));
  const { endpoints } = await rider.manage<TopicView>('GET', '/v2/topics/news');
  assert.deepEqual(endpoints.map(({ url }) => url).sort(), [...urls].sort());
});
