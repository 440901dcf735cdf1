// Where the public clients, by their own suites, expect something else than our own contract: each difference once,
// with the client where it has a method for it, else with the request that it, or the one in Python or Go, sends.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask as askAnybody } from '../../support/client.ts';
import { DEAD_URL, type OracleAccount, refused, startOracle } from '../../support/qstash-client.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const oracle = await startOracle();
const JSON_TYPE = { 'Content-Type': 'application/json' };
const LATER = { 'Upstash-Delay': '1h' };
const URL_ = 'https://example.com/';

test('queue.delete: cancels the open messages of the queue, however many', async () => {
  const { client, ask } = await oracle.account();
  const queue = client.queue({ queueName: 'gone' });
  const { messageId } = await queue.enqueueJSON({ url: URL_, delay: '1h' });
  await client.batchJSON(Array.from({ length: 600 }, () => ({ url: URL_, queueName: 'gone', delay: '1h' }) as const));
  await queue.delete();
  assert.match(await refused(404, () => queue.get()), /gone/);
  const message = (await ask('GET', `/v2/messages/${messageId}`)).json<{ state: string }>();
  assert.equal(message.state, 'CANCELLED');
});

test('DELETE /v2/queues: force=false keeps a queue that has open messages', async () => {
  const { client, ask } = await oracle.account();
  await client.queue({ queueName: 'kept' }).enqueueJSON({ url: URL_, delay: '1h' });
  assert.equal((await ask('DELETE', '/v2/queues/kept?force=false')).status, 409);
  assert.equal((await client.queue({ queueName: 'kept' }).get()).lag, 1);
});

test('paths: the case of what stands before a name does not count, nor a slash behind a collection', async () => {
  const { client, ask } = await oracle.account();
  const made = await ask('POST', `/v2/Schedules/${URL_}Path?A=1`, { headers: { 'Upstash-Cron': '0 0 29 2 *' } });
  assert.equal(made.status, 201, made.text);
  const { scheduleId } = made.json<{ scheduleId: string }>();
  const read = (await ask('GET', `/v2/Schedules/${scheduleId}`)).json<{ destination: string }>();
  assert.equal(read.destination, `${URL_}Path?A=1`);
  await client.queue({ queueName: 'Mixed' }).upsert({});
  for (const path of ['/v2/queues/', '/v2/Queues', '/V2/QUEUES/?']) {
    const answer = await ask('GET', path);
    assert.equal(answer.json<[{ name: string }]>()[0].name, 'Mixed', path);
  }
  assert.equal((await ask('GET', '/v2/Queues/Mixed')).status, 200);
  assert.equal((await ask('GET', '/v2/queues/mixed')).status, 404);
  const upsert = await ask('POST', '/v2/queues/', { headers: JSON_TYPE, body: '{"queueName":"other"}' });
  assert.equal(upsert.status, 200);
  assert.equal((await ask('GET', '/v2/flowcontrol/')).status, 200);
  assert.equal((await ask('GET', '/v2/GlobalParallelism')).status, 200);
  const published = await ask('POST', `/v2/Publish/${URL_}Up`, { headers: LATER });
  assert.equal(published.json<{ url: string }>().url, `${URL_}Up`);
  const enqueued = await ask('POST', `/v2/Enqueue/Mixed/${URL_}`, { headers: LATER });
  assert.equal(enqueued.status, 201);
  const batch = await ask('POST', '/v2/Batch/', { body: JSON.stringify([{ destination: URL_, headers: LATER }]) });
  assert.equal(batch.status, 201, batch.text);
});

test('paths: a slash in the place of an id never comes to mean all', async () => {
  const { client, ask } = await oracle.account();
  const { messageId } = await client.publishJSON({ url: URL_, delay: '1h' });
  for (const [method, path] of [
    ['DELETE', '/v2/messages/'],
    ['DELETE', '/v2/Messages/'],
    ['DELETE', '/v2/dlq/'],
    ['POST', '/v2/dlq/retry/'],
  ] as const) {
    assert.equal((await ask(method, path)).status, 404, path);
  }
  assert.deepEqual(await client.messages.cancel(messageId), { cancelled: 1 });
});

test('urlGroups.addEndpoints: a name of an endpoint is any text up to 128 characters', async () => {
  const { client, ask } = await oracle.account();
  const names = ['First endpoint', 'é, "ü" & 日本', '😀'.repeat(64)];
  const endpoints = names.map((name, n) => ({ name, url: `${URL_}${n}` }));
  await client.urlGroups.addEndpoints({ name: 'group', endpoints });
  assert.deepEqual((await client.urlGroups.get('group')).endpoints, endpoints);
  await client.urlGroups.removeEndpoints({ name: 'group', endpoints: [{ name: 'First endpoint' }] });
  assert.equal((await client.urlGroups.get('group')).endpoints.length, 2);
  for (const name of ['x'.repeat(129), 'a\0b', 'a\nb', '\ud800']) {
    const body = `{"endpoints":[{"url":"${URL_}","name":${JSON.stringify(name)}}]}`;
    const answer = await ask('POST', '/v2/topics/group/endpoints', { headers: JSON_TYPE, body });
    assert.equal(answer.status, 400, JSON.stringify(name));
  }
});

test('urlGroups: default headers may be arrays', async (t) => {
  const { ask } = await oracle.account();
  const receiver = await startReceiver(t);
  const body = JSON.stringify({ endpoints: [{ url: receiver.url }] });
  await ask('POST', '/v2/topics/group/endpoints', { headers: JSON_TYPE, body });
  const headers = { 'Upstash-Method': ['PUT'], 'Upstash-Forward-X-Many': ['1', '2'], 'Upstash-Label': 'one' };
  const changed = await ask('PATCH', '/v2/topics/group', { headers: JSON_TYPE, body: JSON.stringify({ headers }) });
  assert.equal(changed.status, 200, changed.text);
  assert.deepEqual(changed.json<{ headers: object }>().headers, {
    'Upstash-Method': 'PUT',
    'Upstash-Forward-X-Many': ['1', '2'],
    'Upstash-Label': 'one',
  });
  await ask('POST', '/v2/publish/group');
  const [arrival] = await receiver.received(1);
  assert.deepEqual([arrival!.method, arrival!.values('X-Many')], ['PUT', ['1', '2']]);
});

test('publish: headers to forward that belong to the service or the connection are dropped; bad ones are refused', async (t) => {
  const { client, ask } = await oracle.account();
  const receiver = await startReceiver(t);
  const headers = {
    'Upstash-Forward-Host': 'evil.example',
    'Upstash-Forward-Connection': 'close',
    'Upstash-Forward-Upstash-Message-Id': 'msg_forged',
    'Upstash-Forward-Webhook-Id': 'forged',
    'Upstash-Forward-Proxy-Authorization': 'secret',
    'Upstash-Forward-X-Own': 'kept',
  };
  const { messageId } = await client.publishJSON({ url: receiver.url, headers });
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.header('X-Own'), 'kept');
  assert.equal(arrival!.header('Host'), new URL(receiver.url).host);
  assert.deepEqual(arrival!.values('Upstash-Message-Id'), [messageId]);
  assert.notEqual(arrival!.header('webhook-id'), 'forged');
  assert.equal(arrival!.header('Proxy-Authorization'), undefined);
  const { header } = await client.messages.get(messageId);
  assert.deepEqual(header, { 'Content-Type': ['application/json'], 'X-Own': ['kept'] });
  const [result]: unknown[] = await client.batch([
    { url: receiver.url, headers: { 'Upstash-Forward-Te': 'x', 'Upstash-Forward-X-Own': '2' } },
  ]);
  assert.match((result as { messageId: string }).messageId, /^msg_/);
  const body = JSON.stringify([{ destination: URL_, headers: { 'Upstash-Forward-X-Own': '日本' } }]);
  const bad = await ask('POST', '/v2/batch', { headers: JSON_TYPE, body });
  assert.match(bad.json<{ error: string }>().error, /X-Own/);
});

test('?qstash_token=: signs in where no header can be set, and goes no further', async (t) => {
  const { token, client, ask } = await oracle.account();
  const receiver = await startReceiver(t);
  const anybody = (method: string, path: string, body?: string) =>
    askAnybody(oracle.url, path, { method, ...(body !== undefined && { headers: JSON_TYPE, body }) });
  const encoded = encodeURIComponent(token);
  const published = await anybody('POST', `/v2/publish/${receiver.url}/a?x=1&qstash_token=${encoded}&y=2`, '{}');
  assert.equal(published.status, 201, published.text);
  const { messageId, url } = published.json<{ messageId: string; url: string }>();
  assert.equal(url, `${receiver.url}/a?x=1&y=2`);
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.target, '/a?x=1&y=2');
  assert.ok(!JSON.stringify(arrival!.headers).includes(token));
  assert.ok(!JSON.stringify(await client.messages.get(messageId)).includes(token));
  const element = JSON.stringify([{ destination: URL_, headers: LATER }]);
  assert.equal((await anybody('POST', `/v2/batch?qstash_token=${encoded}`, element)).status, 201);
  assert.equal((await anybody('GET', `/v2/messages?label=a&qstash_token=${encoded}`)).status, 200);
  assert.equal((await anybody('GET', `/v2/messages/${messageId}?qstash_token=${encoded}`)).status, 200);
  assert.equal((await anybody('GET', '/v2/keys?qstash_token=wrong')).status, 401);
  assert.equal((await anybody('GET', '/v2/keys?qstash_token=')).status, 401);
  const missing = await anybody('GET', `/v2/nowhere?qstash_token=${encoded}`);
  assert.ok(missing.status === 404 && !missing.text.includes(token));
  // A header wins, and the parameter is taken out all the same.
  assert.equal((await ask('GET', '/v2/keys?qstash_token=wrong')).status, 200);
  const twice = await ask('POST', `/v2/publish/${receiver.url}/b?qstash_token=wrong&qstash%5Ftoken=${encoded}`);
  assert.equal(twice.json<{ url: string }>().url, `${receiver.url}/b`);
  const headers = { 'Upstash-Cron': '0 0 29 2 *' };
  const path = `/v2/schedules/${URL_}?qstash_token=${encoded}`;
  const made = await askAnybody(oracle.url, path, { method: 'POST', headers });
  const schedule = await ask('GET', `/v2/schedules/${made.json<{ scheduleId: string }>().scheduleId}`);
  assert.ok(schedule.status === 200 && !schedule.text.includes(token));
});

test('batch: when every element is bad, one object says why', async () => {
  const { ask } = await oracle.account();
  const send = async (elements: object[]) => {
    const answer = await ask('POST', '/v2/batch', { headers: JSON_TYPE, body: JSON.stringify(elements) });
    assert.equal(answer.status, 400);
    return answer.json<{ error: string; code: string }>();
  };
  const one = await send([{ destination: 'nobody' }]);
  assert.deepEqual(Object.keys(one).sort(), ['code', 'error']);
  assert.match(one.error, /topic nobody not found/);
  const three = await send([{ destination: 'nobody' }, { destination: '' }, { destination: URL_, queue: 'a b' }]);
  assert.match(three.error, /^\[0\] .*nobody.*; \[1\] .*destination.*; \[2\] .*queue/);
  assert.equal(three.code, one.code);
});

test('publish: the words for a missing topic and for an empty destination', async () => {
  const { client, ask } = await oracle.account();
  assert.match(await refused(404, () => client.publishJSON({ urlGroup: 'nobody' })), /topic nobody not found/);
  assert.match(await refused(404, () => client.urlGroups.get('nobody')), /topic nobody not found/);
  for (const path of ['/v2/publish/', '/v2/enqueue/q/', '/v2/enqueue/q', '/v2/schedules/']) {
    const answer = await ask('POST', path, { headers: { 'Upstash-Cron': '* * * * *' } });
    assert.equal(answer.status, 400);
    assert.match(answer.json<{ error: string }>().error, /a non-empty destination must be provided/, path);
  }
});

test('dlq: one without an answer has responseStatus 0, in the list, by itself and as a filter', async (t) => {
  const { client, ask } = await oracle.account();
  const receiver = await startReceiver(t, () => 500);
  await client.batchJSON([
    { url: DEAD_URL, retries: 0, label: 'unreachable' },
    { url: receiver.url, retries: 0 },
  ]);
  const letters = await waitFor('two dead letters', async () => {
    const { messages } = await client.dlq.listMessages();
    return messages.length === 2 && messages;
  });
  assert.deepEqual(letters.map(({ responseStatus }) => responseStatus).sort(), [0, 500]);
  const { dlqId } = letters.find(({ responseStatus }) => responseStatus === 0)!;
  assert.equal((await ask('GET', `/v2/dlq/${dlqId}`)).json<{ responseStatus: number }>().responseStatus, 0);
  const { messages } = await client.dlq.listMessages({ filter: { responseStatus: 0 } });
  assert.deepEqual(
    messages.map((letter) => letter.dlqId),
    [dlqId],
  );
});

test('messages, schedules and logs: period is there whenever a flow-control key is', async () => {
  const { client, logOf } = await oracle.account();
  const flowControl = { key: 'k', parallelism: 2 };
  const { messageId } = await client.publishJSON({ url: URL_, delay: '1h', flowControl });
  const message = await client.messages.get(messageId);
  assert.deepEqual([message.flowControlKey, message.parallelism, message.period], ['k', 2, 1]);
  const { scheduleId } = await client.schedules.create({ destination: URL_, cron: '0 0 29 2 *', flowControl });
  assert.equal((await client.schedules.get(scheduleId)).period, 1);
  const [entry] = (await logOf(messageId, 'CREATED')) as unknown as Record<string, unknown>[];
  assert.deepEqual([entry!.flowControlKey, entry!.parallelism, entry!.period], ['k', 2, 1]);
});

test('logs: an entry has timeout, callbacks with their headers, flow control, retryDelayExpr and responseHeader', async (t) => {
  const { client, ask } = await oracle.account();
  const receiver = await startReceiver(t, () => ({ status: 500, headers: { 'X-Why': 'because' }, body: 'no' }));
  const { messageId } = await client.publishJSON({
    url: receiver.url,
    retries: 0,
    retryDelay: '7000 * retried',
    timeout: 90,
    callback: `${URL_}callback`,
    failureCallback: `${URL_}failed`,
    headers: { 'Upstash-Callback-Forward-X-Key': 'a', 'Upstash-Failure-Callback-Forward-X-Key': 'b' },
    flowControl: { key: 'k', parallelism: 3, rate: 10, period: '1m' },
  });
  const entries = await waitFor('FAILED in the log', async () => {
    const answer = await ask('GET', `/v2/events?messageId=${messageId}`);
    const { events } = answer.json<{ events: Record<string, unknown>[] }>();
    return events.some(({ state }) => state === 'FAILED') && events;
  });
  const shared = {
    timeout: 90_000,
    callback: `${URL_}callback`,
    callbackHeaders: { 'X-Key': ['a'] },
    failureCallback: `${URL_}failed`,
    failureCallbackHeaders: { 'X-Key': ['b'] },
    flowControlKey: 'k',
    parallelism: 3,
    rate: 10,
    period: 60,
    retryDelayExpr: '7000 * retried',
  };
  for (const entry of entries) {
    assert.deepEqual(Object.fromEntries(Object.keys(shared).map((name) => [name, entry[name]])), shared);
  }
  const failed = entries.find(({ state }) => state === 'ERROR')!;
  assert.equal(failed.responseStatus, 500);
  assert.deepEqual((failed.responseHeader as Record<string, string[]>)['X-Why'], ['because']);
});

test('logs: /v2/events has a thousand entries on a page, and filters by urlGroup, api and several labels', async () => {
  const account = await oracle.account();
  const { client, ask } = account;
  await client.urlGroups.addEndpoints({ name: 'group', endpoints: [{ url: URL_ }] });
  await client.batchJSON([
    { urlGroup: 'group', delay: '1h', label: 'a' },
    { url: URL_, delay: '1h', label: 'b' },
    { url: URL_, delay: '1h', label: 'c' },
  ]);
  const count = async (path: string) => (await ask('GET', path)).json<{ events: object[] }>().events.length;
  assert.equal(await count('/v2/events?urlGroup=group'), 1);
  assert.equal(await count('/v2/events?urlGroup=group&topicName=group'), 1);
  assert.equal(await count('/v2/events?api=llm'), 3);
  assert.equal(await count('/v2/events?label=a,b'), 2);
  assert.equal(await count('/v2/events?label=a,%20b&label=c'), 3);
  assert.equal((await ask('GET', '/v2/dlq?api=llm&urlGroup=group&label=a,b')).status, 200);
  await fill(account, 1000);
  assert.equal(await count('/v2/events'), 1000);
});

test('bulk calls: urlGroup and several labels are heeded; api alone never comes to mean all', async () => {
  const { client, ask } = await oracle.account();
  await client.urlGroups.addEndpoints({ name: 'group', endpoints: [{ url: URL_ }] });
  await client.batchJSON([
    { urlGroup: 'group', delay: '1h' },
    { url: URL_, delay: '1h', label: 'a' },
    { url: URL_, delay: '1h', label: 'b' },
    { url: URL_, delay: '1h' },
  ]);
  for (const [method, path] of [
    ['DELETE', '/v2/messages?api=llm'],
    ['DELETE', '/v2/dlq?api=llm'],
    ['POST', '/v2/dlq/retry?api=llm'],
    ['DELETE', '/v2/messages?urlGroup='],
    ['DELETE', '/v2/messages?label=,'],
    // Whoever says that it is not all does not mean all.
    ['DELETE', '/v2/messages?all=false'],
    ['DELETE', '/v2/messages?all='],
    ['DELETE', '/v2/dlq?all=false'],
    ['POST', '/v2/dlq/retry?all=false'],
  ] as const) {
    assert.equal((await ask(method, path)).status, 400, path);
  }
  for (const path of ['/v2/messages', '/v2/dlq']) {
    for (const all of ['false', '"false"', '0', 'null', '"yes"']) {
      const answer = await ask('DELETE', path, { headers: JSON_TYPE, body: `{"all":${all}}` });
      assert.equal(answer.status, 400, `${path} ${all}`);
    }
  }
  const cancelled = async (path: string, body?: string) =>
    (await ask('DELETE', path, body === undefined ? {} : { headers: JSON_TYPE, body })).json();
  assert.deepEqual(await cancelled('/v2/messages?urlGroup=group'), { cancelled: 1 });
  assert.deepEqual(await cancelled('/v2/messages', '{"label":"a,b"}'), { cancelled: 2 });
  assert.deepEqual(await cancelled('/v2/messages'), { cancelled: 1 });
});

async function fill({ client }: OracleAccount, count: number): Promise<void> {
  await client.batchJSON(Array.from({ length: count }, () => ({ url: URL_, delay: '1h' }) as const));
}
