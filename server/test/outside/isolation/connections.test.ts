// The budgets of callers' connections: each is destroyed in time, whatever its caller does or does not do, and when there
// are too many, those go that are used for nothing. The times are short here; what is waited for is the end, not a time.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { eachMax, nodeMax } from '../../../src/rules/limits/budgets.ts';
import { type Rider, sharedRider, startRider } from '../../support/harness.ts';
import { RawCaller } from '../../support/raw-caller.ts';
import { type Cleanup, startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';
import { poolUsed } from './pools.ts';

const QUICK = {
  headMs: 300,
  requestMs: 600,
  bodyMs: 300,
  idleMs: 300,
  unreadMs: 300,
  refusedMs: 300,
  endedMs: 100,
  halfClosedMs: 300,
  lookMs: 50,
};

/** A caller that never ends a connection by itself, and hears nothing unless it is read. */
async function dial(t: Cleanup, rider: Rider): Promise<Socket> {
  const socket = connect({ port: Number(new URL(rider.url).port), host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {});
  t.after(() => {
    socket.destroy();
  });
  await once(socket, 'connect');
  return socket;
}

async function dialMany(t: Cleanup, rider: Rider, count: number, say = ''): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let i = 0; i < count; i += 1) {
    const socket = await dial(t, rider);
    if (say !== '') socket.write(say);
    sockets.push(socket);
  }
  return sockets;
}

/** Goes on saying it, a little at a time. */
function drip(t: Cleanup, sockets: readonly Socket[], say: string): void {
  const dripping = setInterval(() => {
    for (const socket of sockets) socket.write(say);
  }, 20);
  t.after(() => clearInterval(dripping));
}

/** No connection is left but the one that asks. */
function allGone(rider: Rider): Promise<unknown> {
  return waitFor('the connections to be destroyed', async () => (await poolUsed(rider, 'connections')) <= 1);
}

/** By the other side: in good order, or not. */
function isClosed(socket: Socket): Promise<unknown> {
  return waitFor('the connection to be closed', () => socket.destroyed || socket.readableEnded);
}

async function text(socket: Socket): Promise<string> {
  let all = '';
  for await (const chunk of socket) all += chunk;
  return all;
}

const quick = sharedRider({ callerTimes: QUICK });
/** A busy machine may take long to send much. */
const patient = sharedRider({ callerTimes: { refusedMs: 120_000, endedMs: 120_000 } });

for (const [what, say] of [
  ['nothing', ''],
  ['half a head', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n'],
  ['a head byte by byte', null],
  ['a request, and nothing more', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ['a request, and half of the next', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /heal'],
  [
    'half a body',
    'POST /v2/publish/x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer dev_postrider\r\nContent-Length: 9\r\n\r\nhalf',
  ],
  ['no HTTP', 'hello\r\n\r\n'],
  ['no HTTP behind a request', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nhello\r\n\r\n'],
  ['a body that is refused', 'POST /v2/publish/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf'],
  [
    'a body to the API that is refused',
    'POST /v2/topics/t/endpoints HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf',
  ],
] as const) {
  test(`callers that say ${what} and never hang up: destroyed, and another is served meanwhile`, async (t) => {
    const rider = quick();
    const receiver = await startReceiver(t);
    const sockets = await dialMany(t, rider, 30, say ?? '');
    if (say === null) drip(t, sockets, 'x');
    const id = await rider.published(receiver.url);
    assert.equal((await rider.ended(id)).state, 'DELIVERED');
    await allGone(rider);
  });
}

test('who is late with a request is told so, with 408; who says nothing at all gets no answer', async (t) => {
  const rider = quick();
  const silent = await dial(t, rider);
  const late = await dial(t, rider);
  late.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n');
  assert.match(await text(late), /^HTTP\/1\.1 408 .*"code":"request_timeout"/s);
  assert.equal(await text(silent), '');
});

test('a refused upload that never stops is answered, read for a while, and cut off', async (t) => {
  const rider = quick();
  const socket = await dial(t, rider);
  const block = Buffer.alloc(64 * 1024);
  let sentBytes = 0;
  const more = () => {
    while (!socket.destroyed && socket.write(block)) sentBytes += block.length;
  };
  socket.on('drain', more);
  socket.write('POST /v2/publish/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n');
  more();
  let answer = '';
  socket.on('data', (chunk) => {
    answer += chunk;
  });
  await isClosed(socket);
  assert.match(answer, /^HTTP\/1\.1 401 /);
  assert.ok(sentBytes > 0);
  await allGone(rider);
});

test('a refused upload that is fast is cut off after so many bytes', async (t) => {
  const rider = await startRider(t);
  const socket = await dial(t, rider);
  const block = Buffer.alloc(1024 * 1024);
  const more = () => {
    while (!socket.destroyed && socket.write(block));
  };
  socket.on('drain', more);
  socket.on('data', () => {});
  socket.write('POST /v2/publish/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n');
  more();
  await waitFor('the connection to be destroyed', () => socket.destroyed);
  assert.ok(socket.bytesWritten >= eachMax('refusedBytes'));
  await allGone(rider);
});

test('callers that never read their answers are cut off, and another is served meanwhile', async (t) => {
  const rider = quick();
  const receiver = await startReceiver(t);
  const ask = 'GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const sockets = await dialMany(t, rider, 10, ask.repeat(eachMax('pipelined')));
  // Bytes that come are no sign that any go.
  drip(t, sockets, 'GET');
  const id = await rider.published(receiver.url);
  assert.equal((await rider.ended(id)).state, 'DELIVERED');
  await allGone(rider);
  assert.equal(await poolUsed(rider, 'requests'), 0);
});

test('requests in a row for what anybody may read get their responses in their order, with those of the API between them', async (t) => {
  const rider = await startRider(t);
  const caller = (await RawCaller.dial(t, rider.url)).listen();
  const asked: readonly (readonly [path: string, status: number, inBody: RegExp])[] = [
    ['/openapi.json', 200, /^\{"openapi":"3\.1/],
    ['/v2/queues', 401, /"unauthorized"/],
    ['/docs', 200, /^<!doctype html>/i],
    ['/healthz', 200, /./],
    ['/openapi.json', 200, /^\{"openapi":"3\.1/],
    ['/nowhere', 404, /"not_found"/],
  ];
  const all = [...asked, ...asked, ...asked];
  caller.say(all.map(([path]) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`).join(''));
  await caller.hears(...all.map(([, status]) => status));
  caller.responses.forEach(({ body }, at) => {
    assert.match(body, all[at]![2], all[at]![0]);
  });
});

test('more requests on one connection than may wait for their responses: the rest is not read, and waits', async (t) => {
  const rider = await startRider(t);
  const max = eachMax('pipelined');
  // They wait for the clock, which stands still.
  const slow = 'GET /dev/sink/slow?ms=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const caller = (await RawCaller.dial(t, rider.url)).listen();
  const kept = async () => (await rider.manage<{ requests: unknown[] }>('GET', '/v2/dev/requests')).requests.length;
  // Far more than one read brings: what is not read fills the buffers of the system, and nothing of ours.
  const count = 200_000;
  caller.say(slow.repeat(count));
  await waitFor('as many as may wait', async () => (await kept()) === max);
  await waitFor('the caller to be held up', () => caller.socket.writableLength > 0);
  assert.equal(await kept(), max);
  await rider.advance(1000);
  await waitFor('their responses', () => caller.responses.length >= max);
  await waitFor('the next ones', async () => (await kept()) >= 2 * max);
  caller.socket.destroy();
  // It is noticed when a response is written.
  await waitFor('the connection to be destroyed', async () => {
    await rider.advance(1000);
    return (await poolUsed(rider, 'connections')) <= 1;
  });
});

test('a caller that has closed its side is waited for, but not for ever, and holds nothing then', async (t) => {
  const rider = quick();
  const head = `Host: localhost\r\nAuthorization: Bearer ${rider.token}\r\n`;
  const requests = [
    // Its response waits for the clock, which stands still.
    `GET /dev/sink/slow?ms=100000 HTTP/1.1\r\n${head}\r\n`,
    `GET /v2/events/stream HTTP/1.1\r\n${head}\r\n`,
    `POST /v2/publish/http://127.0.0.1:1/ HTTP/1.1\r\n${head}Content-Length: 99999\r\n\r\nhalf`,
    `POST /v2/topics/t/endpoints HTTP/1.1\r\n${head}Content-Length: 99999\r\n\r\nhalf`,
    `POST /console/session HTTP/1.1\r\n${head}X-Postrider-Console: 1\r\nContent-Length: 99\r\n\r\nhalf`,
  ];
  const callers: RawCaller[] = [];
  for (const request of requests) {
    callers.push(await RawCaller.dial(t, rider.url));
    callers.at(-1)!.end(request);
  }
  await allGone(rider);
  for (const pool of ['requests', 'uploads', 'streams']) assert.equal(await poolUsed(rider, pool), 0, pool);
});

test('a live stream ends when its caller closes its side', async (t) => {
  const rider = await startRider(t);
  const caller = (await RawCaller.dial(t, rider.url)).listen();
  caller.say(`GET /v2/events/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${rider.token}\r\n\r\n`);
  await waitFor('the stream', async () => caller.text.includes(': connected'));
  caller.end();
  await caller.hearsEnd();
  await waitFor('its place to be free', async () => (await poolUsed(rider, 'streams')) === 0);
});

for (const [what, status, start] of [
  [
    'a publish without a token',
    401,
    'POST /v2/publish/http://127.0.0.1:1/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30000000\r\n\r\n',
  ],
  [
    'a publish that is too large',
    412,
    'POST /v2/publish/http://127.0.0.1:1/ HTTP/1.1\r\nHost: localhost\r\nTOKENContent-Length: 30000000\r\n\r\n',
  ],
  [
    'a batch that is no JSON',
    400,
    'POST /v2/batch HTTP/1.1\r\nHost: localhost\r\nTOKENContent-Length: 30000000\r\n\r\n',
  ],
  [
    'chunks of one byte',
    413,
    `POST /v2/batch HTTP/1.1\r\nHost: localhost\r\nTOKENTransfer-Encoding: chunked\r\n\r\n${'1\r\n \r\n'.repeat(20_000)}`,
  ],
  [
    'a change without a token',
    401,
    'POST /v2/topics/t/endpoints HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30000000\r\n\r\n',
  ],
  ['a path that is none', 404, 'POST /v2/none HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30000000\r\n\r\n'],
  [
    'a body of no known size',
    501,
    'POST /v2/batch HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n',
  ],
  ['another version', 505, 'GET / HTTP/2.0\r\n\r\n'],
  ['no HTTP', 400, 'hello\r\n'],
  ['a head without end', 431, 'GET / HTTP/1.1\r\nHost: localhost\r\nX: '],
  ['a line without end', 431, 'GET /'],
  [
    'a last publish',
    401,
    'POST /v2/publish/http://127.0.0.1:1/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 1\r\n\r\n0',
  ],
  ['a last call', 200, 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'],
] as const) {
  test(`a caller that sends ${what} and 30 MB behind it, and reads only then, gets the response`, async (t) => {
    const rider = patient();
    const caller = await RawCaller.dial(t, rider.url);
    await caller.sayAll(start.replace('TOKEN', `Authorization: Bearer ${rider.token}\r\n`));
    const block = Buffer.alloc(1_000_000, '0');
    for (let sent = 0; sent < 30 && caller.error === null; sent += 1) await caller.sayAll(block);
    assert.equal(caller.error, null);
    caller.listen();
    await caller.hears(status);
    caller.end();
    await caller.hearsEnd();
  });
}

test('a request counts for its account from its head to the end of its answer, in the API and in the publish handler', async (t) => {
  const rider = await startRider(t);
  const head = `Host: localhost\r\nAuthorization: Bearer ${rider.token}\r\nContent-Length: 9\r\n\r\n`;
  const starts = [`POST /v2/publish/http://127.0.0.1:1/ HTTP/1.1\r\n`, `POST /v2/topics/t/endpoints HTTP/1.1\r\n`];
  const sockets: Socket[] = [];
  for (const start of starts) {
    sockets.push(await dial(t, rider));
    sockets.at(-1)!.write(`${start}${head}half`);
  }
  await waitFor('both to be counted', async () => (await poolUsed(rider, 'requests')) === starts.length);
  for (const socket of sockets) socket.destroy();
  await waitFor('both to be given back', async () => (await poolUsed(rider, 'requests')) === 0);
});

test('the pool of connections leaves room beyond all requests that accounts may have under way', () => {
  assert.ok(nodeMax('connections') >= nodeMax('requests') + nodeMax('unknownCallers'));
  assert.ok(nodeMax('requests') > nodeMax('streams'));
});
