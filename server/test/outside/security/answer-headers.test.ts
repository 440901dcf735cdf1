// What every answer of the API says to browsers and caches, whatever it answers: keep nothing, guess no type. The
// requests of all other tests are held to the same by the harness.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answered, ask, exchange } from '../../support/client.ts';
import { sharedRider } from '../../support/harness.ts';
import { openTail } from '../../support/tail.ts';

const rider = sharedRider();
const NOWHERE = 'http://127.0.0.1:1/';

function requireKept(answer: Pick<Answered, 'headers'>, what: string): void {
  assert.equal(answer.headers['cache-control'], 'no-store', what);
  assert.equal(answer.headers['x-content-type-options'], 'nosniff', what);
}

test('every route answers so, with a token, without one and with a wrong method', async () => {
  const { url, token } = rider();
  const Authorization = `Bearer ${token}`;
  for (const { method, path } of rider().postrider.routes) {
    if (path === '/v2/events/stream') continue;
    const target = path.replaceAll(/:\w+/g, 'none');
    for (const headers of [{ Authorization }, {}]) {
      requireKept(await ask(url, target, { method, headers }), `${method} ${path}`);
    }
    requireKept(await ask(url, target, { method: 'HEAD', headers: { Authorization } }), `HEAD ${path}`);
    requireKept(await ask(url, target, { method: 'OPTIONS' }), `OPTIONS ${path}`);
  }
});

test('what has no route, or cannot be read by the router, is answered so', async () => {
  for (const path of ['/', '/v3/x', '/v2/messages/%E0', `/v2/queues/${'x'.repeat(2000)}`, '/favicon.ico']) {
    requireKept(await ask(rider().url, path, {}), path);
  }
});

test('publishing answers so, whether it is taken or refused', async () => {
  const { url, token } = rider();
  const headers = { Authorization: `Bearer ${token}`, 'Service-Delay': '1d' };
  const calls: readonly [number, string, object][] = [
    [201, `/v2/publish/${NOWHERE}`, { headers }],
    [201, `/v2/enqueue/q/${NOWHERE}`, { headers }],
    [201, '/v2/batch', { headers, body: JSON.stringify([{ destination: NOWHERE }]) }],
    [201, `/v2/schedules/${NOWHERE}`, { headers: { ...headers, 'Service-Cron': '0 0 1 1 *' } }],
    [400, '/v2/batch', { headers, body: '{' }],
    [400, '/v2/batch', { headers, body: JSON.stringify([{ destination: 'ftp://x y' }]) }],
    [401, `/v2/publish/${NOWHERE}`, {}],
    [404, '/v2/publish/no-topic', { headers }],
  ];
  for (const [status, path, asked] of calls) {
    const answer = await ask(url, path, { method: 'POST', ...asked });
    assert.equal(answer.status, status, answer.text);
    requireKept(answer, path);
  }
  requireKept(await ask(url, `/v2/publish/${NOWHERE}`, { method: 'GET', headers }), 'GET');
});

test('what is no request at all is answered so', async () => {
  const head = 'GET /v2/keys HTTP/1.1\r\nHost: 127.0.0.1\r\n';
  for (const bytes of ['nonsense\r\n\r\n', `${head}X: ${'x'.repeat(70_000)}\r\n\r\n`, 'GET / HTTP/1.1\r\n\r\n']) {
    const answer = await exchange(rider().url, bytes);
    assert.ok(answer, bytes.slice(0, 40));
    requireKept(answer, bytes.slice(0, 40));
  }
  const unread = `POST /v2/publish/${NOWHERE} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nshort`;
  const answer = await exchange(rider().url, unread);
  assert.ok(answer);
  requireKept(answer, 'a body that is still coming');
});

test('the live stream and the console’s session answer so', async (t) => {
  const tail = await openTail(t, rider());
  requireKept(tail.response, 'the stream');
  const headers = { 'X-Postrider-Console': '1' };
  const body = JSON.stringify({ token: rider().token });
  requireKept(await ask(rider().url, '/console/session', { method: 'POST', headers, body }), 'signing in');
  requireKept(await ask(rider().url, '/console/session', { method: 'POST', body }), 'a session that is refused');
  requireKept(await ask(rider().url, '/console/assets/none.js', {}), 'a file that is not there');
});
