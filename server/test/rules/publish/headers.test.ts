// The rules for headers that users make us send.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  canonicalHeaderName,
  deliveredHeaders,
  deliveredHeadersProblem,
  FORWARD_HEADER_BYTES_MAX,
  FORWARD_HEADERS_MAX,
  forwardedHeadersProblem,
  forwardHeaderProblem,
  headerBytes,
  isHeaderNamed,
  isServiceHeader,
  unsendableProblem,
} from '../../../src/rules/publish/headers.ts';

const problemOf = (name: string, value = 'x') => forwardHeaderProblem(name, value, 'Service-');

test('ordinary headers are forwarded', () => {
  const names = ['Authorization', 'Cookie', 'Accept', 'User-Agent', 'X-My-Id', 'traceparent', 'Content-Encoding', 'x'];
  names.push('__proto__', 'constructor', "!#$%&'*+-.^_`|~09azAZ", 'Upgrade-Insecure-Requests', 'Proxy', 'webhook-ids');
  names.push('Service', 'Hosts', 'a'.repeat(256));
  for (const name of names) assert.equal(problemOf(name), null, name);
});

test('headers that frame the request, belong to the connection or are ours are refused in any case', () => {
  const names = ['Host', 'Content-Length', 'Transfer-Encoding', 'Connection', 'Keep-Alive', 'TE', 'Trailer', 'Upgrade'];
  names.push('Expect', 'HTTP2-Settings', 'Proxy-Authorization', 'Proxy-Connection', 'Proxy-Anything', 'proxy-');
  names.push('webhook-id', 'webhook-timestamp', 'webhook-signature', 'Service-', 'Service-Signature');
  for (const name of names) {
    for (const spelled of [name, name.toLowerCase(), name.toUpperCase()]) {
      assert.match(problemOf(spelled) ?? '', /cannot be forwarded/, spelled);
    }
  }
});

test('the own prefix is the one in use', () => {
  assert.equal(forwardHeaderProblem('Service-Id', 'x', 'Upstash-'), null);
  assert.match(forwardHeaderProblem('upstash-id', 'x', 'Upstash-') ?? '', /starting with "Upstash-"/);
});

test('a name that is not a token is refused', () => {
  for (const name of [
    '',
    ' ',
    'a b',
    'a:',
    'a\r\nb',
    'a\0',
    'ä',
    '(a)',
    'a/b',
    'a@b',
    'a"',
    'a,b',
    ' a',
    'a ',
    '\u212A',
  ]) {
    assert.notEqual(problemOf(name), null, JSON.stringify(name));
  }
  assert.equal(problemOf(''), 'the header to forward has no name');
  assert.match(problemOf('a'.repeat(257)) ?? '', /longer than 256/);
});

test('a value that no header can carry is refused', () => {
  for (const value of [
    'a\r\nb: c',
    'a\nb',
    'a\rb',
    '\n',
    'a\0',
    '\x01',
    '\x1f',
    '\x7f',
    'Ā',
    '€',
    '😀',
    '\ud800',
    '\u2028',
  ]) {
    assert.match(problemOf('X-A', value) ?? '', /not allowed in a header/, JSON.stringify(value));
  }
  for (const value of ['', ' ', 'a\tb', ' a ', 'é', '\x80', '\xa0', '\xff', '"', '\\', ',;:=']) {
    assert.equal(problemOf('X-A', value), null, JSON.stringify(value));
  }
});

test('number and size of the forwarded headers are limited', () => {
  const limits = { countMax: FORWARD_HEADERS_MAX, bytesMax: FORWARD_HEADER_BYTES_MAX };
  assert.deepEqual(limits, { countMax: 64, bytesMax: 16_384 });
  const many = Array.from({ length: 64 }, () => ['X-A', 'b'] as const);
  assert.equal(forwardedHeadersProblem([], limits), null);
  assert.equal(forwardedHeadersProblem(many, limits), null);
  assert.match(forwardedHeadersProblem([...many, ['X-A', 'b']], limits) ?? '', /65 headers .* limit is 64/);
  assert.equal(forwardedHeadersProblem([['abcd', 'é'.repeat(16_380)]], limits), null);
  assert.match(forwardedHeadersProblem([['abcde', 'é'.repeat(16_380)]], limits) ?? '', /16385 bytes .* limit is 16384/);
});

test('the delivered list is judged whole: three more than may be forwarded, and no more bytes', () => {
  const limits = { countMax: FORWARD_HEADERS_MAX, bytesMax: FORWARD_HEADER_BYTES_MAX };
  const most = Array.from({ length: 67 }, () => ['X-A', 'b'] as const);
  assert.equal(deliveredHeadersProblem(null, most, limits), null);
  assert.match(deliveredHeadersProblem(null, [...most, ['X-A', 'b']], limits) ?? '', /68 headers; the limit is 67/);
  assert.equal(deliveredHeadersProblem(null, [['abcd', 'é'.repeat(16_380)]], limits), null);
  assert.match(
    deliveredHeadersProblem(null, [['abcde', 'é'.repeat(16_380)]], limits) ?? '',
    /16385 bytes .* limit is 16384/,
  );
});

test('the content type of the body counts in the delivered list, unless another is forwarded', () => {
  const limits = { countMax: 1, bytesMax: 30 };
  const others = (count: number, bytes: number) =>
    Array.from({ length: count }, (_, index) => ['x', 'y'.repeat(index === 0 ? bytes - 2 * count + 1 : 1)] as const);
  assert.equal(deliveredHeadersProblem('text', others(3, 14), limits), null);
  assert.match(deliveredHeadersProblem('text', others(4, 14), limits) ?? '', /have 5 headers; the limit is 4$/);
  assert.match(
    deliveredHeadersProblem('text', others(3, 15), limits) ?? '',
    /have 31 bytes in total; the limit is 30$/,
  );
  assert.equal(
    deliveredHeadersProblem('a longer content type', [['CONTENT-TYPE', 'text'], ...others(3, 14)], limits),
    null,
  );
  assert.equal(
    headerBytes([
      ['ab', 'cde'],
      ['f', ''],
    ]),
    6,
  );
});

test('a delivery has one content type: a forwarded one, or else that of the body, which comes first', () => {
  const forward = [['X-A', 'b']] as const;
  assert.equal(deliveredHeaders(null, forward), forward);
  assert.deepEqual(deliveredHeaders('text/plain', forward), [
    ['Content-Type', 'text/plain'],
    ['X-A', 'b'],
  ]);
  const own = [
    ['X-A', 'b'],
    ['content-TYPE', 'text/html'],
  ] as const;
  assert.equal(deliveredHeaders('text/plain', own), own);
  assert.equal(deliveredHeaders('text/plain', [['Content-Typo', 'x']]).length, 2);
});

test('a name is compared in any case', () => {
  assert.equal(isHeaderNamed('Content-TYPE', 'content-type'), true);
  assert.equal(isHeaderNamed('Content-Typo', 'content-type'), false);
  assert.equal(isHeaderNamed('Content-Types', 'content-type'), false);
});

test('users may not set what is ours or belongs to a connection, in any case', () => {
  for (const name of ['HOST', 'Proxy-A', 'service-id', 'SERVICE-ID'])
    assert.equal(isServiceHeader(name, 'Service-'), true, name);
  for (const name of ['X-A', 'Hosts', 'Proxy', 'A-Service-', 'A-proxy-'])
    assert.equal(isServiceHeader(name, 'Service-'), false, name);
});

test('the last check before the wire refuses what frames a request and what no header can carry, each time', () => {
  for (const _ of ['at first', 'and when the names are known']) {
    assert.equal(unsendableProblem([]), null);
    assert.equal(
      unsendableProblem([
        ['X-A', 'b'],
        ['Service-Id', 'é'],
        ['webhook-ids', ''],
      ]),
      null,
    );
    assert.equal(
      unsendableProblem([
        ['X-A', 'b'],
        ['a b', 'c'],
      ]),
      '"a b" is not a valid header name',
    );
    assert.equal(unsendableProblem([['', 'c']]), '"" is not a valid header name');
    assert.equal(
      unsendableProblem([
        ['X-A', 'b'],
        ['HOST', 'c'],
      ]),
      '"HOST" is set by the service or belongs to a connection',
    );
    assert.equal(
      unsendableProblem([
        ['X-A', 'b'],
        ['X-A', 'b\nc'],
      ]),
      'the value of "X-A" has a character that no header can carry',
    );
  }
  for (let at = 0; at < 2500; at += 1) assert.equal(unsendableProblem([[`X-${at}`, 'b']]), null);
  assert.notEqual(unsendableProblem([['Proxy-A', 'b']]), null);
});

test('names are shown with each part starting in upper case', () => {
  const table: [string, string][] = [
    ['content-type', 'Content-Type'],
    ['x-my-id', 'X-My-Id'],
    ['ETAG', 'Etag'],
    ['X-RateLimit-Reset', 'X-Ratelimit-Reset'],
    ['a', 'A'],
    ['-a--b-', '-A--B-'],
    ['x-1a', 'X-1a'],
    ['x_y', 'X_y'],
    ['', ''],
  ];
  for (const [name, canonical] of table) assert.equal(canonicalHeaderName(name), canonical);
});
