// The numbers for a monitoring system: in the format it reads, counting what happens, telling nothing of any account.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

test('GET /metrics: counts acceptances, attempts and ends, in the text format of Prometheus', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const before = await rider.call('GET', '/metrics', { token: null });
  assert.equal(before.status, 200);
  assert.match(before.headers['content-type'] ?? '', /^text\/plain; version=0\.0\.4/);
  assert.match(before.text, /^postrider_messages_accepted_total 0$/m);

  const id = await rider.accepted(receiver.url);
  await rider.ended(id);
  const after = (await rider.call('GET', '/metrics', { token: null })).text;
  assert.match(after, /^postrider_messages_accepted_total\{way="publish"\} 1$/m);
  assert.match(after, /^postrider_attempts_total\{outcome="answered",status="2xx"\} 1$/m);
  assert.match(after, /^postrider_messages_ended_total\{state="delivered"\} 1$/m);
  assert.match(after, /^postrider_attempts_in_flight 0$/m);
  assert.match(after, /^postrider_ready 1$/m);
  assert.ok(!after.includes(id) && !after.includes('acc_'));
});

test('GET /metrics: every way in is counted, each message once, and every end', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, ({ target }) => (target === '/bad' ? 500 : 200));
  const numbers = async () => {
    const { text } = await rider.call('GET', '/metrics', { token: null });
    const found = [...text.matchAll(/^postrider_messages_(accepted|ended)_total\{(?:way|state)="(\w+)"\} (\d+)$/gm)];
    return Object.fromEntries(found.map(([, what, label, count]) => [`${what} ${label}`, Number(count)]));
  };
  const none = { 'Service-Retries': '0' };
  await rider.ended(await rider.published(receiver.url, { headers: { 'Service-Callback': `${receiver.url}/each` } }));
  const failing = { ...none, 'Service-Failure-Callback': `${receiver.url}/failed` };
  const dead = await rider.published(`${receiver.url}/bad`, { headers: failing });
  await rider.ended(dead);
  const batch = [1, 2].map(() => ({ destination: receiver.url, headers: { 'Service-Delay': '1h' } }));
  await rider.call('POST', '/v2/batch', { body: JSON.stringify(batch) });
  await rider.call('POST', `/v2/enqueue/q/${receiver.url}`, { headers: { 'Service-Delay': '1h' } });
  await rider.manage('DELETE', '/v2/messages', { queueName: 'q' });
  const cron = { 'Service-Cron': '* * * * *', 'Service-Schedule-Id': 'each' };
  await rider.call('POST', `/v2/schedules/${receiver.url}`, { headers: cron });
  await rider.call('POST', '/v2/schedules/each/run');
  await rider.advance(60_000);
  await rider.call('POST', `/v2/dlq/retry/${dead.replace('msg_', 'dlq_')}`, { headers: failing });
  await waitFor('the retried one to fail again', async () => (await numbers())['ended failed'] === 2);
  await rider.manage('POST', '/v2/bulk', { action: 'retry', filter: { all: 'true' } });
  await rider.advance(10_000);
  await waitFor('the last failure callback', async () => (await numbers())['ended delivered'] === 7);
  assert.deepEqual(await numbers(), {
    'accepted publish': 5,
    'accepted callback': 1,
    'accepted failureCallback': 3,
    'accepted schedule': 2,
    'accepted retry': 2,
    'ended delivered': 1 + 1 + 3 + 2,
    'ended failed': 3,
    'ended cancelled': 1,
  });
});

test('GET /metrics: every line is a comment or a sample, and every family says what it is', async (t) => {
  const rider = await startRider(t);
  const { text } = await rider.call('GET', '/metrics', { token: null });
  const sample = /^[a-z_]+(?:\{[a-z]+="[^"]*"(?:,[a-z]+="[^"]*")*\})? \d+(?:\.\d+)?$/;
  const lines = text.trimEnd().split('\n');
  assert.ok(lines.length > 10);
  for (const line of lines) assert.ok(/^# (?:HELP|TYPE) [a-z_]+ ./.test(line) || sample.test(line), line);
  for (const line of lines.filter((each) => !each.startsWith('#'))) {
    const name = line.split(/[{ ]/)[0];
    assert.ok(text.includes(`# TYPE ${name} `), `${name} has no type`);
  }
});
