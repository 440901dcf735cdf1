// Section 4.1 of the spec: Service-Forward-<Name>. The prefix is removed, name and value are the caller's, and there
// may be any number of them, within limits the spec leaves open.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusal, ridersOfOneService } from '../../support/harness.ts';
import { type Arrival, startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

/** The headers of a delivery that are not ours. */
function forwarded(arrival: Arrival): string[] {
  const own = /^(?:host|content-length|connection|user-agent|service-.*|webhook-.*)$/i;
  return arrival.headers.filter(([name]) => !own.test(name)).map(([name, value]) => `${name}: ${value}`);
}

test('4.1 Service-Forward: the prefix is removed; name, its case and value stay', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const headers = {
    'Service-Forward-X-My-Header': 'some value',
    'Service-Forward-x-lower-case': 'MiXeD',
    'Service-Forward-X_UPPER.9': '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~',
    'service-forward-Authorization': 'Bearer for-the-destination',
    'Service-Forward-Accept': 'a, b;q=0.1',
    'Service-Forward-Cookie': 'a=b; c=d',
  };
  await rider.accepted(receiver.url, { headers });
  const [arrival] = await receiver.received(1);
  assert.deepEqual(forwarded(arrival!), [
    'X-My-Header: some value',
    'x-lower-case: MiXeD',
    'X_UPPER.9: !"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~',
    'Authorization: Bearer for-the-destination',
    'Accept: a, b;q=0.1',
    'Cookie: a=b; c=d',
  ]);
});

test('4.1 Service-Forward: any number may be sent, up to 64', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const names = Array.from({ length: 64 }, (_, index) => `X-Number-${index}`);
  const headers = Object.fromEntries(names.map((name, index) => [`Service-Forward-${name}`, String(index)]));
  await rider.accepted(receiver.url, { headers });
  const [arrival] = await receiver.received(1);
  assert.deepEqual(
    forwarded(arrival!),
    names.map((name, index) => `${name}: ${index}`),
  );
});

test('4.1 Service-Forward: a header that is given twice arrives twice, in order', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  await rider.accepted(receiver.url, { headers: { 'Service-Forward-X-Tag': ['b', 'a', 'b'] } });
  const [arrival] = await receiver.received(1);
  assert.deepEqual(arrival!.values('X-Tag'), ['b', 'a', 'b']);
});

test('4.1 Service-Forward: a value with bytes beyond ASCII arrives with the same bytes', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const utf8 = Buffer.from('héllo, wörld').toString('latin1');
  await rider.accepted(receiver.url, { headers: { 'Service-Forward-X-Text': utf8 } });
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.header('X-Text'), utf8);
});

test('4.1 Service-Forward: an empty header counts as absent', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  await rider.accepted(receiver.url, { headers: { 'Service-Forward-X-Empty': '', 'Service-Forward-X-Set': '1' } });
  const [arrival] = await receiver.received(1);
  assert.deepEqual(forwarded(arrival!), ['X-Set: 1']);
});

test('4.1 Service-Forward: a forwarded Content-Type and User-Agent replace the usual ones', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const headers = {
    'Content-Type': 'text/plain',
    'Service-Forward-Content-Type': 'application/vnd.example+json',
    'Service-Forward-User-Agent': 'mine/1',
  };
  await rider.accepted(receiver.url, { headers });
  const [arrival] = await receiver.received(1);
  assert.deepEqual(arrival!.values('Content-Type'), ['application/vnd.example+json']);
  assert.deepEqual(arrival!.values('User-Agent'), ['mine/1']);
});

test('4.1 Service-Forward: every attempt carries them', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, (_arrival, index) => (index === 0 ? 503 : 200));
  const messageId = await rider.accepted(receiver.url, { headers: { 'Service-Forward-X-Kind': 'order' } });
  await rider.attempted(messageId, 1);
  await rider.advance(1000);
  for (const arrival of await receiver.received(2)) assert.equal(arrival.header('X-Kind'), 'order');
});

test('4.1 Service-Forward: they are shown when the message is read, under canonical names', async (t) => {
  const rider = await startRider(t);
  const headers = { 'Content-Type': 'text/plain', 'Service-Forward-x-my-tag': ['1', '2'] };
  const messageId = await rider.accepted('http://127.0.0.1:1/', { headers });
  assert.deepEqual((await rider.message(messageId)).header, { 'Content-Type': ['text/plain'], 'X-My-Tag': ['1', '2'] });
});

test('4.1 Service-Forward: headers that frame a request or belong to the service are refused with 400', async (t) => {
  const rider = await startRider(t);
  const names = [
    'Host',
    'Content-Length',
    'Transfer-Encoding',
    'Connection',
    'Keep-Alive',
    'TE',
    'Trailer',
    'Upgrade',
    'Expect',
    'Proxy-Authorization',
    'Proxy-Connection',
    'Service-Message-Id',
    'service-forward-x',
    'webhook-signature',
  ];
  for (const name of names) {
    const answer = await rider.enqueue('q', 'https://example.com', { headers: { [`Service-Forward-${name}`]: '1' } });
    const error = refusal(answer, 400, 'bad_forward_header');
    assert.ok(error.startsWith(`Service-Forward-${name}: "${name}" cannot be forwarded`), error);
  }
});

test('4.1 Service-Forward: a header without a name is refused with 400', async (t) => {
  const rider = await startRider(t);
  const answer = await rider.enqueue('q', 'https://example.com', { headers: { 'Service-Forward-': '1' } });
  assert.match(refusal(answer, 400, 'bad_forward_header'), /^Service-Forward-: .*no name/);
});

test('4.1 Service-Forward: more than 64, or more than 16 KiB together, are refused with 400', async (t) => {
  const rider = await startRider(t);
  const many = Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`Service-Forward-X-${index}`, '1']));
  const tooMany = await rider.enqueue('q', 'https://example.com', { headers: many });
  assert.match(refusal(tooMany, 400, 'bad_forward_header'), /^Service-Forward-…: 65 headers.*limit is 64/);

  const name = 'X-Big';
  const most = 16 * 1024 - name.length;
  const receiver = await startReceiver(t);
  await rider.accepted(receiver.url, { headers: { [`Service-Forward-${name}`]: 'x'.repeat(most) } });
  assert.equal((await receiver.received(1))[0]!.header(name)!.length, most);
  const headers = { [`Service-Forward-${name}`]: 'x'.repeat(most + 1) };
  const tooLarge = await rider.enqueue('q', 'https://example.com', { headers });
  assert.match(refusal(tooLarge, 400, 'bad_forward_header'), /16385 bytes in total; the limit is 16384/);
});
