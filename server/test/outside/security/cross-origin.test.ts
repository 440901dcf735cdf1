// Web pages of other origins: none may call the API unless the operator names its origin, and then with a token alone.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { CrossOrigin } from '../../../src/inbound/api/cross-origin.ts';
import { type Answered, ask } from '../../support/client.ts';
import { type Rider, sharedRider, startRider } from '../../support/harness.ts';

const PAGE = 'https://app.example';
const STRANGERS = [
  'https://app.example.evil.example',
  'https://evil-app.example',
  'http://app.example',
  'https://app.example:8443',
  'https://app.example/',
  'HTTPS://APP.EXAMPLE',
  'https://app.example, https://evil.example',
  'null',
  '',
];
const TARGETS = ['/v2/publish/http://127.0.0.1:1/', '/v2/batch', '/v2/messages', '/v2/events/stream', '/v2/none'];

const rider = sharedRider({ flags: ['--allow-origin', PAGE, '--allow-host', '*.example'] });

function preflight({ url }: Pick<Rider, 'url'>, path: string, origin: string, headers: string): Promise<Answered> {
  const asked = { Origin: origin, 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': headers };
  return ask(url, path, { method: 'OPTIONS', headers: asked });
}

function allowed({ headers }: Answered): string[] {
  return Object.keys(headers).filter((name) => name.startsWith('access-control-'));
}

test('without the setting, no page is told that it may', async (t) => {
  const plain = await startRider(t);
  for (const path of TARGETS) {
    const answer = await preflight(plain, path, 'http://localhost:3000', 'authorization');
    assert.ok(answer.status === 405 || answer.status === 404, `${path}: ${answer.status}`);
    assert.deepEqual(allowed(answer), []);
  }
  const headers = { Origin: 'http://localhost:3000', Authorization: `Bearer ${plain.token}` };
  assert.deepEqual(allowed(await ask(plain.url, '/v2/account', { headers })), []);
});

test('a page of a named origin may ask for what the API needs, and for nothing else', async () => {
  const asked =
    'Authorization, content-type,service-retries, Service-Forward-X, x-other, cookie, x-postrider-console, a b';
  for (const path of TARGETS) {
    const { status, headers, text } = await preflight(rider(), path, PAGE, asked);
    assert.deepEqual([status, text], [204, '']);
    assert.equal(headers['access-control-allow-origin'], PAGE);
    assert.equal(
      headers['access-control-allow-headers'],
      'authorization, content-type, service-retries, service-forward-x',
    );
    assert.equal(headers['access-control-allow-credentials'], undefined);
    assert.equal(headers.vary, 'Origin');
  }
});

test('such a page can read every answer, also a refusal, and the headers that a client needs', async () => {
  const { url, token } = rider();
  const headers = { Origin: PAGE, Authorization: `Bearer ${token}`, 'Service-Delay': '1d', 'Service-Retires': '1' };
  const published = await ask(url, '/v2/publish/http://127.0.0.1:1/', { method: 'POST', headers });
  const refused = await ask(url, '/v2/publish/nothing', { method: 'POST', headers });
  const stranger = await ask(url, '/v2/publish/http://127.0.0.1:1/', { method: 'POST', headers: { Origin: PAGE } });
  const read = await ask(url, '/v2/queues', { headers });
  assert.deepEqual(
    [published, refused, stranger, read].map(({ status }) => status),
    [201, 404, 401, 200],
  );
  for (const answer of [published, refused, stranger, read]) {
    assert.equal(answer.headers['access-control-allow-origin'], PAGE);
    assert.match(String(answer.headers['access-control-expose-headers']), /Link, Retry-After, .*Service-Warning/);
    assert.equal(answer.headers['access-control-allow-credentials'], undefined);
  }
  assert.ok(published.headers['service-warning']);
});

test('such a page can ask the root for the prefix of the service, and no other can', async () => {
  const { url } = rider();
  const read = await ask(url, '/', { headers: { Origin: PAGE } });
  assert.equal(read.json<{ headerPrefix: string }>().headerPrefix, 'Service-');
  assert.equal(read.headers['access-control-allow-origin'], PAGE);
  assert.equal(read.headers.vary, 'Accept, Origin');
  assert.notDeepEqual(allowed(await preflight(rider(), '/', PAGE, 'authorization')), []);
  assert.deepEqual(allowed(await ask(url, '/', { headers: { Origin: STRANGERS[0]! } })), []);
});

test('no other origin is told so, however similar', async () => {
  const { url, token } = rider();
  for (const origin of STRANGERS) {
    assert.deepEqual(allowed(await preflight(rider(), '/v2/batch', origin, 'authorization')), [], origin);
    const headers = { Origin: origin, Authorization: `Bearer ${token}` };
    assert.deepEqual(allowed(await ask(url, '/v2/account', { headers })), [], origin);
  }
});

test('what is not the API stays closed: the console, its session, metrics, the sink', async () => {
  for (const path of ['/console/', '/console/session', '/metrics', '/healthz', '/dev/sink/ok', '/v2', '/V2/batch']) {
    assert.deepEqual(allowed(await preflight(rider(), path, PAGE, 'authorization')), [], path);
  }
});

test('the cookie of the console is worth nothing to such a page', async () => {
  const { url, token } = rider();
  const own = { 'X-Postrider-Console': '1', 'Content-Type': 'application/json' };
  const signIn = await ask(url, '/console/session', { method: 'POST', headers: own, body: JSON.stringify({ token }) });
  const Cookie = String(signIn.headers['set-cookie']).split(';')[0]!;
  assert.equal((await ask(url, '/v2/account', { headers: { ...own, Cookie } })).status, 200);
  assert.equal((await ask(url, '/v2/account', { headers: { ...own, Cookie, Origin: PAGE } })).status, 401);
});

test('a prefix that the header of the console begins with does not allow it', async (t) => {
  const crossOrigin = new CrossOrigin(['*'], 'X-Postrider-');
  const server = createServer((request, response) => {
    if (!crossOrigin.handle(request, response)) response.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const asked = `x-postrider-console, x-postrider-delay, ${'x-postrider-y,'.repeat(200)}`;
  const { headers } = await preflight({ url }, '/v2/batch', 'https://any.example', asked);
  const names = String(headers['access-control-allow-headers']).split(', ');
  assert.deepEqual([names[0], names.includes('x-postrider-console'), names.length], ['x-postrider-delay', false, 99]);
  assert.deepEqual([headers['access-control-allow-origin'], headers.vary], ['*', undefined]);
});
