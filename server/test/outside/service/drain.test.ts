// How a node stops: it takes nothing new, lets what is under way end, and a second signal is obeyed at once. And that
// what it had accepted is still there when it comes back.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { type Answered, ask } from '../../support/client.ts';
import { type Published, startRider, temporaryFolder } from '../../support/harness.ts';
import { type Ready, startProcess } from '../../support/process.ts';
import { type Reply, startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const dev = (data: string, ...flags: string[]) => ['dev', '--json', '--port', '0', '--data', data, ...flags];

function post(ready: Ready, path: string, body?: string): Promise<Answered> {
  const headers = { Authorization: `Bearer ${ready.token}` };
  return ask(ready.api, path, { method: 'POST', headers, ...(body !== undefined && { body }) });
}

/** The node has begun to drain. */
async function refusesPublishing(ready: Ready): Promise<void> {
  await waitFor('publishing to be refused', () =>
    post(ready, '/v2/enqueue/late/http://127.0.0.1:1/').then(
      ({ status }) => status === 503,
      (error: { code?: string }) => error.code === 'ECONNREFUSED',
    ),
  );
}

test('SIGTERM: the delivery in flight ends, nothing new is taken, the process exits with 0', async (t) => {
  const { promise: held, resolve: letGo } = Promise.withResolvers<Reply>();
  const receiver = await startReceiver(t, () => held);
  const rider = startProcess(t, dev(temporaryFolder(t)));
  const ready = await rider.ready();
  await post(ready, `/v2/enqueue/q/${receiver.url}/slow`);
  await receiver.received(1);
  rider.signal('SIGTERM');
  await refusesPublishing(ready);
  letGo(200);
  assert.equal(await rider.exit, 0);
  assert.deepEqual(
    receiver.arrivals.map(({ target }) => target),
    ['/slow'],
  );
});

test('SIGTERM: nothing new starts while the last callers are waited for', async (t) => {
  const { promise: held, resolve: letGo } = Promise.withResolvers<Reply>();
  const receiver = await startReceiver(t, () => held);
  const rider = startProcess(t, dev(temporaryFolder(t), '--drain', '2s'));
  const ready = await rider.ready();
  for (const name of ['first', 'second']) await post(ready, `/v2/enqueue/q/${receiver.url}/${name}`);
  await receiver.received(1);
  const { socket } = await halfSent(
    ready.api,
    'POST /v2/enqueue/q/http://127.0.0.1:1/ HTTP/1.1\r\nHost: localhost\r\n',
  );
  socket.on('error', () => {});
  t.after(() => {
    socket.destroy();
  });
  rider.signal('SIGTERM');
  await refusesPublishing(ready);
  letGo(200);
  assert.equal(await rider.exit, 0);
  assert.deepEqual(
    receiver.arrivals.map(({ target }) => target),
    ['/first'],
  );
});

test('a delivery that ended while draining is not made again after the restart', async (t) => {
  const { promise: held, resolve: letGo } = Promise.withResolvers<Reply>();
  const receiver = await startReceiver(t, () => held);
  const data = temporaryFolder(t);
  const first = startProcess(t, dev(data));
  const ready = await first.ready();
  const { messageId } = (await post(ready, `/v2/enqueue/q/${receiver.url}`)).json<Published>();
  await receiver.received(1);
  first.signal('SIGINT');
  await refusesPublishing(ready);
  letGo(200);
  assert.equal(await first.exit, 0);
  const again = await startRider(t, { data, now: Date.now() });
  await again.quiet();
  assert.equal((await again.message(messageId)).state, 'DELIVERED');
  assert.equal(receiver.arrivals.length, 1);
});

test('a second signal ends the process at once', async (t) => {
  const receiver = await startReceiver(t, () => 'hang');
  const rider = startProcess(t, ['dev', '--port', '0', '--data', temporaryFolder(t)]);
  await rider.prints('stdout', /hello.*world/);
  const api = /API {6}(\S+)/.exec(rider.stdout)![1]!;
  await post({ api, token: 'dev_postrider' }, `/v2/enqueue/q/${receiver.url}`);
  await receiver.received(1);
  rider.signal('SIGTERM');
  await rider.prints('stderr', /Finishing the attempts in flight\. Press Ctrl\+C again/);
  rider.signal('SIGTERM');
  assert.equal(await rider.exit, 1);
});

test('an attempt that outlasts the drain time is cut off and made again after the restart', async (t) => {
  const receiver = await startReceiver(t, (_arrival, index) => (index === 0 ? 'hang' : 200));
  const data = temporaryFolder(t);
  const first = startProcess(t, dev(data, '--drain', '50ms'));
  const { messageId } = (await post(await first.ready(), `/v2/enqueue/q/${receiver.url}`)).json<Published>();
  await receiver.received(1);
  first.signal('SIGTERM');
  assert.equal(await first.exit, 0);
  const later = await startRider(t, { data, now: Date.now() });
  const [, again] = await receiver.received(2);
  assert.equal(again!.header('Service-Message-Id'), messageId);
  assert.equal(again!.header('Service-Retried'), '0');
  const { attempts } = await later.ended(messageId);
  assert.deepEqual(
    attempts.map(({ outcome }) => outcome),
    ['interrupted', 'answered'],
  );
});

test('what was accepted survives a restart: messages, topics, keys', async (t) => {
  const receiver = await startReceiver(t);
  const data = temporaryFolder(t);
  const before = await startRider(t, { data });
  const delayed = await before.accepted(receiver.url, { body: 'kept', headers: { 'Service-Delay': '1h' } });
  const topic = await before.manage('POST', '/v2/topics/news/endpoints', { endpoints: [{ url: receiver.url }] });
  const keys = await before.manage('GET', '/v2/keys');
  await before.close();

  const after = await startRider(t, { data });
  assert.equal((await after.message(delayed)).state, 'CREATED');
  assert.deepEqual(await after.manage('GET', '/v2/topics/news'), topic);
  assert.deepEqual(await after.manage('GET', '/v2/keys'), keys);
  await after.advance(3_600_000);
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.body.toString(), 'kept');
});

test('kill -9: a batch that was answered is there whole, and one that was not is there whole or not at all', async (t) => {
  const data = temporaryFolder(t);
  const size = 400;
  const headers = { 'Service-Delay': '1d' };
  const batch = JSON.stringify(Array(size).fill({ destination: 'http://127.0.0.1:1/', headers }));
  let answered = 0;
  for (const isAwaited of [true, false]) {
    const rider = startProcess(t, dev(data));
    const ready = await rider.ready();
    const sent = post(ready, '/v2/batch', batch).catch(() => null);
    if (isAwaited) answered += (await sent)!.json<unknown[]>().length;
    rider.signal('SIGKILL');
    await rider.exit;
    await sent;
  }
  const later = await startRider(t, { data, now: Date.now() });
  const [{ count }] = (await later.manage<{ usage: [{ count: number }] }>('GET', '/v2/usage')).usage;
  assert.equal(answered, size);
  assert.ok(count === size || count === 2 * size, `${count} messages`);
});

/** A connection on which the first half of a request has been read, for sure: an answer before it has come back. */
async function halfSent(url: string, firstHalf: string): Promise<{ socket: Socket; received: () => string }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.write(`GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n${firstHalf}`);
  await waitFor('the answer to the first request', () => text.includes('"ok"'));
  text = '';
  return { socket, received: () => text };
}

test('a request that is sent while the node drains is answered with 503, and readyz says not ready', async (t) => {
  const rider = await startRider(t);
  const publish = await halfSent(rider.url, 'POST /v2/enqueue/q/http://127.0.0.1:1/ HTTP/1.1\r\nHost: localhost\r\n');
  const ready = await halfSent(rider.url, 'GET /readyz HTTP/1.1\r\nHost: localhost\r\n');
  const closing = rider.postrider.close();
  publish.socket.end(`Authorization: Bearer ${rider.token}\r\nContent-Length: 0\r\n\r\n`);
  ready.socket.end('\r\n');
  await Promise.all([once(publish.socket, 'close'), once(ready.socket, 'close')]);
  assert.match(publish.received(), /^HTTP\/1\.1 503 .*"code":"draining"\}$/s);
  assert.match(publish.received(), /\r\nRetry-After: 1\r\n/);
  assert.match(publish.received(), /\r\nConnection: close\r\n/i);
  assert.match(ready.received(), /^HTTP\/1\.1 503 .*\{"status":"not ready","code":"draining",/s);
  await closing;
});

test('a caller who never finishes a request does not keep a node from stopping', async (t) => {
  const rider = startProcess(t, dev(temporaryFolder(t), '--drain', '50ms'));
  const { api, token } = await rider.ready();
  const head = `POST /v2/enqueue/q/http://127.0.0.1:1/ HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n`;
  const { socket } = await halfSent(api, `${head}Content-Length: 10\r\n\r\nhalf`);
  socket.on('error', () => {});
  t.after(() => {
    socket.destroy();
  });
  rider.signal('SIGTERM');
  assert.equal(await rider.exit, 0);
});

test('healthz and readyz answer anybody', async (t) => {
  const rider = await startRider(t);
  for (const [path, status] of [
    ['/healthz', 'ok'],
    ['/readyz', 'ready'],
  ] as const) {
    const answer = await rider.call('GET', path, { token: null });
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.json(), { status });
  }
});
