// Every call the service takes × everybody who may not make it. The list of calls comes from the running service, so
// that a new route is in the matrix the moment it exists.

import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import { SCOPES, type Scope } from '../../../src/rules/accounts/account.ts';
import { type CallOptions, type Rider, refusal, sharedRider, type TokenMade } from '../../support/harness.ts';

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
  { method: 'POST', path: '/v2/schedules/http://127.0.0.1:1/', scope: 'manage' },
];

/** What anybody may read. A route without a scope that is not named here is a mistake. */
const OPEN: ReadonlySet<string> = new Set([
  '/',
  '/healthz',
  '/readyz',
  '/metrics',
  '/openapi.json',
  '/docs',
  '/docs/style.css',
  '/docs/script.js',
]);

/** What a secret in the path is the authority for: see delivery/acks.test.ts. */
const BY_SECRET: ReadonlySet<string> = new Set(['POST /v2/acks/:secret']);

/** What each call needs, written out: were it read from the service, a scope that is wrong there would be expected here. */
const NEEDED: Readonly<Record<Scope, readonly string[]>> = {
  publish: [
    'POST /v2/enqueue/q/http://127.0.0.1:1/',
    'POST /v2/publish/http://127.0.0.1:1/',
    'POST /v2/batch',
    'PATCH /v2/messages/:messageId',
  ],
  read: [
    'GET /v2/messages/:messageId',
    'GET /v2/messages/:messageId/why',
    'GET /v2/messages/counts',
    'GET /v2/messages',
    'GET /v2/queues',
    'GET /v2/queues/:queueName',
    'GET /v2/topics',
    'GET /v2/topics/:name',
    'GET /v2/schedules',
    'GET /v2/schedules/:scheduleId',
    'GET /v2/cron',
    'GET /v2/dlq',
    'GET /v2/dlq/:dlqId',
    'GET /v2/flowControl',
    'GET /v2/flowControl/:key',
    'GET /v2/globalParallelism',
    'GET /v2/hosts',
    'GET /v2/hosts/:host',
    'GET /v2/bulk',
    'GET /v2/bulk/:jobId',
    'GET /v2/overview',
    'GET /v2/activity',
    'GET /v2/dlq/groups',
    'GET /v2/account',
    'GET /v2/usage',
    'GET /v2/events',
    'GET /v2/logs',
    'GET /v2/events/stream',
    'GET /v2/dev/requests',
    'GET /v2/dev/clock',
  ],
  manage: [
    'GET /v2/audit',
    'POST /v2/schedules/http://127.0.0.1:1/',
    'DELETE /v2/messages/:messageId',
    'DELETE /v2/messages',
    'POST /v2/messages/:messageId/retry',
    'POST /v2/messages/:messageId/release',
    'POST /v2/queues',
    'DELETE /v2/queues/:queueName',
    'POST /v2/queues/:queueName/pause',
    'POST /v2/queues/:queueName/resume',
    'POST /v2/topics/:name/endpoints',
    'DELETE /v2/topics/:name/endpoints',
    'PATCH /v2/topics/:name',
    'DELETE /v2/topics/:name',
    'PATCH /v2/schedules/:scheduleId',
    'DELETE /v2/schedules/:scheduleId',
    'POST /v2/schedules/:scheduleId/pause',
    'POST /v2/schedules/:scheduleId/resume',
    'PATCH /v2/schedules/:scheduleId/pause',
    'PATCH /v2/schedules/:scheduleId/resume',
    'POST /v2/schedules/:scheduleId/run',
    'DELETE /v2/dlq/:dlqId',
    'DELETE /v2/dlq',
    'POST /v2/dlq/retry/:dlqId',
    'POST /v2/dlq/retry',
    'POST /v2/flowControl/:key/pause',
    'POST /v2/flowControl/:key/resume',
    'POST /v2/flowControl/:key/pin',
    'POST /v2/flowControl/:key/unpin',
    'POST /v2/flowControl/:key/resetRate',
    'POST /v2/hosts/:host/park',
    'POST /v2/hosts/:host/resume',
    'PATCH /v2/account',
    'POST /v2/bulk',
    'POST /v2/bulk/:jobId/stop',
    'GET /v2/keys',
    'POST /v2/keys/rotate',
    'GET /v2/alerts',
    'GET /v2/alerts/:alertId',
    'POST /v2/alerts',
    'PUT /v2/alerts/:alertId',
    'DELETE /v2/alerts/:alertId',
    'POST /v2/alerts/:alertId/test',
    'DELETE /v2/dev/requests',
    'POST /v2/dev/clock',
  ],
  admin: [
    'GET /v2/admin/accounts',
    'GET /v2/admin/audit',
    'POST /v2/admin/accounts',
    'PATCH /v2/admin/accounts/:accountId',
    'DELETE /v2/admin/accounts/:accountId',
    'GET /v2/nodes',
    'GET /v2/admin/tokens',
    'POST /v2/admin/tokens',
    'DELETE /v2/admin/accounts/:accountId/tokens/:tokenId',
  ],
};
const SCOPE_OF: ReadonlyMap<string, Scope> = new Map(
  SCOPES.flatMap((scope) => NEEDED[scope].map((each) => [each, scope] as const)),
);

/** Has no end to wait for when it is allowed; who sees what there is in api/live-stream.test.ts. */
const ENDLESS = '/v2/events/stream';

/** A body that the call would take, so that only the caller can be what is wrong with it. */
function bodyFor({ method, path }: Call): Pick<CallOptions, 'body' | 'headers'> {
  const endpoints = [{ url: 'http://127.0.0.1:1/' }];
  const json = (body: unknown) => ({ body: JSON.stringify(body) });
  if (path.endsWith('/batch')) return json([{ destination: endpoints[0]!.url }]);
  if (path.startsWith('/v2/schedules/http')) return { headers: { 'Service-Cron': '0 0 1 1 *' } };
  if (`${method} ${path}` === 'PATCH /v2/schedules/:scheduleId') return json({ cron: '@hourly' });
  if (path.startsWith('/v2/topics') && method !== 'GET') return json({ endpoints });
  if (path === '/v2/messages/:messageId' && method === 'PATCH') return json({ delay: 1 });
  if (path === '/v2/admin/accounts/:accountId') return json({ tier: 'paid' });
  if (/^\/v2\/alerts(\/:alertId)?$/.test(path) && method !== 'GET') {
    return json({ rule: { type: 'quotaNear' }, target: endpoints[0] });
  }
  if (path === '/v2/queues' && method === 'POST') return json({ queueName: 'made' });
  if (path === '/v2/bulk' && method === 'POST') return json({ action: 'cancel', filter: { all: 'true' } });
  if (`${method} ${path}` === 'POST /v2/dlq/retry') return json({ all: 'true' });
  if (method === 'DELETE' && ['/v2/messages', '/v2/dlq'].includes(path)) return json({ all: 'true' });
  return method === 'GET' ? {} : { body: '{}' };
}

/** What belongs to one account and must mean nothing to another, by the name of its path parameter. */
interface Belongings {
  readonly messageId: string;
  readonly queueName: string;
  readonly scheduleId: string;
  readonly alertId: string;
  readonly dlqId: string;
  readonly key: string;
  readonly host: string;
  readonly jobId: string;
  readonly topicId: string;
  readonly name: string;
}

const MISSING: Belongings = {
  messageId: 'msg_00000000000000000000000000',
  queueName: 'none',
  scheduleId: 'scd_none',
  alertId: 'alr_none',
  dlqId: 'dlq_00000000000000000000000000',
  key: 'none',
  host: 'none.example:443',
  jobId: 'job_none',
  topicId: 'tpc_none',
  name: 'topic-that-is-not',
};

const DEAD_URL = 'http://127.0.0.1:1/';
/** A host to which nobody else sends. */
const OWN_HOST = '127.0.0.1:2';

/** One of everything an account can have. */
async function belongingsOf(rider: Rider, token: string): Promise<Belongings> {
  const name = 'topic-of-the-owner';
  const queueName = 'queue-of-the-owner';
  const scheduleId = 'schedule-of-the-owner';
  const alertId = 'alert-of-the-owner';
  const key = 'key-of-the-owner';
  const endpoints = [{ url: `${DEAD_URL}of-the-owner` }];
  const topic = await rider.manage<{ id: string }>('POST', `/v2/topics/${name}/endpoints`, { endpoints }, token);
  const later = { 'Service-Delay': '1d' };
  const messageId = await rider.accepted(DEAD_URL, { token, queue: queueName, headers: later });
  const flow = { 'Service-Flow-Control-Key': key, 'Service-Flow-Control-Value': 'parallelism=1' };
  await rider.call('POST', `/v2/publish/${DEAD_URL}`, { token, headers: { ...later, ...flow } });
  const cron = { 'Service-Cron': '0 0 1 1 *', 'Service-Schedule-Id': scheduleId };
  await rider.call('POST', `/v2/schedules/${DEAD_URL}`, { token, headers: cron });
  const alert = { rule: { type: 'scheduleFailed' }, target: endpoints[0] };
  await rider.manage('PUT', `/v2/alerts/${alertId}`, alert, token);
  const dead = await rider.accepted(DEAD_URL, { token, headers: { 'Service-Retries': '0' } });
  assert.equal((await rider.ended(dead, token)).state, 'FAILED');
  await rider.accepted(`http://${OWN_HOST}/`, { token, headers: { 'Service-Retries': '0' } });
  const bulk = { action: 'delete', filter: { url: 'http://none.example/' } };
  const { jobId } = await rider.manage<{ jobId: string }>('POST', '/v2/bulk', bulk, token);
  const dlqId = dead.replace('msg_', 'dlq_');
  return {
    messageId,
    queueName,
    scheduleId,
    alertId,
    dlqId,
    key,
    host: OWN_HOST,
    jobId,
    topicId: topic.id,
    name,
  };
}

suite('every call', () => {
  let rider: Rider;
  let owner: TokenMade;
  let belongings: Belongings;
  let calls: readonly Call[];
  const shared = sharedRider();

  before(async () => {
    rider = shared();
    const routes = rider.postrider.routes.filter(({ method, path }) => !BY_SECRET.has(`${method} ${path}`));
    assert.equal(routes.length, rider.postrider.routes.length - BY_SECRET.size);
    calls = [...PUBLISHING, ...routes];
    owner = await rider.account('owner');
    belongings = await belongingsOf(rider, owner.token);
  });

  /** The path with its parameters filled in. A new kind of parameter must be added here, on purpose. */
  function pathWith(path: string, values: Readonly<Record<string, string>>): string {
    return path.replaceAll(/(?<=\/):(\w+)/g, (_whole, name: string) => {
      const value = values[name];
      assert.ok(value !== undefined, `${path}: say in this test what a :${name} of another account is`);
      return value;
    });
  }

  const mine = () => ({ ...belongings, accountId: owner.accountId, tokenId: owner.tokenId });

  function call({ method, path, scope }: Call, token: string | null, values = mine()) {
    return rider.call(method, pathWith(path, values), { ...bodyFor({ method, path, scope }), token });
  }

  test('is known: the service has routes, and each is meant to be open or needs the scope that is written here', () => {
    assert.ok(calls.length > 50, `only ${calls.length} calls were read`);
    for (const { method, path, scope } of calls) {
      if (scope === null) assert.ok(OPEN.has(path), `${method} ${path} can be called by anybody`);
      else assert.equal(scope, SCOPE_OF.get(`${method} ${path}`), `${method} ${path}: write here which scope it needs`);
    }
    const known = calls.filter(({ scope }) => scope !== null).map(({ method, path }) => `${method} ${path}`);
    assert.deepEqual([...SCOPE_OF.keys()].toSorted(), known.toSorted());
  });

  test('needs a scope that fits: to change something more than "read", under /v2/admin nothing less than "admin"', () => {
    for (const [call, scope] of SCOPE_OF) {
      if (/ \/v2\/admin\//.test(call)) assert.equal(scope, 'admin', call);
      else if (!call.startsWith('GET ')) assert.ok(scope === 'publish' || scope === 'manage', `${call}: ${scope}`);
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
      if (OPEN.has(each.path)) continue;
      const scope = SCOPE_OF.get(`${each.method} ${each.path}`)!;
      const error = refusal(await call(each, tokens.get(scope)!), 403, 'forbidden');
      assert.match(error, new RegExp(`needs a token with the scope "${scope}"`), `${each.method} ${each.path}`);
    }
  });

  test('answers for what belongs to another account as for what does not exist', async () => {
    const stranger = await rider.account('stranger');
    // The audit of the stranger names what it called for, so another asks for it.
    const silent = await rider.account('silent');
    const foreign = { ...mine(), tokenId: 'tok_none' };
    for (const each of calls.filter(({ scope }) => scope !== null && scope !== 'admin')) {
      // Making something under a name that another account uses is no trespass.
      if (each.path === ENDLESS || `${each.method} ${each.path}` === 'POST /v2/topics/:name/endpoints') continue;
      const { token } = each.path === '/v2/audit' ? silent : stranger;
      for (const name of [belongings.name, belongings.topicId]) {
        const asked = { ...foreign, name };
        const ofForeign = await call(each, token, asked);
        const ofMissing = await call(each, token, { ...foreign, ...MISSING });
        assert.equal(ofForeign.status, ofMissing.status, `${each.method} ${each.path}`);
        const named = Object.values(asked).reduce((text, value) => text.replaceAll(value, ''), ofForeign.text);
        requireNothingOf(named, each);
      }
    }
  });

  test('of a stranger changes nothing of what belongs to another', async () => {
    const { token } = owner;
    const { messageId, queueName, scheduleId, alertId, dlqId, key, name } = belongings;
    const read = <T>(path: string) => rider.manage<T>('GET', path, undefined, token);
    assert.equal((await rider.message(messageId, token)).state, 'CREATED');
    assert.equal((await read<{ paused: boolean }>(`/v2/queues/${queueName}`)).paused, false);
    assert.equal((await read<{ isPaused: boolean }>(`/v2/schedules/${scheduleId}`)).isPaused, false);
    assert.equal((await read<{ rule: { type: string } }>(`/v2/alerts/${alertId}`)).rule.type, 'scheduleFailed');
    assert.equal((await read<{ isPaused: boolean }>(`/v2/flowControl/${key}`)).isPaused, false);
    assert.equal((await read<{ state: string }>(`/v2/dlq/${dlqId}`)).state, 'FAILED');
    assert.equal((await read<{ name: string }>(`/v2/topics/${name}`)).name, name);
  });

  /** What is asked for may be named in the answer; nothing else of the owner's may. */
  function requireNothingOf(text: string, { method, path }: Call): void {
    const secrets = [...Object.values(belongings), owner.accountId, owner.tokenId, owner.token, 'of-the-owner'];
    for (const secret of secrets) assert.equal(text.includes(secret), false, `${method} ${path} tells ${secret}`);
  }
});
