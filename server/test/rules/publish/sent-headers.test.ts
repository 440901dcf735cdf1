// Headers on the wire: what we accept is accepted by undici, and arrives byte for byte.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { Client } from 'undici';
import {
  FORWARD_HEADER_BYTES_MAX,
  FORWARD_HEADERS_MAX,
  forwardedHeadersProblem,
  forwardHeaderProblem,
} from '../../../src/rules/publish/headers.ts';

const problemOf = (name: string, value = 'x') => forwardHeaderProblem(name, value, 'Service-');

describe('on the wire', () => {
  const server = createServer({ maxHeaderSize: 64 * 1_024 }, (request, response) => {
    request.resume();
    response.end(JSON.stringify(request.rawHeaders));
  });
  let client: Client;

  before(async () => {
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    client = new Client(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });

  after(async () => {
    await client.close();
    await new Promise((closed) => server.close(closed));
  });

  /** What the receiver sees of the headers, as written by undici, without the ones undici adds itself. */
  async function received(headers: readonly (readonly [string, string])[]): Promise<string[]> {
    const { statusCode, body } = await client.request({
      method: 'POST',
      path: '/',
      headers: headers.flat(),
      body: 'hello',
    });
    const raw = (await body.json()) as string[];
    assert.equal(statusCode, 200);
    assert.deepEqual([raw[0], ...raw.slice(2, 4)], ['host', 'connection', 'keep-alive']);
    assert.deepEqual(raw.slice(-2), ['content-length', '5']);
    return raw.slice(4, -2);
  }

  /** Not `trim()`: to HTTP only blank and tab are white, U+00A0 and U+0085 are part of the value. */
  const seen = ([name, value]: readonly [string, string]) => [name, value.replace(/^[ \t]+|[ \t]+$/g, '')];

  const tokenCharacter = fc.constantFrom(
    ..."!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
  );
  const name = fc.oneof(
    fc.string({ unit: tokenCharacter, minLength: 1, maxLength: 20 }),
    fc.constantFrom(
      'Content-Type',
      'content-type',
      'User-Agent',
      'Accept',
      'Cookie',
      'Set-Cookie',
      'Date',
      '__proto__',
    ),
    fc.constantFrom('Host', 'Content-Length', 'Connection', 'Expect', 'Upgrade', 'TE', 'Trailer', 'Proxy-A', 'Age'),
    fc.constantFrom('Content-Encoding', 'Sec-WebSocket-Key', 'Via', 'Authorization', 'a'.repeat(256), 'hasOwnProperty'),
    fc.string({ maxLength: 10 }),
  );
  const latin1 = fc.integer({ min: 0, max: 0xff }).map((code) => String.fromCharCode(code));
  const sendable = latin1.filter((character) => !/[\x00-\x08\x0a-\x1f\x7f]/.test(character));
  const value = fc.oneof(
    { weight: 4, arbitrary: fc.string({ unit: sendable, maxLength: 60 }) },
    { weight: 1, arbitrary: fc.string({ unit: latin1, maxLength: 20 }) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 10 }) },
  );

  test('every header we accept is accepted by undici and arrives byte for byte', async () => {
    let sent = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(name, value), { maxLength: 20 }), async (candidates) => {
        const headers = candidates.filter(([name, value]) => problemOf(name, value) === null);
        sent += headers.length;
        assert.deepEqual(await received(headers), headers.flatMap(seen));
      }),
      { numRuns: 300 },
    );
    assert.ok(sent > 300, `only ${sent} headers were sent`);
  });

  test('every single character is either refused or arrives as it is', async () => {
    const headers: [string, string][] = [];
    for (let code = 0; code <= 0x17f; code += 1) {
      const character = String.fromCharCode(code);
      if (problemOf('X-A', `a${character}b`) === null) headers.push(['X-A', `a${character}b`]);
      if (problemOf(`x${character}`, 'y') === null) headers.push([`x${character}`, 'y']);
    }
    assert.equal(headers.length, 1 + 95 + 128 + 77);
    assert.deepEqual(await received(headers), headers.flat());
  });

  test('as many headers of as many bytes as the limits allow arrive', async () => {
    const headers = Array.from({ length: 64 }, (_, i) => [`x-${String(i).padStart(2, '0')}`, 'é'.repeat(252)] as const);
    const limits = { countMax: FORWARD_HEADERS_MAX, bytesMax: FORWARD_HEADER_BYTES_MAX };
    assert.equal(forwardedHeadersProblem(headers, limits), null);
    assert.deepEqual(await received(headers), headers.flat());
  });
});
