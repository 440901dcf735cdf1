// Bodies of attempts under way: an account holds at most as many bytes as stay free after it, small bodies are not
// counted, and what is written to the socket is given back, however long the receiver takes over its answer.

import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { nodeMax } from '../../../src/rules/limits/budgets.ts';
import { startRider } from '../../support/harness.ts';
import { type Cleanup, startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';
import { poolUsed } from './pools.ts';

const MIB = 1024 * 1024;

/** Takes connections and reads nothing from them. */
async function startDeafReceiver(t: Cleanup): Promise<{ readonly url: string; readonly connections: Set<Socket> }> {
  const connections = new Set<Socket>();
  const server = createServer((socket) => {
    connections.add(socket.pause());
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of connections) socket.destroy();
    server.close();
  });
  const { port } = server.address() as { port: number };
  return { url: `http://127.0.0.1:${port}`, connections };
}

test('large bodies to a receiver that reads nothing: the account has its share, and another is delivered to', async (t) => {
  const rider = await startRider(t);
  const deaf = await startDeafReceiver(t);
  const receiver = await startReceiver(t);
  const hostile = await rider.account('hostile', 'paid');
  const quiet = await rider.account('quiet');
  const headers = { 'Service-Timeout': '2h', 'Service-Retries': '0' };
  const share = nodeMax('inFlightBytes') / 2;
  // The first five take all of it, to the last byte.
  for (const size of [10 * MIB, 10 * MIB, 10 * MIB, 10 * MIB, share - 40 * MIB, 10 * MIB, 10 * MIB]) {
    assert.ok(size > 0 && size <= 10 * MIB);
    await rider.published(deaf.url, { token: hostile.token, headers, body: new Uint8Array(size) });
  }
  await waitFor('its share to be used', async () => (await poolUsed(rider, 'inFlightBytes')) === share);
  const messageId = await rider.published(receiver.url, { token: quiet.token, body: new Uint8Array(MIB) });
  assert.equal((await rider.ended(messageId, quiet.token)).state, 'DELIVERED');
  const small = await rider.published(receiver.url, { token: hostile.token, body: new Uint8Array(16 * 1024) });
  assert.equal((await rider.ended(small, hostile.token)).state, 'DELIVERED', 'a small body is not counted');
  // When they end, the others follow, and all is given back. Each is signed before it is sent.
  for (const sent of [5, 7]) {
    await waitFor(`${sent} of them to be sent`, () => deaf.connections.size >= sent);
    assert.equal(deaf.connections.size, sent);
    await rider.quiet();
    rider.clock.advance(7_200_000);
  }
  await waitFor('all to be given back', async () => (await poolUsed(rider, 'inFlightBytes')) === 0);
  assert.equal(deaf.connections.size, 7);
});

test('bytes are given back once they are written, while the answer is awaited; a callback keeps them', async (t) => {
  const rider = await startRider(t);
  let letGo = () => {};
  const gate = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const slow = await startReceiver(t, async () => {
    await gate;
    return 200;
  });
  const reports = await startReceiver(t);
  for (let count = 0; count < 3; count += 1) await rider.published(slow.url, { body: new Uint8Array(MIB) });
  await slow.received(3);
  await waitFor('the bytes to be given back', async () => (await poolUsed(rider, 'inFlightBytes')) === 0);
  assert.equal(await poolUsed(rider, 'slots'), 3);
  const headers = { 'Service-Callback': reports.url };
  const body = new Uint8Array(MIB).fill(65);
  await rider.published(slow.url, { headers, body });
  await slow.received(4);
  assert.equal(await poolUsed(rider, 'inFlightBytes'), MIB);
  letGo();
  const [report] = await reports.received(1);
  const { sourceBody } = JSON.parse(report!.body.toString()) as { sourceBody: string };
  assert.deepEqual(Buffer.from(sourceBody, 'base64'), Buffer.from(body));
  await waitFor('all to be given back', async () => (await poolUsed(rider, 'inFlightBytes')) === 0);
});
