// Which texts are destinations, and how a URL is split.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDestination, parseTargetUrl, type TargetUrl } from '../../../src/rules/publish/destination.ts';

function accepted(text: string): TargetUrl {
  const target = parseTargetUrl(text);
  if ('problem' in target) assert.fail(`${text}: ${target.problem}`);
  return target;
}

function destined(text: string): string {
  const destination = parseDestination(text);
  if ('problem' in destination) assert.fail(`${text}: ${destination.problem}`);
  return destination.kind === 'url' ? destination.target.url : `topic ${destination.nameOrId}`;
}

function assertRefused(text: string, problem: RegExp): void {
  const target = parseTargetUrl(text);
  assert.ok('problem' in target, `accepted: ${JSON.stringify(text)}`);
  assert.match(target.problem, problem, text);
  const destination = parseDestination(text);
  assert.ok('problem' in destination, `accepted as a destination: ${JSON.stringify(text)}`);
}

test('a URL is taken apart without changing it', () => {
  assert.deepEqual(accepted('https://Example.COM:8443/a/../b%2Fc//d?x=1&y=//'), {
    url: 'https://Example.COM:8443/a/../b%2Fc//d?x=1&y=//',
    protocol: 'https:',
    hostname: 'example.com',
    port: 8443,
    host: 'example.com:8443',
    origin: 'https://example.com:8443',
    hostHeader: 'Example.COM:8443',
    path: '/a/../b%2Fc//d?x=1&y=//',
  });
  assert.deepEqual(accepted('HTTP://[::FFFF:7f00:1]'), {
    url: 'HTTP://[::FFFF:7f00:1]',
    protocol: 'http:',
    hostname: '::ffff:7f00:1',
    port: 80,
    host: '[::ffff:7f00:1]:80',
    origin: 'http://[::ffff:7f00:1]:80',
    hostHeader: '[::FFFF:7f00:1]',
    path: '/',
  });
});

test('a path starts with a slash, whatever the URL ends with', () => {
  assert.equal(accepted('https://a.b').path, '/');
  assert.equal(accepted('https://a.b/').path, '/');
  assert.equal(accepted('https://a.b?x=1').path, '/?x=1');
  assert.equal(accepted('https://a.b?').path, '/?');
  assert.equal(accepted('https://a.b//').path, '//');
  assert.equal(accepted('https://a.b?x=/@:y').path, '/?x=/@:y');
  assert.equal(accepted('https://a.b/@c:d').path, '/@c:d');
});

test('the host dialled is the one WHATWG reads, in every spelling of an address', () => {
  const table: [string, string][] = [
    ['http://0x7f.1/', '127.0.0.1'],
    ['http://2130706433/', '127.0.0.1'],
    ['http://017700000001/', '127.0.0.1'],
    ['http://127.1/', '127.0.0.1'],
    ['http://127.0.0.1./', '127.0.0.1'],
    ['http://0/', '0.0.0.0'],
    ['http://[::1]:8080/', '::1'],
    ['http://[0:0:0:0:0:0:0:1]/', '::1'],
    ['http://[::ffff:127.0.0.1]/', '::ffff:7f00:1'],
    ['http://LOCALHOST/', 'localhost'],
    ['http://a_b.example/', 'a_b.example'],
    ['http://example.com./', 'example.com.'],
    ['https://XN--Bcher-Kva.example/', 'xn--bcher-kva.example'],
  ];
  for (const [url, hostname] of table) assert.equal(accepted(url).hostname, hostname, url);
});

test('the usual port is filled in and a given one is kept', () => {
  assert.equal(accepted('http://a.b/').port, 80);
  assert.equal(accepted('https://a.b/').port, 443);
  assert.equal(accepted('https://a.b:443/').hostHeader, 'a.b:443');
  assert.equal(accepted('https://a.b:1/').port, 1);
  assert.equal(accepted('https://a.b:65535/').port, 65_535);
});

test('a port that is empty, padded, zero or too large is refused', () => {
  for (const port of [':', ':0', ':00', ':080', ':65536', ':99999999999', ':-1', ':+1', ':8a', ':0x50', ':8.0', ':b']) {
    assertRefused(`http://a.b${port}/`, /port/);
    assertRefused(`http://[::1]${port}/`, /port/);
  }
});

test('a URL with credentials, a fragment or a backslash is refused', () => {
  assertRefused('https://user@a.b/', /credentials/);
  assertRefused('https://user:secret@a.b/', /credentials/);
  assertRefused('https://@a.b/', /credentials/);
  assertRefused('https://good.example:80@evil.example/', /credentials/);
  assertRefused('https://a.b/#x', /"#"/);
  assertRefused('https://a.b#@c.d/', /"#"/);
  assertRefused('https://a.b\\@c.d/', /backslash/);
  assertRefused('https://a.b/\\c', /backslash/);
});

test('a host that is missing or not valid is refused', () => {
  for (const url of ['http://', 'http:///', 'http:///a.b', 'http://?a', 'http://:80/']) assertRefused(url, /no host/);
  const hosts = ['.', '..', 'a..b', '.a', 'a"b', 'a{b', 'a!b', 'a*b', 'a|b', 'a^b', 'a<b', '[', '[]', '[::1', '::1'];
  hosts.push('[::g]', '[1.2.3.4]', '[::1]x', 'x[::1]', '1.2.3.4.5', '256.256.256.256', '0x100000000', 'a.b.1');
  hosts.push('[v1.a]', '[:::1]', 'a:b:80', `${'a'.repeat(64)}.b`, 'a.'.repeat(130));
  for (const host of hosts) assertRefused(`http://${host}/`, /host of the URL is not valid/);
});

test('percent escapes in the host are refused', () => {
  for (const host of ['%61.b', '127.0.0.1%2f', '%31%32%37.1', '[fe80::1%25eth0]', '%E2%91%A0']) {
    assertRefused(`http://${host}/`, /percent escape/);
  }
});

test('blanks, control and non-ASCII characters are refused with what to do instead', () => {
  const urls = ['http://①②⑦.⓪.⓪.①/', 'http://bücher.example/', 'http://a.b/ü', 'http://a.b/ ', 'http://a.b/\t'];
  urls.push(
    'http://a.b/\r\nHost: c',
    'http://a\n.b/',
    'http://a.b/\0',
    'http://a.b/\x7f',
    'http://a。b/',
    'http://a.b/😀',
  );
  for (const url of urls) assertRefused(url, /percent-encode.*xn--/);
});

test('an overlong URL is refused', () => {
  const longest = `https://a.b/${'c'.repeat(2_048 - 12)}`;
  assert.equal(accepted(longest).url, longest);
  assertRefused(`${longest}c`, /2049 characters; the limit is 2048/);
});

test('a callback URL needs both slashes and no decoding', () => {
  for (const url of ['https:/a.b', 'https%3A%2F%2Fa.b', 'a.b', '//a.b', 'ftp://a.b', 'https:a.b', ' https://a.b', '']) {
    const target = parseTargetUrl(url);
    assert.ok('problem' in target, url);
    assert.match(target.problem, /starts with http/);
  }
});

test('a destination whose slashes a proxy has merged is repaired', () => {
  assert.equal(destined('https:/a.b'), 'https://a.b');
  assert.equal(destined('HTTP:/a.b/c//d'), 'HTTP://a.b/c//d');
  for (const text of ['https:/', 'https:///a.b', 'https:////a.b', 'https:/?a', 'https:/user@a.b']) {
    assert.ok('problem' in parseDestination(text), text);
  }
});

test('a percent-encoded destination is decoded once', () => {
  assert.equal(destined('https%3A%2F%2Fa.b%2Fc%3Fd%3D1'), 'https://a.b/c?d=1');
  assert.equal(destined('HTTPS%3a%2f%2fa.b'), 'HTTPS://a.b');
  assert.equal(destined('https:%2F%2Fa.b%2Fc'), 'https://a.b/c');
  assert.equal(destined('https%3A%2F%2Fa.b%2Fc%252Fd'), 'https://a.b/c%2Fd');
  assert.equal(destined('https%3A%2Fa.b'), 'https://a.b');
  assert.equal(destined(encodeURIComponent(`https://a.b/${'?'.repeat(2_000)}`)), `https://a.b/${'?'.repeat(2_000)}`);
  assert.equal(destined('https://a.b/%2F%3A'), 'https://a.b/%2F%3A');
});

test('a destination encoded wrongly, twice or around something refused is refused', () => {
  const texts = ['https%3A%2F%2Fa.b%', 'https%3A%2F%2Fa.b%zz', 'https%3A%2F%2Fa.b%2F%FF', 'https%253A%252F%252Fa.b'];
  texts.push('https%3A%2F%2Fu%40a.b', 'https%3A%2F%2Fa.b%23c', 'https%3A%2F%2Fa.b%5Cc', 'https%3A%2F%2Fa.b%2F%0D%0A');
  texts.push('https%3A%2F%2F%2531.b', 'https%3Aa.b', 'https%3A', encodeURIComponent('https://bücher.example/'));
  for (const text of texts) assert.ok('problem' in parseDestination(text), text);
});

test('anything else is a topic if it is a name', () => {
  for (const name of ['orders', 'tpc_01JABC', 'a.b', 'http', 'https.', '-', 'x'.repeat(128)]) {
    assert.equal(destined(name), `topic ${name}`);
  }
  for (const text of [
    '',
    'x'.repeat(129),
    'ftp://a.b',
    'https:',
    'https:a.b',
    'http//a.b',
    'a/b',
    'a b',
    'ä',
    'a%20b',
  ]) {
    const destination = parseDestination(text);
    assert.ok('problem' in destination, text);
    assert.match(destination.problem, /neither a URL .* nor the name/);
  }
});

test('a host that was judged before is judged alike, under each scheme and with any path, however many came between', () => {
  const urls = [
    'http://A.example/x',
    'https://A.example/x',
    'http://a.example:81?y',
    'http://[::1]/',
    'http://0x7f.1/',
  ];
  const first = urls.map(accepted);
  for (let i = 0; i < 2500; i += 1) assert.equal(accepted(`http://h${i}.example/`).host, `h${i}.example:80`);
  for (const round of [1, 2]) assert.deepEqual(urls.map(accepted), first, `round ${round}`);
  assert.deepEqual(
    first.map(({ host, hostHeader, path }) => [host, hostHeader, path]),
    [
      ['a.example:80', 'A.example', '/x'],
      ['a.example:443', 'A.example', '/x'],
      ['a.example:81', 'a.example:81', '/?y'],
      ['[::1]:80', '[::1]', '/'],
      ['127.0.0.1:80', '0x7f.1', '/'],
    ],
  );
});

test('what is no destination is refused with what is wrong with it', () => {
  const problemOf = (text: string) => {
    const destination = parseDestination(text);
    return 'problem' in destination ? destination.problem : 'accepted';
  };
  assert.match(problemOf('x'.repeat(6145)), /^has 6145 characters; the limit for a URL is 2048/);
  assert.match(problemOf(`https://a.example/${'x'.repeat(6126)}`), /^the URL has 6144 characters; the limit is 2048/);
  assert.match(problemOf('https%3A%2F%2Fa.example%2F%zz'), /^the URL is not percent-encoded correctly/);
  assert.match(problemOf('my%2Dtopic'), /^neither a URL/);
  assert.match(problemOf('?a=b'), /^neither a URL/);
  assert.match(problemOf('news?a=b'), /^"\?a=b" follows the name of the topic, but a topic has no query/);
  assert.match(problemOf(`news?${'x'.repeat(59)}`), /^"\?x{59}" follows/);
  assert.match(problemOf(`news?${'x'.repeat(60)}`), /^"\?x{59}…" follows/);
});

test('a host may have 254 characters', () => {
  const host = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}.`;
  assert.equal(host.length, 254);
  assert.equal(accepted(`https://${host}/`).port, 443);
  assertRefused(`https://${host.slice(0, -1)}d./`, /the host of the URL is not valid/);
});

test('a URL that comes again is not read again, unless it is long or a thousand others came', () => {
  const isKept = (url: string) => {
    const first = accepted(url);
    return accepted(url) === first;
  };
  const urlOf = (length: number) => `https://kept.example/${'x'.repeat(length - 21)}`;
  assert.equal(isKept(urlOf(256)), true);
  assert.equal(isKept(urlOf(257)), false);
  const numbered = (at: number) => accepted(`https://kept.example/${at}`);
  const first = numbered(0);
  for (let at = 1; at < 1000 && numbered(0) === first; at += 1) numbered(at);
  // Cleared at some point, because others had been read before. Now a thousand fit.
  const again = numbered(0);
  for (let at = 1; at < 500; at += 1) numbered(at);
  assert.equal(numbered(0), again);
  for (let at = 1; at < 2000; at += 1) numbered(at);
  assert.notEqual(numbered(0), again);
});
