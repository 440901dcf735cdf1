// The client's `dlq`: listed, deleted and sent again, one, many, by filter, all in pages.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type OracleAccount, refused, startOracle, states } from '../../support/qstash-client.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const oracle = await startOracle();
type Letter = Awaited<ReturnType<OracleAccount['client']['dlq']['listMessages']>>['messages'][number];

test('dlq.listMessages: shows the message and the last answer as its types say', async (t) => {
  const { client } = await oracle.account();
  const receiver = await failing(t);
  const { messageId } = await client.publishJSON({
    url: `${receiver.url}/a`,
    body: { n: 1 },
    headers: { 'X-One': '1' },
    retries: 0,
    label: 'l',
  });
  const [letter] = await letters(client, 1);
  assert.equal(typeof letter!.dlqId, 'string');
  assert.equal(letter!.messageId, messageId);
  assert.equal(letter!.url, `${receiver.url}/a`);
  assert.equal(letter!.body, '{"n":1}');
  assert.deepEqual(letter!.header, { 'Content-Type': ['application/json'], 'X-One': ['1'] });
  assert.equal(letter!.responseStatus, 503);
  assert.deepEqual(letter!.responseHeader?.['X-Why'], ['because']);
  assert.equal(letter!.responseBody, 'no');
  assert.deepEqual([letter!.maxRetries, letter!.labels], [0, ['l']]);
});

test('dlq.listMessages: by dlqIds, one or many', async (t) => {
  const { client } = await oracle.account();
  const [one, two] = await dead(client, await failing(t), 3);
  const asked = await client.dlq.listMessages({ dlqIds: [one!.dlqId, two!.dlqId, 'dlq_unknown'] });
  assert.deepEqual(ids(asked.messages).sort(), ids([one!, two!]).sort());
  assert.deepEqual(ids((await client.dlq.listMessages({ dlqIds: one!.dlqId })).messages), [one!.dlqId]);
});

test('dlq.listMessages: in pages, without a cursor on the last', async (t) => {
  const { client } = await oracle.account();
  const all = await dead(client, await failing(t), 5);
  const seen: string[] = [];
  const sizes: number[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await client.dlq.listMessages({ count: 2, ...(cursor && { cursor }) });
    seen.push(...ids(page.messages));
    sizes.push(page.messages.length);
    cursor = page.cursor;
    if (!cursor) break;
  }
  assert.deepEqual(sizes, [2, 2, 1]);
  assert.deepEqual(seen.sort(), ids(all).sort());
});

test('dlq.listMessages: filters, each of which can be several', async (t) => {
  const { client } = await oracle.account();
  const receiver = await failing(t);
  await client.urlGroups.addEndpoints({ name: 'group', endpoints: [{ url: `${receiver.url}/grouped` }] });
  await client.publishJSON({ url: `${receiver.url}/a`, retries: 0, label: 'red' });
  await client.publishJSON({ url: `${receiver.url}/b`, retries: 0, flowControl: { key: 'flow', rate: 100 } });
  await client.publishJSON({ urlGroup: 'group', retries: 0, label: 'blue' });
  await client.queue({ queueName: 'q' }).enqueueJSON({ url: `${receiver.url}/queued`, retries: 0 });
  const all = await letters(client, 4);
  const found = async (filter: ListFilter) => {
    const { messages } = await client.dlq.listMessages({ filter });
    return messages.map(({ url }) => url.slice(receiver.url.length)).sort();
  };
  assert.deepEqual(await found({ label: ['red', 'blue'] }), ['/a', '/grouped']);
  assert.deepEqual(await found({ urlGroup: 'group' }), ['/grouped']);
  assert.deepEqual(await found({ queueName: 'q' }), ['/queued']);
  assert.deepEqual(await found({ url: [`${receiver.url}/a`, `${receiver.url}/b`] }), ['/a', '/b']);
  assert.deepEqual(await found({ flowControlKey: 'flow' }), ['/b']);
  assert.deepEqual(await found({ messageId: all[0]!.messageId }), [all[0]!.url.slice(receiver.url.length)]);
  assert.equal((await found({ responseStatus: [503, 404] })).length, 4);
  assert.equal((await found({ responseStatus: 500 })).length, 0);
  assert.equal((await found({ fromDate: new Date(Date.now() - 60_000), toDate: Date.now() + 1 })).length, 4);
  assert.equal((await found({ toDate: Date.now() - 60_000 })).length, 0);
  assert.equal((await found({ callerIp: '127.0.0.1' })).length, 4);
  const wrong = { colour: 'red' } as ListFilter;
  assert.match(await refused(400, () => found(wrong)), /colour/);
});

test('dlq.delete: one, many, by filter', async (t) => {
  const { client } = await oracle.account();
  const receiver = await failing(t);
  const [one, two, three] = await dead(client, receiver, 4);
  assert.deepEqual(await client.dlq.delete(one!.dlqId), { deleted: 1 });
  await refused(404, () => client.dlq.delete(one!.dlqId));
  assert.deepEqual(await client.dlq.delete([one!.dlqId, two!.dlqId]), { deleted: 1 });
  assert.deepEqual(await client.dlq.deleteMany({ dlqIds: [three!.dlqId] }), { deleted: 1 });
  assert.deepEqual(await client.dlq.delete({ filter: { url: 'https://nobody.example/' } }), { deleted: 0 });
  assert.deepEqual(await client.dlq.delete({ filter: { url: receiver.url } }), { deleted: 1 });
  assert.deepEqual((await client.dlq.listMessages()).messages, []);
});

test('dlq.delete: all in pages, until there is no cursor', async (t) => {
  const { client } = await oracle.account();
  await dead(client, await failing(t), 5);
  const counts: number[] = [];
  for (let cursor: string | undefined; ; ) {
    const result = await client.dlq.delete({ all: true, count: 2, ...(cursor && { cursor }) });
    counts.push(result.deleted);
    cursor = result.cursor;
    if (!cursor) break;
  }
  assert.deepEqual(counts, [2, 2, 1]);
  assert.deepEqual((await client.dlq.listMessages()).messages, []);
});

test('dlq.retry: one is sent again as a new message, and is no dead letter any more', async (t) => {
  const { client, logOf } = await oracle.account();
  const receiver = await failing(t);
  const [letter] = await dead(client, receiver, 1);
  receiver.answer = () => 200;
  const { responses, cursor } = await client.dlq.retry(letter!.dlqId);
  assert.equal(cursor, undefined);
  assert.equal(responses.length, 1);
  const { messageId } = responses[0]!;
  assert.notEqual(messageId, letter!.messageId);
  assert.deepEqual(states(await logOf(messageId, 'DELIVERED')), ['CREATED', 'ACTIVE', 'DELIVERED']);
  assert.equal(receiver.arrivals.at(-1)!.body.toString(), letter!.body);
  assert.deepEqual((await client.dlq.listMessages()).messages, []);
  // For its own users it can still be read; this client expects it to be gone.
  await refused(404, () => client.http.request({ path: ['v2', 'dlq', letter!.dlqId] }));
  await refused(404, () => client.dlq.delete(letter!.dlqId));
  assert.deepEqual((await client.dlq.listMessages({ dlqIds: letter!.dlqId })).messages, []);
});

test('dlq.retry: many and by filter', async (t) => {
  const { client } = await oracle.account();
  const receiver = await failing(t);
  const [one, two] = await dead(client, receiver, 3);
  receiver.answer = () => 200;
  assert.equal((await client.dlq.retry([one!.dlqId, two!.dlqId])).responses.length, 2);
  assert.equal((await client.dlq.retry({ dlqIds: [one!.dlqId] })).responses.length, 0);
  const { responses } = await client.dlq.retry({ filter: { responseStatus: 503, url: receiver.url } });
  assert.equal(responses.length, 1);
  await receiver.received(6);
});

test('dlq.retry: all in pages, each dead letter once', async (t) => {
  const { client } = await oracle.account();
  const receiver = await failing(t);
  await dead(client, receiver, 5);
  receiver.answer = () => 200;
  const counts: number[] = [];
  for (let cursor: string | undefined; ; ) {
    const result = await client.dlq.retry({ all: true, count: 2, ...(cursor && { cursor }) });
    counts.push(result.responses.length);
    cursor = result.cursor;
    if (!cursor) break;
  }
  assert.deepEqual(counts, [2, 2, 1]);
  const arrivals = await receiver.received(10);
  const again = arrivals.slice(5).map(({ body }) => body.toString());
  assert.deepEqual(again.sort(), ['0', '1', '2', '3', '4']);
});

test('dlq.retry: an empty filter value is refused, and does not mean all', async (t) => {
  const { client } = await oracle.account();
  await dead(client, await failing(t), 1);
  await refused(400, () => client.dlq.retry({ filter: { label: '' } }));
  await refused(400, () => client.dlq.delete({ filter: { url: '' } }));
  assert.equal((await client.dlq.listMessages()).messages.length, 1);
});

type ListFilter = NonNullable<NonNullable<Parameters<OracleAccount['client']['dlq']['listMessages']>[0]>['filter']>;

function failing(t: Parameters<typeof startReceiver>[0]): Promise<Receiver> {
  return startReceiver(t, () => ({ status: 503, headers: { 'X-Why': 'because' }, body: 'no' }));
}

/** So many dead letters, with the numbers from 0 as bodies, newest first. */
async function dead(client: OracleAccount['client'], receiver: Receiver, count: number): Promise<Letter[]> {
  const elements = Array.from({ length: count }, (_, body) => ({ url: receiver.url, body, retries: 0 }));
  await client.batchJSON(elements);
  return letters(client, count);
}

function letters(client: OracleAccount['client'], count: number): Promise<Letter[]> {
  return waitFor(`${count} dead letters`, async () => {
    const { messages } = await client.dlq.listMessages();
    return messages.length === count && messages;
  });
}

function ids(messages: readonly Letter[]): string[] {
  return messages.map(({ dlqId }) => dlqId);
}
