// Who was let in is put out again: signing out ends a session on the server, a revoked token ends its sessions and its
// live streams, and nobody is signed in as somebody else without a word.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type Answered, ask } from '../../support/client.ts';
import { type Rider, refusal, sharedRider, startRider, temporaryFolder } from '../../support/harness.ts';
import { lacks } from '../../support/machine.ts';
import { openTail } from '../../support/tail.ts';
import { waitFor } from '../../support/wait.ts';

const OWN = { 'X-Postrider-Console': '1' };
const DAY_MS = 86_400_000;

function signIn({ url }: Rider, token: string, cookie?: string, more: object = {}): Promise<Answered> {
  const headers = { ...OWN, ...(cookie !== undefined && { Cookie: cookie }) };
  return ask(url, '/console/session', { method: 'POST', headers, body: JSON.stringify({ token, ...more }) });
}

function cookieOf(answer: Answered): string {
  assert.equal(answer.status, 204, answer.text);
  return answer.headers['set-cookie']![0]!.split(';')[0]!;
}

function signOut({ url }: Rider, cookie: string): Promise<Answered> {
  return ask(url, '/console/session', { method: 'DELETE', headers: { ...OWN, Cookie: cookie } });
}

function read({ url }: Rider, cookie: string): Promise<Answered> {
  return ask(url, '/v2/account', { headers: { ...OWN, Cookie: cookie } });
}

suite('a session', () => {
  const shared = sharedRider();

  test('a copied cookie no longer works once its owner has signed out', async () => {
    const rider = shared();
    const cookie = cookieOf(await signIn(rider, rider.token!));
    const other = cookieOf(await signIn(rider, rider.token!));
    assert.equal((await read(rider, cookie)).status, 200);
    assert.equal((await signOut(rider, cookie)).status, 204);
    refusal(await read(rider, cookie), 401, 'unauthorized');
    assert.equal((await read(rider, other)).status, 200, 'a session of the same token elsewhere goes on');
    assert.equal((await signOut(rider, cookie)).status, 204, 'signing out twice is the same as once');
  });

  test('its cookie holds neither the token nor anything that works as one', async () => {
    const rider = shared();
    const cookie = cookieOf(await signIn(rider, rider.token!));
    const secret = cookie.split('=')[1]!;
    assert.match(secret, /^ses_[\w-]{32}$/);
    const texts = [cookie, Buffer.from(secret, 'base64url').toString('utf8')];
    for (const text of texts) assert.equal(text.includes(rider.token!), false);
    refusal(await rider.call('GET', '/v2/account', { token: secret }), 401, 'unauthorized');
    for (const value of [rider.token!, Buffer.from(rider.token!).toString('base64url')]) {
      refusal(await read(rider, `postrider_session=${value}`), 401, 'unauthorized');
    }
  });

  test('ends with its token, and so do all others of the token', async () => {
    const rider = shared();
    const made = await rider.account('visitor');
    const cookies = [cookieOf(await signIn(rider, made.token)), cookieOf(await signIn(rider, made.token))];
    for (const cookie of cookies) assert.equal((await read(rider, cookie)).status, 200);
    await rider.manage('DELETE', `/v2/admin/accounts/${made.accountId}/tokens/${made.tokenId}`);
    for (const cookie of cookies) refusal(await read(rider, cookie), 401, 'unauthorized');
  });

  test('is not exchanged for another by whoever signs in, unless they say that they mean it', async () => {
    const rider = shared();
    const mine = cookieOf(await signIn(rider, rider.token!));
    const stranger = await rider.account('stranger');
    const refused = await signIn(rider, stranger.token, mine);
    assert.match(refusal(refused, 409, 'session_active'), /signed in with the token "dev" of the account "dev"/);
    assert.equal(refused.headers['set-cookie'], undefined);
    assert.equal((await read(rider, mine)).json<{ name: string }>().name, 'dev');
    const changed = cookieOf(await signIn(rider, stranger.token, mine, { switch: true }));
    assert.equal((await read(rider, changed)).json<{ name: string }>().name, 'stranger');
    refusal(await read(rider, mine), 401, 'unauthorized');
    const again = cookieOf(await signIn(rider, stranger.token, changed));
    refusal(await read(rider, changed), 401, 'unauthorized');
    assert.equal((await read(rider, again)).status, 200, 'the same token may sign in anew');
    refusal(await signIn(rider, stranger.token, again, { switch: 'yes' }), 400, 'bad_body');
  });

  test('that has ended stands in nobody’s way', async () => {
    const rider = shared();
    const stranger = await rider.account('next');
    const gone = cookieOf(await signIn(rider, rider.token!));
    await signOut(rider, gone);
    for (const cookie of [gone, 'postrider_session=nonsense', 'postrider_session=']) {
      assert.equal((await signIn(rider, stranger.token, cookie)).status, 204, cookie);
    }
  });
});

test('a session ends by itself after seven days', async (t) => {
  const rider = await startRider(t);
  const cookie = cookieOf(await signIn(rider, rider.token!));
  await rider.advance(6 * DAY_MS);
  assert.equal((await read(rider, cookie)).status, 200);
  await rider.advance(DAY_MS);
  refusal(await read(rider, cookie), 401, 'unauthorized');
});

test('a session is still there after a restart, and one that was signed out is not', async (t) => {
  const data = temporaryFolder(t);
  const before = await startRider(t, { data });
  const [kept, ended] = [cookieOf(await signIn(before, before.token!)), cookieOf(await signIn(before, before.token!))];
  await signOut(before, ended);
  await before.close();
  const after = await startRider(t, { data });
  assert.equal((await read(after, kept)).status, 200);
  refusal(await read(after, ended), 401, 'unauthorized');
});

test('live streams end at once with their token, and those of others go on', async (t) => {
  const rider = await startRider(t);
  const made = await rider.account('reader');
  const kept = await rider.tokenFor(made.accountId, ['read']);
  const theirs = (await openTail(t, rider, { token: made.token })).read();
  const sameAccount = (await openTail(t, rider, { token: kept.token })).read();
  const mine = (await openTail(t, rider)).read();
  await rider.manage('DELETE', `/v2/admin/accounts/${made.accountId}/tokens/${made.tokenId}`);
  await waitFor('the end of the stream', () => theirs.isEnded);
  await rider.published('http://127.0.0.1:1/', { headers: { 'Service-Delay': '1d' } });
  await mine.received(1);
  assert.deepEqual([mine.isEnded, sameAccount.isEnded, theirs.events.length], [false, false, 0]);
});

test('a live stream of the console ends when its session is signed out, not with another session', async (t) => {
  const rider = await startRider(t);
  const [first, second] = [cookieOf(await signIn(rider, rider.token!)), cookieOf(await signIn(rider, rider.token!))];
  const mine = (await openTail(t, rider, { headers: { ...OWN, Cookie: first } })).read();
  const other = (await openTail(t, rider, { headers: { ...OWN, Cookie: second } })).read();
  await signOut(rider, first);
  await waitFor('the end of the stream', () => mine.isEnded);
  await rider.published('http://127.0.0.1:1/', { headers: { 'Service-Delay': '1d' } });
  await other.received(1);
  assert.equal(other.isEnded, false);
});

test('a token revoked on another node ends streams and sessions here when the store is asked next, within 5 s', {
  skip: lacks('postgres'),
}, async (t) => {
  const data = temporaryFolder(t);
  const [here, there] = [await startRider(t, { data }), await startRider(t, { data })];
  const made = await here.account('reader');
  const cookie = cookieOf(await signIn(here, made.token));
  const signedOut = cookieOf(await signIn(here, here.token!));
  const tail = (await openTail(t, here, { token: made.token })).read();
  const inConsole = (await openTail(t, here, { headers: { ...OWN, Cookie: cookie } })).read();
  const other = (await openTail(t, here)).read();
  for (const each of [cookie, signedOut]) assert.equal((await read(here, each)).status, 200);
  await there.manage('DELETE', `/v2/admin/accounts/${made.accountId}/tokens/${made.tokenId}`);
  await signOut(there, signedOut);
  here.clock.advance(5000);
  await waitFor('the end of the streams', () => tail.isEnded && inConsole.isEnded);
  for (const each of [cookie, signedOut]) refusal(await read(here, each), 401, 'unauthorized');
  assert.equal(other.isEnded, false);
});
