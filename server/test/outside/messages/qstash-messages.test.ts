// The client's `messages`: read, and cancelled by id, by many ids, by filter, all of them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type OracleAccount, refused, startOracle, states } from '../../support/qstash-client.ts';
import { startReceiver } from '../../support/receiver.ts';

const oracle = await startOracle();
const URL = 'https://example.com/';

test('messages.get: text is shown as text and other bytes as base64', async () => {
  const { client } = await oracle.account();
  const text = await client.publish({ url: URL, body: 'žluťoučký', delay: '1h' });
  assert.equal((await client.messages.get(text.messageId)).body, 'žluťoučký');
  const bytes = await client.publish({ url: URL, body: new Blob([new Uint8Array([0xff, 0x00])]), delay: '1h' });
  const message = await client.messages.get(bytes.messageId);
  assert.deepEqual([message.body, message.bodyBase64], [undefined, '/wA=']);
});

test('messages.get: header holds forwarded headers and Content-Type only, in canonical case, as arrays', async (t) => {
  const { client } = await oracle.account();
  const receiver = await startReceiver(t);
  const headers = { 'x-lower-case': 'v', 'content-type': 'text/csv' };
  const { messageId } = await client.publish({ url: receiver.url, body: 'b', headers, retries: 1, label: 'l' });
  await receiver.received(1);
  const { header } = await client.messages.get(messageId);
  assert.deepEqual(header, { 'X-Lower-Case': ['v'], 'Content-Type': ['text/csv'] });
});

test('messages.get: an unknown id is refused with 404', async () => {
  const { client } = await oracle.account();
  assert.match(await refused(404, () => client.messages.get('msg_unknown')), /msg_unknown/);
});

test('messages.cancel: one that waits; a second time is refused with 404', async () => {
  const { client, logOf } = await oracle.account();
  const [id] = await waiting(client, 1);
  assert.deepEqual(await client.messages.cancel(id!), { cancelled: 1 });
  await refused(404, () => client.messages.cancel(id!));
  const log = await logOf(id!, 'CANCELED');
  assert.deepEqual(states(log), ['CREATED', 'CANCEL_REQUESTED', 'CANCELED']);
  const { logs } = await client.logs({ filter: { state: 'CANCELED' } });
  assert.deepEqual(states(logs), ['CANCELED']);
});

test('messages.delete: is the old name of cancel', async () => {
  const { client } = await oracle.account();
  const ids = await waiting(client, 4);
  await client.messages.delete(ids[0]!);
  assert.equal(await client.messages.deleteMany(ids.slice(0, 3)), 2);
  assert.equal(await client.messages.deleteAll(), 1);
});

test('messages.cancel: many ids, of which unknown and ended ones do not count', async () => {
  const { client } = await oracle.account();
  const ids = await waiting(client, 3);
  await client.messages.cancel(ids[0]!);
  assert.deepEqual(await client.messages.cancel([...ids, 'msg_unknown']), { cancelled: 2 });
  assert.deepEqual(await client.messages.cancel([]), { cancelled: 0 });
  assert.deepEqual(await client.messages.cancel({ messageIds: ids }), { cancelled: 0 });
});

test('messages.cancel: several hundred ids fit into one call', async () => {
  const { client } = await oracle.account();
  const ids = await waiting(client, 500);
  assert.deepEqual(await client.messages.cancel(ids), { cancelled: 500 });
});

test('messages.cancel: a filter means any of its values and all of its keys', async () => {
  const { client } = await oracle.account();
  const delay = '1h';
  await client.urlGroups.addEndpoints({ name: 'group', endpoints: [{ url: 'https://grouped.example/x' }] });
  await client.publishJSON({ url: 'https://a.example/1', delay, label: ['red', 'big'] });
  await client.publishJSON({ url: 'https://a.example/2', delay, label: 'red' });
  await client.publishJSON({ url: 'https://b.example/1', delay, label: 'blue' });
  await client.publishJSON({ urlGroup: 'group', delay });
  await client.publishJSON({ url: 'https://c.example/', delay, flowControl: { key: 'flow', parallelism: 1 } });
  await client.queue({ queueName: 'q' }).enqueueJSON({ url: 'https://d.example/', delay });
  const cancel = async (filter: CancelFilter) => (await client.messages.cancel({ filter })).cancelled;
  assert.equal(await cancel({ host: 'a.example', label: 'blue' }), 0);
  assert.equal(await cancel({ label: 'big' }), 1);
  assert.equal(await cancel({ label: ['red', 'blue'], path: '/1' }), 1);
  assert.equal(await cancel({ url: ['https://a.example/2', 'https://nobody.example/'] }), 1);
  assert.equal(await cancel({ urlGroup: 'group' }), 1);
  assert.equal(await cancel({ flowControlKey: 'flow' }), 1);
  assert.equal(await cancel({ queueName: 'q', fromDate: Date.now() + 60_000 }), 0);
  assert.equal(await cancel({ queueName: 'q', callerIp: '127.0.0.1', toDate: new Date(Date.now() + 60_000) }), 1);
});

test('messages.cancel: { all: true } cancels all in one call, more than its count of 100', async () => {
  const { client } = await oracle.account();
  await waiting(client, 130);
  assert.deepEqual(await client.messages.cancel({ all: true }), { cancelled: 130 });
  assert.deepEqual(await client.messages.cancel({ all: true }), { cancelled: 0 });
});

test('messages.cancel: a filter takes all that match in one call, whatever the count', async () => {
  const { client } = await oracle.account();
  await client.batchJSON(Array.from({ length: 12 }, () => ({ url: URL, delay: '1h', label: 'many' }) as const));
  assert.deepEqual(await client.messages.cancel({ filter: { label: 'many' }, count: 5 }), { cancelled: 12 });
});

test('messages.cancel: an empty filter value is refused, and does not mean all', async () => {
  const { client } = await oracle.account();
  const [id] = await waiting(client, 1);
  assert.match(await refused(400, () => client.messages.cancel({ filter: { label: '' } })), /label/);
  assert.deepEqual(await client.messages.cancel(id!), { cancelled: 1 });
});

test('messages.cancel: an unknown filter is refused with 400', async () => {
  const { client } = await oracle.account();
  const filter = { label: 'l', colour: 'red' };
  assert.match(await refused(400, () => client.messages.cancel({ filter })), /colour/);
});

type Cancel = Exclude<Parameters<OracleAccount['client']['messages']['cancel']>[0], string | string[]>;
type CancelFilter = NonNullable<Cancel['filter']>;

/** Ids of messages that are not due for an hour. */
async function waiting(client: OracleAccount['client'], count: number): Promise<string[]> {
  const made = await client.batchJSON(Array.from({ length: count }, () => ({ url: URL, delay: '1h' }) as const));
  return made.map(({ messageId }) => messageId);
}
