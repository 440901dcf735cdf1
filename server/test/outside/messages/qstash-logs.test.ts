// The client's `logs` and `events`: what each entry says, filters, pages.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type OracleAccount, refused, startOracle, states } from '../../support/qstash-client.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const oracle = await startOracle();
type Filter = NonNullable<NonNullable<Parameters<OracleAccount['client']['logs']>[0]>['filter']>;

test('logs: an entry says what its types promise', async (t) => {
  const { client, logOf } = await oracle.account();
  const receiver = await startReceiver(t, () => ({ status: 500, body: 'no' }));
  const before = Date.now();
  const { messageId } = await client.publishJSON({
    url: receiver.url,
    body: { n: 1 },
    headers: { 'X-One': '1' },
    retries: 1,
    retryDelay: '1',
    label: ['a', 'b'],
  });
  const log = await logOf(messageId, 'FAILED');
  for (const entry of log) {
    assert.ok(entry.time >= before && entry.time <= Date.now());
    assert.equal(entry.messageId, messageId);
    assert.equal(entry.url, receiver.url);
    assert.deepEqual([entry.label, entry.labels], ['a', ['a', 'b']]);
    assert.equal(Buffer.from(entry.body ?? '', 'base64').toString(), '{"n":1}');
    assert.deepEqual(entry.header, { 'Content-Type': ['application/json'], 'X-One': ['1'] });
    assert.equal('error' in entry, entry.state === 'ERROR' || entry.state === 'FAILED');
  }
  const retry = log.find(({ state }) => state === 'RETRY');
  assert.ok(retry!.nextDeliveryTime! >= retry!.time);
  const times = log.map(({ time }) => time);
  assert.deepEqual(times, times.toSorted());
});

test('logs: newest first, under both names, and events is its old name', async (t) => {
  const { client } = await oracle.account();
  const receiver = await startReceiver(t);
  await delivered(client, receiver, 2);
  const answer = await client.logs();
  for (const { messageId } of answer.logs) {
    const own = answer.logs.filter((log) => log.messageId === messageId);
    assert.deepEqual(states(own), ['DELIVERED', 'ACTIVE', 'CREATED']);
  }
  assert.equal(answer.logs.length, 6);
  assert.deepEqual(answer.events, answer.logs);
  assert.ok(answer.cursor === undefined);
  assert.deepEqual(await client.events(), answer);
});

test('logs: a change of a message has a state that the clients know', async (t) => {
  const account = await oracle.account();
  const { client } = account;
  const { url } = await startReceiver(t);
  const { messageId } = await client.publish({ url, delay: '1h' });
  const answer = await account.ask('PATCH', `/v2/messages/${messageId}`, { body: JSON.stringify({ delay: '2h' }) });
  assert.equal(answer.status, 200);
  assert.deepEqual(states((await client.logs({ filter: { messageId } })).logs), ['CREATED', 'CREATED']);
});

test('logs: in pages, as the documentation of the client goes through them', async (t) => {
  const { client } = await oracle.account();
  await delivered(client, await startReceiver(t), 6);
  const whole = (await client.logs()).logs;
  const seen: typeof whole = [];
  let cursor: string | number = Date.now();
  let pages = 0;
  while (Number(cursor) > 0) {
    const page: Awaited<ReturnType<typeof client.logs>> = await client.logs({ cursor, count: 4 });
    assert.ok(page.logs.length <= 4);
    seen.push(...page.logs);
    cursor = page.cursor ?? 0;
    pages += 1;
  }
  assert.ok(pages > 2);
  assert.deepEqual(seen, whole);
});

test('logs: of one message, in pages', async (t) => {
  const { client, logOf } = await oracle.account();
  const receiver = await startReceiver(t, () => 500);
  const { messageId } = await client.publishJSON({ url: receiver.url, retries: 2, retryDelay: '1' });
  const whole = (await logOf(messageId, 'FAILED')).reverse();
  const seen: typeof whole = [];
  for (let cursor: string | undefined; ; ) {
    const page = await client.logs({ filter: { messageId }, count: 3, ...(cursor && { cursor }) });
    seen.push(...page.logs);
    cursor = page.cursor;
    if (!cursor) break;
  }
  assert.deepEqual(seen, whole);
});

test('logs: of several messages by their ids', async (t) => {
  const { client } = await oracle.account();
  const [one, two] = await delivered(client, await startReceiver(t), 3);
  const { logs, cursor } = await client.logs({ messageIds: [one!, two!, 'msg_unknown'] });
  assert.equal(cursor, undefined);
  assert.equal(logs.length, 6);
  assert.deepEqual(new Set(logs.map(({ messageId }) => messageId)), new Set([one, two]));
});

test('logs: filters by state, dates, URL group, label and the rest', async (t) => {
  const { client } = await oracle.account();
  const receiver = await startReceiver(t, ({ target }) => (target === '/bad' ? 500 : 200));
  await client.urlGroups.addEndpoints({ name: 'group', endpoints: [{ name: 'end', url: `${receiver.url}/grouped` }] });
  await client.publishJSON({ url: `${receiver.url}/bad`, retries: 0, label: 'red' });
  await client.publishJSON({ urlGroup: 'group', label: 'blue' });
  await client.queue({ queueName: 'q' }).enqueueJSON({ url: `${receiver.url}/queued` });
  await client.publishJSON({ url: `${receiver.url}/flow`, flowControl: { key: 'flow', parallelism: 1 } });
  const found = async (filter: Filter) => (await client.logs({ filter })).logs;
  await waitFor('the end of all', async () => (await found({})).length === 13);
  assert.deepEqual(states(await found({ state: 'FAILED' })), ['FAILED']);
  assert.equal((await found({ state: 'DELIVERED' })).length, 3);
  assert.deepEqual(new Set(states(await found({ state: 'IN_PROGRESS' }))), new Set(['ACTIVE', 'ERROR']));
  const grouped = await found({ urlGroup: 'group' });
  assert.deepEqual([grouped.length, grouped[0]!.urlGroup, grouped[0]!.endpointName], [3, 'group', 'end']);
  assert.equal((await found({ topicName: 'group' })).length, 3);
  assert.equal((await found({ label: ['red', 'blue'] })).length, 7);
  assert.equal((await found({ label: 'red', state: 'ERROR' })).length, 1);
  assert.equal((await found({ queueName: 'q' })).length, 3);
  assert.equal((await found({ flowControlKey: 'flow' })).length, 3);
  assert.equal((await found({ url: [`${receiver.url}/bad`, `${receiver.url}/flow`] })).length, 7);
  assert.equal((await found({ host: '127.0.0.1', path: ['/bad', '/queued'] })).length, 7);
  assert.equal((await found({ callerIp: '127.0.0.1' })).length, 13);
  assert.equal((await found({ scheduleId: 'nobody' })).length, 0);
  assert.equal((await found({ fromDate: new Date(Date.now() - 60_000), toDate: Date.now() })).length, 13);
  assert.equal((await found({ fromDate: Date.now() + 60_000 })).length, 0);
  const first = (await client.logs({ filter: { state: 'CREATED', label: 'red' } })).logs[0]!;
  assert.equal((await found({ toDate: first.time, fromDate: first.time, label: 'red', state: 'CREATED' })).length, 1);
});

test('logs: an unknown filter or state is refused with 400', async () => {
  const { client } = await oracle.account();
  const wrong = { colour: 'red' } as Filter;
  assert.match(await refused(400, () => client.logs({ filter: wrong })), /colour/);
  const state = 'LOST' as 'FAILED';
  assert.match(await refused(400, () => client.logs({ filter: { state } })), /state/);
});

/** Ids of messages that were delivered. */
async function delivered(client: OracleAccount['client'], receiver: Receiver, count: number): Promise<string[]> {
  const made = await client.batchJSON(Array.from({ length: count }, (_, body) => ({ url: receiver.url, body })));
  await waitFor(`${count} deliveries`, async () => {
    return (await client.logs({ filter: { state: 'DELIVERED' } })).logs.length === count;
  });
  return made.map(({ messageId }) => messageId);
}
