// The sender as the engine sees it: reports, closing, and what happens to connections in between.

import assert from 'node:assert/strict';
import { connect, type Socket, type TcpNetConnectOpts } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createDial } from '../../../src/delivery/egress/dial.ts';
import { WireWindow } from '../../../src/delivery/engine/wire-window.ts';
import { NetworkAttempt } from '../../../src/delivery/http/attempt.ts';
import { Connections } from '../../../src/delivery/http/connections.ts';
import type { Outcome } from '../../../src/rules/delivery/message.ts';
import { nodeMax } from '../../../src/rules/limits/budgets.ts';
import { parseTargetUrl } from '../../../src/rules/publish/destination.ts';
import { Pool } from '../../../src/runtime/collections/pool.ts';
import { Deadlines } from '../../../src/runtime/deadlines.ts';
import { systemWorld } from '../../../src/runtime/world.ts';
import { answerWith, OK, readRequests, startReceiver } from './receivers.ts';
import { manualClock, policyOf, REST_MS, startSender, until } from './senders.ts';

const anyName = { connect, lookup: async () => ['127.0.0.1'] };

test('a report tells when the attempt began and ended', async (t) => {
  const receiver = await startReceiver(t, (socket) =>
    readRequests(socket, () => {
      clock.advance(250);
      socket.write(OK);
    }),
  );
  const { send, clock } = startSender(t);
  const startedAt = clock.now();
  const report = await send({ url: receiver.url });
  assert.equal(report.startedAt, startedAt);
  assert.equal(report.endedAt, startedAt + 250);
});

test('every job is reported once, never from inside send, and what ends together comes together', async (t) => {
  const { sender, send, batches } = startSender(t, { policy: { allowed: [], own: [] } });
  const jobs = Array.from({ length: 100 }, () => send({ url: 'ftp://nowhere/' }));
  assert.equal(batches.length, 0);
  await Promise.all(jobs);
  assert.deepEqual(
    batches.map((batch) => batch.length),
    [100],
  );
  await sender.close();
  assert.equal(batches.length, 1);
});

test('a connection is used again, and one beside it only when there is more at once', async (t) => {
  const receiver = await startReceiver(t, answerWith(OK));
  const { outcome, clock } = startSender(t);
  for (let i = 0; i < 20; i += 1) {
    assert.equal((await outcome({ url: receiver.url })).kind, 'answered');
    clock.advance(REST_MS);
  }
  assert.equal(receiver.connectionCount, 1);
  await Promise.all(Array.from({ length: 5 }, () => outcome({ url: receiver.url })));
  assert.equal(receiver.connectionCount, 5);
  clock.advance(REST_MS);
  await Promise.all(Array.from({ length: 5 }, () => outcome({ url: receiver.url })));
  assert.equal(receiver.connectionCount, 5);
});

test('a connection the receiver closed while idle is not written to', async (t) => {
  let socketOfReceiver: Socket | null = null;
  const receiver = await startReceiver(t, (socket) => {
    socketOfReceiver = socket;
    answerWith(OK)(socket);
  });
  const { outcome } = startSender(t);
  for (let i = 1; i <= 3; i += 1) {
    assert.equal((await outcome({ url: receiver.url })).kind, 'answered');
    assert.equal(receiver.connectionCount, i);
    const closing = socketOfReceiver as Socket | null;
    closing?.end();
    await until(() => closing?.destroyed === true);
  }
});

test('no more connections to a host than allowed: the others wait their turn, first come first served', async (t) => {
  let runningCount = 0;
  let runningMax = 0;
  const order: string[] = [];
  const receiver = await startReceiver(t, (socket) =>
    readRequests(socket, ({ requestLine }) => {
      order.push(requestLine.split(' ')[1] ?? '');
      runningCount += 1;
      runningMax = Math.max(runningMax, runningCount);
      setImmediate(() => {
        runningCount -= 1;
        socket.write(OK);
      });
    }),
  );
  const { outcome } = startSender(t, { world: systemWorld(), hostConnectionsMax: 2 });
  const paths = Array.from({ length: 50 }, (_, i) => `/${String(i).padStart(2, '0')}`);
  const answers = await Promise.all(paths.map((path) => outcome({ url: receiver.url + path })));
  assert.ok(answers.every(({ kind }) => kind === 'answered'));
  assert.ok(runningMax <= 2);
  assert.equal(receiver.connectionCount, 2);
  assert.equal(order.length, 50);
  const shifts = order.map((path, at) => Math.abs(paths.indexOf(path) - at));
  assert.ok(Math.max(...shifts) <= 2, 'two connections can only swap neighbours');
});

test('a request waits for a connection within its own deadline, and leaves the line after it', async (t) => {
  const asked: string[] = [];
  const receiver = await startReceiver(t, (socket) =>
    readRequests(socket, ({ requestLine }) => asked.push(requestLine.split(' ')[1] ?? '')),
  );
  const { outcome, clock } = startSender(t, { hostConnectionsMax: 1 });
  const first = outcome({ url: `${receiver.url}/first`, timeoutMs: 10_000 });
  const second = outcome({ url: `${receiver.url}/second`, timeoutMs: 2_000 });
  const third = outcome({ url: `${receiver.url}/third`, timeoutMs: 60_000 });
  await until(() => asked.length === 1);
  clock.advance(2_000);
  assert.equal((await second).kind, 'timedOut');
  clock.advance(8_000);
  assert.equal((await first).kind, 'timedOut');
  await until(() => asked.length === 2);
  clock.advance(60_000);
  assert.equal((await third).kind, 'timedOut');
  assert.deepEqual(asked, ['/first', '/third']);
});

test('close cuts off running requests and gives back waiting and later ones, each reported once', async (t) => {
  let askedCount = 0;
  const sockets: Socket[] = [];
  const receiver = await startReceiver(t, (socket) => {
    sockets.push(socket);
    readRequests(socket, () => (askedCount += 1));
  });
  const { sender, send, batches, clock } = startSender(t, { hostConnectionsMax: 3 });
  const reports = Array.from({ length: 5 }, () => send({ url: receiver.url }));
  await until(() => askedCount === 3);
  const connecting = send({ url: `http://127.0.0.2:${receiver.port}/` });
  await sender.close();
  assert.equal(batches.flat().length, 6, 'all are reported when close has ended');
  const outcomes = (await Promise.all([...reports, connecting])).map(({ outcome }) => outcome);
  const reason = 'cut off: this server is shutting down';
  const cutOff = { kind: 'interrupted', reason, cause: 'drain' };
  assert.deepEqual(outcomes, [cutOff, cutOff, cutOff, 'unsent', 'unsent', 'unsent'], 'three were on the wire');
  await until(() => sockets.every((socket) => socket.destroyed));
  const { outcome } = await send({ url: receiver.url });
  assert.equal(outcome, 'unsent');
  assert.equal(clock.timerCount, 0);
  assert.equal(askedCount, 3);
  await sender.close();
});

test('a message that has expired is not sent, however far its attempt has come', async (t) => {
  const asked: string[] = [];
  const receiver = await startReceiver(t, (socket) =>
    readRequests(socket, ({ requestLine }) => asked.push(requestLine.split(' ')[1] ?? '')),
  );
  const { send, clock } = startSender(t, { hostConnectionsMax: 1 });
  const at = clock.now() + 5000;
  const first = send({ url: `${receiver.url}/first`, timeoutMs: 10_000 });
  await until(() => asked.length === 1);
  const second = send({ url: `${receiver.url}/second`, mustStartBefore: at });
  const third = send({ url: `${receiver.url}/third`, mustStartBefore: at + 5001, timeoutMs: 60_000 });
  clock.advance(10_000);
  assert.deepEqual((await first).outcome, { kind: 'timedOut', timeoutMs: 10_000 });
  assert.equal((await second).outcome, 'unsent');
  await until(() => asked.length === 2);
  clock.advance(60_000);
  await third;
  assert.deepEqual(asked, ['/first', '/third']);
});

test('no state is kept for hosts without requests', async (t) => {
  const closing = await startReceiver(t, answerWith('HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n'));
  const breaking = await startReceiver(t, (socket) => readRequests(socket, () => socket.resetAndDestroy()));
  const keeping: Socket[] = [];
  const idle = await startReceiver(t, (socket) => {
    keeping.push(socket);
    answerWith(OK)(socket);
  });
  const { connections, attempt } = startConnections();
  const ports = [closing.port, breaking.port, idle.port, 9];
  await Promise.all(Array.from({ length: 200 }, (_, i) => attempt(`http://host-${i}.test:${ports[i % 4]}/`)));
  await until(() => connections.originCount === 50);
  assert.equal(connections.openCount, 50);
  for (const socket of keeping) socket.end();
  await until(() => connections.originCount === 0);
  assert.equal(connections.openCount, 0);
});

test('idle connections are limited, the longest idle goes first; a connection past its age is not kept', async (t) => {
  const open: string[] = [];
  const receiver = await startReceiver(t, (socket) =>
    readRequests(socket, ({ headers }) => {
      const host = headers.find(([name]) => name.toLowerCase() === 'host')?.[1] ?? '';
      open.push(host);
      socket.on('close', () => open.splice(open.indexOf(host), 1));
      socket.write(OK);
    }),
  );
  const { connections, attempt, clock } = startConnections({ idleConnectionsMax: 2 });
  const url = (name: string) => `http://${name}:${receiver.port}/`;
  for (const name of ['a.test', 'b.test', 'c.test', 'd.test']) {
    await attempt(url(name));
    clock.advance(REST_MS);
  }
  await until(() => open.length === 2);
  assert.deepEqual(open, [`c.test:${receiver.port}`, `d.test:${receiver.port}`]);
  assert.equal(connections.openCount, 2);

  clock.advance(61_000);
  const answer = await attempt(url('c.test'));
  assert.ok(answer !== 'unsent' && answer.kind === 'answered');
  assert.ok(connections.openCount <= 1, 'what is past its age is dropped when it is given back');
  await connections.close();
  assert.equal(connections.originCount, 0);
});

function startConnections(options: { idleConnectionsMax?: number } = {}) {
  const clock = manualClock();
  const dial = createDial({
    policy: policyOf('127.0.0.0/8'),
    network: anyName,
    lookups: { find: anyName.lookup },
  });
  const wire = new WireWindow(clock);
  const deadlines = new Deadlines(clock);
  const answers = new Pool(nodeMax('answers'));
  const connections = new Connections({ clock, dial, wire, hostConnectionsMax: 8, ...options });
  const attempt = (url: string): Promise<Outcome | 'unsent'> => {
    const target = parseTargetUrl(url);
    if ('problem' in target) throw new Error(target.problem);
    return new Promise((done) => {
      const exchange = {
        accountId: 'a',
        target,
        method: 'POST',
        headers: [],
        signature: [],
        body: Buffer.from('x'),
        timeoutMs: 30_000,
        mustStartBefore: null,
      } as const;
      const owner = {
        attemptEnded: (_lease: string, _at: number, outcome: Outcome | 'unsent') => done(outcome),
        bodyWritten: () => {},
      };
      new NetworkAttempt({ connections, deadlines, wire, answers }, owner, 'lease', 0).start(exchange);
    });
  };
  return { clock, connections, attempt };
}

/** A sender whose name look-ups hang until they are let go: its requests are not on the wire before. */
async function heldSender(t: TestContext) {
  const received: string[] = [];
  const receiver = await startReceiver(t, (socket) =>
    readRequests(socket, () => {
      received.push('a request');
      socket.write(OK);
    }),
  );
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const lookup = async () => {
    await held;
    return ['127.0.0.1'];
  };
  const started = startSender(t, { network: { connect, lookup } });
  return { ...started, received, letGo, url: receiver.url.replace('127.0.0.1', 'slow.example') };
}

test('a request that would start after the time to start has passed is not written', async (t) => {
  const { sender, clock, send, received, letGo, url } = await heldSender(t);
  sender.mayStartUntil(clock.monotonicMs() + 2000);
  const late = send({ url });
  clock.advance(2000);
  letGo();
  assert.equal((await late).outcome, 'unsent');
  assert.deepEqual(received, []);
});

test('nor one that expires before it has a connection', async (t) => {
  const { sender, clock, send, received, letGo, url } = await heldSender(t);
  sender.mayStartUntil(Number.POSITIVE_INFINITY);
  const [late, inTime] = [1000, 1001].map((ms) => send({ url, mustStartBefore: clock.now() + ms }));
  clock.advance(1000);
  letGo();
  assert.equal((await late!).outcome, 'unsent');
  assert.notEqual((await inTime!).outcome, 'unsent');
  assert.equal(received.length, 1);
});

test('nor when the time is extended after it had passed; one that is claimed afterwards is', async (t) => {
  const { sender, clock, send, outcome, received, letGo, url } = await heldSender(t);
  sender.mayStartUntil(clock.monotonicMs() + 2000);
  const late = send({ url });
  clock.advance(3000);
  sender.mayStartUntil(clock.monotonicMs() + 2000);
  assert.equal((await late).outcome, 'unsent');
  letGo();
  assert.equal((await outcome({ url })).kind, 'answered');
  assert.equal(received.length, 1);
});

test('a request on the wire is not concerned, and as long as the time is extended in time, none is', async (t) => {
  const { sender, clock, outcome, received, letGo, url } = await heldSender(t);
  sender.mayStartUntil(clock.monotonicMs() + 2000);
  const patient = outcome({ url });
  for (let beats = 0; beats < 3; beats += 1) {
    clock.advance(1000);
    sender.mayStartUntil(clock.monotonicMs() + 2000);
  }
  letGo();
  assert.equal((await patient).kind, 'answered');
  assert.equal(received.length, 1);
});

test('one that is dropped before its first byte is never written nor reported; one on the wire goes on', async (t) => {
  const { sender, send, outcome, received, letGo, url } = await heldSender(t);
  let isReported = false;
  void send({ url }).then(() => {
    isReported = true;
  });
  const kept = outcome({ url });
  assert.deepEqual(sender.drop(['lse_1', 'unknown']), ['lse_1']);
  assert.deepEqual(sender.drop(['lse_1']), []);
  letGo();
  assert.equal((await kept).kind, 'answered');
  assert.deepEqual(sender.drop(['lse_2']), []);
  assert.deepEqual([received.length, isReported], [1, false]);
});

test('nor when the time passes while it is being made ready, on a connection used before', async (t) => {
  const received: string[] = [];
  const receiver = await startReceiver(t, (socket) =>
    readRequests(socket, () => {
      received.push('a request');
      socket.write(OK);
    }),
  );
  let freezeMs = 0;
  // The request is made, and then written: a process stopped there wakes with its next step.
  const stopsAtWrite = (options: TcpNetConnectOpts): Socket => {
    const socket = connect(options);
    const write = socket.write.bind(socket);
    socket.write = (bytes: Uint8Array | string) => {
      clock.advance(freezeMs);
      return write(bytes);
    };
    return socket;
  };
  const { sender, clock, send, outcome } = startSender(t, { network: { ...anyName, connect: stopsAtWrite } });
  sender.mayStartUntil(clock.monotonicMs() + 2000);
  assert.equal((await outcome({ url: receiver.url })).kind, 'answered');
  clock.advance(REST_MS);
  freezeMs = 3000;
  assert.equal((await send({ url: receiver.url })).outcome, 'unsent');
  assert.equal(received.length, 1);
  freezeMs = 0;
  sender.mayStartUntil(clock.monotonicMs() + 2000);
  assert.equal((await outcome({ url: receiver.url })).kind, 'answered');
  assert.equal(received.length, 2);
});
