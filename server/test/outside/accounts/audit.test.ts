// The audit: who has changed what, and what was refused. Each change has one row, whoever makes it and however; refused
// calls are counted, so that nobody can fill the store with them.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { pathTemplate } from '../../../src/inbound/api/api.ts';
import { type Answered, ask } from '../../support/client.ts';
import {
  type CallOptions,
  type Rider,
  refusal,
  sharedRider,
  startRider,
  type TokenMade,
} from '../../support/harness.ts';
import { waitFor } from '../../support/wait.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const OWN = { 'X-Postrider-Console': '1' };
const NOWHERE = 'http://127.0.0.1:9/';
const LATER = { 'Service-Delay': '1h' };

interface Entry {
  readonly auditId: string;
  readonly time: number;
  readonly lastTime?: number;
  readonly count?: number;
  readonly accountId?: string;
  readonly via: string;
  readonly tokenId?: string;
  readonly tokenName?: string;
  readonly address?: string;
  readonly call: string;
  readonly target?: string;
  readonly result: string;
  readonly status?: number;
  readonly code?: string;
  readonly requestId?: string;
}

interface Page {
  readonly audit: readonly Entry[];
  readonly cursor?: string;
}

function page(rider: Rider, query = '', options: CallOptions = {}): Promise<Page> {
  return rider.manage<Page>('GET', `/v2/audit${query}`, undefined, options.token ?? undefined);
}

async function entries(rider: Rider, query = '', token?: string): Promise<readonly Entry[]> {
  return (await page(rider, query, token === undefined ? {} : { token })).audit;
}

function signIn({ url }: Rider, token: string): Promise<Answered> {
  return ask(url, '/console/session', { method: 'POST', headers: OWN, body: JSON.stringify({ token }) });
}

const brief = ({ call, target, status, code }: Entry) => [call, target ?? null, status, ...(code ? [code] : [])];

suite('the audit', () => {
  const shared = sharedRider();

  test('a change has a row with the caller, the call, its target and how it ended', async () => {
    const rider = shared();
    const made = await rider.account('one-change');
    const options = { token: made.token, headers: { 'X-Request-Id': 'my-request.1' } };
    await rider.call('POST', '/v2/queues', { ...options, body: '{"queueName":"orders","parallelism":2}' });
    const [entry, ...others] = await entries(rider, '', made.token);
    assert.deepEqual(others, []);
    const { auditId, time, ...rest } = entry!;
    assert.match(auditId, /^aud_[0-9A-Z]{26}$/);
    assert.equal(time, rider.clock.now());
    assert.deepEqual(rest, {
      accountId: made.accountId,
      via: 'token',
      tokenId: made.tokenId,
      tokenName: 'test',
      address: '127.0.0.1',
      call: 'POST /v2/queues',
      target: 'orders',
      result: 'done',
      status: 200,
      requestId: 'my-request.1',
    });
  });

  test('every call that changes something has a row, and only those', async () => {
    const rider = shared();
    const made = await rider.account('every-change', 'paid');
    const { token } = made;
    const wanted = rider.postrider.routes.flatMap(({ method, path, audit }) =>
      audit === 'change' ? `${method} ${pathTemplate(path)}` : [],
    );
    assert.ok(wanted.length > 30);
    const calls = await everyChange(rider, made);
    const found = await entries(rider, '?order=oldestFirst', token);
    assert.deepEqual(
      found.map(({ call, result }) => `${result} ${call}`),
      calls.map((call) => `done ${call}`),
    );
    assert.deepEqual(new Set(calls), new Set([...wanted, 'POST /v2/schedules/{destination}']));
    // Reads, publishes and a dry run have none.
    await rider.published(NOWHERE, { token, headers: LATER });
    await rider.accepted(NOWHERE, { token, headers: LATER });
    await rider.batch([{ destination: NOWHERE, headers: LATER }], { token });
    for (const { method, path, scope } of rider.postrider.routes) {
      const isList = method === 'GET' && scope !== null && !path.includes(':') && !path.includes('stream');
      if (isList) await rider.call('GET', path, { token });
    }
    const dry = JSON.stringify({ action: 'cancel', filter: { all: true }, dryRun: true });
    assert.equal((await rider.call('POST', '/v2/bulk', { token, body: dry })).status, 200);
    assert.equal((await entries(rider, '?count=1000', token)).length, calls.length);
  });

  test('the row is written with the change; only these are written after it', async (t) => {
    const rider = shared();
    const { store } = rider.postrider;
    const apart: string[] = [];
    const save = t.mock.method(store, 'saveAudit', (rows: readonly { call: string; count: number }[]) => {
      // A count of 0 corrects the status of a row that is there.
      apart.push(...rows.filter(({ count }) => count > 0).map(({ call }) => call));
      return Promise.resolve();
    });
    await everyChange(rider, await rider.account('written-apart', 'paid'));
    save.mock.restore();
    assert.deepEqual(apart.toSorted(), [
      'DELETE /v2/dlq',
      'DELETE /v2/messages',
      'POST /v2/alerts/{alertId}/test',
      'POST /v2/dlq/retry',
      'POST /v2/schedules/{scheduleId}/run',
    ]);
  });

  test('it never has a body, a query, a URL or a secret', async () => {
    const rider = shared();
    const made = await rider.account('no-secrets', 'paid');
    await everyChange(rider, made);
    await rider.call('DELETE', '/v2/messages?text=a-secret-word', { token: made.token });
    await rider.call('POST', '/v2/queues?queueName=a-secret-word', { token: made.token, body: '{"a-secret-word":1}' });
    const text = JSON.stringify(await entries(rider, '?count=1000', made.token));
    for (const secret of ['a-secret-word', made.token, NOWHERE, 'http:', 'pr_', 'sig_', '127.0.0.1:9/']) {
      assert.ok(!text.includes(secret), secret);
    }
  });

  test('a call that is refused has a row with the reason; equal ones of a minute are counted', async () => {
    const rider = shared();
    const made = await rider.account('refused', 'free', ['read', 'publish']);
    const { token: manager } = await rider.tokenFor(made.accountId, ['manage']);
    const { token } = made;
    await rider.advance(2 * MINUTE_MS);
    const firstAt = rider.clock.now();
    refusal(await rider.call('POST', '/v2/queues', { token, body: '{"queueName":"q"}' }), 403, 'forbidden');
    refusal(await rider.call('GET', '/v2/keys', { token }), 403, 'forbidden');
    rider.clock.advance(1000);
    for (let time = 0; time < 4; time += 1) {
      refusal(await rider.call('POST', '/v2/queues', { token, body: '{"queueName":"q"}' }), 403, 'forbidden');
    }
    refusal(await rider.call('DELETE', '/v2/queues/none', { token: manager }), 404, 'queue_not_found');
    refusal(await rider.call('POST', '/v2/queues', { token: manager, body: '{"parallelism":1}' }), 400, 'bad_body');
    refusal(await rider.publish(NOWHERE, { token: manager }), 403, 'forbidden');
    // A mistake in a call that changes nothing.
    refusal(await rider.call('GET', '/v2/messages?nonsense=1', { token }), 400, 'bad_filter');
    refusal(await rider.publish('nonsense', { token }), 404, 'topic_not_found');
    const found = await entries(rider, '?order=oldestFirst', manager);
    assert.deepEqual(
      found.map(brief),
      [
        ['POST /v2/queues', null, 403, 'forbidden'],
        ['GET /v2/keys', null, 403, 'forbidden'],
        ['DELETE /v2/queues/{queueName}', 'none', 404, 'queue_not_found'],
        ['POST /v2/queues', null, 400, 'bad_body'],
        ['POST /v2/publish/{destination}', null, 403, 'forbidden'],
      ].toSorted((one, other) => sameMinute(found, one, other)),
    );
    const [counted] = found.filter(({ count }) => count !== undefined);
    const { count, time, lastTime, tokenId, result } = counted!;
    assert.deepEqual([count, time, lastTime, tokenId, result], [5, firstAt, firstAt + 1000, made.tokenId, 'refused']);
    await rider.advance(MINUTE_MS);
    refusal(await rider.call('POST', '/v2/queues', { token, body: '{"queueName":"q"}' }), 403, 'forbidden');
    assert.equal((await entries(rider, '', manager)).length, found.length + 1, 'the next minute has a row of its own');
  });

  test('calls for single messages are counted, but those of a person in the console have a row each', async () => {
    const rider = shared();
    const { token } = await rider.account('single-messages');
    const ids = [];
    for (let count = 0; count < 6; count += 1) ids.push(await rider.published(NOWHERE, { token, headers: LATER }));
    for (const id of ids.slice(0, 3)) await rider.manage('DELETE', `/v2/messages/${id}`, undefined, token);
    await rider.manage('PATCH', `/v2/messages/${ids[3]}`, { delay: '2h' }, token);
    const cookie = (await signIn(rider, token)).headers['set-cookie']![0]!.split(';')[0]!;
    for (const id of ids.slice(4)) {
      const answer = await ask(rider.url, `/v2/messages/${id}`, {
        method: 'DELETE',
        headers: { ...OWN, Cookie: cookie },
      });
      assert.equal(answer.status, 200);
    }
    const found = (await entries(rider, '?order=oldestFirst', token)).map((each) => {
      return `${each.count ?? 1} ${each.via} ${each.call} ${each.target ?? '-'}`;
    });
    assert.deepEqual(
      found.toSorted(),
      [
        '3 token DELETE /v2/messages/{messageId} -',
        '1 token PATCH /v2/messages/{messageId} -',
        '1 token POST /console/session -',
        `1 session DELETE /v2/messages/{messageId} ${ids[4]}`,
        `1 session DELETE /v2/messages/{messageId} ${ids[5]}`,
      ].toSorted(),
    );
  });

  test('signing in to the console and out again has rows, and so have changes by the session', async () => {
    const rider = shared();
    const made = await rider.account('console');
    const cookie = (await signIn(rider, made.token)).headers['set-cookie']![0]!.split(';')[0]!;
    const headers = { ...OWN, Cookie: cookie };
    const pause = { method: 'POST', headers, body: '{"queueName":"q","paused":true}' };
    assert.equal((await ask(rider.url, '/v2/queues', pause)).status, 200);
    for (let time = 0; time < 2; time += 1) {
      assert.equal((await ask(rider.url, '/console/session', { method: 'DELETE', headers })).status, 204);
    }
    const reader = await rider.account('console-refused', 'free', ['manage']);
    refusal(await signIn(rider, reader.token), 403, 'forbidden');
    assert.deepEqual(
      (await entries(rider, '?order=oldestFirst', made.token)).map((each) => [each.via, ...brief(each)]).toSorted(),
      [
        ['session', 'DELETE /console/session', null, 204],
        ['session', 'POST /v2/queues', 'q', 200],
        ['token', 'POST /console/session', null, 204],
      ],
    );
    assert.deepEqual((await entries(rider, '', reader.token)).map(brief), [
      ['POST /console/session', null, 403, 'forbidden'],
    ]);
  });

  test('who signs in and out all the time has one row a minute for it', async () => {
    const rider = shared();
    const made = await rider.account('restless');
    for (let time = 0; time < 20; time += 1) assert.equal((await signIn(rider, made.token)).status, 204);
    const rows = await entries(rider, '', made.token);
    assert.deepEqual(
      rows.map(({ call, count }) => [call, count]),
      [['POST /console/session', 20]],
    );
  });

  test('a queue whose messages were cancelled has a row, although the call failed in the end', async () => {
    const rider = shared();
    const made = await rider.account('forced');
    const { token } = made;
    const enqueue = () =>
      rider.accepted('http://127.0.0.1:1/', { token, queue: 'busy', headers: { 'Service-Delay': '1d' } });
    await enqueue();
    // Others enqueue each time before the queue is deleted.
    let isEnqueuing = true;
    const enqueuing = (async () => {
      while (isEnqueuing) await enqueue();
    })();
    const statuses: number[] = [];
    while (!statuses.includes(409) && statuses.length < 50) {
      statuses.push((await rider.call('DELETE', '/v2/queues/busy?force=true', { token })).status);
    }
    isEnqueuing = false;
    await enqueuing;
    assert.ok(statuses.includes(409), String(statuses));
    const rows = (await entries(rider, '', token)).filter(({ call }) => call === 'DELETE /v2/queues/{queueName}');
    assert.ok(
      rows.some(({ result, status }) => result === 'done' && status === undefined),
      JSON.stringify(rows),
    );
  });

  test('an account sees only its own rows; with the scope admin, all are listed, also by account', async () => {
    const rider = shared();
    const [one, other] = [await rider.account('own-rows', 'free', ['manage']), await rider.account('other-rows')];
    for (const { token } of [one, other]) await rider.manage('POST', '/v2/queues', { queueName: 'own' }, token);
    assert.equal((await entries(rider, '', one.token)).length, 1);
    refusal(await rider.call('GET', `/v2/audit?account=${other.accountId}`, { token: one.token }), 400, 'bad_filter');
    refusal(await rider.call('GET', '/v2/admin/audit', { token: one.token }), 403, 'forbidden');
    const { token: reader } = await rider.tokenFor(one.accountId, ['read']);
    refusal(await rider.call('GET', '/v2/audit', { token: reader }), 403, 'forbidden');
    const all = (await rider.manage<Page>('GET', '/v2/admin/audit?target=own&count=2')).audit;
    assert.deepEqual(
      all.map(({ accountId }) => accountId),
      [other.accountId, one.accountId],
    );
    const of = await rider.manage<Page>('GET', `/v2/admin/audit?account=${one.accountId}&target=own`);
    assert.deepEqual(
      of.audit.map(({ accountId }) => accountId),
      [one.accountId],
    );
  });

  test('it is filtered by every field, in both orders, and read page by page', async () => {
    const rider = shared();
    const made = await rider.account('filters');
    const { token } = made;
    const fromDate = rider.clock.now();
    for (const queueName of ['a', 'b', 'c', 'd']) {
      await rider.manage('POST', '/v2/queues', { queueName }, token);
      rider.clock.advance(1000);
    }
    await rider.manage('POST', '/v2/queues/a/pause', undefined, token);
    refusal(await rider.call('POST', '/v2/queues/z/pause', { token }), 404, 'queue_not_found');
    const targets = async (query: string) => (await entries(rider, query, token)).map(({ target }) => target).join('');
    assert.equal(await targets('?order=oldestFirst&result=done'), 'abcda');
    assert.equal(await targets('?result=done'), 'adcba');
    assert.equal(await targets('?target=a&target=b'), 'aba');
    assert.equal(await targets(`?call=${encodeURIComponent('POST /v2/queues/{queueName}/pause')}&result=done`), 'a');
    for (const result of ['refused', '404', 'queue_not_found']) assert.equal(await targets(`?result=${result}`), 'z');
    assert.equal(await targets(`?token=${made.tokenId}&target=d`), 'd');
    assert.equal(await targets('?token=test&target=d'), 'd');
    assert.equal(await targets('?token=none'), '');
    assert.equal(await targets('?address=127.0.0.1&target=c'), 'c');
    assert.equal(await targets('?address=192.0.2.1'), '');
    assert.equal(await targets(`?fromDate=${fromDate + 1}&toDate=${fromDate + 2000}`), 'cb');
    assert.equal(await targets(`?toDate=${new Date(fromDate).toISOString()}`), 'a');
    const seen: (string | undefined)[] = [];
    let cursor = '';
    for (let pages = 0; pages < 3; pages += 1) {
      const got = await page(rider, `?count=2&result=done${cursor}`, { token });
      seen.push(...got.audit.map(({ target }) => target));
      assert.equal(got.cursor === undefined, pages === 2);
      cursor = `&cursor=${got.cursor}`;
      if (pages === 0) {
        const elsewhere = await rider.call('GET', `/v2/audit?count=2&result=refused${cursor}`, { token });
        refusal(elsewhere, 400, 'bad_parameter');
      }
    }
    assert.equal(seen.join(''), 'adcba');
    for (const [query, code] of [
      ['result=perhaps', 'bad_filter'],
      ['result=constructor', 'bad_filter'],
      ['nonsense=1', 'bad_filter'],
      ['fromDate=never', 'bad_filter'],
      ['count=0', 'bad_parameter'],
      ['count=1001', 'bad_parameter'],
      ['order=constructor', 'bad_parameter'],
      ['cursor=nonsense', 'bad_parameter'],
    ]) {
      refusal(await rider.call('GET', `/v2/audit?${query}`, { token }), 400, code!);
    }
  });

  test('calls of many accounts at once each have a row of their own account', async () => {
    const rider = shared();
    const accounts: TokenMade[] = [];
    for (let count = 0; count < 6; count += 1) accounts.push(await rider.account(`at-once-${count}`));
    const names = ['a', 'b', 'c', 'd', 'e'];
    await Promise.all(
      accounts.flatMap(({ token }, index) =>
        names.map((name) => rider.manage('POST', '/v2/queues', { queueName: `${name}${index}` }, token)),
      ),
    );
    for (const [index, { token, accountId }] of accounts.entries()) {
      const found = await entries(rider, '', token);
      assert.deepEqual(
        found.map(({ target }) => target!).toSorted(),
        names.map((name) => `${name}${index}`),
      );
      assert.ok(found.every((each) => each.accountId === accountId));
    }
  });
});

/** Rows of one minute that are counted have ids that say nothing of their order. */
function sameMinute(found: readonly Entry[], one: readonly unknown[], other: readonly unknown[]): number {
  const at = (wanted: readonly unknown[]) => found.findIndex((each) => brief(each).join() === wanted.join());
  return at(one) - at(other);
}

/** Makes every call that changes something, and answers their names in this order. */
async function everyChange(rider: Rider, { token, accountId }: TokenMade): Promise<string[]> {
  const made: string[] = [];
  const change = async (call: string, path: string, body?: unknown, headers = {}): Promise<Answered> => {
    const [method] = call.split(' ');
    const options = { token, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const answer = await rider.call(method!, path, options);
    assert.ok(answer.status < 300, `${call}: ${answer.text}`);
    made.push(call);
    return answer;
  };
  const endpoints = { endpoints: [{ url: NOWHERE, name: 'one' }, { url: `${NOWHERE}two` }] };
  await change('POST /v2/topics/{name}/endpoints', '/v2/topics/news/endpoints', endpoints);
  await change('PATCH /v2/topics/{name}', '/v2/topics/news', { headers: { 'Service-Retries': '1' } });
  await change('DELETE /v2/topics/{name}/endpoints', '/v2/topics/news/endpoints', { endpoints: [{ name: 'one' }] });
  await change('DELETE /v2/topics/{name}', '/v2/topics/news');
  await change('POST /v2/hosts/{host}/park', '/v2/hosts/example.com/park');
  await change('POST /v2/hosts/{host}/resume', '/v2/hosts/example.com/resume');
  const name = `made-by-${accountId}`;
  const other = (await change('POST /v2/admin/accounts', '/v2/admin/accounts', { name })).json<{ id: string }>().id;
  await change('PATCH /v2/admin/accounts/{accountId}', `/v2/admin/accounts/${other}`, {
    tier: 'paid',
    suspended: true,
  });
  const asked = { accountId: other, name: 'reader', scopes: ['read'] };
  const { tokenId } = (await change('POST /v2/admin/tokens', '/v2/admin/tokens', asked)).json<TokenMade>();
  const revoke = 'DELETE /v2/admin/accounts/{accountId}/tokens/{tokenId}';
  await change(revoke, `/v2/admin/accounts/${other}/tokens/${tokenId}`);
  await change('DELETE /v2/admin/accounts/{accountId}', `/v2/admin/accounts/${other}?confirm=${name}`);
  const daily = { 'Service-Cron': '0 9 * * *', 'Service-Schedule-Id': 'daily' };
  await change('POST /v2/schedules/{destination}', `/v2/schedules/${NOWHERE}`, undefined, daily);
  await change('PATCH /v2/schedules/{scheduleId}', '/v2/schedules/daily', { cron: '0 8 * * *' });
  for (const method of ['POST', 'PATCH']) {
    for (const action of ['pause', 'resume']) {
      await change(`${method} /v2/schedules/{scheduleId}/${action}`, `/v2/schedules/daily/${action}`);
    }
  }
  await change('POST /v2/schedules/{scheduleId}/run', '/v2/schedules/daily/run');
  await change('DELETE /v2/schedules/{scheduleId}', '/v2/schedules/daily');
  await change('PATCH /v2/account', '/v2/account', { outage: 'park' });
  await change('POST /v2/keys/rotate', '/v2/keys/rotate');
  await change('DELETE /v2/dlq', '/v2/dlq', { label: 'none' });
  await change('POST /v2/dlq/retry', '/v2/dlq/retry?label=none');
  await rider.published(NOWHERE, {
    token,
    headers: { ...LATER, 'Service-Flow-Control-Key': 'key', 'Service-Flow-Control-Value': 'rate=1' },
  });
  for (const action of ['pause', 'resume', 'pin?rate=2', 'unpin', 'resetRate']) {
    await change(`POST /v2/flowControl/{key}/${action.split('?')[0]}`, `/v2/flowControl/key/${action}`);
  }
  const alert = { rule: { type: 'messageFailed' }, target: { url: NOWHERE } };
  await change('POST /v2/alerts', '/v2/alerts', { alertId: 'failed', ...alert });
  await change('PUT /v2/alerts/{alertId}', '/v2/alerts/failed', alert);
  await change('POST /v2/alerts/{alertId}/test', '/v2/alerts/failed/test');
  await change('DELETE /v2/alerts/{alertId}', '/v2/alerts/failed');
  await change('DELETE /v2/messages', '/v2/messages?label=none');
  for (let count = 0; count < 5; count += 1) {
    await rider.published(NOWHERE, { token, headers: { ...LATER, 'Service-Label': 'bulk' } });
  }
  const job = { action: 'cancel', filter: { label: 'bulk' }, perSecond: 1 };
  const { jobId } = (await change('POST /v2/bulk', '/v2/bulk', job)).json<{ jobId: string }>();
  await change('POST /v2/bulk/{jobId}/stop', `/v2/bulk/${jobId}/stop`);
  await change('POST /v2/queues', '/v2/queues', { queueName: 'orders' });
  await change('POST /v2/queues/{queueName}/pause', '/v2/queues/orders/pause');
  await change('POST /v2/queues/{queueName}/resume', '/v2/queues/orders/resume');
  await change('DELETE /v2/queues/{queueName}', '/v2/queues/orders');
  return made;
}

suite('calls without a valid token', () => {
  const shared = sharedRider({ flags: ['--trusted-proxy', '127.0.0.0/8'] });

  const unknown = (rider: Rider) =>
    rider
      .manage<Page>('GET', '/v2/admin/audit?order=oldestFirst&count=1000')
      .then(({ audit }) => audit.filter(({ via }) => via === 'none'));

  test('have one row a minute for each network, with a count, and sign-ins have their own', async () => {
    const rider = shared();
    const from = (address: string) => ({ 'X-Forwarded-For': address });
    const secret = 'pr_a-secret-that-was-guessed';
    const none = { token: null };
    for (const last of [1, 2, 3]) {
      const headers = { ...from(`203.0.113.${last}`), Authorization: `Bearer ${secret}${last}` };
      refusal(await rider.call('GET', '/v2/messages', { ...none, headers }), 401, 'unauthorized');
      refusal(await rider.publish(NOWHERE, { ...none, headers }), 401, 'unauthorized');
      refusal(await rider.call('DELETE', '/v2/queues/a-secret-name', { ...none, headers }), 401, 'unauthorized');
      const options = { method: 'POST', headers: { ...OWN, ...headers }, body: JSON.stringify({ token: secret }) };
      refusal(await ask(rider.url, '/console/session', options), 401, 'unauthorized');
    }
    refusal(await rider.call('GET', '/v2/keys', { ...none, headers: from('2001:db8::7') }), 401, 'unauthorized');
    const found = await waitFor('their rows', async () => {
      const rows = await unknown(rider);
      return rows.reduce((sum, { count = 1 }) => sum + count, 0) === 13 && rows;
    });
    assert.deepEqual(
      found.map((each) => [each.address, each.count ?? 1, ...brief(each)].join(' ')).toSorted(),
      [
        '2001:db8:0:0::/64 1 GET /v2/keys  401 unauthorized',
        '203.0.113.0/24 3 POST /console/session  401 unauthorized',
        '203.0.113.0/24 9 GET /v2/messages  401 unauthorized',
      ].toSorted(),
    );
    assert.ok(!JSON.stringify(found).includes('secret'));
    const ofOne = await rider.manage<Page>('GET', '/v2/admin/audit?address=203.0.113.77');
    assert.equal(ofOne.audit.length, 2, 'an address finds the rows of its network');
  });

  test('of more networks than have rows are counted together', async () => {
    const rider = shared();
    await rider.advance(2 * MINUTE_MS);
    const before = (await unknown(rider)).length;
    for (let third = 0; third < 130; third += 1) {
      const headers = { 'X-Forwarded-For': `198.51.${third}.1` };
      await ask(rider.url, '/v2/messages', { headers });
    }
    const found = (await unknown(rider)).slice(before);
    assert.equal(found.length, 101);
    const [others] = found.filter(({ address }) => address === undefined);
    assert.deepEqual([others!.call, others!.count, others!.result], ['*', 30, 'refused']);
  });
});

test('rows are deleted when they are older than --audit-days', async (t) => {
  const rider = await startRider(t, { flags: ['--audit-days', '2'] });
  await rider.manage('POST', '/v2/queues', { queueName: 'old' });
  await rider.advance(1.5 * DAY_MS);
  await rider.manage('POST', '/v2/queues', { queueName: 'new' });
  await rider.advance(DAY_MS);
  await waitFor('the old row to go', async () => {
    rider.clock.advance(MINUTE_MS);
    return (await entries(rider)).every(({ target }) => target !== 'old');
  });
  assert.deepEqual((await entries(rider, '?target=new')).length, 1);
});

test('with --audit-days 0 there are no rows, and changes are made as usual', async (t) => {
  const rider = await startRider(t, { flags: ['--audit-days', '0'] });
  await rider.manage('POST', '/v2/queues', { queueName: 'orders' });
  refusal(await rider.call('GET', '/v2/keys', { token: 'nonsense' }), 401, 'unauthorized');
  await rider.manage('DELETE', '/v2/queues/orders');
  assert.deepEqual((await rider.manage<Page>('GET', '/v2/admin/audit')).audit, []);
});
