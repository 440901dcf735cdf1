// What the sink of `dev` keeps of requests is bounded, whoever sends them and however they are cut.

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { eachMax, nodeMax } from '../../../src/rules/limits/budgets.ts';
import { ask } from '../../support/client.ts';
import { startRider } from '../../support/harness.ts';
import { waitFor } from '../../support/wait.ts';

interface Kept {
  readonly requests: readonly { readonly method: string; readonly isBodyCut?: boolean; readonly body?: string }[];
}

test('the sink keeps the last requests only, and only so much of a body', async (t) => {
  const rider = await startRider(t);
  for (let i = 0; i < nodeMax('sinkRequests') + 5; i += 1) await ask(rider.url, '/dev/sink/ok', { method: 'POST' });
  const body = 'x'.repeat(eachMax('sinkBodyBytes') + 1);
  await ask(rider.url, '/dev/sink/ok', { method: 'POST', body });
  const { requests } = await rider.manage<Kept>('GET', '/v2/dev/requests');
  assert.equal(requests.length, nodeMax('sinkRequests'));
  assert.equal(requests[0]!.isBodyCut, true);
  assert.equal(requests[0]!.body!.length, eachMax('sinkBodyBytes'));
});

test('a body that comes byte by byte is kept as one', async (t) => {
  const rider = await startRider(t);
  const socket = connect(Number(new URL(rider.url).port), '127.0.0.1');
  t.after(() => {
    socket.destroy();
  });
  socket.setNoDelay(true);
  socket.write('POST /dev/sink/ok HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\n');
  for (let i = 0; i < 20; i += 1) {
    socket.write('x');
    await new Promise((turn) => setImmediate(turn));
  }
  await waitFor('the whole body', async () => {
    const { requests } = await rider.manage<Kept>('GET', '/v2/dev/requests');
    return requests[0]?.body === 'x'.repeat(20);
  });
});

test('the tries of a message are counted whatever it is called', async (t) => {
  const rider = await startRider(t);
  const headers = { 'Service-Message-Id': 'm'.repeat(10_000) };
  const statuses: number[] = [];
  for (let i = 0; i < 3; i += 1) statuses.push((await ask(rider.url, '/dev/sink/fail?times=2', { headers })).status);
  assert.deepEqual(statuses, [503, 503, 200]);
});
