// What a schedule may keep: so many headers. They are read again at every tick.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import { refusal, sharedRider } from '../../support/harness.ts';

const COUNT_MAX = eachMax('scheduleHeaders');
const shared = sharedRider();

const headers = (count: number, length = 1, name = 'x-') =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${name}${index}`, 'y'.repeat(length)]));

test('a schedule keeps a bounded number of headers, however many changes add some', async () => {
  const rider = shared();
  const { token } = await rider.account('with-a-schedule');
  const create = (given: Readonly<Record<string, string>>) =>
    rider.call('POST', '/v2/schedules/https://example.com/tick', {
      token,
      headers: { 'Service-Cron': '@yearly', 'Service-Schedule-Id': 'yearly', ...given },
    });
  assert.match(refusal(await create(headers(COUNT_MAX)), 400, 'bad_header'), /headers; the limit is 256/);
  assert.equal((await create(headers(100))).status, 201);
  const change = (given: object) =>
    rider.call('PATCH', '/v2/schedules/yearly', { token, body: JSON.stringify({ headers: given }) });
  assert.equal((await change(headers(100, 1, 'y-'))).status, 200);
  const before = await rider.manage('GET', '/v2/schedules/yearly', undefined, token);
  assert.match(refusal(await change(headers(100, 1, 'z-')), 400, 'bad_header'), /headers; the limit is 256/);
  const long = headers(100, eachMax('scheduleHeaderBytes') / 100);
  assert.match(refusal(await change(long), 400, 'bad_header'), /bytes in total; the limit is 65536/);
  assert.deepEqual(await rider.manage('GET', '/v2/schedules/yearly', undefined, token), before);
  const removed = Object.fromEntries(Object.keys(headers(100)).map((name) => [name, '']));
  assert.equal((await change({ ...headers(100, 1, 'z-'), ...removed })).status, 200);
});
