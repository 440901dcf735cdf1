// New connections are taken several at a time: one caller who opens very many does not keep those of others in line.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { listenOnSeveralSockets } from '../../../src/inbound/server/wide-listening.ts';
import { whySkipped } from '../../support/machine.ts';

const COUNT = 128;

/** Opens connections while this thread stands still, and says when the system has them all. */
const CONNECT = `
  const { connect } = require('node:net');
  const { workerData: { port, open } } = require('node:worker_threads');
  for (let count = 0; count < ${COUNT}; count += 1) {
    connect(port, '127.0.0.1').on('connect', () => {
      Atomics.add(open, 0, 1);
      Atomics.notify(open, 0);
    }).on('error', () => {});
  }`;

test('of many connections that wait, several are taken in one turn of the loop', async (t) => {
  const server = createServer();
  let taken = 0;
  server.on('connection', (socket) => {
    taken += 1;
    socket.on('error', () => {});
  });
  const listening = await listenOnSeveralSockets(server, { host: '127.0.0.1', port: 0 }, (error) =>
    assert.fail(String(error)),
  );
  const open = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(CONNECT, { eval: true, workerData: { port: listening.bound.port, open } });
  t.after(async () => {
    server.closeAllConnections();
    await worker.terminate();
    await listening.close();
  });
  // On Linux they always can: there, a single socket is what this test is to find.
  if (listening.sockets === 1 && process.platform !== 'linux') return t.skip(whySkipped('linux'));
  for (let seen = 0; seen < COUNT; seen = Atomics.load(open, 0)) Atomics.wait(open, 0, seen);
  let turns = 0;
  for (; taken < COUNT; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(turns < COUNT / 2, `${turns} turns for ${COUNT} connections`);
});

test('a port that somebody else has is not shared with them', async (t) => {
  const [first, second] = [createServer(), createServer()];
  const onFault = (error: unknown) => assert.fail(String(error));
  const listening = await listenOnSeveralSockets(first, { host: '127.0.0.1', port: 0 }, onFault);
  t.after(() => listening.close());
  const { port } = listening.bound;
  await assert.rejects(listenOnSeveralSockets(second, { host: '127.0.0.1', port }, onFault), { code: 'EADDRINUSE' });
});
