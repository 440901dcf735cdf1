// Long bodies of management calls: of one account some are worked on at once, and the others wait unparsed. Short ones
// and other accounts do not wait, and a caller that has gone leaves nothing behind.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountMax } from '../../../src/rules/limits/budgets.ts';
import { type Rider, sharedRider } from '../../support/harness.ts';
import { RawCaller } from '../../support/raw-caller.ts';
import { waitFor } from '../../support/wait.ts';
import { holdVerb } from './held-verb.ts';
import { poolUsed } from './pools.ts';

const PADDING = 'p'.repeat(1000);
/** Of which two are too much. */
const LONG_COUNT = Math.ceil(accountMax('managementBytes') / 2 / PADDING.length);
const shared = sharedRider();

const bodyOf = (endpoints: number) =>
  JSON.stringify({
    endpoints: Array.from({ length: endpoints }, (_, n) => ({ url: `http://127.0.0.1:9/${n}?${PADDING}` })),
  });
const LONG = bodyOf(LONG_COUNT);
const SHORT = bodyOf(1);

function add(rider: Rider, token: string, topic: string, body: string) {
  return rider.call('POST', `/v2/topics/${topic}/endpoints`, { token, body });
}

test('long bodies of an account are worked on one after the other; short ones and other accounts do not wait', async (t) => {
  const rider = shared();
  const { token } = await rider.account('long-bodies');
  const { token: other } = await rider.account('beside-long-bodies');
  assert.ok(2 * LONG.length > accountMax('managementBytes'));
  const held = holdVerb(t, rider, 'saveTopic');

  const first = add(rider, token, 'first', LONG);
  await waitFor('the first to reach the store', () => held.waiting() === 1);
  const bad = add(rider, token, 'second', `${LONG}]`);
  await waitFor('the second to be received', async () => (await poolUsed(rider, 'uploads')) >= 2 * LONG.length);
  let isBadAnswered = false;
  void bad.then(() => {
    isBadAnswered = true;
  });
  const third = add(rider, token, 'third', LONG);
  await waitFor('the third to be received', async () => (await poolUsed(rider, 'uploads')) >= 3 * LONG.length);
  const short = add(rider, token, 'short', SHORT);
  const beside = add(rider, other, 'beside', LONG);
  await waitFor('the short one and that of the other account', () => held.waiting() === 3);
  // Not even parsed, else it would have been refused.
  assert.equal(isBadAnswered, false);

  held.letGo();
  assert.deepEqual(
    (await Promise.all([first, bad, third, short, beside])).map(({ status }) => status),
    [200, 400, 200, 200, 200],
  );
  assert.equal(await poolUsed(rider, 'uploads'), 0);
});

test('what waits counts as held although its caller has gone, is never carried out, and leaves nothing behind', async (t) => {
  const rider = shared();
  const { token } = await rider.account('leaves-while-it-waits');
  const held = holdVerb(t, rider, 'saveTopic');
  const first = add(rider, token, 'first', LONG);
  await waitFor('the first to reach the store', () => held.waiting() === 1);
  const caller = await RawCaller.dial(t, rider.url);
  const head = `Host: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Length: ${LONG.length}`;
  caller.say(`POST /v2/topics/gone/endpoints HTTP/1.1\r\n${head}\r\n\r\n${LONG}`);
  await waitFor('its body to be received', async () => (await poolUsed(rider, 'uploads')) >= 2 * LONG.length);
  const connections = await poolUsed(rider, 'connections');
  caller.socket.resetAndDestroy();
  await waitFor('its end to be noticed', async () => (await poolUsed(rider, 'connections')) < connections);
  assert.ok((await poolUsed(rider, 'uploads')) >= 2 * LONG.length);

  held.letGo();
  assert.equal((await first).status, 200);
  assert.equal((await add(rider, token, 'next', LONG)).status, 200);
  assert.equal((await rider.call('GET', '/v2/topics/gone', { token })).status, 404);
  await waitFor('nothing to be held', async () => (await poolUsed(rider, 'uploads')) === 0);
});
