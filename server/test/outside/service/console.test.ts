// The console's own paths: its files, its page, the session that stands for a token, and the way to it from the root.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Api, PublicRoute } from '../../../src/inbound/api/api.ts';
import { rootRoutes } from '../../../src/inbound/api/routes/root.ts';
import { VERSION } from '../../../src/shipped-files.ts';
import type { Answered } from '../../support/client.ts';
import { ask } from '../../support/client.ts';
import { type Rider, refusal, sharedRider } from '../../support/harness.ts';
import { lacks } from '../../support/machine.ts';

// In production: dev refuses pages of other sites before anything else.
const rider = sharedRider({ command: 'serve' });
const OWN = { 'X-Postrider-Console': '1' };
const isBuilt = existsSync(new URL('../../../../console/dist/index.html', import.meta.url));

async function signIn({ url }: Rider, token: string, headers: Record<string, string> = OWN): Promise<Answered> {
  return ask(url, '/console/session', { method: 'POST', headers, body: JSON.stringify({ token }) });
}

async function cookieFor(token: string): Promise<string> {
  const answer = await signIn(rider(), token);
  assert.equal(answer.status, 204, answer.text);
  return answer.headers['set-cookie']![0]!.split(';')[0]!;
}

function read(cookie: string, headers: Record<string, string> = OWN): Promise<Answered> {
  return ask(rider().url, '/v2/account', { headers: { Cookie: cookie, ...headers } });
}

test('a token signs in: the cookie is for this site only and out of reach of scripts', async () => {
  const answer = await signIn(rider(), rider().token!);
  assert.equal(answer.status, 204, answer.text);
  const [cookie] = answer.headers['set-cookie']!;
  assert.match(cookie!, /; Path=\/; HttpOnly; SameSite=Strict$/);
  assert.equal(answer.headers['cache-control'], 'no-store');
  const secure = await signIn(rider(), rider().token!, {
    ...OWN,
    Origin: 'https://console.example',
    'X-Forwarded-Host': 'console.example',
  });
  assert.match(secure.headers['set-cookie']![0]!, /; Secure$/);
});

test('a session may do what its token may', async () => {
  const answer = await read(await cookieFor(rider().token!));
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.json<{ token: { scopes: string[] } }>().token.scopes, ['publish', 'read', 'manage', 'admin']);
  const cookie = await cookieFor(rider().token!);
  const sent = await ask(rider().url, '/v2/publish/http://127.0.0.1:1/', {
    method: 'POST',
    headers: { Cookie: cookie, ...OWN },
  });
  assert.equal(sent.status, 201, sent.text);
});

test('a cookie alone is nothing: the request must be the console’s own', async () => {
  const cookie = await cookieFor(rider().token!);
  refusal(await read(cookie, {}), 401, 'unauthorized');
  for (const site of ['cross-site', 'same-site', 'none']) {
    refusal(await read(cookie, { ...OWN, 'Sec-Fetch-Site': site }), 401, 'unauthorized');
  }
  for (const origin of ['https://evil.example', 'http://127.0.0.1:1', 'null']) {
    refusal(await read(cookie, { ...OWN, Origin: origin }), 401, 'unauthorized');
    refusal(await signIn(rider(), rider().token!, { ...OWN, Origin: origin }), 403, 'forbidden');
  }
  refusal(await signIn(rider(), rider().token!, {}), 403, 'forbidden');
  assert.equal((await read(cookie, { ...OWN, 'Sec-Fetch-Site': 'same-origin' })).status, 200);
  assert.equal((await read(cookie, { ...OWN, Origin: rider().url })).status, 200);
});

test('no other site is told that it may ask', async () => {
  const headers = { Origin: 'https://evil.example', 'Access-Control-Request-Headers': 'x-postrider-console' };
  for (const path of ['/v2/account', '/console/session', '/v2/publish/http://127.0.0.1:1/']) {
    const answer = await ask(rider().url, path, { method: 'OPTIONS', headers });
    assert.equal(answer.headers['access-control-allow-origin'], undefined);
    assert.ok(answer.status >= 400);
  }
});

test('an Authorization header wins over the cookie', async () => {
  const cookie = await cookieFor(rider().token!);
  refusal(await read(cookie, { ...OWN, Authorization: 'Bearer wrong' }), 401, 'unauthorized');
});

test('a revoked token ends its session', async () => {
  const made = await rider().account('visitor');
  const cookie = await cookieFor(made.token);
  assert.equal((await read(cookie)).status, 200);
  await rider().manage('DELETE', `/v2/admin/accounts/${made.accountId}/tokens/${made.tokenId}`);
  refusal(await read(cookie), 401, 'unauthorized');
});

test('signing out takes the cookie away', async () => {
  const answer = await ask(rider().url, '/console/session', { method: 'DELETE', headers: OWN });
  assert.equal(answer.status, 204);
  assert.match(answer.headers['set-cookie']![0]!, /^postrider_session=; .*Max-Age=0$/);
});

test('what is no token, or may not read, does not sign in', async () => {
  refusal(await signIn(rider(), 'wrong'), 401, 'unauthorized');
  refusal(await signIn(rider(), 'w rong'), 400, 'bad_body');
  refusal(await signIn(rider(), 'x'.repeat(5000)), 413, 'request_too_large');
  const { url } = rider();
  for (const body of ['', '[]', 'null', '{"token":1}', '{', '{"token":"x","switch":1}']) {
    refusal(await ask(url, '/console/session', { method: 'POST', headers: OWN, body }), 400, 'bad_body');
  }
  const writer = await rider().account('writer', 'free', ['publish']);
  refusal(await signIn(rider(), writer.token), 403, 'forbidden');
  refusal(await ask(url, '/console/session', {}), 405, 'method_not_allowed');
});

test('the page comes for every path below /console, under a strict policy', async () => {
  const { url } = rider();
  const moved = await ask(url, '/console', {});
  assert.deepEqual([moved.status, moved.headers.location], [308, 'console/']);
  for (const path of ['/console/', '/console/messages', '/console/messages/msg_1?state=FAILED', '/console/../x']) {
    const page = await ask(url, path, {});
    assert.equal(page.status, isBuilt ? 200 : 503, path);
    const policy = String(page.headers['content-security-policy']);
    assert.match(policy, /default-src 'none'/);
    assert.doesNotMatch(policy, /unsafe|\*|https?:/);
    assert.equal(page.headers['x-content-type-options'], 'nosniff');
    assert.equal(page.headers['referrer-policy'], 'no-referrer');
    if (!isBuilt) assert.match(page.text, /npm run build/);
  }
  refusal(await ask(url, '/console/', { method: 'POST' }), 405, 'method_not_allowed');
  refusal(await ask(url, '/console/assets/none.js', {}), 404, 'not_found');
});

test('its files are found from any depth, packed when asked for, and kept by browsers', {
  skip: lacks('console'),
}, async () => {
  const { url } = rider();
  const page = await ask(url, '/console/messages/msg_1', {});
  const script = /src="\.\.\/(assets\/[^"]+\.js)"/.exec(page.text)?.[1];
  assert.ok(script, page.text);
  const file = await ask(url, `/console/${script}`, { headers: { 'Accept-Encoding': 'gzip' } });
  assert.equal(file.headers['content-encoding'], 'gzip');
  assert.match(String(file.headers['cache-control']), /immutable/);
  const again = await ask(url, `/console/${script}`, { headers: { 'If-None-Match': String(file.headers.etag) } });
  assert.equal(again.status, 304);
  assert.equal((await ask(url, '/console/', { method: 'HEAD' })).text, '');
});

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';

test('GET /: a browser is led to the console, under any path of a proxy', async () => {
  for (const method of ['GET', 'HEAD']) {
    const led = await ask(rider().url, '/?from=bookmark', { method, headers: { Accept: BROWSER } });
    // Relative: a proxy that maps /post/ to us gets /post/console/ from it.
    const place = isBuilt ? 'console/' : 'docs';
    assert.deepEqual([led.status, led.headers.location, led.text], [302, place, ''], method);
    assert.equal(led.headers.vary, 'Accept, Origin');
    assert.equal(led.headers['cache-control'], 'no-store');
  }
});

test('GET /: a program gets name, version and links, each of which leads somewhere', async () => {
  for (const accept of ['*/*', 'application/json', 'application/json, text/html;q=0.9', 'text/html;q=0, */*', '']) {
    const answer = await ask(rider().url, '/', { headers: accept === '' ? {} : { Accept: accept } });
    assert.equal(answer.status, 200, accept);
    assert.match(String(answer.headers['content-type']), /^application\/json/);
    const { name, version, links } = answer.json<{ name: string; version: string; links: Record<string, string> }>();
    assert.deepEqual([name, version], ['postrider', VERSION]);
    for (const link of Object.values(links)) {
      assert.doesNotMatch(link, /^\/|:/, 'relative to where the service is');
      assert.ok((await ask(rider().url, `/${link}`, {})).status < 500, link);
    }
    assert.equal('console' in links, isBuilt);
  }
  const head = await ask(rider().url, '/', { method: 'HEAD' });
  assert.deepEqual([head.status, head.text], [200, '']);
  refusal(await ask(rider().url, '/', { method: 'POST' }), 405, 'method_not_allowed');
});

const SERVICE = { version: '1.2.3', headerPrefix: 'Service-' };

test('GET /: without a console a browser is led to the docs, and no link leads to the console', async () => {
  const routes: PublicRoute[] = [];
  rootRoutes({ addPublic: (route: PublicRoute) => routes.push(route) } as unknown as Api, SERVICE, {
    hasConsole: false,
    hasMetrics: true,
  });
  const led: unknown[] = [];
  const note = (value: unknown) => {
    led.push(value);
    return reply;
  };
  const reply: unknown = { status: note, header: (_name: string, value: string) => note(value), send: () => 'sent' };
  const from = (accept: string) => ({ headers: { accept } }) as FastifyRequest;
  await routes[0]!.handle(from(BROWSER), reply as FastifyReply);
  assert.deepEqual(led, ['Accept, Origin', 302, 'docs']);
  assert.doesNotMatch(String(await routes[0]!.handle(from('*/*'), reply as FastifyReply)), /console/);
});
