// Request bodies that are being received share a budget: an account gets its share and no more, announced bytes count
// before they come, and a body that hardly moves is cut off. Other accounts go on publishing.

import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { eachMax, nodeMax } from '../../../src/rules/limits/budgets.ts';
import { shareRoom } from '../../../src/runtime/collections/pool.ts';
import { sharedRider } from '../../support/harness.ts';
import { RawCaller } from '../../support/raw-caller.ts';
import { type Cleanup, startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';
import { poolUsed } from './pools.ts';
import { pour } from './raw-receiver.ts';

const MIB = 1024 * 1024;
const NOWHERE = 'http://127.0.0.1:9/';
const SHARE = shareRoom(nodeMax('uploads'), 0, 0);
const shared = sharedRider();

/** A batch of which so many bytes are announced, and one has come. */
function startUpload(
  t: Cleanup,
  token: string | null,
  bytes: number,
  path = '/v2/batch',
): Socket & { answer?: string } {
  const { hostname, port } = new URL(shared().url);
  const socket: Socket & { answer?: string } = connect(Number(port), hostname);
  t.after(() => void socket.destroy());
  socket.setEncoding('utf8');
  socket.on('data', (text) => {
    socket.answer = (socket.answer ?? '') + text;
  });
  socket.on('error', () => {});
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n[`,
  );
  return socket;
}

/** In chunks it never comes whole, so that another reader takes it. */
async function refusedInChunks(t: Cleanup, path: string, token: string | null, body: string): Promise<void> {
  const caller = (await RawCaller.dial(t, shared().url)).listen();
  const half = body.length >> 1;
  const chunks = [body.slice(0, half), body.slice(half), ''].filter((text, index) => text !== '' || index === 2);
  const head = `Host: localhost\r\nAuthorization: Bearer ${token}\r\nTransfer-Encoding: chunked`;
  caller.say(`POST ${path} HTTP/1.1\r\n${head}\r\n\r\n`);
  for (const text of chunks) caller.say(`${text.length.toString(16)}\r\n${text}\r\n`);
  await caller.hears(400);
  caller.socket.destroy();
}

async function used(): Promise<number> {
  const { text } = await shared().call('GET', '/metrics');
  return Number(/^postrider_pool_used\{pool="uploads"\} (\d+)$/m.exec(text)![1]);
}

test('slow bodies take the share of their account and no more; others publish meanwhile', async (t) => {
  const rider = shared();
  const [attacker, other] = [await rider.account('slow'), await rider.account('beside-the-slow', 'paid')];
  const receiver = await startReceiver(t);
  const size = 20 * MIB;
  const fitting = Math.floor(SHARE / size);
  const held = Array.from({ length: fitting }, () => startUpload(t, attacker.token, size));
  await waitFor('the bodies to be held', async () => (await used()) === fitting * size);
  const refused = startUpload(t, attacker.token, size);
  await waitFor('the refusal', () => refused.answer?.includes('\r\n\r\n'));
  assert.match(refused.answer!, /^HTTP\/1\.1 429 /);
  assert.match(refused.answer!, /retry-after: 1\r\n/i);
  assert.match(refused.answer!, /"code":"share_used"/);
  const body = 'x'.repeat(5 * MIB);
  const id = await rider.published(receiver.url, { token: other.token, body });
  assert.equal((await rider.ended(id, other.token)).state, 'DELIVERED');
  for (const socket of held) socket.destroy();
  await waitFor('the budget to be free again', async () => (await used()) === 0);
});

test('a body that is announced as larger than any memory is refused before any of it is taken', async (t) => {
  const { token } = await shared().account('boastful');
  for (const bytes of [Number.MAX_SAFE_INTEGER, 6 * 1024 ** 3]) {
    const socket = startUpload(t, token, bytes, '/v2/publish/http://127.0.0.1:9/');
    await waitFor('the refusal', () => socket.answer?.includes('\r\n\r\n'));
    assert.match(socket.answer!, /^HTTP\/1\.1 41[23] /);
    socket.destroy();
  }
  assert.match((await shared().call('GET', '/metrics')).text, /^postrider_faults_total 0$/m);
});

test('a body in chunks of one byte is refused, and whoever goes on is cut off; others publish meanwhile', async (t) => {
  const rider = shared();
  const [{ token }, other] = [await rider.account('in-pieces'), await rider.account('beside-pieces')];
  const receiver = await startReceiver(t);
  const { hostname, port } = new URL(rider.url);
  const chunks = (count: number) => '1\r\n \r\n'.repeat(count);
  const start = (path: string, as: string) => {
    const socket: Socket & { answer?: string } = connect({ port: Number(port), host: hostname, noDelay: true });
    t.after(() => void socket.destroy());
    socket.on('error', () => {});
    socket.on('data', (text) => {
      socket.answer = (socket.answer ?? '') + text;
    });
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${as}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    return socket;
  };
  // One after the other: the server answers between two of them.
  for (const path of ['/v2/publish/http://127.0.0.1:9/', '/v2/batch', '/v2/queues']) {
    const socket = start(path, token);
    socket.write(chunks(eachMax('bodyPieces')));
    await waitFor('the chunks to be read', async () => (await used()) === eachMax('bodyPieces'));
    socket.write(chunks(1));
    await waitFor('the refusal', () => socket.answer?.includes('\r\n\r\n'));
    assert.match(socket.answer!, /^HTTP\/1\.1 413 /);
    assert.match(socket.answer!, /"code":"body_in_pieces"/);
    socket.destroy();
  }
  // All at once, with a token and without: what the server reads of it is little.
  const floods = [token, 'unknown'].flatMap((as) =>
    ['/v2/publish/http://127.0.0.1:9/', '/v2/batch', '/v2/queues', '/v2/nothing'].map((path) => start(path, as)),
  );
  const closed = Promise.all(floods.map((socket) => new Promise((close) => socket.once('close', close))));
  for (const socket of floods) pour(socket, chunks(1000));
  const id = await rider.published(receiver.url, { token: other.token });
  assert.equal((await rider.ended(id, other.token)).state, 'DELIVERED');
  await closed;
  // A body in pieces that are not that short is taken.
  const whole = start('/v2/queues', token);
  whole.write(`c\r\n{"queueName"\r\n2\r\n:"\r\n${'8\r\nqqqqqqqq\r\n'.repeat(16)}2\r\n"}\r\n0\r\n\r\n`);
  await waitFor('the answer', () => whole.answer?.includes('\r\n\r\n'));
  assert.match(whole.answer!, /^HTTP\/1\.1 200 /);
});

test('bodies of management calls count too', async (t) => {
  const rider = shared();
  const { token } = await rider.account('managing');
  const socket = startUpload(t, token, 1000, '/v2/queues');
  await waitFor('the body to be held', async () => (await used()) === 1000);
  socket.destroy();
  await waitFor('the budget to be free again', async () => (await used()) === 0);
  await rider.manage('POST', '/v2/queues', { queueName: 'q', parallelism: 2 }, token);
  await waitFor('the budget to be free again', async () => (await used()) === 0);
});

test('a body in chunks that goes over the limit is refused before its end, and its bytes are free again', async (t) => {
  const { token } = await shared().account('over-in-chunks');
  const caller = (await RawCaller.dial(t, shared().url)).listen();
  const head = `Host: localhost\r\nAuthorization: Bearer ${token}\r\nTransfer-Encoding: chunked`;
  caller.say(`POST /v2/publish/${NOWHERE} HTTP/1.1\r\n${head}\r\n\r\n`);
  const chunk = 'x'.repeat(MIB / 2);
  // One byte more than the free tier takes, and no end.
  for (const text of [chunk, chunk, 'x']) caller.say(`${text.length.toString(16)}\r\n${text}\r\n`);
  await caller.hears(412);
  assert.match(caller.text, /"code":"limit_exceeded"/);
  await waitFor('the budget to be free again', async () => (await used()) === 0);
});

test('the bytes of a batch that is refused whole are free again, however it came and wherever it is wrong', async (t) => {
  const rider = shared();
  const { token } = await rider.account('malformed');
  const filler = 'x'.repeat(100_000);
  const wrong = [
    '',
    '{}',
    '[{]',
    `["${filler}"`,
    `[{"destination":"${NOWHERE}","body":"${filler}"}] and more`,
    `[{"destination":"${NOWHERE}","body":"${filler}"`,
    `[${'{},'.repeat(2000)}{}]`,
    JSON.stringify([{ destination: 'no url', body: filler }, { queue: '!' }]),
    JSON.stringify([{ destination: NOWHERE, headers: { 'Service-Delay': 'soon' }, body: filler }]),
  ];
  const refused = wrong.map(async (body) => {
    assert.equal((await rider.call('POST', '/v2/batch', { token, body })).status, 400);
    await refusedInChunks(t, '/v2/batch', token, body);
  });
  await Promise.all(refused);
  await waitFor('the budget to be free again', async () => (await used()) === 0);
});

const QUICK = { bodyMs: 400, lookMs: 50 };
const quick = sharedRider({ callerTimes: QUICK });

for (const [what, start] of [
  ['a batch', 'POST /v2/batch HTTP/1.1\r\nTOKEN'],
  ['a publish', 'POST /v2/publish/http://127.0.0.1:9/ HTTP/1.1\r\nTOKEN'],
  ['a schedule', 'POST /v2/schedules/http://127.0.0.1:9/ HTTP/1.1\r\nTOKENService-Cron: * * * * *\r\n'],
  ['the API', 'POST /v2/queues HTTP/1.1\r\nTOKEN'],
  ['the session of the console', 'POST /console/session HTTP/1.1\r\nX-Postrider-Console: 1\r\n'],
] as const) {
  test(`a body to ${what} that brings next to nothing is cut off with 408, and its bytes are free again`, async (t) => {
    const rider = quick();
    const caller = (await RawCaller.dial(t, rider.url)).listen();
    const head = start.replace('TOKEN', `Authorization: Bearer ${rider.token}\r\n`);
    caller.say(`${head}Host: localhost\r\nContent-Length: 4000\r\n\r\n[`);
    await waitFor('the body to be held', async () => (await poolUsed(rider, 'uploads')) === 4000);
    const dripping = setInterval(() => caller.say(' '), 20);
    t.after(() => clearInterval(dripping));
    await caller.hears(408);
    assert.match(caller.text, /"code":"body_too_slow"/);
    assert.equal(await poolUsed(rider, 'uploads'), 0);
  });
}

for (const [what, path] of [
  ['a page of the docs', '/docs'],
  ['the description of the API', '/openapi.json'],
  ['the metrics', '/metrics'],
  ['a probe', '/healthz'],
  ['a page of the console', '/console/'],
  ['the sink', '/dev/sink/ok'],
  ['the sink that waits', '/dev/sink/slow?ms=1'],
] as const) {
  test(`a caller of ${what} that goes on sending a body byte by byte loses its connection`, async (t) => {
    const rider = quick();
    const caller = (await RawCaller.dial(t, rider.url)).listen();
    caller.say(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999\r\n\r\n[`);
    const dripping = setInterval(() => caller.say(' '), 20);
    t.after(() => clearInterval(dripping));
    await waitFor('the end of the connection', async () => {
      await rider.advance(1);
      return caller.isOver;
    });
  });
}

test('a body that comes steadily is taken, however long it takes', async (t) => {
  const rider = quick();
  const { token } = await rider.account('steady');
  const caller = (await RawCaller.dial(t, rider.url)).listen();
  const pieces = 12;
  const bytes = pieces * eachMax('bodyBytesMin') * 2;
  const head = `Host: localhost\r\nAuthorization: Bearer ${token}\r\nService-Delay: 1h\r\nContent-Length: ${bytes}`;
  caller.say(`POST /v2/publish/http://127.0.0.1:9/ HTTP/1.1\r\n${head}\r\n\r\n`);
  for (let count = 0; count < pieces; count += 1) {
    caller.say('x'.repeat(bytes / pieces));
    await new Promise((resolve) => setTimeout(resolve, QUICK.bodyMs / 4));
  }
  await caller.hears(201);
});

test('an announced body that is over the limit of a request is refused before it is read', async (t) => {
  const socket = startUpload(t, shared().token, 101 * MIB);
  await waitFor('the refusal', () => socket.answer?.includes('\r\n\r\n'));
  assert.match(socket.answer!, /^HTTP\/1\.1 413 /);
  assert.equal(await used(), 0);
});

test('what follows on a connection that is closed after a refused body is not carried out: nobody would learn of it', async (t) => {
  const rider = shared();
  const { token } = await rider.account('behind-a-refusal');
  // From now on the token is known, and the next publish is carried out at once.
  await rider.published('http://127.0.0.1:9/', { token, headers: { 'Service-Delay': '1h' } });
  const socket = startUpload(t, 'unknown', 10);
  socket.allowHalfOpen = true;
  await waitFor('the refusal', () => socket.answer?.includes('\r\n\r\n'));
  assert.match(socket.answer!, /^HTTP\/1\.1 401 .*\r\nConnection: close\r\n/s);
  const head = 'POST /v2/publish/http://127.0.0.1:9/ HTTP/1.1\r\nHost: localhost\r\nService-Delay: 1h\r\n';
  // The server has closed its side, and reads on.
  socket.end(`${'x'.repeat(9)}${head}Authorization: Bearer ${token}\r\nContent-Length: 2\r\n\r\nhi`);
  await waitFor('the end', () => socket.destroyed);
  assert.equal(socket.answer!.match(/HTTP\/1\.1/g)!.length, 1);
  await rider.published('http://127.0.0.1:9/', { token, headers: { 'Service-Delay': '1h' } });
  const { messages } = await rider.manage<{ messages: unknown[] }>('GET', '/v2/messages', undefined, token);
  assert.equal(messages.length, 2);
});
