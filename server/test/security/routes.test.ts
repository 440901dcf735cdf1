// Every call the service takes × everybody who may not make it. The list of calls comes from the running service, so
// that a new route is in the matrix the moment it exists.

import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import { SCOPES, type Scope } from '../../src/domain/account.ts';
import { type CallOptions, type Rider, refusal, sharedRider, type TokenMade } from '../http/harness.ts';

interface Call {
  readonly method: string;
  readonly path: string;
  readonly scope: Scope | null;
}

/** Handled before the router, so they are not in its list. */
const PUBLISHING: readonly Call[] = [
  { method: 'POST', path: '/v2/enqueue/q/http://127.0.0.1:1/', scope: 'publish' },
  { method: 'POST', path: '/v2/publish/http://127.0.0.1:1/', scope: 'publish' },
  { method: 'POST', path: '/v2/batch', scope: 'publish' },
];

/** What anybody may read. A route without a scope that is not named here is a mistake. */
const OPEN: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics', '/openapi.json']);

/** A body that the call would take, so that only the caller can be what is wrong with it. */
function bodyFor({ method, path }: Call): Pick<CallOptions, 'body'> {
  const endpoints = [{ url: 'http://127.0.0.1:1/' }];
  if (path.endsWith('/batch')) return { body: JSON.stringify([{ destination: endpoints[0]!.url }]) };
  if (path.startsWith('/v2/topics') && method !== 'GET') return { body: JSON.stringify({ endpoints }) };
  if (path === '/v2/admin/accounts/:accountId') return { body: '{"tier":"paid"}' };
  return method === 'GET' ? {} : { body: '{}' };
}

/** What belongs to one account and must mean nothing to another. */
interface Belongings {
  readonly messageId: string;
  readonly topicId: string;
  readonly topicName: string;
}

suite('every call', () => {
  let rider: Rider;
  let owner: TokenMade;
  let belongings: Belongings;
  let calls: readonly Call[];
  const shared = sharedRider();

  before(async () => {
    rider = shared();
    calls = [...PUBLISHING, ...rider.postrider.routes];
    owner = await rider.account('owner');
    const { token } = owner;
    const topicName = 'topic-of-the-owner';
    const endpoints = [{ url: 'http://127.0.0.1:1/of-the-owner' }];
    const topic = await rider.manage<{ id: string }>('POST', `/v2/topics/${topicName}/endpoints`, { endpoints }, token);
    const headers = { 'Service-Delay': '1d' };
    const messageId = await rider.accepted('http://127.0.0.1:1/', { token, headers });
    belongings = { messageId, topicId: topic.id, topicName };
  });

  /** The path with its parameters filled in. A new kind of parameter must be added here, on purpose. */
  function pathWith(path: string, values: Readonly<Record<string, string>>): string {
    return path.replaceAll(/(?<=\/):(\w+)/g, (_whole, name: string) => {
      const value = values[name];
      assert.ok(value !== undefined, `${path}: say in this test what a :${name} of another account is`);
      return value;
    });
  }

  const mine = () => ({
    messageId: belongings.messageId,
    name: belongings.topicName,
    accountId: owner.accountId,
    tokenId: owner.tokenId,
  });

  function call({ method, path, scope }: Call, token: string | null, values = mine()) {
    return rider.call(method, pathWith(path, values), { ...bodyFor({ method, path, scope }), token });
  }

  test('is known: the service has routes, and each has a scope or is meant to be open', () => {
    assert.ok(calls.length > 15, `only ${calls.length} calls were read`);
    for (const { method, path, scope } of calls) {
      if (scope === null) assert.ok(OPEN.has(path), `${method} ${path} can be called by anybody`);
      else assert.ok(SCOPES.includes(scope));
    }
  });

  test('needs a scope that fits: to change something more than "read", under /v2/admin nothing less than "admin"', () => {
    for (const { method, path, scope } of calls) {
      if (path.startsWith('/v2/admin/')) assert.equal(scope, 'admin', `${method} ${path}`);
      else if (method !== 'GET') assert.ok(scope === 'publish' || scope === 'manage', `${method} ${path}: ${scope}`);
    }
  });

  test('that is open answers without a token, and tells nothing of any account', async () => {
    for (const each of calls.filter(({ scope }) => scope === null)) {
      const answer = await call(each, null);
      assert.equal(answer.status, 200, each.path);
      requireNothingOf(answer.text, each);
    }
  });

  test('is refused with 401 without a token', async () => {
    for (const each of calls.filter(({ scope }) => scope !== null)) {
      const answer = await call(each, null);
      assert.match(refusal(answer, 401, 'unauthorized'), /^Authorization: /, `${each.method} ${each.path}`);
      assert.ok(answer.headers['www-authenticate']);
      if (each.method !== 'GET') continue;
      const head = await rider.call('HEAD', pathWith(each.path, mine()), { token: null });
      assert.equal(head.status, 401, `HEAD ${each.path}`);
    }
  });

  test('is refused with 401 with a token that is not known', async () => {
    for (const each of calls.filter(({ scope }) => scope !== null)) {
      for (const token of [`${owner.token}x`, 'dev_', '__proto__', 'undefined']) {
        refusal(await call(each, token), 401, 'unauthorized');
      }
    }
  });

  test('is refused with 401 with a token that was revoked', async () => {
    const { token, tokenId } = await rider.tokenFor(owner.accountId, SCOPES);
    assert.equal((await rider.call('GET', '/v2/keys', { token })).status, 200);
    await rider.manage('DELETE', `/v2/admin/accounts/${owner.accountId}/tokens/${tokenId}`);
    for (const each of calls.filter(({ scope }) => scope !== null))
      refusal(await call(each, token), 401, 'unauthorized');
  });

  test('is refused with 403 with a token that has every scope but the one it needs', async () => {
    const tokens = new Map<Scope, string>();
    for (const scope of SCOPES) {
      const others = SCOPES.filter((other) => other !== scope);
      tokens.set(scope, (await rider.tokenFor(owner.accountId, others)).token);
    }
    for (const each of calls) {
      if (each.scope === null) continue;
      const error = refusal(await call(each, tokens.get(each.scope)!), 403, 'forbidden');
      assert.match(error, new RegExp(`needs a token with the scope "${each.scope}"`), `${each.method} ${each.path}`);
    }
  });

  test('answers for what belongs to another account as for what does not exist', async () => {
    const stranger = await rider.account('stranger');
    const foreign = { ...mine(), tokenId: 'tok_none' };
    for (const each of calls.filter(({ scope }) => scope !== null && scope !== 'admin')) {
      for (const name of [belongings.topicName, belongings.topicId]) {
        // Making something under a name that another account uses is no trespass.
        if (each.method === 'POST' && each.path === '/v2/topics/:name/endpoints') continue;
        const missing = { ...foreign, messageId: 'msg_00000000000000000000000000', name: 'topic-that-is-not' };
        const ofForeign = await call(each, stranger.token, { ...foreign, name });
        const ofMissing = await call(each, stranger.token, missing);
        assert.equal(ofForeign.status, ofMissing.status, `${each.method} ${each.path}`);
        requireNothingOf(ofForeign.text.replaceAll(name, '').replaceAll(foreign.messageId, ''), each);
      }
    }
    const { token } = owner;
    assert.equal((await rider.call('GET', `/v2/topics/${belongings.topicName}`, { token })).status, 200);
    assert.equal((await rider.message(belongings.messageId, token)).state, 'CREATED');
  });

  /** What is asked for may be named in the answer; nothing else of the owner's may. */
  function requireNothingOf(text: string, { method, path }: Call): void {
    const secrets = [...Object.values(belongings), owner.accountId, owner.tokenId, owner.token, 'of-the-owner'];
    for (const secret of secrets) assert.equal(text.includes(secret), false, `${method} ${path} tells ${secret}`);
  }
});
