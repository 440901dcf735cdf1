// What everybody knows lets nobody into a service that is meant for others: serve does not run on a store that dev has
// used unless it is told to take it over, and dev does not put its token into the store of a service.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Rider, refusal, startRider, temporaryFolder } from '../../support/harness.ts';

const DEV_TOKEN = 'dev_postrider';
const QSTASH_TOKEN = 'eyJVc2VySUQiOiJkZWZhdWx0VXNlciIsIlBhc3N3b3JkIjoiZGVmYXVsdFBhc3N3b3JkIn0=';
const QSTASH_KEYS = ['sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r', 'sig_5ZB6DVzB1wjE8S6rZ7eenA8Pdnhs'];
const NOWHERE = 'http://127.0.0.1:1/';
const TAKE_OVER = ['--take-over-dev'];
const REFUSED = /was used by postrider dev, .*--data or --store, or start it with --take-over-dev/;

interface Keys {
  readonly current: string;
  readonly next: string;
}

const keysOf = (rider: Rider, token = rider.token!) => rider.manage<Keys>('GET', '/v2/keys', undefined, token);

test('serve refuses a store that dev has used, and says what to do', async (t) => {
  const data = temporaryFolder(t);
  const dev = await startRider(t, { data });
  await dev.published(NOWHERE, { headers: { 'Service-Delay': '1d' } });
  await dev.close();
  await assert.rejects(startRider(t, { command: 'serve', data }), REFUSED);
  // Nothing was changed by it.
  const again = await startRider(t, { data });
  assert.equal((await again.manage<{ messages: unknown[] }>('GET', '/v2/messages')).messages.length, 1);
});

test('told to take it over, serve revokes the well-known token, replaces the keys and prints a token of its own', async (t) => {
  const data = temporaryFolder(t);
  const dev = await startRider(t, { data });
  const messageId = await dev.published(NOWHERE, { headers: { 'Service-Delay': '1d' } });
  const other = await dev.account('shop');
  const before = await keysOf(dev);
  const otherKeys = await keysOf(dev, other.token);
  await dev.close();

  const serve = await startRider(t, { command: 'serve', data, flags: TAKE_OVER });
  assert.match(serve.token ?? '', /^pr_/);
  for (const path of ['/v2/account', '/v2/admin/accounts']) {
    refusal(await serve.call('GET', path, { token: DEV_TOKEN }), 401, 'unauthorized');
  }
  assert.equal((await serve.message(messageId)).messageId, messageId, 'what dev left behind is there');
  const after = await keysOf(serve);
  assert.equal(new Set([before.current, before.next, after.current, after.next]).size, 4);
  assert.deepEqual(await keysOf(serve, other.token), otherKeys, 'what nobody knows stays');
  await serve.close();

  const later = await startRider(t, { command: 'serve', data });
  assert.equal(later.token, null);
  assert.deepEqual(await keysOf(later, serve.token!), after);
  await later.close();
  const toldAgain = await startRider(t, { command: 'serve', data, flags: TAKE_OVER });
  assert.equal(toldAgain.token, null, 'there is nothing left to take over');
  assert.deepEqual(await keysOf(toldAgain, serve.token!), after);
});

test('the token and keys of the public clients are shut out as well', async (t) => {
  const data = temporaryFolder(t);
  const flags = ['--header-prefix', 'Upstash-'];
  const dev = await startRider(t, { data, flags });
  const keys = await keysOf(dev, QSTASH_TOKEN);
  assert.deepEqual([keys.current, keys.next], QSTASH_KEYS);
  await dev.close();
  await assert.rejects(startRider(t, { command: 'serve', data, flags }), REFUSED);
  const serve = await startRider(t, { command: 'serve', data, flags: [...flags, ...TAKE_OVER] });
  for (const token of [DEV_TOKEN, QSTASH_TOKEN]) {
    refusal(await serve.call('GET', '/v2/account', { token }), 401, 'unauthorized');
  }
  const after = await keysOf(serve);
  for (const known of QSTASH_KEYS) assert.ok(![after.current, after.next].includes(known), known);
});

test('well-known keys alone are enough to be refused: their tokens may have been revoked by hand', async (t) => {
  const data = temporaryFolder(t);
  const flags = ['--header-prefix', 'Upstash-'];
  const dev = await startRider(t, { data, flags });
  const { accountId } = await dev.manage<{ accountId: string }>('GET', '/v2/account');
  const own = await dev.tokenFor(accountId, ['publish', 'read', 'manage', 'admin']);
  const path = `/v2/admin/tokens?accountId=${accountId}`;
  const { tokens } = await dev.manage<{ tokens: { tokenId: string; name: string }[] }>('GET', path);
  for (const { tokenId } of tokens.filter(({ name }) => name === 'dev')) {
    await dev.manage('DELETE', `/v2/admin/accounts/${accountId}/tokens/${tokenId}`, undefined, own.token);
  }
  await dev.close();
  await assert.rejects(startRider(t, { command: 'serve', data, flags }), REFUSED);
  const serve = await startRider(t, { command: 'serve', data, flags: [...flags, ...TAKE_OVER] });
  assert.match(serve.token ?? '', /^pr_/);
  const after = await keysOf(serve, own.token);
  for (const known of QSTASH_KEYS) assert.ok(![after.current, after.next].includes(known), known);
});

test('dev does not let everybody into the store of a service', async (t) => {
  const data = temporaryFolder(t);
  const serve = await startRider(t, { command: 'serve', data });
  await serve.close();
  const refused = /holds accounts that postrider dev did not create\. .* Use a separate store for dev/;
  await assert.rejects(startRider(t, { data }), refused);
  const again = await startRider(t, { command: 'serve', data });
  refusal(await again.call('GET', '/v2/account', { token: DEV_TOKEN }), 401, 'unauthorized');
  await again.close();
});

test('what serve has taken over, dev no longer takes', async (t) => {
  const data = temporaryFolder(t);
  await (await startRider(t, { data })).close();
  await (await startRider(t, { command: 'serve', data, flags: TAKE_OVER })).close();
  await assert.rejects(startRider(t, { data }), /holds accounts that postrider dev did not create/);
});
