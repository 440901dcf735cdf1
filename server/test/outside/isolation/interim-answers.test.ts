// The budget of interim answers: a receiver that sends them without end ends its own attempt, and nobody else feels it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import { startRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';
import { pour, startRawReceiver } from './raw-receiver.ts';

const MAX = eachMax('interimAnswers');
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const EARLY_HINTS = 'HTTP/1.1 103 Early Hints\r\n\r\n';
const KINDS = ['HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 102 Processing\r\nX-A: b\r\n\r\n', EARLY_HINTS];
const ONCE = { headers: { 'Service-Retries': '0' } };

test('receivers that flood interim answers: their attempts end, and another account is delivered to meanwhile', async (t) => {
  const rider = await startRider(t);
  const block = EARLY_HINTS.repeat(2_000);
  let isFlooding = true;
  const flooding = await startRawReceiver(t, (socket) => {
    if (isFlooding) pour(socket, block);
    else socket.write(OK);
  });
  const good = await startReceiver(t);
  const hostile = await rider.account('hostile');
  const quiet = await rider.account('quiet');
  const floods: string[] = [];
  for (let i = 0; i < 20; i += 1) {
    floods.push(await rider.published(flooding.url, { ...ONCE, token: hostile.token }));
    const id = await rider.published(good.url, { token: quiet.token });
    assert.equal((await rider.ended(id, quiet.token)).state, 'DELIVERED');
  }
  for (const id of floods) {
    const { state, attempts } = await rider.ended(id, hostile.token);
    assert.equal(state, 'FAILED');
    assert.equal(attempts[0]!.error, `more than ${MAX} interim responses`);
  }
  await waitFor('the connections to be cut off', () => flooding.open.size === 0);
  isFlooding = false;
  assert.equal((await rider.ended(await rider.published(flooding.url))).state, 'DELIVERED');
});

for (const [what, count, state] of [
  ['as many as are taken', MAX, 'DELIVERED'],
  ['one more', MAX + 1, 'FAILED'],
] as const) {
  test(`interim answers, ${what}, in one piece with the answer or one by one`, async (t) => {
    const rider = await startRider(t);
    const interim = Array.from({ length: count }, (_, i) => KINDS[i % KINDS.length]!);
    const atOnce = await startRawReceiver(t, (socket) => socket.write(interim.join('') + OK));
    const inTurn = await startRawReceiver(t, async (socket) => {
      socket.setNoDelay(true);
      for (const part of [...interim, OK]) {
        socket.write(part);
        await new Promise((turn) => setImmediate(turn));
      }
    });
    for (const { url } of [atOnce, inTurn]) {
      assert.equal((await rider.ended(await rider.published(url, ONCE))).state, state);
    }
  });
}

test('few interim answers that are large count with the head: together they are limited', async (t) => {
  const rider = await startRider(t);
  const large = `HTTP/1.1 103 Early Hints\r\nLink: ${'x'.repeat(eachMax('answerHeadBytes') / 2)}\r\n\r\n`;
  const receiver = await startRawReceiver(t, (socket) => socket.write(large + large + OK));
  const { state, attempts } = await rider.ended(await rider.published(receiver.url, ONCE));
  assert.equal(state, 'FAILED');
  assert.equal(attempts[0]!.error, 'response headers are larger than 64 KiB');
});
