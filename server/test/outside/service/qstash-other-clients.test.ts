// What the public clients in Python, Go and others send differently, request by request: JSON bodies on DELETE, arrays
// and nulls in a batch, ids as repeated parameters, the old names of calls.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type OracleAccount, startOracle } from '../../support/qstash-client.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const oracle = await startOracle();
const JSON_TYPE = { 'Content-Type': 'application/json' };
const URL = 'https://example.com/';

test('messages.cancel_many: ids in a JSON body on DELETE', async () => {
  const account = await oracle.account();
  const ids = await waiting(account, 3);
  const answer = await bulk(account, 'DELETE', '/v2/messages', { messageIds: ids.slice(1) });
  assert.deepEqual(answer, { status: 200, body: { cancelled: 2 } });
});

test('messages.cancel_many: two thousand ids in one body', async () => {
  const account = await oracle.account();
  const ids = [...(await waiting(account, 1000)), ...(await waiting(account, 1000))];
  const answer = await bulk(account, 'DELETE', '/v2/messages', { messageIds: ids });
  assert.deepEqual(answer, { status: 200, body: { cancelled: 2000 } });
});

test('messages.cancel_many: no ids cancel nothing, also when an empty list is sent as null', async () => {
  const account = await oracle.account();
  const [id] = await waiting(account, 1);
  const none = await bulk(account, 'DELETE', '/v2/messages', { messageIds: [] });
  assert.deepEqual(none, { status: 200, body: { cancelled: 0 } });
  assert.equal((await bulk(account, 'DELETE', '/v2/messages', { messageIds: null })).status, 400);
  assert.equal((await account.ask('DELETE', '/v2/messages?messageIds=')).status, 400);
  assert.deepEqual(await account.client.messages.cancel(id!), { cancelled: 1 });
});

test('messages.cancel_all: DELETE without a filter or a body, with and without a content type', async () => {
  const account = await oracle.account();
  await waiting(account, 2);
  const first = await account.ask('DELETE', '/v2/messages', { headers: JSON_TYPE });
  assert.deepEqual(first.json(), { cancelled: 2 }, first.text);
  await waiting(account, 1);
  assert.deepEqual((await account.ask('DELETE', '/v2/messages')).json(), { cancelled: 1 });
});

test('dlq.delete_many: ids in a JSON body on DELETE, or as repeated parameters', async (t) => {
  const account = await oracle.account();
  const [one, two, three] = await dead(account, t, 3);
  const inBody = await bulk(account, 'DELETE', '/v2/dlq', { dlqIds: [one] });
  assert.deepEqual(inBody, { status: 200, body: { deleted: 1 } });
  const repeated = await account.ask('DELETE', `/v2/dlq?dlqIds=${two}&dlqIds=${three}&dlqIds=${one}`);
  assert.deepEqual(repeated.json(), { deleted: 2 });
  assert.equal((await bulk(account, 'DELETE', '/v2/dlq', { dlqIds: null })).status, 400);
});

test('dlq.retry: ids in a JSON body, and a single one in the path', async (t) => {
  const account = await oracle.account();
  const [one, two] = await dead(account, t, 2);
  const inBody = await bulk(account, 'POST', '/v2/dlq/retry', { dlqIds: [one] });
  assert.equal(inBody.status, 201);
  assert.equal((inBody.body as { responses: unknown[] }).responses.length, 1);
  const inPath = await account.ask('POST', `/v2/dlq/retry/${two}`);
  assert.equal(inPath.status, 201, inPath.text);
  assert.match(inPath.json<{ messageId: string }>().messageId, /^msg_/);
});

test('batch: header values as arrays, null and "" for what is absent', async (t) => {
  const { ask, client } = await oracle.account();
  const receiver = await startReceiver(t);
  const headers = {
    'Content-Type': ['application/json'],
    'Upstash-Method': ['PUT'],
    'Upstash-Forward-X-Many': ['1', '2'],
    'upstash-forward-x-lower': 'l',
    'Upstash-Retries': null,
    'Upstash-Delay': '',
    'Upstash-Callback': [],
  };
  const elements = [
    { destination: receiver.url, headers, body: '{"n":1}', queue: null },
    { destination: receiver.url, headers: null, body: null, queue: '' },
    { destination: receiver.url },
  ];
  const answer = await ask('POST', '/v2/batch', { headers: JSON_TYPE, body: JSON.stringify(elements) });
  assert.equal(answer.status, 201, answer.text);
  const ids = answer.json<{ messageId: string }[]>().map(({ messageId }) => messageId);
  await receiver.received(3);
  const message = await client.messages.get(ids[0]!);
  assert.deepEqual(message.header, { 'Content-Type': ['application/json'], 'X-Many': ['1', '2'], 'X-Lower': ['l'] });
  assert.deepEqual([message.method, message.maxRetries, message.queueName], ['PUT', 3, undefined]);
  const bare = await client.messages.get(ids[1]!);
  assert.deepEqual([bare.body, bare.header], [undefined, {}]);
});

test('publish: a destination that is percent-encoded, as some write it into a path', async (t) => {
  const { ask } = await oracle.account();
  const receiver = await startReceiver(t);
  const answer = await ask('POST', `/v2/publish/${encodeURIComponent(`${receiver.url}/a?b=c`)}`, { body: 'x' });
  assert.equal(answer.json<{ url: string }>().url, `${receiver.url}/a?b=c`);
  assert.equal((await receiver.received(1))[0]!.target, '/a?b=c');
});

test('logs: under /v2/logs and /v2/events, states in the words that Python knows', async () => {
  const account = await oracle.account();
  const [id] = await waiting(account, 1);
  await account.client.messages.cancel(id!);
  for (const path of ['/v2/logs', '/v2/events']) {
    const answer = await account.ask('GET', `${path}?state=CANCELED&state=CREATED`);
    const { logs, events } = answer.json<Record<'logs' | 'events', { state: string }[]>>();
    assert.deepEqual(logs, events);
    assert.deepEqual(
      events.map(({ state }) => state),
      ['CANCELED', 'CREATED'],
    );
  }
});

test('schedules.pause: with POST as well as with PATCH', async () => {
  const { ask, client } = await oracle.account();
  const { scheduleId } = await client.schedules.create({ destination: URL, cron: '0 0 29 2 *' });
  assert.equal((await ask('POST', `/v2/schedules/${scheduleId}/pause`)).status, 200);
  assert.equal((await client.schedules.get(scheduleId)).isPaused, true);
  assert.equal((await ask('PATCH', `/v2/schedules/${scheduleId}/resume`)).status, 200);
  assert.equal((await client.schedules.get(scheduleId)).isPaused, false);
});

async function bulk({ ask }: OracleAccount, method: string, path: string, body: object) {
  const answer = await ask(method, path, { headers: JSON_TYPE, body: JSON.stringify(body) });
  return { status: answer.status, body: answer.json() };
}

/** Ids of messages that are not due for an hour. */
async function waiting({ client }: OracleAccount, count: number): Promise<string[]> {
  const made = await client.batchJSON(Array.from({ length: count }, () => ({ url: URL, delay: '1h' }) as const));
  return made.map(({ messageId }) => messageId);
}

async function dead({ client }: OracleAccount, t: Parameters<typeof startReceiver>[0], count: number) {
  const receiver = await startReceiver(t, () => 500);
  await client.batchJSON(Array.from({ length: count }, () => ({ url: receiver.url, retries: 0 })));
  return waitFor(`${count} dead letters`, async () => {
    const { messages } = await client.dlq.listMessages();
    return messages.length === count && messages.map(({ dlqId }) => dlqId);
  });
}
