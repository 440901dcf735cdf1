// An operator deletes an account: nothing of it works any more at once, all that it has goes in pieces, and others notice
// nothing.

import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { test } from 'node:test';
import { openReader } from '../../../src/store/sqlite/files/open.ts';
import { withClient } from '../../postgres/databases.ts';
import { ask } from '../../support/client.ts';
import { type Rider, refusal, sharedRider, type TokenMade, temporaryFolder } from '../../support/harness.ts';
import { startProcess } from '../../support/process.ts';
import { startReceiver } from '../../support/receiver.ts';
import { storeOf } from '../../support/store-under-test.ts';
import { openTail } from '../../support/tail.ts';
import { waitFor } from '../../support/wait.ts';

const shared = sharedRider();
const MINUTE_MS = 60_000;

interface AccountView {
  readonly id: string;
  readonly name: string;
  readonly suspendedAt?: number;
  readonly deletingSince?: number;
}

const pathOf = ({ accountId }: TokenMade) => `/v2/admin/accounts/${accountId}`;

async function accountOf(rider: Rider, { accountId }: TokenMade): Promise<AccountView | undefined> {
  const { accounts } = await rider.manage<{ accounts: readonly AccountView[] }>('GET', '/v2/admin/accounts');
  return accounts.find(({ id }) => id === accountId);
}

/** Lets the clock run until the account is gone. */
function gone(rider: Rider, made: TokenMade): Promise<true> {
  return waitFor('the account to be gone', async () => {
    rider.clock.advance(10_000);
    return (await accountOf(rider, made)) === undefined;
  });
}

test('an account that is deleted works no more at once, and is gone after a while with all that it has', async (t) => {
  const rider = shared();
  const receiver = await startReceiver(t);
  const made = await rider.account('leaving');
  const { token } = made;
  const { token: other } = await rider.account('staying');
  const sent = (delay: string) => rider.published(receiver.url, { token, headers: { 'Service-Delay': delay } });
  for (const delay of ['5m', '1h', '30d']) await sent(delay);
  const cron = { 'Service-Cron': '* * * * *', 'Service-Schedule-Id': 'every-minute' };
  assert.equal((await rider.call('POST', `/v2/schedules/${receiver.url}/tick`, { token, headers: cron })).status, 201);
  await rider.manage('POST', '/v2/queues', { queueName: 'orders' }, token);
  const staying = await rider.published(`${receiver.url}/staying`, {
    token: other,
    headers: { 'Service-Delay': '2h' },
  });
  const tail = (await openTail(t, rider, { token })).read();

  const answer = await rider.call('DELETE', `${pathOf(made)}?confirm=leaving`);
  assert.equal(answer.status, 202, answer.text);
  const account = answer.json<AccountView>();
  assert.ok(account.deletingSince! > 0 && account.suspendedAt! > 0);
  refusal(await rider.publish(receiver.url, { token }), 401, 'unauthorized');
  refusal(await rider.call('GET', '/v2/account', { token }), 401, 'unauthorized');
  await waitFor('the end of the stream', () => {
    rider.clock.advance(100);
    return tail.isEnded;
  });
  const body = JSON.stringify({ suspended: false });
  assert.match(refusal(await rider.call('PATCH', pathOf(made), { body }), 409, 'conflict'), /is being deleted/);
  refusal(await rider.call('PATCH', pathOf(made), { body: '{"tier":"paid"}' }), 409, 'conflict');
  const asked = JSON.stringify({ accountId: made.accountId, name: 'late', scopes: ['read'] });
  refusal(await rider.call('POST', '/v2/admin/tokens', { body: asked }), 409, 'conflict');
  const again = await rider.call('DELETE', `${pathOf(made)}?confirm=leaving`);
  assert.deepEqual([again.status, again.json<AccountView>()], [202, account], 'a second call changes nothing');
  assert.equal((await accountOf(rider, made))!.deletingSince, account.deletingSince);

  await gone(rider, made);
  refusal(await rider.call('DELETE', `${pathOf(made)}?confirm=leaving`), 404, 'account_not_found');
  await rider.advance(150 * MINUTE_MS);
  assert.equal((await rider.ended(staying, other)).state, 'DELIVERED');
  assert.deepEqual(
    receiver.arrivals.map(({ target }) => target),
    ['/staying'],
  );
  const { audit } = await rider.manage<{ audit: readonly { call: string; target?: string; status?: number }[] }>(
    'GET',
    `/v2/admin/audit?target=${made.accountId}`,
  );
  assert.ok(
    audit.some(({ call, status }) => call === 'DELETE /v2/admin/accounts/{accountId}' && status === 202),
    'the deletion itself is in the audit',
  );
  const fresh = await rider.account('leaving');
  assert.notEqual(fresh.accountId, made.accountId);
  assert.deepEqual(await rider.manage('GET', '/v2/messages', undefined, fresh.token), { messages: [] });
});

test('it is deleted while attempts are under way and a bulk operation runs', async (t) => {
  const rider = shared();
  const { promise: isOver, resolve: release } = Promise.withResolvers<void>();
  const receiver = await startReceiver(t, async () => {
    await isOver;
    return 200;
  });
  const made = await rider.account('busy');
  const { token } = made;
  for (let count = 0; count < 3; count += 1) await rider.published(receiver.url, { token });
  await receiver.received(3);
  for (let count = 0; count < 30; count += 1) {
    await rider.published(receiver.url, { token, headers: { 'Service-Delay': '1h', 'Service-Label': 'bulk' } });
  }
  const job = { action: 'cancel', filter: { label: 'bulk' }, perSecond: 1 };
  await rider.manage('POST', '/v2/bulk', job, token);
  const calls = [1, 2].map(() => rider.call('DELETE', `${pathOf(made)}?confirm=busy`));
  for (const { status } of await Promise.all(calls)) assert.equal(status, 202);
  await gone(rider, made);
  release();
  await rider.quiet();
  const { token: other } = await rider.account('beside-busy');
  const beside = await rider.published(receiver.url, { token: other });
  assert.equal((await rider.ended(beside, other)).state, 'DELIVERED');
});

const PART = 'a'.repeat(400 * 1024);

test('a publish whose body takes long is refused if its account was deleted meanwhile', async () => {
  const rider = shared();
  const made = await rider.account('slow');
  const { hostname, port } = new URL(rider.url);
  const request = httpRequest({
    hostname,
    port,
    method: 'POST',
    path: '/v2/publish/http://127.0.0.1:9/',
    headers: { Authorization: `Bearer ${made.token}`, 'Content-Length': 2 * PART.length },
  });
  const answered = new Promise<number>((resolve, reject) => {
    request.on('response', (response) => resolve(response.resume().statusCode!));
    request.on('error', reject);
  });
  request.write(PART);
  // Later calls of the account come after it.
  for (let calls = 0; calls < 5; calls += 1) await rider.manage('GET', '/v2/account', undefined, made.token);
  await rider.manage('DELETE', `${pathOf(made)}?confirm=slow`);
  rider.clock.advance(2000);
  request.end(PART);
  assert.equal(await answered, 401);
});

test('a deletion must name the account, and one of the own account is refused', async () => {
  const rider = shared();
  const made = await rider.account('careful');
  for (const query of ['', '?confirm=', '?confirm=Careful', `?confirm=${made.accountId}`]) {
    const message = refusal(await rider.call('DELETE', `${pathOf(made)}${query}`), 400, 'bad_parameter');
    assert.match(message, /^confirm: .*name of the account.*"careful"/);
  }
  refusal(await rider.call('DELETE', '/v2/admin/accounts/acc_none?confirm=none'), 404, 'account_not_found');
  const own = await rider.manage<{ accountId: string; name: string }>('GET', '/v2/account');
  const mine = await rider.call('DELETE', `/v2/admin/accounts/${own.accountId}?confirm=${own.name}`);
  assert.match(refusal(mine, 409, 'conflict'), /your own account/);
  const { token } = await rider.tokenFor(made.accountId, ['publish', 'read', 'manage']);
  refusal(await rider.call('DELETE', `${pathOf(made)}?confirm=careful`, { token }), 403, 'forbidden');
  assert.equal((await accountOf(rider, made))!.deletingSince, undefined);
});

/** How many messages the store has. */
async function messagesIn(data: string): Promise<number> {
  const sql = 'SELECT count(*) AS n FROM messages';
  const { flags, release } = await storeOf(data);
  try {
    if (flags.length > 0)
      return await withClient(flags[1]!, async (client) => Number((await client.query(sql)).rows[0].n));
    const { database, close } = openReader(data);
    const { n } = database.get<{ n: number }>(sql)!;
    close();
    return n;
  } finally {
    await release();
  }
}

test('a service that was killed in the middle goes on; the command marks the account in a store', async (t) => {
  const data = temporaryFolder(t);
  const serve = ['serve', '--json', '--host', '127.0.0.1', '--port', '0', '--data', data];
  const first = startProcess(t, serve);
  const { api, token } = await first.ready();
  const call = (at: string, method: string, path: string, body?: unknown, by = token!) =>
    ask(at, path, {
      method,
      headers: { Authorization: `Bearer ${by}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const make = async (name: string) => {
    const { id } = (await call(api, 'POST', '/v2/admin/accounts', { name })).json<{ id: string }>();
    const asked = { accountId: id, name, scopes: ['publish', 'read'] };
    return (await call(api, 'POST', '/v2/admin/tokens', asked)).json<TokenMade>();
  };
  const [large, stopped] = [await make('large'), await make('stopped')];
  const later = { destination: 'http://127.0.0.1:9/', headers: { 'Service-Delay': '1h' } };
  for (const [made, batches] of [
    [large, 20],
    [stopped, 1],
  ] as const) {
    for (let count = 0; count < batches; count += 1) {
      const answer = await call(api, 'POST', '/v2/batch', new Array(100).fill(later), made.token);
      assert.equal(answer.status, 201, answer.text);
    }
  }
  assert.equal(await messagesIn(data), 2100);
  assert.equal((await call(api, 'DELETE', `${pathOf(large)}?confirm=large`)).status, 202);
  await waitFor('the first piece', async () => (await messagesIn(data)) < 2100);
  first.signal('SIGKILL');
  await first.exit;
  // Usually most of them: that none is left but those of the other account does no harm.
  const left = await messagesIn(data);
  assert.ok(left >= 100, `${left} messages are left`);

  const command = async (...flags: string[]) => {
    const running = startProcess(t, ['account', 'delete', '--data', data, ...flags]);
    return { status: await running.exit, stdout: running.stdout, stderr: running.stderr };
  };
  const unsure = await command('stopped');
  assert.match(unsure.stderr, /confirmation needed: Delete the account stopped at .*give --yes/s);
  const last = await command('default', '--yes');
  assert.match(last.stderr, /the last token with the scope admin, so it cannot be deleted/);
  assert.equal(last.status, 1);
  const marked = await command('stopped', '--yes');
  assert.deepEqual([marked.status, marked.stdout], [0, 'stopped  being deleted\n'], marked.stderr);
  assert.equal(await messagesIn(data), left, 'the service deletes, not the command');

  const again = startProcess(t, serve);
  const { api: there } = await again.ready();
  await waitFor('all messages of both to be gone', async () => (await messagesIn(data)) === 0);
  const { accounts } = (await call(there, 'GET', '/v2/admin/accounts')).json<{ accounts: readonly AccountView[] }>();
  const deleting = accounts.filter(({ deletingSince }) => deletingSince !== undefined);
  assert.deepEqual(deleting.map(({ name }) => name).toSorted(), ['large', 'stopped']);
  assert.equal(again.stderr.includes('"level":"error"'), false, again.stderr);
});
