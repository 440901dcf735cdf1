// The budgets of answers: what a receiver sends is limited while it comes and when it is kept, and what has no end is cut
// off. The clock stands still in all of these tests: nothing here waits for a deadline.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import { type Rider, ridersOfOneService } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';
import { poolUsed } from './pools.ts';
import { pour, startRawReceiver } from './raw-receiver.ts';

const startRider = ridersOfOneService();

const HEAD = 'HTTP/1.1 200 OK\r\n';
const END = 'Content-Length: 2\r\n\r\nok';
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;
const ONCE = { headers: { 'Service-Retries': '0' } };

interface Answer {
  readonly responseStatus?: number;
  readonly responseHeader?: Readonly<Record<string, readonly string[]>>;
  readonly responseBody?: string;
  readonly isResponseBodyCut?: boolean;
}

/** The one attempt of a message to this receiver. */
async function attemptAt(rider: Rider, url: string, token = rider.token!) {
  const { state, attempts } = await rider.ended(await rider.published(url, { ...ONCE, token }), token);
  assert.equal(attempts.length, 1);
  return { state, ...(attempts[0] as Answer & { error?: string }) };
}

test('of many headers the first are kept, of large ones those that fit', async (t) => {
  const rider = await startRider(t);
  const many = Array.from({ length: 999 }, (_, i) => `X-${i}: ${i}\r\n`).join('');
  const receiver = await startRawReceiver(t, (socket) => socket.write(HEAD + many + END));
  const kept = (await attemptAt(rider, receiver.url)).responseHeader!;
  assert.deepEqual(
    Object.keys(kept),
    Array.from({ length: eachMax('keptHeaders') }, (_, i) => `X-${i}`),
  );

  const large = 'x'.repeat(eachMax('answerHeaderBytes'));
  const other = await startRawReceiver(t, (socket) => socket.write(`${HEAD}X-Large: ${large}\r\nX-Small: 1\r\n${END}`));
  const { state, responseHeader } = await attemptAt(rider, other.url);
  assert.equal(state, 'DELIVERED');
  assert.deepEqual(responseHeader, { 'X-Small': ['1'], 'Content-Length': ['2'] });
});

test('6,000 headers on every connection: the attempts fail, and another account is delivered to', async (t) => {
  const rider = await startRider(t);
  const hostile = await rider.account('hostile');
  const quiet = await rider.account('quiet');
  const good = await startReceiver(t);
  // The body never comes: whatever is held for the headers is held.
  const receiver = await startRawReceiver(t, (socket) =>
    socket.write(`${HEAD}${'a:b\r\n'.repeat(6_000)}${END.slice(0, -1)}`),
  );
  const ids: string[] = [];
  for (let i = 0; i < 30; i += 1) ids.push(await rider.published(receiver.url, { ...ONCE, token: hostile.token }));
  assert.equal((await attemptAt(rider, good.url, quiet.token)).state, 'DELIVERED');
  for (const id of ids) {
    const { attempts } = await rider.ended(id, hostile.token);
    assert.equal(attempts[0]!.error, `response has more than ${eachMax('answerHeaders')} headers`);
  }
  await waitFor('the connections to be cut off', () => receiver.open.size === 0);
});

test('a head that comes byte by byte is held in the memory for answers, which is given back', async (t) => {
  const rider = await startRider(t);
  const heldBytes = 40_000;
  let letGo = () => {};
  const receiver = await startRawReceiver(t, (socket) => {
    socket.write(`${HEAD}X-Long: `);
    socket.write('x'.repeat(heldBytes));
    letGo = () => socket.write(`\r\n${END}`);
  });
  const id = await rider.published(receiver.url, ONCE);
  await waitFor('the head to be held', async () => (await poolUsed(rider, 'answers')) >= heldBytes);
  assert.ok((await poolUsed(rider, 'answers')) < 3 * heldBytes);
  letGo();
  assert.equal((await rider.ended(id)).state, 'DELIVERED');
  assert.equal(await poolUsed(rider, 'answers'), 0);
});

for (const [what, start, block] of [
  ['chunk extensions', `${CHUNKED}2;`, 'x'.repeat(1_000)],
  ['chunks with large extensions', CHUNKED, `2;${'x'.repeat(1_000)}\r\nok\r\n`],
  ['trailers', `${CHUNKED}2\r\nok\r\n0\r\n`, 'X-T: 1\r\n'.repeat(1_000)],
  ['one trailer', `${CHUNKED}2\r\nok\r\n0\r\nX-T: `, 'x'.repeat(1_000)],
  ['a chunk length', `${CHUNKED}2\r\nok\r\n`, '0'.repeat(1_000)],
] as const) {
  test(`an endless flood of ${what}: the answer is what had come, and the connection is cut off`, async (t) => {
    const rider = await startRider(t);
    const receiver = await startRawReceiver(t, (socket) => {
      socket.write(start);
      pour(socket, block);
    });
    const { state, responseStatus, isResponseBodyCut } = await attemptAt(rider, receiver.url);
    assert.equal(state, 'DELIVERED');
    assert.equal(responseStatus, 200);
    assert.equal(isResponseBodyCut, true);
    await waitFor('the connection to be cut off', () => receiver.open.size === 0);
    assert.equal(await poolUsed(rider, 'answers'), 0);
  });
}

/** All messages to a receiver use the same connection, one after the other. */
const ONE_CONNECTION = { flags: ['--host-concurrency', '1'] };

test('an answer in chunks of one byte is read up to a number of chunks, and the rest is cut off', async (t) => {
  const rider = await startRider(t, ONE_CONNECTION);
  const max = eachMax('answerChunks');
  let count = max;
  const receiver = await startRawReceiver(t, (socket) => {
    socket.write(`${CHUNKED}${'1\r\nx\r\n'.repeat(count)}`);
    if (count === max) socket.write('0\r\n\r\n');
    else pour(socket, '1\r\nx\r\n'.repeat(1_000));
  });
  const whole = await attemptAt(rider, receiver.url);
  assert.deepEqual([whole.responseBody?.length, whole.isResponseBodyCut], [max, undefined]);
  count = 1;
  const cut = await attemptAt(rider, receiver.url);
  assert.deepEqual([cut.state, cut.responseBody?.length, cut.isResponseBodyCut], ['DELIVERED', max, true]);
  await waitFor('the connection to be cut off', () => receiver.open.size === 0);
});

test('chunk extensions and trailers within their limit are passed over, however they are cut, on one connection', async (t) => {
  const rider = await startRider(t, ONE_CONNECTION);
  const answer = `${CHUNKED}5;a=b;c="d"\r\nhello\r\n1\r\n!\r\n0;last\r\nX-T: 1\r\nX-U: 2\r\n\r\n`;
  let pieceBytes = answer.length;
  const receiver = await startRawReceiver(t, async (socket) => {
    socket.setNoDelay(true);
    for (let at = 0; at < answer.length; at += pieceBytes) {
      socket.write(answer.slice(at, at + pieceBytes));
      await new Promise((turn) => setImmediate(turn));
    }
  });
  for (pieceBytes of [answer.length, 7, 3, 1]) {
    const { state, responseBody, isResponseBodyCut } = await attemptAt(rider, receiver.url);
    assert.equal(state, 'DELIVERED');
    assert.equal(responseBody, 'hello!');
    assert.equal(isResponseBodyCut, undefined);
  }
  assert.equal(receiver.open.size, 1);
});

test('an endless body and nonsense behind an answer end with the connection', async (t) => {
  const rider = await startRider(t);
  const endless = await startRawReceiver(t, (socket) => {
    socket.write(`${HEAD}\r\n`);
    pour(socket, 'x'.repeat(10_000));
  });
  assert.equal((await attemptAt(rider, endless.url)).isResponseBodyCut, true);
  const nonsense = await startRawReceiver(t, (socket) => {
    socket.write(HEAD + END);
    pour(socket, 'nonsense');
  });
  assert.equal((await attemptAt(rider, nonsense.url)).responseBody, 'ok');
  await waitFor('the connections to be cut off', () => endless.open.size + nonsense.open.size === 0);
  assert.equal(await poolUsed(rider, 'answers'), 0);
});
