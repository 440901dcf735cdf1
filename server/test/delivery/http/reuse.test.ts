// A connection that has served is used again only when nothing speaks against it: a receiver that closes it without
// saying so costs no message, and bytes that no request asked for are never a response.

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { OneShotOrigins } from '../../../src/delivery/http/one-shot-origins.ts';
import { nodeMax } from '../../../src/rules/limits/budgets.ts';
import { systemWorld } from '../../../src/runtime/world.ts';
import { answerWith, OK, type Receiver, readRequests, startReceiver } from './receivers.ts';
import { REST_MS, startSender, until } from './senders.ts';

const PLANTED = 'HTTP/1.1 500 Planted\r\nContent-Length: 0\r\n\r\n';

/** Answers each request, and then does something to the connection. */
function startUnruly(t: TestContext, afterwards: (socket: Socket) => void): Promise<Receiver> {
  return startReceiver(t, (socket) => {
    socket.setNoDelay(true);
    readRequests(socket, () => {
      socket.write(OK);
      afterwards(socket);
    });
  });
}

const inTwoTurns = (act: () => void) => setImmediate(() => setImmediate(act));

const UNRULY: readonly (readonly [does: string, afterwards: (socket: Socket) => void])[] = [
  ['closes at once', (socket) => socket.end()],
  ['closes two turns later', (socket) => inTwoTurns(() => socket.end())],
  ['resets two turns later', (socket) => inTwoTurns(() => socket.resetAndDestroy())],
  ['plants a response two turns later', (socket) => inTwoTurns(() => socket.destroyed || socket.write(PLANTED))],
];
for (const [does, afterwards] of UNRULY) {
  for (const hostConnectionsMax of [1, 64]) {
    test(`a receiver that answers and ${does} loses no message, with at most ${hostConnectionsMax} connections to it`, async (t) => {
      const receiver = await startUnruly(t, afterwards);
      const { outcome } = startSender(t, { world: systemWorld(), hostConnectionsMax });
      const senders = Array.from({ length: 4 }, async () => {
        for (let sent = 0; sent < 25; sent += 1) {
          const answer = await outcome({ url: receiver.url });
          assert.deepEqual(answer.kind === 'answered' ? answer.status : answer, 200);
        }
      });
      await Promise.all(senders);
    });
  }
}

/** A sender with one idle connection, and the receiver's end of it. */
async function oneIdle(t: TestContext) {
  const sockets: Socket[] = [];
  const requests: string[] = [];
  const receiver = await startReceiver(t, (socket) => {
    sockets.push(socket);
    readRequests(socket, ({ requestLine }) => {
      requests.push(requestLine);
      socket.write(OK);
    });
  });
  const started = startSender(t);
  const answered = async () => {
    const answer = await started.outcome({ url: receiver.url });
    assert.equal(answer.kind === 'answered' && answer.status, 200);
  };
  await answered();
  started.clock.advance(REST_MS);
  await answered();
  assert.equal(sockets.length, 1);
  started.clock.advance(REST_MS);
  await new Promise((turn) => setImmediate(turn));
  return { ...started, receiver, answered, sockets, requests };
}

test('a request for a connection that was reset just before counts as unsent', async (t) => {
  const { receiver, send, sockets, requests, answered } = await oneIdle(t);
  // Nothing is read between these two calls: the sender cannot know of the reset before it writes.
  sockets[0]!.resetAndDestroy();
  const { outcome } = await send({ url: receiver.url });
  assert.equal(outcome, 'unsent');
  await answered();
  assert.equal(requests.length, 3);
});

test('a request that was written on a connection that its receiver closed just then is not written again', async (t) => {
  const { receiver, outcome, sockets, requests, answered } = await oneIdle(t);
  sockets[0]!.destroy();
  // The system took the bytes. Whether the receiver has read them cannot be known.
  const answer = await outcome({ url: receiver.url });
  assert.equal(answer.kind, 'unreachable');
  assert.equal(requests.length, 2);
  await answered();
});

test('after bytes that no request asked for, no connection to the origin is used again for a minute', async (t) => {
  const { receiver, outcome, clock, sockets, answered } = await oneIdle(t);
  await Promise.all([outcome({ url: receiver.url }), outcome({ url: receiver.url }), outcome({ url: receiver.url })]);
  assert.equal(sockets.length, 3);
  clock.advance(REST_MS);
  sockets[1]!.write(PLANTED);
  await until(() => sockets.every((socket) => socket.destroyed));
  for (let count = 4; count <= 6; count += 1) {
    await answered();
    clock.advance(REST_MS);
    await until(() => sockets.every((socket) => socket.destroyed));
    assert.equal(sockets.length, count);
  }
  clock.advance(60_000);
  await answered();
  clock.advance(REST_MS);
  await answered();
  assert.equal(sockets.length, 7);
});

test('so is an origin that closes a connection right after its first response, but not one that closes it later', async (t) => {
  const sockets: Socket[] = [];
  const receiver = await startReceiver(t, (socket) => {
    sockets.push(socket);
    answerWith(OK)(socket);
  });
  const { outcome, clock } = startSender(t);
  const answered = async () => assert.equal((await outcome({ url: receiver.url })).kind, 'answered');
  const closed = async () => {
    sockets.at(-1)!.end();
    await until(() => sockets.every((socket) => socket.destroyed));
  };
  // Idle for a second, then closed: an ordinary receiver.
  await answered();
  clock.advance(1_000);
  await closed();
  await answered();
  clock.advance(REST_MS);
  await answered();
  assert.equal(sockets.length, 2);
  // After its second response: also ordinary.
  await closed();
  await answered();
  assert.equal(sockets.length, 3);
  // After its first one, at once.
  await closed();
  for (const count of [4, 5]) {
    await answered();
    clock.advance(REST_MS);
    assert.equal(sockets.length, count);
  }
});

test('the list of such origins is bounded, and the oldest is forgotten', () => {
  const origins = new OneShotOrigins();
  const max = nodeMax('oneShotOrigins');
  const loss = { servedCount: 1, idleMs: 0, isUnasked: false };
  for (let count = 0; count <= max; count += 1) origins.note(`http://host-${count}`, loss, count);
  assert.equal(origins.has('http://host-0', max), false);
  assert.equal(origins.has('http://host-1', max), true);
  assert.equal(origins.has(`http://host-${max}`, max), true);
  assert.equal(origins.has('http://host-1', 60_001), false, 'a minute later');
});

test('a connection whose later exchange was cut off serves no other: its response may still come', async (t) => {
  const sockets: Socket[] = [];
  let requests = 0;
  const receiver = await startReceiver(t, (socket) => {
    sockets.push(socket);
    readRequests(socket, ({ requestLine }) => {
      requests += 1;
      if (!requestLine.includes('/slow')) socket.write(OK);
    });
  });
  const { outcome, send, clock } = startSender(t);
  assert.equal((await outcome({ url: receiver.url })).kind, 'answered');
  clock.advance(REST_MS);
  await new Promise((turn) => setImmediate(turn));
  const slow = send({ url: `${receiver.url}/slow`, timeoutMs: 1000 });
  await until(() => requests === 2);
  clock.advance(1000);
  assert.equal(((await slow).outcome as { kind: string }).kind, 'timedOut');
  assert.equal(sockets.length, 1);
  clock.advance(REST_MS);
  await new Promise((turn) => setImmediate(turn));
  // Now comes what the one before was waiting for.
  if (!sockets[0]!.destroyed) sockets[0]!.write(PLANTED);
  const next = await outcome({ url: receiver.url });
  assert.equal(next.kind === 'answered' && next.status, 200);
  assert.equal(sockets.length, 2);
});

test('a connection is not used for longer than its receiver has said that it keeps it', async (t) => {
  const receiver = await startReceiver(t, answerWith(OK.replace('\r\n', '\r\nKeep-Alive: timeout=3\r\n')));
  const { outcome, clock } = startSender(t);
  for (const [idleMs, connections] of [
    [REST_MS, 1],
    [999, 1],
    [1000, 2],
  ] as const) {
    // Its rest is over before it is idle for long.
    clock.advance(REST_MS);
    await new Promise((turn) => setImmediate(turn));
    clock.advance(idleMs - REST_MS);
    assert.equal((await outcome({ url: receiver.url })).kind, 'answered');
    assert.equal(receiver.connectionCount, connections, `after ${idleMs} ms`);
  }
});
