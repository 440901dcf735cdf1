// Section 5 of the spec: the Authorization header of both endpoints, in the Bearer and the Basic form, and who is
// turned away. How tokens are issued is not shown there; here it is the admin API.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Rider, refusal, ridersOfOneService, type TokenMade } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

/** The two endpoints of the spec, called with this very header. */
async function callBoth(rider: Rider, authorization: string | null) {
  const headers = authorization === null ? {} : { Authorization: authorization };
  const options = { token: null, headers };
  return [
    await rider.enqueue('q', 'http://127.0.0.1:1/', options),
    await rider.batch([{ destination: 'http://127.0.0.1:1/' }], options),
  ];
}

async function requireUnauthorized(rider: Rider, authorization: string | null): Promise<void> {
  for (const answer of await callBoth(rider, authorization)) {
    assert.match(refusal(answer, 401, 'unauthorized'), /^Authorization: /, String(authorization));
    assert.match(answer.headers['www-authenticate'] ?? '', /^Bearer realm="postrider"$/);
  }
}

function basic(text: string): string {
  return `Basic ${Buffer.from(text).toString('base64')}`;
}

test('5 authentication: every request carries an Authorization header; without it the response is 401', async (t) => {
  const rider = await startRider(t);
  await requireUnauthorized(rider, null);
  await requireUnauthorized(rider, '');
  assert.deepEqual((await rider.manage<{ usage: unknown[] }>('GET', '/v2/usage')).usage, []);
});

test('5 authentication: Bearer with a token is accepted', async (t) => {
  const rider = await startRider(t);
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    for (const answer of await callBoth(rider, `${scheme} ${rider.token}`)) assert.equal(answer.status, 201);
  }
});

test('5 authentication: a browser is never asked for a password, though Basic is accepted', async (t) => {
  const rider = await startRider(t);
  const browser = { Accept: 'text/html,application/xhtml+xml', 'Sec-Fetch-Mode': 'navigate' };
  for (const path of ['/v2/keys', '/v2/messages/msg_1', '/v2/publish/http://127.0.0.1:1/']) {
    const method = path.startsWith('/v2/publish') ? 'POST' : 'GET';
    for (const headers of [browser, { ...browser, Authorization: basic('wrong') }]) {
      const answer = await rider.call(method, path, { token: null, headers });
      refusal(answer, 401, 'unauthorized');
      assert.doesNotMatch(answer.headers['www-authenticate'] ?? '', /basic/i);
    }
  }
});

test('5 authentication: Basic is accepted with the token alone, as the user, and as the password', async (t) => {
  const rider = await startRider(t);
  const { token } = rider;
  for (const text of [`${token}`, `${token}:`, `anything:${token}`, `:${token}`, `two words:${token}`]) {
    for (const answer of await callBoth(rider, basic(text))) assert.equal(answer.status, 201, text);
  }
});

test('5 authentication: a wrong token is refused with 401 in either form', async (t) => {
  const rider = await startRider(t);
  const { token } = rider;
  const wrong = [
    'Bearer nonsense',
    `Bearer ${token}x`,
    `Bearer ${token!.toUpperCase()}`,
    `Bearer ${token!.slice(0, -1)}`,
    `Bearer ${token} ${token}`,
    `Bearer${token}`,
    'Bearer',
    'Bearer ',
    `${token}`,
    `Token ${token}`,
    `Digest ${token}`,
    basic('nonsense'),
    basic(`${token}:nonsense`),
    basic(':'),
    'Basic ',
    'Basic !!!',
    `Basic ${token}`,
    `Bearer ${basic(token!)}`,
  ];
  for (const authorization of wrong) await requireUnauthorized(rider, authorization);
});

test('5 authentication: nothing else in the request is checked before the token', async (t) => {
  const rider = await startRider(t);
  for (const path of ['/v2/enqueue/a%20b/x', '/v2/enqueue/q/', '/v2/enqueue/q/no-topic', '/v2/batch']) {
    refusal(await rider.call('POST', path, { token: 'wrong', body: 'not json' }), 401, 'unauthorized');
  }
});

test('5 authentication: a revoked token is refused with 401 at once', async (t) => {
  const rider = await startRider(t);
  const other = await rider.account('other');
  for (const answer of await callBoth(rider, `Bearer ${other.token}`)) assert.equal(answer.status, 201);
  await rider.manage('DELETE', `/v2/admin/accounts/${other.accountId}/tokens/${other.tokenId}`);
  await requireUnauthorized(rider, `Bearer ${other.token}`);
  await requireUnauthorized(rider, basic(`${other.token}:`));
});

test('5 authentication: a token without the scope is refused with 403, which names it', async (t) => {
  const rider = await startRider(t);
  const { accountId } = await rider.account('other');
  const reader = await rider.tokenFor(accountId, ['read', 'manage', 'admin']);
  for (const answer of await callBoth(rider, `Bearer ${reader.token}`)) {
    const error = refusal(answer, 403, 'forbidden');
    assert.match(error, /needs a token with the scope "publish"; this token has "read", "manage", "admin"/);
    assert.equal(answer.headers['www-authenticate'], undefined);
  }
  const publisher = await rider.tokenFor(accountId, ['publish']);
  for (const answer of await callBoth(rider, `Bearer ${publisher.token}`)) assert.equal(answer.status, 201);
  // Whoever knows a key can sign as the service does: to read is not enough.
  for (const scope of ['publish', 'read'] as const) {
    const { token } = await rider.tokenFor(accountId, [scope]);
    const error = refusal(await rider.call('GET', '/v2/keys', { token }), 403, 'forbidden');
    assert.match(error, /needs a token with the scope "manage"/);
    refusal(await rider.call('POST', '/v2/keys/rotate', { token }), 403, 'forbidden');
  }
});

test('5 authentication: a token is shown once, when it is created', async (t) => {
  const rider = await startRider(t);
  const made = await rider.account('other');
  assert.match(made.token, /^pr_[\w-]{32}$/);
  const listed = await rider.call('GET', `/v2/admin/tokens?accountId=${made.accountId}`);
  assert.equal(listed.text.includes(made.token), false);
  const { tokens } = listed.json<{ tokens: Omit<TokenMade, 'token'>[] }>();
  assert.deepEqual(
    tokens.map(({ tokenId }) => tokenId),
    [made.tokenId],
  );
});

test('5 authentication: an account sees nothing of another one', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const { token } = await rider.account('other');
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [{ url: receiver.url }] });
  const messageId = await rider.accepted(receiver.url);
  refusal(await rider.call('GET', `/v2/messages/${messageId}`, { token }), 404, 'message_not_found');
  refusal(await rider.enqueue('q', 'news', { token }), 404, 'topic_not_found');
  assert.deepEqual((await rider.call('GET', '/v2/topics', { token })).json(), []);
});

test('5 authentication: queues of the same name in two accounts do not delay each other', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 'hang');
  const { token } = await rider.account('other');
  await rider.accepted(`${receiver.url}/mine`, { queue: 'same' });
  await rider.accepted(`${receiver.url}/theirs`, { queue: 'same', token });
  const arrivals = await receiver.received(2);
  assert.deepEqual(arrivals.map(({ target }) => target).sort(), ['/mine', '/theirs']);
});
