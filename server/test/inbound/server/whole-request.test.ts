// A publish that is read without node:http means the same as node:http would read, byte for byte. Whatever is not certain
// to mean the same is left to it.

import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { type WholeRequest, WholeRequestReader } from '../../../src/inbound/server/whole-request.ts';
import { eachMax } from '../../../src/rules/limits/budgets.ts';

const SOCKET = new Socket();
const HEAD = [
  'POST /v2/publish/https://example.com/a?b=c HTTP/1.1',
  'Host: localhost:8080',
  'Authorization: Bearer abc',
  'Content-Type: application/json',
  'Service-Forward-X-Id: 1 2\t3',
];

function bytesOf(lines: readonly string[], body = 'body'): Buffer {
  return Buffer.from([...lines, `Content-Length: ${body.length}`, '', body].join('\r\n'), 'latin1');
}

function read(bytes: Buffer): WholeRequest | 'part' | null {
  return new WholeRequestReader().read(bytes, SOCKET);
}

interface Meaning {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: readonly string[];
  readonly known: readonly (string | undefined)[];
  readonly body: string;
  readonly isLast: boolean;
}

const KNOWN = ['host', 'authorization', 'content-encoding', 'x-forwarded-for'] as const;

function meaningOf(request: WholeRequest): Meaning {
  const { method, url, headerList, headers, body, isLast } = request;
  const known = KNOWN.map((name) => headers[name]);
  return { method, url, headers: headerList.flat(), known, body: Buffer.from(body).toString('latin1'), isLast };
}

/** What node:http reads: the requests, and whether it then found something that is not one. */
function readByNode(bytes: Buffer): Promise<Meaning[] | 'nonsense'> {
  const server = createServer({ maxHeaderSize: eachMax('headBytes'), requireHostHeader: false });
  const found: Meaning[] = [];
  return new Promise((resolve) => {
    const connection = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
    // Its requests are parsed while the bytes are pushed, and their bodies end soon after.
    const finish = (result: Meaning[] | 'nonsense') => setImmediate(() => setImmediate(() => resolve(result)));
    server.on('clientError', () => finish('nonsense'));
    server.on('checkExpectation', () => finish('nonsense'));
    server.on('upgrade', () => finish('nonsense'));
    server.on('request', (request: IncomingMessage, response) => {
      const { method, url, rawHeaders: headers } = request;
      const known = KNOWN.map((name) => request.headers[name] as string | undefined);
      let body = '';
      request.setEncoding('latin1');
      request.on('data', (chunk: string) => {
        body += chunk;
      });
      request.on('end', () => {
        found.push({ method, url, headers, known, body, isLast: !response.shouldKeepAlive });
        response.end();
      });
    });
    server.emit('connection', connection);
    connection.push(bytes);
    setImmediate(() => finish(found));
  });
}

async function requireSame(bytes: Buffer): Promise<boolean> {
  const request = read(bytes);
  if (request === null || request === 'part') return false;
  assert.deepEqual(await readByNode(bytes), [meaningOf(request)], JSON.stringify(bytes.toString('latin1')));
  return true;
}

test('a plain publish, enqueue and batch is read, and as node:http reads it', async () => {
  for (const target of ['publish/http://a/', 'enqueue/q/http://a/?b#c', 'batch', 'batch?x=y', 'publish/"<>^`{|}\\']) {
    for (const more of [[], ['Connection: close'], ['connection: Keep-Alive', 'X-Forwarded-For: ::1'], ['A:', 'b:c']]) {
      const bytes = bytesOf([`POST /v2/${target} HTTP/1.1`, ...HEAD.slice(1), ...more]);
      assert.equal(await requireSame(bytes), true, `${target} ${more}`);
    }
  }
  assert.equal(await requireSame(bytesOf(HEAD, '')), true);
});

test('a byte at any place of a head is read as node:http reads it, or left to it', async () => {
  const whole = bytesOf(HEAD).toString('latin1');
  const places = ['example', 'localhost', 'Type:', 'application', '1 2', '\t3', ' abc', '\r\nContent', ': Bearer'];
  for (const place of places) {
    let isRead = 0;
    for (let byte = 0; byte < 256; byte += 1) {
      const inserted = whole.replace(place, () => String.fromCharCode(byte) + place);
      if (await requireSame(Buffer.from(inserted, 'latin1'))) isRead += 1;
      const behind = whole.replace(place, () => place + String.fromCharCode(byte));
      if (await requireSame(Buffer.from(behind, 'latin1'))) isRead += 1;
    }
    assert.ok(isRead > 0, `${place}: nothing was read`);
  }
});

test('what frames a request otherwise, or says who calls, is left to node:http', () => {
  const left = [
    'Transfer-Encoding: chunked',
    'transfer-encoding: identity',
    'Content-Length: 4',
    'Connection: upgrade',
    'Connection: keep-alive, close',
    'Proxy-Connection: close',
    'Keep-Alive: timeout=5',
    'Upgrade: h2c',
    'Expect: 100-continue',
    'Trailer: A',
    'TE: trailers',
    'Cookie: postrider_session=a',
    'Origin: https://example.com',
    'Host: other',
    'Host: localhost:8080',
    'Authorization: Bearer other',
    'Content-Encoding: gzip\r\nContent-Encoding: br',
    'X-Forwarded-For: a\r\nx-forwarded-for: b',
    'Connection: close\r\nConnection: close',
    ' folded',
    'A : b',
    ': b',
    'A: b ',
    'A: b\t',
    'A:\tb',
    'A: b\rC: d',
    'A: b\nC: d',
    'A: \xfc',
    'A\x80: b',
  ];
  for (const line of left) assert.equal(read(bytesOf([...HEAD, line])), null, line);
  const [, ...headers] = HEAD;
  for (const first of [
    'POST /v2/publish/a HTTP/1.0',
    'POST /v2/publish/a HTTP/1.1 ',
    'POST  /v2/publish/a HTTP/1.1',
    'POST /v2/publish/a  HTTP/1.1',
    'POST /v2/publish/a b HTTP/1.1',
    'POST /v2/publish/a\tHTTP/1.1',
    'POST /v2/publish/\xe4 HTTP/1.1',
    'post /v2/publish/a HTTP/1.1',
    'GET /v2/publish/a HTTP/1.1',
    'POST http://us/v2/publish/a HTTP/1.1',
    'POST /v2/batch/ HTTP/1.1',
    'POST /v2/batches HTTP/1.1',
    'POST /v2/schedules/http://a/ HTTP/1.1',
    '\r\nPOST /v2/publish/a HTTP/1.1',
  ])
    assert.equal(read(bytesOf([first, ...headers])), null, first);
});

test('a host that is missing or that is none is left to node:http', () => {
  const [first, , ...others] = HEAD;
  assert.equal(read(bytesOf([first!, ...others])), null);
  for (const host of ['', 'a b', 'user@x', 'a/b', 'a:b', '[::1', 'a%zz', 'http://a', 'a#b', '"a"', 'a\tb']) {
    assert.equal(read(bytesOf([first!, `Host: ${host}`, ...others])), null, host);
  }
  for (const host of [
    'a',
    'a:',
    'a:80',
    '127.0.0.1:8080',
    '[::1]:80',
    'a_b.example.',
    'xn--bcher-kva.example',
    'a%20b',
  ]) {
    assert.notEqual(read(bytesOf([first!, `Host: ${host}`, ...others])), null, host);
  }
});

test('a length that is missing, no plain number or large is left to node:http', () => {
  const withLength = (length: string) => Buffer.from([...HEAD, length, '', 'body'].join('\r\n'), 'latin1');
  for (const length of ['', '+4', '-4', '0x4', '4,4', '4.0', '4e0', ' ', '1234567890']) {
    assert.equal(read(withLength(`Content-Length: ${length}`)), null, length);
  }
  assert.equal(read(withLength('A: b')), null);
  assert.notEqual(read(withLength('content-length: 0004')), null);
});

test('a request whose body is not whole is a part; one with more behind it is left to node:http', () => {
  const bytes = bytesOf(HEAD);
  assert.equal(read(bytes.subarray(0, -1)), 'part');
  assert.equal(read(bytes.subarray(0, -4)), 'part');
  assert.equal(read(bytes.subarray(0, -5)), null, 'its head is not whole');
  assert.equal(read(Buffer.concat([bytes, Buffer.from('\n')])), null);
  assert.equal(read(Buffer.concat([bytes, bytes])), null);
});

test('a large head is left to node:http, which copies what a message keeps of it', () => {
  const bytes = bytesOf([...HEAD, `A: ${'a'.repeat(eachMax('headBytes') / 8)}`]);
  assert.equal(read(bytes), null);
});

/** A request with a few bytes changed, lost or added. */
const damaged = fc
  .tuple(
    fc.constantFrom(...['Connection: close', 'A: b', 'X: \xff', 'Transfer-Encoding: chunked', 'Host: b', 'Expect: a']),
    fc.array(fc.tuple(fc.nat(400), fc.nat(2), fc.constantFrom(...' \t\r\n:,;0A\x00\x7f\x80\xff#?/')), { maxLength: 3 }),
  )
  .map(([line, changes]) => {
    let text = bytesOf([...HEAD, line]).toString('latin1');
    for (const [place, kind, byte] of changes) {
      const at = place % text.length;
      text = text.slice(0, at) + (kind === 1 ? '' : byte) + text.slice(kind === 0 ? at : at + 1);
    }
    return Buffer.from(text, 'latin1');
  });

test('a damaged request is read as node:http reads it, or left to it', async () => {
  let isRead = 0;
  await fc.assert(
    fc.asyncProperty(damaged, async (bytes) => {
      if (await requireSame(bytes)) isRead += 1;
    }),
    { numRuns: 2000 },
  );
  assert.ok(isRead > 100, `${isRead} were read`);
});

test('what a connection sent before changes nothing in how its next request is read', () => {
  const sometimesDamaged = fc.oneof(damaged, fc.constant(bytesOf(HEAD)), fc.constant(bytesOf(HEAD, 'another')));
  fc.assert(
    fc.property(fc.array(sometimesDamaged, { maxLength: 8 }), (requests) => {
      const reader = new WholeRequestReader();
      for (const bytes of requests) {
        const first = read(bytes);
        const again = reader.read(bytes, SOCKET);
        if (first === null || first === 'part') assert.equal(again, first);
        else assert.deepEqual(meaningOf(again as WholeRequest), meaningOf(first));
      }
    }),
    { numRuns: 1000 },
  );
});

test('whatever a connection has sent, little of it is kept in memory', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const heapBytes = () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const head = (lines: readonly string[]) => bytesOf([HEAD[0]!, HEAD[1]!, ...lines]);
  const shortLines = (reader: WholeRequestReader) => reader.read(head(new Array(450).fill('a:')), SOCKET);
  // Each remembered line would keep another head.
  const oneLineAtATime = (reader: WholeRequestReader) => {
    const lines = new Array(140).fill('a: 000000000');
    for (const place of lines.keys()) {
      lines[place] = 'a: 111111111';
      assert.notEqual(reader.read(head(lines), SOCKET), null);
    }
  };
  const oneLineMoreEachTime = (reader: WholeRequestReader) => {
    const filling = 'a'.repeat(1200);
    for (let count = 1; count < 50; count += 1) {
      const lines = [...new Array(count).fill('a: 000000000'), `b: ${filling}`];
      assert.notEqual(reader.read(head(lines), SOCKET), null);
    }
  };
  for (const send of [shortLines, oneLineAtATime, oneLineMoreEachTime]) {
    send(new WholeRequestReader());
    const readers = Array.from({ length: 50 }, () => new WholeRequestReader());
    const before = heapBytes();
    for (const reader of readers) send(reader);
    const each = (heapBytes() - before) / readers.length;
    assert.ok(each < 8 * eachMax('rememberedHead'), `${send.name}: ${each} bytes`);
    assert.equal(readers.length, 50);
  }
});
