// Numbers over the API: where messages stand, what happened, what failed alike, and what the sink received.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusal, ridersOfOneService } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const startRider = ridersOfOneService();

interface Overview {
  readonly waiting: number;
  readonly scheduled: number;
  readonly failed: number;
  readonly all: number;
  readonly queues: readonly { readonly name: string }[];
}

interface Groups {
  readonly groups: readonly {
    readonly host: string;
    readonly failure: string;
    readonly responseStatus?: number;
    readonly count: number;
    readonly sample: { readonly dlqId: string };
  }[];
}

test('the overview says where messages stand', async (t) => {
  const rider = await startRider(t);
  await rider.accepted('http://127.0.0.1:1/', { queue: 'q', headers: { 'Service-Delay': '1h' } });
  const dead = await rider.published('http://127.0.0.1:1/', { headers: { 'Service-Retries': '0' } });
  await rider.ended(dead);
  const overview = await rider.manage<Overview>('GET', '/v2/overview');
  assert.deepEqual([overview.scheduled, overview.waiting, overview.failed, overview.all], [1, 0, 1, 2]);
  assert.deepEqual(
    overview.queues.map(({ name }) => name),
    ['q'],
  );
});

test('activity tells an hour by minutes, and stays right when a minute is over', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const activity = () =>
    rider.manage<{
      buckets: { accepted: number; delivered: number }[];
      lag: { count: number; p50Ms?: number };
    }>('GET', '/v2/activity');
  await rider.ended(await rider.published(`${receiver.url}/`));
  let { buckets, lag } = await activity();
  assert.equal(buckets.length, 60);
  assert.deepEqual([buckets.at(-1)!.accepted, buckets.at(-1)!.delivered, lag.count], [1, 1, 1]);
  assert.ok(lag.p50Ms! >= 1);
  await rider.advance(2 * 60_000);
  await rider.ended(await rider.published(`${receiver.url}/`));
  for (let times = 0; times < 2; times += 1) {
    ({ buckets, lag } = await activity());
    assert.deepEqual([buckets.at(-3)!.delivered, buckets.at(-1)!.delivered, lag.count], [1, 1, 2]);
  }
});

test('activity tells a day by the hour, and weeks by larger parts; what is folded by upkeep is still counted', async (t) => {
  const rider = await startRider(t);
  const start = rider.clock.now();
  const receiver = await startReceiver(t);
  await rider.ended(await rider.published(`${receiver.url}/`));
  await rider.advance(20 * 3_600_000);
  await rider.ended(await rider.published(`${receiver.url}/`));
  const activity = (from: number) =>
    rider.manage<{ bucketMs: number; buckets: { at: number; accepted: number; delivered: number }[] }>(
      'GET',
      `/v2/activity?fromDate=${from}`,
    );
  for (const [from, bucketMs] of [
    [start, 3_600_000],
    [start - 10 * 86_400_000, 6 * 3_600_000],
  ] as const) {
    const told = await activity(from);
    assert.equal(told.bucketMs, bucketMs);
    assert.deepEqual(
      ['accepted', 'delivered'].map((name) =>
        told.buckets.reduce((sum, bucket) => sum + bucket[name as 'accepted' | 'delivered'], 0),
      ),
      [2, 2],
    );
    assert.equal(told.buckets.at(-1)!.accepted, 1);
  }
  refusal(await rider.call('GET', `/v2/activity?fromDate=${start}&toDate=${start - 1}`), 400, 'bad_filter');
  refusal(await rider.call('GET', '/v2/activity?hours=3'), 400, 'bad_filter');
});

test('failures are grouped, and a group can be retried as a whole by its own words', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 503);
  const ids = [];
  for (let i = 0; i < 3; i += 1)
    ids.push(await rider.published(`${receiver.url}/${i}`, { headers: { 'Service-Retries': '0' } }));
  ids.push(await rider.published('http://127.0.0.1:1/', { headers: { 'Service-Retries': '0' } }));
  for (const id of ids) await rider.ended(id);
  const { groups } = await rider.manage<Groups>('GET', '/v2/dlq/groups');
  assert.deepEqual(
    groups.map(({ count, responseStatus }) => [count, responseStatus]),
    [
      [3, 503],
      [1, undefined],
    ],
  );
  const { host, failure, sample } = groups[0]!;
  assert.equal((await rider.call('GET', `/v2/dlq/${sample.dlqId}`)).status, 200);
  const bulk = { action: 'retry', filter: { host, failure }, dryRun: true };
  assert.equal((await rider.manage<{ matched: number }>('POST', '/v2/bulk', bulk)).matched, 3);
  const other = { ...bulk, filter: { host, failure: 'something else' } };
  assert.equal((await rider.manage<{ matched: number }>('POST', '/v2/bulk', other)).matched, 0);
});

test('a cron is told ahead', async (t) => {
  const rider = await startRider(t);
  const path = `/v2/cron?cron=${encodeURIComponent('CRON_TZ=Europe/Berlin 0 9 * * 1-5')}`;
  const { times, timeZone } = await rider.manage<{ times: number[]; timeZone: string }>('GET', path);
  assert.equal(times.length, 5);
  assert.equal(timeZone, 'Europe/Berlin');
  assert.equal(new Date(times[0]!).getUTCHours(), 8);
  refusal(await rider.call('GET', '/v2/cron?cron=nonsense'), 400, 'bad_cron');
});

test('the sink keeps what it got, in development only', async (t) => {
  const rider = await startRider(t);
  await rider.ended(
    await rider.published(`${rider.url}/dev/sink/status/500`, { headers: { 'Service-Retries': '0' }, body: 'hello' }),
  );
  const { requests } = await rider.manage<{ requests: { body?: string; status?: number; url: string }[] }>(
    'GET',
    '/v2/dev/requests',
  );
  assert.deepEqual(
    requests.map(({ body, status, url }) => [body, status, url]),
    [['hello', 500, '/dev/sink/status/500']],
  );
  await rider.manage('DELETE', '/v2/dev/requests');
  assert.deepEqual(await rider.manage('GET', '/v2/dev/requests'), { requests: [] });
  const serving = await startRider(t, { command: 'serve' });
  refusal(await serving.call('GET', '/v2/dev/requests'), 404, 'not_found');
  // Neither is there a clock that callers move: dev has one if it is asked for, serve never.
  for (const method of ['GET', 'POST']) {
    refusal(await serving.call(method, '/v2/dev/clock', { body: '{"advance":"1h"}' }), 404, 'not_found');
  }
  assert.equal((await rider.manage<{ clock: string }>('GET', '/v2/dev/clock')).clock, 'real');
  refusal(await rider.call('POST', '/v2/dev/clock', { body: '{"advance":"1h"}' }), 409, 'clock_not_manual');
});

test('a token shows when it was last used', async (t) => {
  const rider = await startRider(t);
  const { accountId, token } = await rider.account('someone');
  await rider.call('GET', '/v2/keys', { token });
  // No request waits for this to be written, so the answer may come first.
  const lastUsedAt = await waitFor('the use to be written', async () => {
    const { tokens } = await rider.manage<{ tokens: { lastUsedAt?: number }[] }>(
      'GET',
      `/v2/admin/tokens?accountId=${accountId}`,
    );
    return tokens[0]!.lastUsedAt;
  });
  assert.equal(lastUsedAt, rider.clock.now());
});
