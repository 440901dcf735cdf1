// Section 4.1 of the spec: "the URL is placed in the path as it is". Requests are written to the socket byte by byte,
// so that nothing on this side repairs them, and the receiver's request line is compared with what was sent.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { exchange } from '../../support/client.ts';
import { type Published, type Rider, refusal, ridersOfOneService } from '../../support/harness.ts';
import { lacks } from '../../support/machine.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

async function start(t: TestContext): Promise<{ rider: Rider; receiver: Receiver }> {
  return { rider: await startRider(t), receiver: await startReceiver(t) };
}

/** `target` stands in the request line exactly as given. */
async function post(rider: Rider, target: string, body = '') {
  const head = `POST ${target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${rider.token}\r\n`;
  const answer = await exchange(rider.url, `${head}Content-Length: ${body.length}\r\n\r\n${body}`);
  assert.ok(answer, 'the connection closed without an answer');
  return answer;
}

/** What may stand behind the authority of a URL, and must arrive as it stands. */
const TAILS = [
  '/',
  '/a/b/c',
  '/a%2Fb%2fc',
  '//double//slashes///',
  '/a/../b/./c/..',
  '/%2e%2e/%2E/x',
  '/..',
  '/a%00b%0d%0ac',
  '/a%20b+c',
  '/?x=1&y=//',
  '/?',
  '/?a?b??',
  '/p?q=http://other.example/v2/batch?z=%26',
  '/v2/batch',
  '/v2/enqueue/q/http://x',
  '/caf%C3%A9',
  '/%zz%',
  "/!$&'()*+,;=:@-._~",
  '/[x]{y}|z^`"<>',
  '/%25%32%46',
  '/a;b=c/d,e',
  '/trailing.',
];

for (const call of ['enqueue', 'publish'] as const) {
  const path = call === 'enqueue' ? '/v2/enqueue/q/' : '/v2/publish/';

  test(`4.1 destination: path and query of a URL arrive byte for byte (${call})`, async (t) => {
    const { rider, receiver } = await start(t);
    for (const [index, tail] of TAILS.entries()) {
      const answer = await post(rider, `${path}${receiver.url}${tail}`);
      assert.equal(answer.status, 201, `${tail}: ${answer.text}`);
      assert.equal(answer.json<Published>().url, receiver.url + tail);
      const arrivals = await receiver.received(index + 1);
      assert.equal(arrivals[index]!.requestLine, `POST ${tail} HTTP/1.1`);
    }
  });
}

test('4.1 destination: a URL without a path is requested as "/", and one with only a query as "/?…"', async (t) => {
  const { rider, receiver } = await start(t);
  for (const [tail, target] of [
    ['', '/'],
    ['?x=1', '/?x=1'],
  ] as const) {
    const answer = await post(rider, `/v2/enqueue/q/${receiver.url}${tail}`);
    assert.equal(answer.json<Published>().url, receiver.url + tail);
    await rider.ended(answer.json<Published>().messageId);
    assert.equal(receiver.arrivals.at(-1)!.target, target);
  }
});

test('4.1 destination: the Host header is the authority as given', async (t) => {
  const { rider, receiver } = await start(t);
  await post(rider, `/v2/enqueue/q/http://LocalHost:${receiver.port}/`);
  await post(rider, `/v2/enqueue/q/http://127.0.0.1:${receiver.port}/`);
  const arrivals = await receiver.received(2);
  assert.deepEqual(
    arrivals.map((arrival) => arrival.values('Host')),
    [[`LocalHost:${receiver.port}`], [`127.0.0.1:${receiver.port}`]],
  );
});

test('4.1 destination: the scheme may be written in any case', async (t) => {
  const { rider, receiver } = await start(t);
  const url = `hTTp://127.0.0.1:${receiver.port}/A/b`;
  const answer = await post(rider, `/v2/enqueue/q/${url}`);
  assert.equal(answer.json<Published>().url, url);
  assert.equal((await receiver.received(1))[0]!.target, '/A/b');
});

test('4.1 destination: an IPv6 address in brackets is accepted', { skip: lacks('ipv6') }, async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, undefined, '::1');
  const answer = await post(rider, `/v2/enqueue/q/${receiver.url}/six?x=[::1]`);
  assert.equal(answer.json<Published>().url, `http://[::1]:${receiver.port}/six?x=[::1]`);
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.requestLine, 'POST /six?x=[::1] HTTP/1.1');
  assert.equal(arrival!.header('Host'), `[::1]:${receiver.port}`);
});

test('4.1 destination: a URL whose slashes a proxy has merged is repaired', async (t) => {
  const { rider, receiver } = await start(t);
  const answer = await post(rider, `/v2/enqueue/q/http:/127.0.0.1:${receiver.port}/a//b`);
  assert.equal(answer.json<Published>().url, `${receiver.url}/a//b`);
  assert.equal((await receiver.received(1))[0]!.target, '/a//b');
});

test('4.1 destination: a percent-encoded URL is decoded once', async (t) => {
  const { rider, receiver } = await start(t);
  const url = `${receiver.url}/a%2Fb?x=1&y=%252F`;
  for (const encoded of [encodeURIComponent(url), encodeURIComponent(url).replace('%3A', ':')]) {
    const answer = await post(rider, `/v2/enqueue/q/${encoded}`);
    assert.equal(answer.status, 201, answer.text);
    assert.equal(answer.json<Published>().url, url);
    await rider.ended(answer.json<Published>().messageId);
    assert.equal(receiver.arrivals.at(-1)!.target, '/a%2Fb?x=1&y=%252F');
  }
});

test('4.1 destination: a destination in a request target of the absolute form is read like any other', async (t) => {
  const { rider, receiver } = await start(t);
  const answer = await post(rider, `http://postrider/v2/enqueue/q/${receiver.url}/a%2Fb?c`);
  assert.equal(answer.status, 201, answer.text);
  assert.equal((await receiver.received(1))[0]!.target, '/a%2Fb?c');
});

test('4.1 destination: an international host name is accepted in its xn-- form', async (t) => {
  const rider = await startRider(t);
  const url = 'https://xn--bcher-kva.example/%C3%BC';
  const answer = await post(rider, `/v2/enqueue/q/${url}`);
  assert.equal(answer.json<Published>().url, url);
});

/** Each with the reason the answer must give. */
const REFUSED: readonly (readonly [destination: string, reason: RegExp])[] = [
  ['http://user:secret@example.com/', /credentials/],
  ['http://user@example.com/', /credentials/],
  ['http://example.com/a#part', /"#" part/],
  ['http://example.com\\@evil.example/', /backslash/],
  ['http://example.com/a\\b', /backslash/],
  [`http://example.com/${'x'.repeat(2048 - 18)}`, /2049 characters; the limit is 2048/],
  ['http://', /no host/],
  ['http:///path', /no host/],
  ['http://:80/', /no host/],
  ['http://exa%6dple.com/', /percent escape/],
  ['http://example.com:0/', /port/],
  ['http://example.com:65536/', /port/],
  ['http://example.com:/', /port/],
  ['http://example.com:8o/', /port/],
  ['http://[::1/', /host/],
  ['http://[fe80::1%25eth0]/', /percent escape/],
  ['http://a..b/', /host/],
  ['http://exa"mple.com/', /host/],
  ['https%3A%2F%2Fexample.com%2F%zz', /not percent-encoded correctly/],
  ['https%3A%2F%2Fb%C3%BCcher.example%2F', /non-ASCII.*xn--/],
  ['https%3A%2F%2Fexample.com%2Fa%20b', /spaces/],
  ['https%3A%2F%2Fexample.com%2Fa%0d%0aX:%201', /control/],
  ['https%253A%252F%252Fexample.com', /neither a URL/],
];

test('4.1 destination: a URL that cannot be called as written is refused with 400 and a reason', async (t) => {
  const rider = await startRider(t);
  for (const [destination, reason] of REFUSED) {
    const error = refusal(await post(rider, `/v2/enqueue/q/${destination}`), 400, 'bad_destination');
    assert.match(error, /^destination: /);
    assert.match(error, reason, destination);
  }
});

test('4.1 destination: a URL of 2,048 characters is accepted', async (t) => {
  const { rider, receiver } = await start(t);
  const tail = `/${'x'.repeat(2048 - receiver.url.length - 1)}`;
  assert.equal((await post(rider, `/v2/enqueue/q/${receiver.url}${tail}`)).status, 201);
  assert.equal((await receiver.received(1))[0]!.target, tail);
});

test('4.1 destination: raw bytes that no request line may hold are refused with 400', async (t) => {
  const rider = await startRider(t);
  for (const target of ['http://example.com/\xe9', 'http://b\xfccher.example/', 'http://example.com/a\0b']) {
    const error = refusal(await post(rider, `/v2/enqueue/q/${target}`), 400, 'bad_request');
    assert.match(error, /Invalid char in url/);
  }
});

test('4.1 path: an enqueue never becomes another call, however its path is written', async (t) => {
  const rider = await startRider(t);
  const body = JSON.stringify([{ destination: 'http://127.0.0.1:1/' }]);
  const paths: readonly (readonly [target: string, status: number, code: string])[] = [
    ['/v2/enqueue/../batch', 404, 'topic_not_found'],
    ['/v2/enqueue/%2e%2e/batch', 404, 'topic_not_found'],
    ['/v2/enqueue/q/../../batch', 400, 'bad_destination'],
    ['/v2/enqueue/q/..%2F..%2Fbatch', 400, 'bad_destination'],
    ['/v2/enqueue/q/batch', 404, 'topic_not_found'],
    ['/v2/publish/../batch', 400, 'bad_destination'],
    ['/v2/publish/batch', 404, 'topic_not_found'],
    ['/v2/enqueue//batch', 400, 'bad_queue_name'],
    ['/v2/enqueue/../keys', 404, 'topic_not_found'],
    ['/v2//batch', 404, 'not_found'],
    ['/v2/./batch', 404, 'not_found'],
    ['/v2/x/../batch', 404, 'not_found'],
    ['/v2/%62atch', 404, 'not_found'],
    ['/v2/batch/', 404, 'not_found'],
    ['/v2/Batch', 404, 'not_found'],
  ];
  for (const [target, status, code] of paths) refusal(await post(rider, target, body), status, code);
  assert.deepEqual((await rider.manage<{ usage: unknown[] }>('GET', '/v2/usage')).usage, []);
});
