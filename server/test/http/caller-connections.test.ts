// Which connections go when there are too many of them, or when too much waits for those who do not read.

import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { nodeMax } from '../../src/domain/budgets.ts';
import { CALLER_TIMES, CallerConnections } from '../../src/http/caller-connections.ts';
import { ApiError } from '../../src/http/errors.ts';
import { Requests } from '../../src/http/requests.ts';
import { type Clock, systemWorld } from '../../src/world.ts';
import { manualWorld } from '../support/manual-clock.ts';
import { waitFor } from '../support/wait.ts';

const MIB = 1024 * 1024;

/** A server that answers `/bytes/N` with so many bytes, and anything else not at all. */
async function startServer(
  t: TestContext,
  limits: { connections?: number; unreadBytes?: number },
  times = CALLER_TIMES,
  clock: Clock = systemWorld().clock,
) {
  const connections = new CallerConnections(clock, times, limits);
  const server = createServer((request, response) => {
    connections.begin({ request, response });
    const bytes = Number(/^\/bytes\/(\d+)$/.exec(request.url ?? '')?.[1] ?? -1);
    if (bytes >= 0) response.end(Buffer.alloc(bytes));
  });
  connections.watch(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const dial = async (path: string | null): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    t.after(() => {
      socket.destroy();
    });
    await once(socket, 'connect');
    if (path !== null) socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    return socket;
  };
  return { server, connections, dial };
}

const isGone = (socket: Socket) => socket.destroyed || socket.readableEnded;

test('one too many: the longest silent goes, then the longest idle, never one with a request under way', async (t) => {
  const { connections, dial } = await startServer(t, { connections: 4 });
  const idle = await dial('/bytes/2');
  idle.resume();
  const busy = await dial('/held');
  const silent = [await dial(null), await dial(null)];
  for (const socket of [busy, ...silent]) socket.resume();
  await waitFor('all to be there', () => connections.used === 4);
  const fifth = (await dial('/held')).resume();
  await waitFor('the longest silent to go', () => isGone(silent[0]!));
  const sixth = (await dial('/held')).resume();
  await waitFor('the next silent to go', () => isGone(silent[1]!));
  const seventh = (await dial('/held')).resume();
  await waitFor('the idle one to go', () => isGone(idle));
  const eighth = (await dial('/held')).resume();
  await waitFor('the new one to be closed', () => isGone(eighth));
  assert.deepEqual(
    [busy, fifth, sixth, seventh].map((socket) => socket.destroyed),
    [false, false, false, false],
  );
  assert.equal(connections.used, 4);
  assert.equal(connections.refused.node, 1);
  busy.destroy();
  await waitFor('room again', () => connections.used === 3);
});

test('the system is asked to look for callers that vanish, once for each connection that stays', async (t) => {
  const times = { ...CALLER_TIMES, lookMs: 5 };
  const { server, connections, dial } = await startServer(t, {}, times);
  const asked: (readonly unknown[])[] = [];
  let looks = 0;
  server.on('connection', (socket: Socket) => {
    socket.setKeepAlive = (...options) => {
      asked.push(options);
      return socket;
    };
    Object.defineProperty(socket, 'bytesWritten', { get: () => ++looks });
  });
  await dial(null);
  await waitFor('three looks', () => looks > 2);
  assert.deepEqual(asked, [[true, times.idleMs]]);
  assert.equal(connections.used, 1);
});

test('a connection whose requests are all refused is destroyed once, at the earliest of the times asked for', async (t) => {
  const world = manualWorld();
  const { server, connections, dial } = await startServer(t, {}, CALLER_TIMES, world.clock);
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const caller = (await dial(null)).resume();
  const [socket] = await accepted;
  await waitFor('the connection', () => connections.used === 1);
  const before = socket.listenerCount('close');
  for (let count = 0; count < 20; count += 1) connections.destroyAfter(socket, 4000);
  connections.destroyAfter(socket, 1000);
  connections.destroyAfter(socket, 2000);
  assert.equal(socket.listenerCount('close'), before);
  assert.equal(world.clock.untilNextTimer(), 1000);
  world.clock.advance(1000);
  assert.equal(socket.destroyed, true);
  await waitFor('the end', () => isGone(caller) && connections.used === 0);
  assert.equal(world.clock.untilNextTimer(), null);
});

test('too much that is not read: the connection for which most is held goes, and it is counted back', async (t) => {
  const { connections, dial } = await startServer(t, { unreadBytes: 40 * MIB });
  const small = await dial(`/bytes/${12 * MIB}`);
  await waitFor('it to wait', () => connections.unreadBytes > 0);
  const large = await dial(`/bytes/${24 * MIB}`);
  await waitFor('both to wait', () => connections.unreadBytes > 24 * MIB);
  const third = await dial(`/bytes/${20 * MIB}`);
  await waitFor('the largest to go', () => connections.used === 2);
  assert.ok(connections.unreadBytes <= 40 * MIB);
  let readBytes = 0;
  for (const socket of [small, third]) {
    socket.on('data', (chunk: Buffer) => {
      readBytes += chunk.length;
    });
  }
  await waitFor('the others to be read', () => readBytes > 32 * MIB && connections.unreadBytes === 0);
  large.destroy();
});

test('an account has its share of the requests under way, and each is counted once', () => {
  const requests = new Requests();
  const open: EventEmitter[] = [];
  const begin = (account: string) => {
    const response = new EventEmitter();
    requests.begin(account, response as unknown as ServerResponse);
    open.push(response);
  };
  for (let i = 0; i < nodeMax('requests') / 2; i += 1) begin('a');
  assert.throws(
    () => begin('a'),
    (error) => error instanceof ApiError && error.problem.code === 'share_used',
  );
  begin('b');
  for (const response of open) response.emit('close');
  assert.equal(requests.pool.used, 0);
  begin('a');
});
