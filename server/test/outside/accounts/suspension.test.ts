// An operator suspends an account: it publishes and changes nothing, its messages wait, reads and deletes go on, and
// other accounts notice nothing. After it is resumed its messages are delivered.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusal, sharedRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const shared = sharedRider();
const MINUTE_MS = 60_000;

interface AccountView {
  readonly id: string;
  readonly suspendedAt?: number;
}

test('a suspended account reads and deletes, and everything else waits or is refused', async (t) => {
  const rider = shared();
  const receiver = await startReceiver(t);
  const { token, accountId } = await rider.account('suspended');
  const { token: other } = await rider.account('not-suspended');
  const suspend = (suspended: boolean) =>
    rider.manage<AccountView>('PATCH', `/v2/admin/accounts/${accountId}`, { suspended });
  const later = await rider.published(`${receiver.url}/later`, { token, headers: { 'Service-Delay': '30s' } });
  const gone = await rider.published(`${receiver.url}/gone`, { token, headers: { 'Service-Delay': '30s' } });
  const cron = { 'Service-Cron': '* * * * *', 'Service-Schedule-Id': 'every-minute' };
  assert.equal((await rider.call('POST', `/v2/schedules/${receiver.url}/tick`, { token, headers: cron })).status, 201);
  assert.ok((await suspend(true)).suspendedAt! > 0);

  refusal(await rider.publish(receiver.url, { token }), 403, 'account_suspended');
  refusal(await rider.batch([{ destination: receiver.url }], { token }), 403, 'account_suspended');
  refusal(
    await rider.call('POST', `/v2/schedules/${receiver.url}`, { token, headers: cron }),
    403,
    'account_suspended',
  );
  const endpoints = { endpoints: [{ url: receiver.url }] };
  const body = JSON.stringify(endpoints);
  refusal(await rider.call('POST', '/v2/topics/t/endpoints', { token, body }), 403, 'account_suspended');
  refusal(await rider.call('POST', '/v2/schedules/every-minute/run', { token }), 403, 'account_suspended');

  const own = await rider.manage<AccountView>('GET', '/v2/account', undefined, token);
  assert.ok(own.suspendedAt! > 0);
  assert.equal((await rider.message(later, token)).messageId, later);
  await rider.manage('DELETE', `/v2/messages/${gone}`, undefined, token);

  await rider.advance(3 * MINUTE_MS);
  const beside = await rider.published(`${receiver.url}/beside`, { token: other });
  assert.equal((await rider.ended(beside, other)).state, 'DELIVERED');
  assert.deepEqual(
    receiver.arrivals.map(({ target }) => target),
    ['/beside'],
  );

  assert.equal((await suspend(false)).suspendedAt, undefined);
  assert.equal((await rider.ended(later, token)).state, 'DELIVERED');
  assert.equal((await rider.publish(receiver.url, { token })).status, 201);
  await rider.advance(MINUTE_MS);
  await receiver.received(4);
  const ticks = receiver.arrivals.filter(({ target }) => target === '/tick');
  assert.equal(ticks.length, 1, 'the runs of the suspension are not made up for');
});

test('an operator can suspend its own account and resume it, and a change must say what', async () => {
  const rider = shared();
  const { accounts } = await rider.manage<{ accounts: readonly AccountView[] }>('GET', '/v2/admin/accounts');
  const own = (await rider.manage<{ accountId: string }>('GET', '/v2/account')).accountId;
  assert.ok(accounts.some(({ id }) => id === own));
  const path = `/v2/admin/accounts/${own}`;
  await rider.manage('PATCH', path, { suspended: true });
  refusal(await rider.publish('http://127.0.0.1:9/'), 403, 'account_suspended');
  await rider.manage('PATCH', path, { suspended: false });
  assert.equal((await rider.publish('http://127.0.0.1:9/', { headers: { 'Service-Delay': '1h' } })).status, 201);
  refusal(await rider.call('PATCH', path, { body: '{}' }), 400, 'bad_body');
  refusal(
    await rider.call('PATCH', '/v2/admin/accounts/none', { body: '{"suspended":true}' }),
    404,
    'account_not_found',
  );
});
