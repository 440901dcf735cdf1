// What arrives is what was given: every byte of the request, seen from the receiver's side of the socket.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { jwtVerify } from 'jose';
import { forwardHeaderProblem } from '../../../src/rules/publish/headers.ts';
import { OK, type ReceivedRequest, readRequests, startReceiver } from './receivers.ts';
import { REST_MS, startSender } from './senders.ts';

async function startListener(t: TestContext) {
  const requests: ReceivedRequest[] = [];
  const receiver = await startReceiver(t, (socket) =>
    readRequests(socket, (request) => {
      requests.push(request);
      socket.write(OK);
    }),
  );
  return { receiver, requests };
}

function valuesOf(request: ReceivedRequest | undefined, name: string): string[] {
  return (request?.headers ?? []).filter(([each]) => each.toLowerCase() === name).map(([, value]) => value);
}

const ALL_BYTES = Uint8Array.from({ length: 256 }, (_, i) => i);

for (const [what, body] of [
  ['with all 256 byte values', ALL_BYTES],
  ['that is a part of a larger buffer', Buffer.from('--hello--').subarray(2, 7)],
  ['of 10 MiB', Buffer.alloc(10 * 1_024 * 1_024, ALL_BYTES)],
  ['without a byte', new Uint8Array()],
] as const) {
  test(`a body ${what} arrives unchanged, with its length`, async (t) => {
    const { receiver, requests } = await startListener(t);
    const { outcome } = startSender(t);
    for (const method of ['POST', 'PUT', 'PATCH'] as const) {
      assert.equal((await outcome({ url: receiver.url, method, body })).kind, 'answered');
      const request = requests.at(-1);
      assert.ok(request !== undefined);
      assert.equal(request.requestLine, `${method} / HTTP/1.1`);
      assert.deepEqual(valuesOf(request, 'content-length'), [String(body.length)]);
      assert.deepEqual(valuesOf(request, 'transfer-encoding'), []);
      const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
      assert.equal(digest(request.body), digest(body));
    }
  });
}

test('GET and DELETE go without a length when there is no body, and with the body when there is one', async (t) => {
  const { receiver, requests } = await startListener(t);
  const { outcome } = startSender(t);
  for (const method of ['GET', 'DELETE'] as const) {
    assert.equal((await outcome({ url: receiver.url, method, body: new Uint8Array() })).kind, 'answered');
    assert.deepEqual(valuesOf(requests.at(-1), 'content-length'), []);
    assert.equal((await outcome({ url: receiver.url, method, body: ALL_BYTES })).kind, 'answered');
    assert.deepEqual(valuesOf(requests.at(-1), 'content-length'), ['256']);
    assert.deepEqual(requests.at(-1)?.body, Buffer.from(ALL_BYTES));
  }
  assert.equal(requests.length, 4);
});

test('the path goes out byte for byte', async (t) => {
  const { receiver, requests } = await startListener(t);
  const { outcome } = startSender(t);
  const paths = ['/a%2Fb/../c//d?x=%00&y=//', '//', '/./..', '/%zz%', '/?', "/'<>^`{|}", '/a?b?c&&=', '/a;b:c@d'];
  for (const path of paths) {
    assert.equal((await outcome({ url: `${receiver.url}${path}` })).kind, 'answered');
    assert.equal(requests.at(-1)?.requestLine, `POST ${path} HTTP/1.1`);
  }
});

test('the Host header is the authority as given', async (t) => {
  const { receiver, requests } = await startListener(t);
  const { outcome } = startSender(t);
  for (const host of [`127.0.0.1:${receiver.port}`, `LocalHost:${receiver.port}`, `0x7f.1:${receiver.port}`]) {
    assert.equal((await outcome({ url: `http://${host}?q` })).kind, 'answered');
    assert.deepEqual(valuesOf(requests.at(-1), 'host'), [host]);
    assert.equal(requests.at(-1)?.requestLine, 'POST /?q HTTP/1.1');
  }
});

test('headers keep their names, values, order and repeats; Latin-1 is one byte a character', async (t) => {
  const { receiver, requests } = await startListener(t);
  const { outcome } = startSender(t);
  const headers = [
    ['Content-Type', 'text/x; charset="é"'],
    ['X-Twice', '1'],
    ['x-mIxEd', 'a, b'],
    ['X-Twice', '2'],
    ['X-Empty', ''],
    ['Accept-Encoding', 'gzip'],
    ['__proto__', 'x'],
  ] as const;
  assert.equal((await outcome({ url: receiver.url, headers })).kind, 'answered');
  const names = new Set(headers.map(([name]) => name));
  assert.deepEqual(
    requests[0]?.headers.filter(([name]) => (names as Set<string>).has(name)),
    headers,
  );
});

test('each request is signed, both ways, with the time of the attempt', async (t) => {
  const { receiver, requests } = await startListener(t);
  const { outcome, clock } = startSender(t, { headerPrefix: 'Upstash-' });
  const url = `${receiver.url}/a%2Fb/../c?d`;
  for (const _ of [1, 2]) await outcome({ url, messageId: 'msg_x', body: ALL_BYTES, signingKey: 'sig_ü' });

  const jtis = new Set<unknown>();
  for (const request of requests) {
    const [jwt = ''] = valuesOf(request, 'upstash-signature');
    const { payload } = await jwtVerify(jwt, new TextEncoder().encode('sig_ü'), {
      issuer: 'Upstash',
      subject: url,
      currentDate: new Date(clock.now()),
    });
    assert.equal(payload.body, createHash('sha256').update(ALL_BYTES).digest('base64url'));
    jtis.add(payload.jti);
    assert.deepEqual(valuesOf(request, 'webhook-id'), ['msg_x']);
    assert.deepEqual(valuesOf(request, 'webhook-timestamp'), [String(Math.floor(clock.now() / 1_000))]);
    assert.match(valuesOf(request, 'webhook-signature').join(), /^v1,[A-Za-z0-9+/]{43}=$/);
  }
  assert.equal(jtis.size, 2);
});

test('every header that is accepted can be sent', async (t) => {
  const { receiver, requests } = await startListener(t);
  const { outcome, clock } = startSender(t);
  const anyName = fc.oneof(
    fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 12 }),
    fc.string({ unit: fc.constantFrom(...'abcXYZ019-_!#$%&*+.^`|~'), minLength: 1, maxLength: 12 }),
    fc.constantFrom('host', 'Connection', 'TE', 'Upgrade', 'expect', 'Keep-Alive', 'constructor', 'content-type'),
  );
  const anyValue = fc.string({ unit: fc.integer({ min: 0, max: 0x17f }).map((code) => String.fromCharCode(code)) });
  await fc.assert(
    fc.asyncProperty(anyName, anyValue, async (name, value) => {
      fc.pre(forwardHeaderProblem(name, value, 'Service-') === null);
      const answer = await outcome({ url: receiver.url, headers: [[name, value]] });
      assert.equal(answer.kind, 'answered');
      clock.advance(REST_MS);
      const arrived = valuesOf(requests.at(-1), name.toLowerCase()).map((each) => each.replace(/^[ \t]+|[ \t]+$/g, ''));
      assert.deepEqual(arrived, [value.replace(/^[ \t]+|[ \t]+$/g, '')]);
    }),
    { numRuns: 300 },
  );
});

test('a request that cannot be sent is refused and never reaches the receiver', async (t) => {
  const { receiver, requests } = await startListener(t);
  const { outcome } = startSender(t);
  for (const header of [
    ['X-A', 'a\r\nX-B: b'],
    ['X-A', 'a\0'],
    ['X-A', 'ā'],
    ['X A', 'a'],
    ['', 'a'],
    ['X-A:', 'a'],
    ['Host', 'b'],
    ['Content-Length', '3'],
    ['Transfer-Encoding', 'chunked'],
    ['Upgrade', 'x'],
    ['Expect', '100-continue'],
  ] as const) {
    const answer = await outcome({ url: receiver.url, headers: [header] });
    assert.ok(answer.kind === 'refusedByPolicy', `${header}: ${answer.kind}`);
    assert.match(answer.reason, /^the request cannot be sent: /);
  }
  for (const url of ['ftp://127.0.0.1/', 'http://', 'http://a b/', 'http://u:p@127.0.0.1/', '']) {
    assert.equal((await outcome({ url })).kind, 'refusedByPolicy', url);
  }
  assert.equal(requests.length, 0);
});
