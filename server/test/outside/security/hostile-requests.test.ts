// Requests no honest client would send, written to the socket byte by byte. Each must be answered, never with a fault,
// and the service must be as well after it as before.

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { before, suite, test } from 'node:test';
import { exchange } from '../../support/client.ts';
import { type Rider, refusal, sharedRider } from '../../support/harness.ts';

suite('a hostile request', () => {
  const shared = sharedRider();
  let rider: Rider;

  before(() => {
    rider = shared();
  });

  const authorized = () => `Host: localhost\r\nAuthorization: Bearer ${rider.token}\r\n`;

  async function sent(bytes: string) {
    const answer = await exchange(rider.url, bytes);
    assert.ok(answer, `no answer to ${JSON.stringify(bytes.slice(0, 80))}`);
    return answer;
  }

  /** A POST with this body, whatever it holds. */
  function post(path: string, body: string, headers = '') {
    const bytes = Buffer.byteLength(body, 'latin1');
    return sent(`POST ${path} HTTP/1.1\r\n${authorized()}${headers}Content-Length: ${bytes}\r\n\r\n${body}`);
  }

  test('that is not HTTP is answered with 400', async () => {
    const cases = [
      'hello\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      'GET /healthz HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n',
      'GET /healthz HTTP/1.1\r\nHost: localhost\r\nX y: 1\r\n\r\n',
      'GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: 1\r\n folded\r\n\r\n',
      '\0\0\0\0\r\n\r\n',
    ];
    for (const bytes of cases) assert.match(refusal(await sent(bytes), 400, 'bad_request'), /HTTP/, bytes);
  });

  test('whose framing contradicts itself is answered with 400, and smuggles nothing in', async () => {
    const hidden = `POST /v2/enqueue/q/http://127.0.0.1:1/smuggled HTTP/1.1\r\n${authorized()}Content-Length: 0\r\n\r\n`;
    const framings = [
      'Content-Length: 2\r\nContent-Length: 3\r\n\r\n[]',
      'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'Content-Length: -1\r\n\r\n',
      'Content-Length: 0x2\r\n\r\n[]',
      'Content-Length: 2, 2\r\n\r\n[]',
      'Content-Length: 99999999999999999999\r\n\r\n',
      'Transfer-Encoding: chunked\r\n\r\nzz\r\n[]\r\n0\r\n\r\n',
      'Transfer-Encoding: chunked\r\n\r\n2\r\n[]x\r\n0\r\n\r\n',
      'Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n',
      'Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n',
    ];
    for (const framing of framings) {
      const answer = await sent(`POST /v2/batch HTTP/1.1\r\n${authorized()}${framing}${hidden}`);
      assert.equal(answer.status, 400, framing);
      assert.equal(answer.json<{ code: string }>().code, 'bad_request', framing);
    }
    assert.deepEqual((await rider.manage<{ usage: unknown[] }>('GET', '/v2/usage')).usage, []);
  });

  test('with NUL bytes or line breaks where they do not belong is answered with 400', async () => {
    refusal(await sent(`GET /heal\0thz HTTP/1.1\r\n${authorized()}\r\n`), 400, 'bad_request');
    refusal(await sent(`GET /healthz HTTP/1.1\r\n${authorized()}X: a\0b\r\n\r\n`), 400, 'bad_request');
    refusal(await sent(`GET /healthz HTTP/1.1\r\n${authorized()}X\0: 1\r\n\r\n`), 400, 'bad_request');
    const element = { destination: 'http://127.0.0.1:1/', headers: { 'Service-Forward-X': 'a\r\nEvil: 1' } };
    const answer = await post('/v2/batch', JSON.stringify([element]));
    assert.equal(answer.json<{ code: string }[]>()[0]!.code, 'bad_forward_header');
  });

  test('with headers or a path without end is answered with 431', async () => {
    for (const bytes of [
      `GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(1_000_000)}`,
      `GET /healthz HTTP/1.1\r\nHost: localhost\r\n${'X: y\r\n'.repeat(50_000)}`,
      `GET /${'x'.repeat(1_000_000)}`,
      `GET /healthz HTTP/1.1\r\nHost: localhost\r\n${'x'.repeat(1_000_000)}`,
    ]) {
      refusal(await sent(bytes), 431, 'headers_too_large');
    }
  });

  test('with an expectation or an upgrade nobody offers is answered as if it had none', async () => {
    const head = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n';
    assert.equal((await sent(`${head}Expect: tea\r\n\r\n`)).status, 200);
    assert.equal((await sent(`${head}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`)).status, 200);
  });

  test('with a method nobody knows is answered with 400 or 405', async () => {
    refusal(await sent('BREW /v2/keys HTTP/1.1\r\nHost: localhost\r\n\r\n'), 400, 'bad_request');
    refusal(await sent(`PROPFIND /v2/keys HTTP/1.1\r\n${authorized()}\r\n`), 405, 'method_not_allowed');
    refusal(await sent(`TRACE /v2/batch HTTP/1.1\r\n${authorized()}\r\n`), 405, 'method_not_allowed');
    refusal(await sent(`OPTIONS * HTTP/1.1\r\n${authorized()}\r\n`), 404, 'not_found');
  });

  test('with __proto__ and its kin in the body changes nothing for others', async () => {
    for (const key of ['__proto__', 'constructor', 'prototype', 'toString']) {
      const body = `{"${key}":{"polluted":true},"endpoints":[{"url":"http://127.0.0.1:1/","${key}":{"polluted":true}}]}`;
      refusal(await post('/v2/topics/t/endpoints', body), 400, 'bad_body');
      await post('/v2/batch', `[{"destination":"x","${key}":{"polluted":true},"headers":{"${key}":"x"}}]`);
      for (const path of [`/v2/topics/${key}`, `/v2/messages/${key}`, `/v2/usage?${key}=1`, `/v2/${key}`]) {
        const answer = await sent(`GET ${path} HTTP/1.1\r\n${authorized()}\r\n`);
        assert.ok(answer.status === 404 || answer.status === 400, `${path}: ${answer.status}`);
      }
    }
    assert.equal(({} as Record<string, unknown>).polluted, undefined);
  });

  test('with JSON nested without end is answered with 400', async () => {
    const deep = 200_000;
    refusal(await post('/v2/batch', '['.repeat(deep)), 400, 'bad_json');
    const answer = await post('/v2/batch', '['.repeat(deep) + ']'.repeat(deep));
    assert.equal(answer.status, 400);
    const element = `[{"destination":"http://127.0.0.1:1/","body":${'{"a":'.repeat(deep)}1${'}'.repeat(deep)}}]`;
    assert.equal((await post('/v2/batch', element)).json<{ code: string }[]>()[0]!.code, 'bad_body');
    const endpoints = `{"endpoints":${'['.repeat(deep)}${']'.repeat(deep)}}`;
    refusal(await post('/v2/topics/t/endpoints', endpoints), 400, 'bad_body');
  });

  test('with a body that stops short is not accepted', async () => {
    const head = `POST /v2/enqueue/q/http://127.0.0.1:1/ HTTP/1.1\r\n${authorized()}`;
    for (const framing of ['Content-Length: 10\r\n\r\nhalf', 'Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n']) {
      await hangUpAfter(rider.url, head + framing);
    }
    assert.deepEqual((await rider.manage<{ usage: unknown[] }>('GET', '/v2/usage')).usage, []);
  });

  test('with a body without end is refused while it is sent, and may then break off', async () => {
    const head = `POST /v2/enqueue/q/http://127.0.0.1:1/ HTTP/1.1\r\n${authorized()}Transfer-Encoding: chunked\r\n\r\n`;
    const chunk = `100000\r\n${'x'.repeat(0x100000)}\r\n`;
    // `exchange` drops the connection when it has its answer, in the middle of the body.
    refusal(await sent(head + chunk + chunk), 412, 'limit_exceeded');
    // Whichever is seen first, the size or the nonsense behind it.
    const answer = await sent(`${head}${chunk}${chunk}zz\r\n`);
    assert.ok(answer.status === 412 || answer.status === 400, String(answer.status));
  });

  test('with bytes behind the body leaves them to the next request', async () => {
    const head = `POST /v2/batch HTTP/1.1\r\n${authorized()}Content-Length: 2\r\n\r\n[]`;
    assert.deepEqual((await sent(`${head}trailing nonsense\r\n\r\n`)).json(), []);
  });

  test('with paths that decode to something else finds nothing, and never a fault', async () => {
    for (const path of [
      '/v2/topics/%zz',
      '/v2/topics/%E0%A4%A',
      '/v2/topics/%00',
      '/v2/messages/..%2f..%2fkeys',
      '/v2/messages/../keys',
      `/v2/messages/${'x'.repeat(5000)}`,
      '//v2/keys',
      '/v2/keys/',
      '/v2/keys%3f',
      '/v2/keys;a=b',
      '/v2/usage?fromDay=%00',
      '/v2/usage?fromDay[]=1',
      '/%',
    ]) {
      const answer = await sent(`GET ${path} HTTP/1.1\r\n${authorized()}\r\n`);
      assert.ok(answer.status === 400 || answer.status === 404, `${path}: ${answer.status} ${answer.text}`);
      assert.deepEqual(Object.keys(answer.json<object>()), ['error', 'code'], path);
    }
  });

  test('leaves the service as well as it was', async () => {
    assert.equal((await rider.call('GET', '/readyz')).status, 200);
  });
});

/** Sends the bytes and closes the connection, and waits until the service has noticed. */
async function hangUpAfter(url: string, bytes: string): Promise<void> {
  await new Promise<void>((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.on('error', () => {});
    socket.on('close', () => resolve());
    socket.resume();
    socket.end(Buffer.from(bytes, 'latin1'));
  });
}
