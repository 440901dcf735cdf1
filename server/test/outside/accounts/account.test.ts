// api.md, sections 1, 4 and 6: what an account may do and has done: usage, quotas, limits of its tier, signing keys.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SCOPES } from '../../../src/rules/accounts/account.ts';
import { refusal, startRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

interface Usage {
  readonly fromDay: string;
  readonly toDay: string;
  readonly usage: readonly { readonly day: string; readonly kind: string; readonly count: number }[];
}

const NOWHERE = 'http://127.0.0.1:1/';
const LATER = { 'Service-Delay': '30d' };
const DAY_MS = 86_400_000;
const tiers = (free: object) => ({ flags: ['--tiers', JSON.stringify({ free })] });

test('GET /v2/usage: one a message, an endpoint, a run and a callback, by day and kind', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const endpoints = [{ url: `${receiver.url}/a` }, { url: `${receiver.url}/b` }];
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints });
  await rider.publish('news');
  await rider.published(receiver.url, { headers: { 'Service-Callback': `${receiver.url}/callback` } });
  await receiver.received(4);
  await rider.call('POST', `/v2/schedules/${receiver.url}`, { headers: { 'Service-Cron': '0 0 2 1 *' } });
  await rider.advance(DAY_MS);
  await receiver.received(5);
  const { usage, fromDay, toDay } = await rider.manage<Usage>('GET', '/v2/usage');
  assert.deepEqual([fromDay, toDay], ['2025-12-03', '2026-01-02']);
  assert.deepEqual(
    usage.toSorted((a, b) => (a.day + a.kind < b.day + b.kind ? -1 : 1)),
    [
      { day: '2026-01-01', kind: 'callback', count: 1 },
      { day: '2026-01-01', kind: 'publish', count: 3 },
      { day: '2026-01-02', kind: 'schedule', count: 1 },
    ],
  );
  const one = await rider.manage<Usage>('GET', '/v2/usage?fromDay=2026-01-02&toDay=2026-01-02');
  assert.deepEqual(one.usage, [{ day: '2026-01-02', kind: 'schedule', count: 1 }]);
});

test('GET /v2/usage: a day that no calendar has is refused', async (t) => {
  const rider = await startRider(t);
  for (const day of ['2026-13-01', '2026-02-30', '2026-00-10', '2026-1-1', 'today', '']) {
    for (const name of ['fromDay', 'toDay']) {
      assert.match(refusal(await rider.call('GET', `/v2/usage?${name}=${day}`), 400, 'bad_parameter'), /Day/, day);
    }
  }
  await rider.manage('GET', '/v2/usage?fromDay=2024-02-29&toDay=2026-12-31');
});

test('Usage: over the quota of the day 429 with Retry-After and RateLimit headers, and nothing is accepted', async (t) => {
  const rider = await startRider(t, tiers({ messagesPerDayMax: 3 }));
  await rider.advance(3_600_000);
  await rider.published(NOWHERE, { headers: LATER });
  const batch = await rider.batch(Array(3).fill({ destination: NOWHERE, headers: LATER }));
  refusal(batch, 429, 'quota_exceeded');
  await rider.batch(Array(2).fill({ destination: NOWHERE, headers: LATER }));
  const answer = await rider.enqueue('q', NOWHERE, { headers: LATER });
  refusal(answer, 429, 'quota_exceeded');
  const seconds = String(23 * 3600);
  assert.equal(answer.headers['retry-after'], seconds);
  assert.equal(answer.headers['ratelimit-limit'], '3');
  assert.equal(answer.headers['ratelimit-remaining'], '0');
  assert.equal(answer.headers['ratelimit-reset'], seconds);
  const { messages } = await rider.manage<{ messages: unknown[] }>('GET', '/v2/messages');
  assert.equal(messages.length, 3);
  await rider.advance(23 * 3_600_000);
  await rider.published(NOWHERE, { headers: LATER });
});

test('Limits: too many queues, schedules or topics are refused with 412; those that are there can be changed', async (t) => {
  const rider = await startRider(t, tiers({ queuesMax: 1, schedulesMax: 1, topicsMax: 1 }));
  const topic = (name: string) =>
    rider.call('POST', `/v2/topics/${name}/endpoints`, { body: JSON.stringify({ endpoints: [{ url: NOWHERE }] }) });
  assert.equal((await topic('a')).status, 200);
  assert.match(refusal(await topic('b'), 412, 'limit_exceeded'), /^topics: at most 1 on the free tier/);
  assert.equal((await topic('a')).status, 200);
  await rider.manage('DELETE', '/v2/topics/a');
  assert.equal((await topic('b')).status, 200);
  const queue = (queueName: string) => rider.call('POST', '/v2/queues', { body: JSON.stringify({ queueName }) });
  assert.equal((await queue('a')).status, 200);
  assert.match(refusal(await queue('b'), 412, 'limit_exceeded'), /^queues: at most 1 on the free tier/);
  assert.equal((await queue('a')).status, 200);
  const schedule = (id: string) => {
    const headers = { 'Service-Cron': '0 0 1 1 *', 'Service-Schedule-Id': id };
    return rider.call('POST', `/v2/schedules/${NOWHERE}`, { headers });
  };
  assert.equal((await schedule('a')).status, 201);
  assert.match(refusal(await schedule('b'), 412, 'limit_exceeded'), /^schedules: at most 1 on the free tier/);
  assert.equal((await schedule('a')).status, 201);
  await rider.manage('DELETE', '/v2/schedules/a');
  assert.equal((await schedule('b')).status, 201);
});

test('GET /v2/keys and POST /v2/keys/rotate: the next key becomes the current one', async (t) => {
  const rider = await startRider(t);
  const before = await rider.manage<{ current: string; next: string }>('GET', '/v2/keys');
  const rotated = await rider.manage<{ current: string; next: string }>('POST', '/v2/keys/rotate');
  assert.equal(rotated.current, before.next);
  assert.match(rotated.next, /^sig_/);
  assert.equal(new Set([before.current, before.next, rotated.next]).size, 3);
  assert.deepEqual(await rider.manage('GET', '/v2/keys'), rotated);
});

test('/v2/admin/accounts and /v2/admin/tokens: made, listed, changed, revoked', async (t) => {
  const rider = await startRider(t);
  const { accountId, token, tokenId } = await rider.account('shop', 'free', ['read']);
  assert.equal((await rider.call('GET', '/v2/account', { token })).status, 200);
  refusal(await rider.call('GET', '/v2/admin/accounts', { token }), 403, 'forbidden');
  const paid = await rider.manage<{ tier: string }>('PATCH', `/v2/admin/accounts/${accountId}`, { tier: 'paid' });
  assert.equal(paid.tier, 'paid');
  const { accounts } = await rider.manage<{ accounts: { name: string }[] }>('GET', '/v2/admin/accounts');
  assert.deepEqual(accounts.map(({ name }) => name).sort(), ['dev', 'shop']);
  await rider.manage('DELETE', `/v2/admin/accounts/${accountId}/tokens/${tokenId}`);
  refusal(await rider.call('GET', '/v2/account', { token }), 401, 'unauthorized');
  const path = `/v2/admin/tokens?accountId=${accountId}`;
  const { tokens } = await rider.manage<{ tokens: { tokenId: string; revokedAt?: number }[] }>('GET', path);
  assert.deepEqual(
    tokens.map((each) => [each.tokenId, each.revokedAt]),
    [[tokenId, rider.clock.now()]],
  );
});

test('GET /v2/keys: a token that may only read does not see what signatures are made with', async (t) => {
  const rider = await startRider(t);
  const { accountId, token } = await rider.account('shop');
  const reader = await rider.tokenFor(accountId, ['publish', 'read', 'admin']);
  assert.match(refusal(await rider.call('GET', '/v2/keys', { token: reader.token }), 403, 'forbidden'), /"manage"/);
  const manager = await rider.tokenFor(accountId, ['manage']);
  const keys = (await rider.call('GET', '/v2/keys', { token })).text;
  assert.match(keys, /sig_/);
  assert.equal((await rider.call('GET', '/v2/keys', { token: manager.token })).text, keys);
});

test('/v2/admin/tokens: of all admin tokens, revoked at once by each other, one is left and still gets in', async (t) => {
  const rider = await startRider(t);
  const own = await rider.manage<{ accountId: string; token: { tokenId: string } }>('GET', '/v2/account');
  const tokens = [{ token: rider.token!, tokenId: own.token.tokenId }];
  for (let n = 0; n < 3; n += 1) tokens.push(await rider.tokenFor(own.accountId, n % 2 === 0 ? ['admin'] : SCOPES));
  const path = ({ tokenId }: { tokenId: string }) => `/v2/admin/accounts/${own.accountId}/tokens/${tokenId}`;
  // Each revokes the next one, so that nobody is refused for having been revoked before it asked for itself.
  const answers = await Promise.all(
    tokens.map((each, n) => rider.call('DELETE', path(tokens[(n + 1) % tokens.length]!), { token: each.token })),
  );
  const left: string[] = [];
  for (const { token } of tokens) {
    const answer = await rider.call('GET', '/v2/admin/accounts', { token });
    if (answer.status === 200) left.push(token);
    else refusal(answer, 401, 'unauthorized');
  }
  assert.ok(left.length > 0, answers.map(({ status, text }) => `${status} ${text}`).join('\n'));
  // And the way on is open: with one more, the one before can go.
  const before = tokens.find(({ token }) => token === left[0])!;
  for (const each of tokens.filter(({ token }) => left.slice(1).includes(token))) {
    assert.equal((await rider.call('DELETE', path(each), { token: left[0]! })).status, 200);
  }
  assert.match(
    refusal(await rider.call('DELETE', path(before), { token: left[0]! }), 409, 'last_admin_token'),
    /create another such token first/,
  );
  const body = JSON.stringify({ accountId: own.accountId, name: 'next', scopes: ['admin'] });
  const made = await rider.call('POST', '/v2/admin/tokens', { token: left[0]!, body });
  const next = made.json<{ token: string }>().token;
  assert.equal((await rider.call('DELETE', path(before), { token: next })).status, 200);
  refusal(await rider.call('GET', '/v2/admin/accounts', { token: left[0]! }), 401, 'unauthorized');
});
