// The budget of console sessions: a token has so many, the oldest gives way, and nobody else notices.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import { ask } from '../../support/client.ts';
import { type Rider, refusal, startRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const OWN = { 'X-Postrider-Console': '1' };

async function signIn({ url }: Rider, token: string): Promise<string> {
  const body = JSON.stringify({ token });
  const answer = await ask(url, '/console/session', { method: 'POST', headers: OWN, body });
  assert.equal(answer.status, 204, answer.text);
  return answer.headers['set-cookie']![0]!.split(';')[0]!;
}

const read = ({ url }: Rider, cookie: string) => ask(url, '/v2/account', { headers: { ...OWN, Cookie: cookie } });

test('whoever signs in again and again ends their own oldest sessions, and no others', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const hostile = await rider.account('hostile');
  const quiet = await rider.account('quiet');
  const theirs = await signIn(rider, quiet.token);
  const max = eachMax('sessions');
  const cookies: string[] = [];
  for (let n = 0; n < max; n += 1) cookies.push(await signIn(rider, hostile.token));
  for (const cookie of [cookies[0]!, cookies.at(-1)!]) assert.equal((await read(rider, cookie)).status, 200);

  // At this very moment all were made at the same time; a moment later the order is known.
  rider.clock.advance(10_000);
  const messageId = await rider.published(receiver.url, { token: quiet.token });
  const more = [await signIn(rider, hostile.token), await signIn(rider, hostile.token)];
  const left: string[] = [];
  for (const cookie of cookies) {
    const answer = await read(rider, cookie);
    if (answer.status === 200) left.push(cookie);
    else refusal(answer, 401, 'unauthorized');
  }
  assert.equal(left.length, max - more.length);
  for (const cookie of [...more, theirs]) assert.equal((await read(rider, cookie)).status, 200);
  assert.equal((await rider.ended(messageId, quiet.token)).state, 'DELIVERED');
});
