// Which connections go when there are too many of them, or when too much waits for those who do not read.

import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { ApiError } from '../../../src/inbound/api/errors.ts';
import { CALLER_TIMES, CallerConnections } from '../../../src/inbound/server/caller-connections.ts';
import { RequestsInProgress } from '../../../src/inbound/server/requests.ts';
import { nodeMax } from '../../../src/rules/limits/budgets.ts';
import { type Clock, systemWorld } from '../../../src/runtime/world.ts';
import { manualWorld } from '../../support/manual-clock.ts';
import { waitFor } from '../../support/wait.ts';

const MIB = 1024 * 1024;

/** A server that answers `/bytes/N` with so many bytes, and anything else not at all. `/as/x/…` is a call of the account x. */
async function startServer(
  t: TestContext,
  limits: { connections?: number; unknown?: number; unreadBytes?: number },
  times = CALLER_TIMES,
  clock: Clock = systemWorld().clock,
) {
  const connections = new CallerConnections(clock, times, limits);
  const server = createServer((request, response) => {
    connections.begin({ request, response });
    const account = /^\/as\/(\w+)\//.exec(request.url ?? '')?.[1];
    if (account !== undefined) connections.claim(request.socket, account);
    const bytes = Number(/\/bytes\/(\d+)$/.exec(request.url ?? '')?.[1] ?? -1);
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

/** Callers tell their account, or none, in the path. */
const pathOf = (account: string | null, what: string) => (account === null ? `/${what}` : `/as/${account}/${what}`);

/** Waits until the server has so many connections. */
const there = (connections: CallerConnections, count: number) =>
  waitFor(`${count} connections`, () => connections.used === count);

test('one too many: callers without an account have their part, and beyond it the oldest of them goes, with a request or without', async (t) => {
  const { connections, dial } = await startServer(t, { connections: 4, unknown: 1 });
  const held = (await dial(pathOf(null, 'held'))).resume();
  await there(connections, 1);
  const silent = (await dial(null)).resume();
  await there(connections, 2);
  const known = [(await dial(pathOf('a', 'held'))).resume(), (await dial(pathOf('a', 'bytes/2'))).resume()];
  await waitFor('two of them to be known', () => connections.unknown.used === 2);
  await there(connections, 4);
  await dial(pathOf('b', 'held'));
  await waitFor('the oldest to go', () => isGone(held));
  await waitFor('the new one to be known', () => connections.unknown.used === 1);
  assert.deepEqual([silent, ...known].map(isGone), [false, false, false]);
  // Now they have no more than their part: an idle connection of the account with the most goes.
  await dial(pathOf('b', 'held'));
  await waitFor('the idle one to go', () => isGone(known[1]!));
  assert.deepEqual([silent, known[0]!].map(isGone), [false, false]);
  await waitFor('the new one to be known', () => connections.unknown.used === 1);
  // All others have requests of accounts in progress.
  const last = (await dial(pathOf('b', 'held'))).resume();
  await waitFor('the silent one to go', () => isGone(silent));
  await waitFor('the last one to be known', () => connections.unknown.used === 0);
  const beyond = (await dial(null)).resume();
  await waitFor('one too many to be refused', () => isGone(beyond));
  assert.deepEqual([known[0]!, last].map(isGone), [false, false]);
  assert.equal(connections.refused.node, 1);
});

test('a caller without an account stays no longer because it makes requests: one whose first is not read yet is not closed before it', async (t) => {
  const { connections, dial } = await startServer(t, { connections: 2, unknown: 0 });
  const chatty = await dial(pathOf(null, 'bytes/1'));
  const replied = async () => assert.match(String(await once(chatty, 'data')), /200 OK/);
  await replied();
  await there(connections, 1);
  const newcomer = (await dial(null)).resume();
  await there(connections, 2);
  chatty.write(`GET ${pathOf(null, 'bytes/1')} HTTP/1.1\r\nHost: a\r\n\r\n`);
  await replied();
  await dial(pathOf('a', 'held'));
  await waitFor('the older one to go', () => isGone(chatty.resume()));
  assert.equal(isGone(newcomer), false);
});

test('of the accounts, the one with the most connections gives up its longest idle one', async (t) => {
  const { connections, dial } = await startServer(t, { connections: 5, unknown: 1 });
  const single = (await dial(pathOf('b', 'bytes/1'))).resume();
  await there(connections, 1);
  const many: Socket[] = [];
  for (let count = 0; count < 4; count += 1) {
    many.push((await dial(pathOf('a', 'bytes/1'))).resume());
    await there(connections, count + 2);
    await waitFor('it to be known', () => connections.unknown.used === 0);
  }
  await dial(pathOf('c', 'held'));
  await waitFor('the longest idle one to go', () => isGone(many[0]!));
  await waitFor('the new one to be known', () => connections.unknown.used === 0);
  await dial(pathOf('c', 'held'));
  await waitFor('the next one to go', () => isGone(many[1]!));
  assert.deepEqual([single, many[2]!, many[3]!].map(isGone), [false, false, false]);
});

test('a connection that was an account’s is nobody’s from the start of its next request until that has a token', async (t) => {
  const { connections, dial } = await startServer(t, {});
  const socket = (await dial(pathOf('a', 'bytes/1'))).resume();
  await waitFor('it to be known', () => connections.used === 1 && connections.unknown.used === 0);
  socket.write('GET /held HTTP/1.1\r\nHost: a\r\n\r\n');
  await waitFor('it to be unknown', () => connections.unknown.used === 1);
});

test('too much unread of callers without an account: theirs goes, not the larger one of an account', async (t) => {
  const { connections, dial } = await startServer(t, { unreadBytes: 40 * MIB });
  const account = await dial(pathOf('a', `bytes/${20 * MIB}`));
  await waitFor('it to wait', () => connections.unreadBytes > 0);
  const strangers: Socket[] = [];
  for (let count = 0; count < 3; count += 1) {
    strangers.push((await dial(pathOf(null, `bytes/${14 * MIB}`))).pause());
  }
  await waitFor('one of them to go', () => connections.used === 3);
  let readBytes = 0;
  account.on('data', (chunk: Buffer) => {
    readBytes += chunk.length;
  });
  await waitFor('the account to get all of it', () => readBytes > 20 * MIB);
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
  const requests = new RequestsInProgress({ claim: () => {} });
  const open: EventEmitter[] = [];
  const begin = (account: string) => {
    const response = new EventEmitter();
    requests.begin(account, new Socket(), response as unknown as ServerResponse);
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
