// Section 4.1 of the spec: the request body is raw, optional, and passed to the destination unchanged.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { refusal, ridersOfOneService, sharedRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

const MIB = 1024 * 1024;
const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

const BODIES: readonly (readonly [what: string, body: Buffer])[] = [
  ['of text', Buffer.from('hello')],
  ['with all 256 byte values', ALL_BYTES],
  ['that is empty', Buffer.alloc(0)],
  ['that is not valid UTF-8', Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0x80])],
  ['that looks like JSON but is not', Buffer.from('{"a": 1,}')],
  ['of JSON with blanks and its own order of keys', Buffer.from('{ "b" : 1.0,\r\n\t"a":1e3 }\n')],
  ['with a byte order mark', Buffer.from('\ufeffabc')],
  ['that looks like a request', Buffer.from('POST /v2/batch HTTP/1.1\r\nHost: localhost\r\n\r\n0\r\n\r\n')],
  ['of exactly 1 MiB, the most of the free tier', Buffer.alloc(MIB, ALL_BYTES)],
];

const shared = sharedRider();

for (const [what, body] of BODIES) {
  test(`4.1 body: one ${what} arrives unchanged`, async (t) => {
    const receiver = await startReceiver(t);
    await shared().accepted(receiver.url, { body, headers: { 'Content-Type': 'application/json' } });
    const [arrival] = await receiver.received(1);
    assert.ok(arrival!.body.equals(body), `${arrival!.body.length} bytes arrived of ${body.length}`);
    assert.equal(arrival!.header('Content-Length'), String(body.length));
  });
}

test('4.1 body: it may be left out', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const messageId = await rider.accepted(receiver.url);
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.body.length, 0);
  const message = await rider.message(messageId);
  assert.equal('body' in message || 'bodyBase64' in message, false);
});

test('4.1 body: a body of 10 MiB arrives unchanged on a paid account', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const { token } = await rider.account('payer', 'paid');
  const body = Buffer.alloc(10 * MIB, ALL_BYTES);
  await rider.accepted(receiver.url, { body, token });
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.body.length, body.length);
  assert.equal(sha256(arrival!.body), sha256(body));
});

test('4.1 body: a body that is sent in chunks arrives complete, with its length', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const pieces = ['first ', 'second ', 'third'];
  const body = ReadableStream.from(pieces.map((piece) => new TextEncoder().encode(piece)));
  const answer = await fetch(`${rider.url}/v2/enqueue/q/${receiver.url}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${rider.token}` },
    body,
    duplex: 'half',
  });
  assert.equal(answer.status, 201);
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.body.toString(), pieces.join(''));
  assert.equal(arrival!.header('Transfer-Encoding'), undefined);
});

test('4.1 body: every retry sends the same bytes', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, (_arrival, index) => (index === 0 ? 500 : 200));
  const messageId = await rider.accepted(receiver.url, { body: ALL_BYTES });
  await rider.attempted(messageId, 1);
  await rider.advance(1000);
  const arrivals = await receiver.received(2);
  for (const arrival of arrivals) assert.ok(arrival.body.equals(ALL_BYTES));
});

test('4.1 body: text is shown as text and other bytes as base64 when the message is read', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const text = await rider.message(await rider.accepted(receiver.url, { body: 'héllo' }));
  assert.equal(text.body, 'héllo');
  const bytes = await rider.message(await rider.accepted(receiver.url, { body: ALL_BYTES }));
  assert.equal(bytes.body, undefined);
  assert.equal(bytes.bodyBase64, ALL_BYTES.toString('base64'));
});

test('4.1 body: a compressed body is refused with 415, because bodies are never decompressed', async (t) => {
  const rider = await startRider(t);
  for (const encoding of ['gzip', 'br', 'deflate', 'gzip, identity']) {
    const answer = await rider.enqueue('q', 'https://example.com', {
      body: 'x',
      headers: { 'Content-Encoding': encoding },
    });
    assert.match(refusal(answer, 415, 'unsupported_encoding'), /^Content-Encoding: /);
  }
});

test('4.1 body: identity is not compression, and compressed bytes are sent with a forwarded Content-Encoding', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  await rider.accepted(receiver.url, {
    body: ALL_BYTES,
    headers: { 'Content-Encoding': 'identity', 'Service-Forward-Content-Encoding': 'gzip' },
  });
  const [arrival] = await receiver.received(1);
  assert.deepEqual(arrival!.values('Content-Encoding'), ['gzip']);
  assert.ok(arrival!.body.equals(ALL_BYTES));
});

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
