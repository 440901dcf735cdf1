// What is refused of a request line, a host and a transfer coding, whatever the parser thinks of it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import {
  headProblem,
  isHostHeader,
  originForm,
  requestLineProblem,
  tooLargeHead,
} from '../../../src/rules/requests/request-head.ts';

const codeOf = (refused: ReturnType<typeof requestLineProblem>) => refused?.problem.code ?? null;

test('a request line is a method, a target and a version, with one blank between them', () => {
  for (const line of [
    'GET / HTTP/1.1',
    'POST /v2/publish/https://example.com/a?b=c HTTP/1.0',
    'GET http://example.com/ HTTP/1.1',
    'GET https://[::1]:80?a HTTP/1.1',
    'GET http://example.com HTTP/1.1',
    'OPTIONS * HTTP/1.1',
  ])
    assert.equal(requestLineProblem(line), null, line);
  for (const line of [
    '',
    'GET',
    'GET /',
    'GET  / HTTP/1.1',
    'GET /  HTTP/1.1',
    ' GET / HTTP/1.1',
    'GET / HTTP/1.1 ',
    'GET\t/ HTTP/1.1',
    'GET /\tHTTP/1.1',
    'GET /a b HTTP/1.1',
    'GET / HTTP/1.1\r',
    '\rGET / HTTP/1.1',
    'GET / http/1.1',
    'GET / RTSP/1.0',
    'SOURCE / ICE/1.0',
    'GET / HTTP/x.1',
    'GET * HTTP/1.1',
    'GET example.com:80 HTTP/1.1',
    'GET ftp://example.com/ HTTP/1.1',
    'GET http:///a HTTP/1.1',
    'GET http://user@example.com/ HTTP/1.1',
  ])
    assert.notEqual(codeOf(requestLineProblem(line)), null, line);
});

test('another version of HTTP is named as such, also if the rest of the line is wrong', () => {
  for (const version of ['0.9', '1.2', '2.0', '3.0', '9.9', '11.1', '1.10', '2', '1']) {
    assert.equal(codeOf(requestLineProblem(`GET / HTTP/${version}`)), 'unsupported_version', version);
  }
  assert.equal(codeOf(requestLineProblem('PRI * HTTP/2.0')), 'unsupported_version');
  assert.equal(codeOf(requestLineProblem('GET  / HTTP/1.1')), 'bad_request');
  assert.equal(codeOf(requestLineProblem('CONNECT example.com:80 HTTP/1.1')), 'method_not_allowed');
});

test('a whole URL as the target means its path', () => {
  for (const [target, path] of [
    ['/a?b', '/a?b'],
    ['*', '*'],
    ['http://a/b?c', '/b?c'],
    ['HTTPS://a', '/'],
    ['http://a/', '/'],
    ['/a/', '/a/'],
    ['http://a?b', '/?b'],
  ] as const)
    assert.equal(originForm(target), path);
});

test('a host is a name or an address, with or without a port', () => {
  for (const host of ['a', 'a:80', 'a:', '127.0.0.1', '[::1]:80', '[fe80::1%25eth0]', 'a_b', 'a.b.', 'a%20b']) {
    assert.equal(isHostHeader(host), true, host);
  }
  for (const host of [
    '',
    ' ',
    'a b',
    'user@x',
    'a,b c',
    'a/b',
    'a?b',
    'a#b',
    'a:b',
    'a:80:80',
    '[::1',
    '::1',
    'a%2',
    'ä',
    ':80',
  ]) {
    assert.equal(isHostHeader(host), false, host);
  }
});

test('another header as long as Host or Transfer-Encoding is neither of them', () => {
  const [from, count] = ['From', 'X-Count-Of-Things'];
  assert.deepEqual([from.length, count.length], ['Host'.length, 'Transfer-Encoding'.length]);
  assert.equal(headProblem('1.1', ['Host', 'a', from, 'not a host', count, 'gzip', count, 'gzip']), null);
});

test('a head that is too large is refused with its limit', () => {
  assert.deepEqual(tooLargeHead().problem, {
    code: 'headers_too_large',
    message: `the request line and headers are larger than ${eachMax('headBytes')} bytes`,
  });
});

test('one host is needed in HTTP/1.1; in HTTP/1.0 it may be missing, but not be wrong', () => {
  assert.equal(headProblem('1.1', ['HOST', 'a', 'X', 'b']), null);
  assert.equal(headProblem('1.0', ['X', 'b']), null);
  for (const version of ['1.0', '1.1']) {
    assert.equal(codeOf(headProblem(version, ['Host', 'a', 'host', 'a'])), 'bad_request');
    assert.equal(codeOf(headProblem(version, ['Host', 'a b'])), 'bad_request');
    assert.equal(codeOf(headProblem(version, ['Host', ''])), 'bad_request');
  }
  assert.equal(codeOf(headProblem('1.1', ['X', 'b'])), 'bad_request');
});

test('chunked is the only transfer coding, once, and in HTTP/1.1', () => {
  const withCoding = (...values: string[]) => ['Host', 'a', ...values.flatMap((value) => ['Transfer-Encoding', value])];
  assert.equal(headProblem('1.1', withCoding('Chunked')), null);
  for (const value of [
    'gzip, chunked',
    'gzip',
    'identity',
    ', chunked',
    'chunked, chunked',
    'chunked;a=b',
    '"chunked"',
    '',
  ]) {
    assert.equal(codeOf(headProblem('1.1', withCoding(value))), 'unsupported_transfer_encoding', value);
  }
  assert.equal(codeOf(headProblem('1.1', withCoding('chunked', 'chunked'))), 'bad_request');
  assert.equal(codeOf(headProblem('1.0', withCoding('chunked'))), 'bad_request');
});
