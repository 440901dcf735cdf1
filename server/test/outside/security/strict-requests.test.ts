// Requests that two readers could understand in two ways. They are refused, with the same response, whether the publish
// is the first of its connection, which is read without node:http where possible, or behind another call, where node:http
// reads it.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { sharedRider } from '../../support/harness.ts';
import { RawCaller } from '../../support/raw-caller.ts';

const GET = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';
const LINE = 'POST /v2/publish/http://127.0.0.1:1/ HTTP/1.1';

suite('a doubtful request', () => {
  const shared = sharedRider();
  const rest = (more = 'Content-Length: 1\r\n\r\nx', host = 'Host: localhost\r\n') =>
    `\r\n${host}Authorization: Bearer ${shared().token}\r\nService-Delay: 1d\r\n${more}`;
  const chunked = (body: string, coding = 'chunked') => rest(`Transfer-Encoding: ${coding}\r\n\r\n${body}`);
  const withHost = (...hosts: string[]) => rest(undefined, hosts.map((host) => `Host: ${host}\r\n`).join(''));

  /** What is refused, with the code of the error. The connection is closed behind it. */
  const refused = (): readonly (readonly [code: string, bytes: string])[] => [
    ['bad_request', LINE + withHost()],
    ['bad_request', LINE + withHost('localhost', 'localhost')],
    ['bad_request', LINE + withHost('localhost', 'other')],
    ['bad_request', LINE + withHost('a b')],
    ['bad_request', LINE + withHost('user@x')],
    ['bad_request', LINE + withHost('')],
    ['bad_request', LINE + withHost('http://localhost')],
    ['bad_request', `${LINE.replace('1.1', '1.0')}${withHost('a b')}`],
    ['bad_request', LINE.replace('POST ', 'POST  ') + rest()],
    ['bad_request', LINE.replace(' HTTP', '  HTTP') + rest()],
    ['bad_request', `${LINE} ${rest()}`],
    ['bad_request', ` ${LINE}${rest()}`],
    ['bad_request', LINE.replace(' HTTP', '\tHTTP') + rest()],
    ['bad_request', `\n${LINE}${rest()}`],
    ['bad_request', `\r${LINE}${rest()}`],
    ['bad_request', LINE.replace('HTTP/', 'http/') + rest()],
    ['bad_request', LINE.replace('HTTP/', 'RTSP/') + rest()],
    ['bad_request', `GET /healthz${rest('\r\n')}`],
    ['bad_request', `GET * HTTP/1.1${rest('\r\n')}`],
    ['bad_request', `GET localhost:80 HTTP/1.1${rest('\r\n')}`],
    ['bad_request', `GET ftp://localhost/ HTTP/1.1${rest('\r\n')}`],
    ['method_not_allowed', `CONNECT localhost:80 HTTP/1.1${rest('\r\n')}`],
    ['unsupported_version', LINE.replace('1.1', '2.0') + rest()],
    ['unsupported_version', LINE.replace('1.1', '1.2') + rest()],
    ['unsupported_version', LINE.replace('1.1', '0.9') + rest()],
    ['unsupported_version', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['unsupported_transfer_encoding', LINE + chunked('1\r\nx\r\n0\r\n\r\n', 'gzip, chunked')],
    ['unsupported_transfer_encoding', LINE + chunked('1\r\nx\r\n0\r\n\r\n', 'identity')],
    ['unsupported_transfer_encoding', LINE + chunked('1\r\nx\r\n0\r\n\r\n', ', chunked')],
    ['bad_request', LINE + chunked('1\r\nx\r\n0\r\n\r\n', 'chunked, gzip')],
    ['bad_request', LINE + chunked('1\r\nx\r\n0\r\n\r\n', 'chunked\r\nTransfer-Encoding: chunked')],
    ['bad_request', LINE.replace('1.1', '1.0') + chunked('1\r\nx\r\n0\r\n\r\n')],
    ['bad_request', LINE + chunked('1\r\nx\r\n0\r\n\r\n', 'chunked\r\nContent-Length: 1')],
    ['bad_request', LINE + rest('Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n')],
    ...['+1', '-1', '1, 1', '1 1', '0x1', '1.0', '1e0', '', '1\r\nContent-Length: 1', '1\r\nContent-Length: 2'].map(
      (length) => ['bad_request', LINE + rest(`Content-Length: ${length}\r\n\r\nx`)] as const,
    ),
    ['bad_request', `${LINE}${rest()}`.replaceAll('\r\n', '\n')],
    ['bad_request', LINE + rest('X: a\r\n b\r\nContent-Length: 1\r\n\r\nx')],
    ['bad_request', LINE + rest('X: a\nContent-Length: 1\r\n\r\nx')],
    ['bad_request', LINE + rest('X: a\rY: b\r\nContent-Length: 1\r\n\r\nx')],
    ['bad_request', LINE + rest('X: a\0\r\nContent-Length: 1\r\n\r\nx')],
    ['bad_request', LINE + rest('X : a\r\nContent-Length: 1\r\n\r\nx')],
    ['bad_request', LINE + rest('Content-Length: 1\r\n\nx')],
    ['bad_request', LINE + chunked('1\nx\n0\n\n')],
    ['bad_request', LINE + chunked('1;a\rb\r\nx\r\n0\r\n\r\n')],
    ['bad_request', LINE + chunked('+1\r\nx\r\n0\r\n\r\n')],
    ['bad_request', LINE + chunked('0x1\r\nx\r\n0\r\n\r\n')],
    ['bad_request', LINE + chunked('1 \r\nx\r\n0\r\n\r\n')],
    ['bad_request', LINE + chunked('fffffffffffffffff\r\nx\r\n0\r\n\r\n')],
    ['bad_request', LINE + chunked('1\r\nx\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n')],
    ['bad_request', LINE + chunked('1\r\nx\r\n0\r\nContent-Length: 1\r\n\r\n')],
  ];

  async function dial(t: Parameters<typeof RawCaller.dial>[0]) {
    return (await RawCaller.dial(t, shared().url)).listen();
  }

  test('is refused in the same way by both readers, and nothing behind it is read', async (t) => {
    const hidden = LINE + rest();
    for (const [code, bytes] of refused()) {
      const outcomes: unknown[] = [];
      for (const before of ['', GET, `${LINE}${rest()}`]) {
        const caller = await dial(t);
        if (before !== '') {
          caller.say(before);
          await caller.hears(before === GET ? 200 : 201);
        }
        caller.say(bytes + hidden);
        await caller.hearsEnd();
        const found = caller.responses.slice(before === '' ? 0 : 1);
        assert.equal(found.length, 1, `${JSON.stringify(bytes)}: ${caller.text}`);
        assert.match(found[0]!.head, /\r\nConnection: close\r\n/i);
        assert.match(found[0]!.head, /\r\nDate: /i);
        outcomes.push([found[0]!.status, found[0]!.body]);
        assert.equal(JSON.parse(found[0]!.body).code, code, JSON.stringify(bytes));
      }
      assert.deepEqual(outcomes[1], outcomes[0], JSON.stringify(bytes));
      assert.deepEqual(outcomes[2], outcomes[0], JSON.stringify(bytes));
    }
  });

  test('is refused in the same way when it comes byte by byte', async (t) => {
    for (const [code, bytes] of refused()) {
      const caller = await dial(t);
      for (const byte of bytes) {
        caller.say(byte);
        if (caller.responses.length > 0) break;
        await new Promise(setImmediate);
      }
      await caller.hearsEnd();
      assert.deepEqual(
        caller.responses.map(({ body }) => JSON.parse(body).code),
        [code],
        JSON.stringify(bytes),
      );
    }
  });

  test('that means one thing only is accepted by both readers', async (t) => {
    const accepted: readonly (readonly [status: number, bytes: string])[] = [
      [201, LINE + rest()],
      [201, LINE + rest('Content-Length: 0001\r\n\r\nx')],
      [201, LINE.replace(' /v2', ' http://localhost/v2') + rest()],
      [201, `\r\n${LINE}${rest()}`],
      [201, LINE + chunked('1;a=b;c="d"\r\nx\r\n0;e\r\n\r\n')],
      [201, LINE + chunked('0001\r\nx\r\n0\r\nHost: other\r\nAuthorization: none\r\n\r\n')],
      [201, LINE + chunked('4\r\n\r\n\r\n\r\n4\r\n\r\n\r\n\r\n0\r\n\r\n')],
      [200, 'GET http://localhost/console/ HTTP/1.1\r\nHost: localhost\r\n\r\n'],
      [200, 'GET http://localhost/dev/sink/ok HTTP/1.1\r\nHost: localhost\r\n\r\n'],
      [404, 'OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ];
    for (const [status, bytes] of accepted) {
      const first = await dial(t);
      first.say(bytes + GET);
      await first.hears(status, 200);
      const behind = await dial(t);
      behind.say(GET + bytes + GET);
      await behind.hears(200, status, 200);
    }
    const old = await dial(t);
    old.say(LINE.replace('1.1', '1.0') + withHost());
    await old.hearsEnd();
    await old.hears(201);
  });
});
