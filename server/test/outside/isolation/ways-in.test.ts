// Every way that makes messages heeds the quota of the account and the guards of the node: not only a publish, also a
// schedule that is run by hand and dead letters that are sent again.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Rider, refusal, startRider, temporaryFolder } from '../../support/harness.ts';
import { NEARLY_FULL, neverNearlyFull } from '../../support/nearly-full-disk.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const CRON = { 'Service-Cron': '0 0 1 1 *' };

async function deadLetter(rider: Rider, url: string, token?: string): Promise<string> {
  const options = { headers: { 'Service-Retries': '0' }, ...(token !== undefined && { token }) };
  const id = await rider.published(url, options);
  await rider.ended(id, token);
  return id.replace('msg_', 'dlq_');
}

test('run and retry are refused with 429 when the day is used up, and nothing has changed', async (t) => {
  const rider = await startRider(t, { flags: ['--tiers', '{"paid":{"messagesPerDayMax":2}}'] });
  const receiver = await startReceiver(t, () => 500);
  const { token } = await rider.account('limited', 'paid');
  const made = await rider.call('POST', `/v2/schedules/${receiver.url}`, { token, headers: CRON });
  const { scheduleId } = made.json<{ scheduleId: string }>();
  const dlqId = await deadLetter(rider, receiver.url, token);
  assert.equal((await rider.call('POST', `/v2/schedules/${scheduleId}/run`, { token })).status, 201);
  for (const path of [`/v2/schedules/${scheduleId}/run`, `/v2/dlq/retry/${dlqId}`, '/v2/dlq/retry?all=true']) {
    const answer = await rider.call('POST', path, { token });
    assert.match(refusal(answer, 429, 'quota_exceeded'), /daily quota .*: 2 messages/);
    assert.ok(answer.headers['retry-after'] !== undefined);
  }
  assert.equal((await rider.call('GET', `/v2/dlq/${dlqId}`, { token })).status, 200);
  const { all } = await rider.manage<{ all: number }>('GET', '/v2/overview', undefined, token);
  assert.equal(all, 2);
});

test('run and retry are refused with 503 while the disk is nearly full', { skip: neverNearlyFull() }, async (t) => {
  const data = temporaryFolder(t);
  const receiver = await startReceiver(t, () => 500);
  const before = await startRider(t, { data });
  const saved = await before.call('POST', `/v2/schedules/${receiver.url}`, { headers: CRON });
  const { scheduleId } = saved.json<{ scheduleId: string }>();
  const dlqId = await deadLetter(before, receiver.url);
  await before.close();
  const rider = await startRider(t, { data, flags: NEARLY_FULL });
  await rider.quiet();
  for (const path of [`/v2/schedules/${scheduleId}/run`, `/v2/dlq/retry/${dlqId}`, '/v2/dlq/retry?all=true']) {
    refusal(await rider.call('POST', path, {}), 503, 'disk_full');
  }
  const path = `/v2/schedules/${scheduleId}`;
  const nextAt = async () => (await rider.manage<{ nextScheduleTime: number }>('GET', path)).nextScheduleTime;
  const dueAt = await nextAt();
  rider.clock.advance(dueAt - rider.clock.now() + 1000);
  await waitFor('the tick to be passed over', async () => (await nextAt()) > dueAt);
  const made = await rider.manage<{ messages: unknown[] }>('GET', `/v2/messages?scheduleId=${scheduleId}`);
  assert.deepEqual(made.messages, []);
});

test('on a disk that is nearly full nothing grows, and what frees space works', {
  skip: neverNearlyFull(),
}, async (t) => {
  const data = temporaryFolder(t);
  const receiver = await startReceiver(t, () => 500);
  const before = await startRider(t, { data });
  const dlqId = await deadLetter(before, receiver.url);
  await before.manage('POST', '/v2/queues', { queueName: 'q', parallelism: 2 });
  const later = await before.published(receiver.url, { headers: { 'Service-Delay': '1h' } });
  const leaving = await before.account('leaving');
  await before.close();
  const rider = await startRider(t, { data, flags: NEARLY_FULL });
  await rider.quiet();
  const endpoints = [{ url: receiver.url }];
  const alert = { rule: { type: 'messageFailed' }, target: { url: receiver.url } };
  const many = Array.from({ length: 3000 }, (_, n) => `msg_${String(n).padStart(26, '0')}`);
  const growing: readonly (readonly [method: 'POST' | 'PUT', path: string, body: object])[] = [
    ['POST', '/v2/topics/t/endpoints', { endpoints }],
    ['POST', '/v2/queues', { queueName: 'r', parallelism: 2 }],
    ['PUT', '/v2/alerts/a', alert],
    ['POST', '/v2/admin/accounts', { name: 'more' }],
    ['POST', '/v2/flowControl/k/pin', { parallelism: 3 }],
    ['POST', '/v2/bulk', { action: 'cancel', filter: { messageIds: many } }],
  ];
  for (const [method, path, body] of growing) {
    refusal(await rider.call(method, path, { body: JSON.stringify(body) }), 503, 'disk_full');
  }
  await rider.manage('POST', '/v2/queues/q/pause');
  await rider.manage('DELETE', '/v2/queues/q');
  assert.equal((await rider.call('DELETE', `/v2/dlq/${dlqId}`, {})).status, 200);
  await rider.manage('DELETE', `/v2/admin/accounts/${leaving.accountId}?confirm=leaving`);
  await rider.manage('POST', '/v2/bulk', { action: 'cancel', filter: { all: true } });
  await rider.advance(10_000);
  await waitFor('the cancel', async () => (await rider.message(later)).state === 'CANCELLED');
});
