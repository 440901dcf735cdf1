// The client's `urlGroups`: made by their first endpoint, gone with their last.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refused, startOracle } from '../../support/qstash-client.ts';
import { startReceiver } from '../../support/receiver.ts';

const oracle = await startOracle();
const A = { name: 'a', url: 'https://example.com/a' };
const B = { url: 'https://example.com/b' };

test('urlGroups.addEndpoints: makes the group, and adding twice is the same as once', async () => {
  const { client } = await oracle.account();
  const before = Date.now();
  await client.urlGroups.addEndpoints({ name: 'my_group', endpoints: [A, B] });
  await client.urlGroups.addEndpoints({ name: 'my_group', endpoints: [B, { url: 'https://example.com/c' }] });
  const group = await client.urlGroups.get('my_group');
  assert.equal(group.name, 'my_group');
  assert.deepEqual(group.endpoints, [A, B, { url: 'https://example.com/c' }]);
  assert.ok(group.createdAt >= before && group.updatedAt >= group.createdAt && group.updatedAt <= Date.now());
});

test('urlGroups.list: all groups of the account', async () => {
  const { client } = await oracle.account();
  assert.deepEqual(await client.urlGroups.list(), []);
  await client.urlGroups.addEndpoints({ name: 'one', endpoints: [A] });
  await client.urlGroups.addEndpoints({ name: 'two', endpoints: [B] });
  const listed = await client.urlGroups.list();
  assert.deepEqual(
    listed.map(({ name, endpoints }) => [name, endpoints]),
    [
      ['one', [A]],
      ['two', [B]],
    ],
  );
  assert.deepEqual(listed[0], await client.urlGroups.get('one'));
});

test('urlGroups.removeEndpoints: by name, by URL or by both, and the group goes with the last', async () => {
  const { client } = await oracle.account();
  const C = { name: 'c', url: 'https://example.com/c' };
  await client.urlGroups.addEndpoints({ name: 'group', endpoints: [A, B, C] });
  await client.urlGroups.removeEndpoints({ name: 'group', endpoints: [{ name: 'a' }] });
  assert.deepEqual((await client.urlGroups.get('group')).endpoints, [B, C]);
  await client.urlGroups.removeEndpoints({ name: 'group', endpoints: [{ url: B.url }] });
  assert.deepEqual((await client.urlGroups.get('group')).endpoints, [C]);
  await client.urlGroups.removeEndpoints({ name: 'group', endpoints: [C] });
  assert.match(await refused(404, () => client.urlGroups.get('group')), /group/);
});

test('urlGroups.delete: removes the group, and doing it again is no mistake', async () => {
  const { client } = await oracle.account();
  await client.urlGroups.addEndpoints({ name: 'group', endpoints: [A] });
  await client.urlGroups.delete('group');
  await client.urlGroups.delete('group');
  await refused(404, () => client.urlGroups.get('group'));
});

test('publishJSON: to a URL group answers a plain array and reaches every endpoint', async (t) => {
  const { client } = await oracle.account();
  const receiver = await startReceiver(t);
  const endpoints = [{ name: 'first', url: `${receiver.url}/1` }, { url: `${receiver.url}/2` }];
  await client.urlGroups.addEndpoints({ name: 'group', endpoints });
  const made = await client.publishJSON({ urlGroup: 'group', body: { n: 1 } });
  assert.ok(Array.isArray(made));
  assert.deepEqual(
    made.map(({ url }) => url),
    endpoints.map(({ url }) => url),
  );
  const arrivals = await receiver.received(2);
  assert.deepEqual(arrivals.map(({ target }) => target).sort(), ['/1', '/2']);
  const message = await client.messages.get(made[0]!.messageId);
  assert.deepEqual([message.urlGroup, message.topicName, message.endpointName], ['group', 'group', 'first']);
  const again = await client.publishJSON({ topic: 'group', body: { n: 2 } });
  assert.ok(Array.isArray(again));
});
