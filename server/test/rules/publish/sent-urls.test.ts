// URLs of any form: every valid one is accepted, means the same to WHATWG, and its path arrives byte for byte.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { Client } from 'undici';
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

const tailCharacter = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code));
const tail = fc
  .tuple(fc.constantFrom('', '/', '?', '//', '/?'), fc.string({ unit: tailCharacter, maxLength: 40 }))
  .map(([start, rest]) => (start === '' ? '' : start + rest.replace(/[\\#]/g, '%')));
const host = fc.oneof(
  fc.constantFrom('a.b', 'EXAMPLE.com', 'localhost', '0x7f.1', '127.0.0.1', 'a-b_c.d', 'xn--bcher-kva.de', '[::1]'),
  fc.ipV4Extended(),
  fc.ipV6().map((address) => `[${address}]`),
  fc.domain(),
);
const validUrl = fc
  .tuple(
    fc.constantFrom('http://', 'https://', 'HTTP://', 'hTTps://'),
    host,
    fc.oneof(
      fc.constant(''),
      fc.integer({ min: 1, max: 65_535 }).map((port) => `:${port}`),
    ),
    tail,
  )
  .map((parts) => parts.join(''));
const noisyUrl = fc
  .tuple(
    fc.constantFrom('http://', 'https://', 'http:/', 'HTTPS://'),
    fc.string({ unit: fc.constantFrom(...'ab01.x7f-_:@/?#[]%\\!$&*(),;={}|^`"<> \t'), maxLength: 24 }),
  )
  .map((parts) => parts.join(''));

function assertFaithful(target: TargetUrl, url: string): void {
  const scheme = url.slice(0, target.protocol.length + 2);
  assert.equal(target.url, url);
  assert.ok(target.path.startsWith('/'));
  const rebuilt = scheme + target.hostHeader + target.path;
  const rebuiltWithoutAddedSlash = scheme + target.hostHeader + target.path.slice(1);
  assert.ok(rebuilt === url || rebuiltWithoutAddedSlash === url, `${rebuilt} is not ${url}`);

  const whole = new URL(url);
  const bareHostname = whole.hostname.replace(/^\[|\]$/g, '');
  assert.equal(target.protocol, whole.protocol);
  assert.equal(target.hostname, bareHostname);
  assert.equal(target.port, Number(whole.port) || (whole.protocol === 'https:' ? 443 : 80));
  assert.equal(target.host, `${whole.hostname}:${target.port}`);
  assert.equal(whole.username + whole.password + whole.hash, '');
  assert.equal(new URL(`${target.protocol}//${target.host}/`).hostname, whole.hostname);
}

test('every valid URL is accepted, reassembles to itself and means the same to WHATWG as a whole', () => {
  fc.assert(
    fc.property(validUrl, (url) => {
      assertFaithful(accepted(url), url);
      assert.equal(destined(url), url);
      assert.equal(destined(encodeURIComponent(url)), url);
    }),
    { numRuns: 2_000 },
  );
});

test('of noise, only what is faithful is accepted', () => {
  fc.assert(
    fc.property(noisyUrl, (url) => {
      const target = parseTargetUrl(url);
      if (!('problem' in target)) assertFaithful(target, url);
    }),
    { numRuns: 10_000 },
  );
});

describe('on the wire', () => {
  const server = createServer((request, response) => response.end(request.url));
  let client: Client;

  before(async () => {
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    client = new Client(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });

  after(async () => {
    await client.close();
    await new Promise((closed) => server.close(closed));
  });

  test('the path of every accepted URL arrives byte for byte', async () => {
    await fc.assert(
      fc.asyncProperty(validUrl, async (url) => {
        const { path } = accepted(url);
        const { body } = await client.request({ method: 'GET', path });
        assert.equal(await body.text(), path);
      }),
      { numRuns: 200 },
    );
  });
});
