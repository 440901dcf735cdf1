// Signatures, checked by the other side: jose for the JWT, a computation of our own for Standard Webhooks.

import assert from 'node:assert/strict';
import { createHash, createHmac, webcrypto } from 'node:crypto';
import { test } from 'node:test';
import { jwtVerify } from 'jose';
import { hmacSha256 } from '../../../src/delivery/http/mac.ts';
import { signatureHeaders, signatureHeadersOnThreads, signJwt } from '../../../src/delivery/http/sign.ts';

const NOW_MS = 1_800_000_000_999;
const KEY = 'sig_7Kgfjk-ünïcode';
const URL_GIVEN = 'https://A.example:443/c%2Fd/../e?x=1&y=//';
const ALL_BYTES = Uint8Array.from({ length: 256 }, (_, i) => i);

const input = { key: KEY, issuer: 'Service', url: URL_GIVEN, body: ALL_BYTES, nowMs: NOW_MS, jti: 'jwt_1' };
const secret = new TextEncoder().encode(KEY);

test('the JWT verifies with the bytes of the key and carries what receivers check', async () => {
  const { payload, protectedHeader } = await jwtVerify(signJwt(input), secret, {
    issuer: 'Service',
    currentDate: new Date(NOW_MS),
  });
  assert.equal(protectedHeader.alg, 'HS256');
  assert.deepEqual(payload, {
    iss: 'Service',
    sub: URL_GIVEN,
    iat: 1_800_000_000,
    nbf: 1_800_000_000,
    exp: 1_800_000_300,
    jti: 'jwt_1',
    body: createHash('sha256')
      .update(ALL_BYTES)
      .digest('base64')
      .replaceAll('+', '-')
      .replaceAll('/', '_')
      .replace('=', ''),
  });
});

test('the JWT of an empty body carries the hash of nothing', async () => {
  const { payload } = await jwtVerify(signJwt({ ...input, body: new Uint8Array() }), secret, {
    currentDate: new Date(NOW_MS),
  });
  assert.equal(payload.body, '47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU');
});

test('the JWT carries a URL of any length and any characters, whatever was signed before', async () => {
  for (const url of [
    '',
    'https://a.example/ü€😀"\\',
    `https://a.example/${'€'.repeat(1_000)}`,
    `https://a.example/${'x'.repeat(20_000)}`,
  ]) {
    const { payload } = await jwtVerify(signJwt({ ...input, url }), secret, { currentDate: new Date(NOW_MS) });
    assert.equal(payload.sub, url);
  }
  const later = { ...input, issuer: 'Other', nowMs: NOW_MS + 5_000 };
  const { payload } = await jwtVerify(signJwt(later), secret, { issuer: 'Other', currentDate: new Date(later.nowMs) });
  assert.deepEqual([payload.iat, payload.exp], [1_800_000_005, 1_800_000_305]);
});

test('the JWT does not verify with another key, before its time or after it', async () => {
  const jwt = signJwt(input);
  const at = (ms: number) => ({ currentDate: new Date(ms) });
  await assert.rejects(jwtVerify(jwt, new TextEncoder().encode('sig_other'), at(NOW_MS)));
  await assert.rejects(jwtVerify(jwt, secret, at(NOW_MS - 2_000)));
  await assert.rejects(jwtVerify(jwt, secret, at(NOW_MS + 301_000)));
});

test('the Standard Webhooks signature is over id, timestamp and the raw body', async () => {
  const list = signatureHeaders('Service-Signature', { ...input, messageId: 'msg_1' });
  const headers = new Map(list.flatMap((name, at) => (at % 2 === 0 ? [[name, list[at + 1]!]] : [])));
  assert.deepEqual([...headers.keys()], ['Service-Signature', 'webhook-id', 'webhook-timestamp', 'webhook-signature']);
  assert.equal(headers.get('webhook-id'), 'msg_1');
  assert.equal(headers.get('webhook-timestamp'), '1800000000');

  const content = Buffer.concat([Buffer.from('msg_1.1800000000.'), ALL_BYTES]);
  const [version, mac = ''] = headers.get('webhook-signature')?.split(',') ?? [];
  assert.equal(version, 'v1');
  const key = await webcrypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
  assert.ok(await webcrypto.subtle.verify('HMAC', key, Buffer.from(mac, 'base64'), content));
});

test('our HMAC is the HMAC of the runtime, for keys and messages of every length', () => {
  const lengths = [0, 1, 55, 56, 63, 64, 65, 8_191, 8_192, 8_193, 20_000];
  for (const keyLength of [0, 1, 63, 64, 65, 200]) {
    const key = 'ü'.repeat(keyLength % 2) + 'k'.repeat(Math.max(0, keyLength - 2 * (keyLength % 2)));
    for (const length of lengths) {
      const text = 't'.repeat(length % 100);
      const body = Buffer.alloc(length, 0xfe);
      const wanted = createHmac('sha256', key).update(`start${text}`).update(body).digest('base64url');
      assert.equal(
        hmacSha256(key, 'start', text, body, 'base64url'),
        wanted,
        `a key of ${keyLength}, a body of ${length} bytes`,
      );
    }
  }
});

test('beside the event loop the same headers are made, for a body and a key of any length', async () => {
  for (const key of [KEY, 'k'.repeat(64), 'ü'.repeat(64)]) {
    for (const bytes of [0, 1, 8 * 1024 - 1, 8 * 1024, 1_000_000]) {
      // In the middle of other memory, as a body from the network may be.
      const body = Buffer.alloc(bytes + 20, 'body').subarray(7, 7 + bytes);
      const given = { ...input, key, messageId: 'msg_1', body };
      assert.deepEqual(
        await signatureHeadersOnThreads('Service-Signature', given),
        signatureHeaders('Service-Signature', given),
      );
    }
  }
});
