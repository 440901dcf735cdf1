// The client's `Receiver` verifies our deliveries, also through a rotation of the keys, and its dev mode takes our dev
// server for the one it would otherwise download.

import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { Client, Receiver } from '@upstash/qstash';
import { ask } from '../../support/client.ts';
import { type OracleAccount, startOracle } from '../../support/qstash-client.ts';
import { type Arrival, startReceiver } from '../../support/receiver.ts';

const oracle = await startOracle();

interface Keys {
  readonly current: string;
  readonly next: string;
}

test('Receiver.verify: takes a delivery, its body and its URL', async (t) => {
  const account = await oracle.account();
  const receiver = await startReceiver(t);
  const url = `${receiver.url}/in?x=%2F`;
  await account.client.publish({ url, body: 'grüße 🐎' });
  const [arrival] = await receiver.received(1);
  const verifier = receiverFor(await keysOf(account));
  assert.equal(await verifier.verify(signed(arrival!, url)), true);
  await assert.rejects(verifier.verify(signed(arrival!, `${url}x`)), { name: 'SignatureError' });
  await assert.rejects(verifier.verify({ ...signed(arrival!, url), body: 'other' }), { name: 'SignatureError' });
});

test('Receiver.verify: an empty body is signed too', async (t) => {
  const account = await oracle.account();
  const receiver = await startReceiver(t);
  await account.client.publish({ url: receiver.url, method: 'GET' });
  const [arrival] = await receiver.received(1);
  assert.equal(await receiverFor(await keysOf(account)).verify(signed(arrival!, receiver.url)), true);
});

test('Receiver.verify: refuses what another account signed', async (t) => {
  const [one, other] = [await oracle.account(), await oracle.account()];
  const receiver = await startReceiver(t);
  await one.client.publish({ url: receiver.url, body: 'b' });
  const [arrival] = await receiver.received(1);
  const verifier = receiverFor(await keysOf(other));
  await assert.rejects(verifier.verify(signed(arrival!, receiver.url)), { name: 'SignatureError' });
});

test('Receiver.verify: with the keys of before, goes on through one rotation and not through two', async (t) => {
  const account = await oracle.account();
  const receiver = await startReceiver(t);
  const before = await keysOf(account);
  const verifier = receiverFor(before);
  const deliver = async (count: number) => {
    await account.client.publish({ url: receiver.url, body: String(count) });
    return signed((await receiver.received(count)).at(-1)!, receiver.url);
  };
  assert.equal(await verifier.verify(await deliver(1)), true);
  const rotated = await rotate(account);
  assert.equal(rotated.current, before.next);
  assert.ok(rotated.next !== before.next && rotated.next !== before.current);
  assert.deepEqual(await keysOf(account), rotated);
  const afterOne = await deliver(2);
  assert.equal(await verifier.verify(afterOne), true);
  assert.equal(await receiverFor(rotated).verify(afterOne), true);
  await rotate(account);
  await assert.rejects(verifier.verify(await deliver(3)), { name: 'SignatureError' });
});

test('Client: dev mode finds the server, publishes to it, and its Receiver verifies what comes', async (t) => {
  const answer = await ask(oracle.url, '/v2/keys', { headers: { Authorization: `Bearer ${DEV.token}` } });
  // Or the client would take this for no server of its own and download one.
  assert.deepEqual(answer.json(), { current: DEV.current, next: DEV.next }, answer.text);
  process.env.QSTASH_DEV_PORT = new URL(oracle.url).port;
  const printed = mock.method(console, 'log', () => {});
  t.after(() => {
    delete process.env.QSTASH_DEV_PORT;
    printed.mock.restore();
  });
  const receiver = await startReceiver(t);
  const client = new Client({ devMode: true, retry: false });
  const { messageId } = await client.publishJSON({ url: receiver.url, body: { n: 1 } });
  assert.match(String(printed.mock.calls[0]?.arguments[0]), /already running/);
  const [arrival] = await receiver.received(1);
  assert.equal(await new Receiver({ devMode: true }).verify(signed(arrival!, receiver.url)), true);
  const seen = await ask(oracle.url, `/v2/messages/${messageId}`, {
    headers: { Authorization: `Bearer ${oracle.token}` },
  });
  assert.equal(seen.status, 200, 'it is the account of the token that the server printed');
});

/** As printed in the sources of the client. */
const DEV = {
  token: 'eyJVc2VySUQiOiJkZWZhdWx0VXNlciIsIlBhc3N3b3JkIjoiZGVmYXVsdFBhc3N3b3JkIn0=',
  current: 'sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r',
  next: 'sig_5ZB6DVzB1wjE8S6rZ7eenA8Pdnhs',
};

function receiverFor({ current, next }: Keys): Receiver {
  return new Receiver({ currentSigningKey: current, nextSigningKey: next });
}

function signed(arrival: Arrival, url: string) {
  return { signature: arrival.header('Upstash-Signature') ?? '', body: arrival.body.toString('utf8'), url };
}

async function keysOf(account: OracleAccount): Promise<Keys> {
  return (await account.ask('GET', '/v2/keys')).json<Keys>();
}

async function rotate(account: OracleAccount): Promise<Keys> {
  return (await account.ask('POST', '/v2/keys/rotate')).json<Keys>();
}
