// The numbers for a monitoring system: in the format it reads, counting what happens, telling nothing of any account.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Rider, startRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const TOKEN = 'secret-of-the-metrics';

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

test('GET /metrics: how late attempts started, how long they took, and how late messages were delivered', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, ({ target }) => (target === '/bad' ? 500 : 200));
  const delayed = await rider.published(receiver.url, { headers: { 'Service-Delay': '1h' } });
  await rider.advance(3_600_000);
  await rider.ended(delayed);
  const bad = await rider.published(`${receiver.url}/bad`, { headers: { 'Service-Retries': '1' } });
  await rider.attempted(bad, 1);
  await rider.advance(10_000);
  await rider.ended(bad);
  const { text } = await rider.call('GET', '/metrics', { token: null });
  const value = (series: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${series} `))!
        .split(' ')[1],
    );
  assert.equal(value('postrider_attempt_duration_seconds_count'), 3);
  assert.equal(value('postrider_attempt_lag_seconds_count'), 3);
  assert.equal(value('postrider_delivery_lag_seconds_count'), 1, 'only one message was delivered');
  // Neither the delay nor the wait for a retry is a lag.
  assert.ok(value('postrider_attempt_lag_seconds_sum') < 60);
  assert.ok(value('postrider_delivery_lag_seconds_sum') < 60);
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
    const series = line.split(/[{ ]/)[0]!;
    const family = series.replace(/_(?:bucket|sum|count)$/, '');
    const name = text.includes(`# TYPE ${family} histogram\n`) ? family : series;
    assert.ok(text.includes(`# TYPE ${name} `), `${name} has no type`);
  }
});

/** The metrics, when what waits has been counted. */
async function withBacklog(rider: Rider, headers = {}): Promise<string> {
  return waitFor('the backlog to be counted', async () => {
    const { text } = await rider.call('GET', '/metrics', { token: null, headers });
    return text.includes('\npostrider_dead_letters ') && text;
  });
}

async function startWithBacklog(rider: Rider, url: string): Promise<void> {
  const dead = await rider.published(`${url}/bad`, { headers: { 'Service-Retries': '0' } });
  await rider.ended(dead);
  const later = { 'Service-Delay': '1h' };
  for (const queue of ['short', 'long', 'long'])
    await rider.call('POST', `/v2/enqueue/${queue}/${url}`, { headers: later });
  const flow = { 'Service-Flow-Control-Key': 'key', 'Service-Flow-Control-Value': 'rate=1, period=1h' };
  const [first] = [await rider.published(url, { headers: flow }), await rider.published(url, { headers: flow })];
  await rider.published(url, { headers: flow });
  await rider.ended(first);
}

test('GET /metrics: what waits in the whole service is counted while the metrics are read; queues and keys have no names', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, ({ target }) => (target === '/bad' ? 500 : 200));
  await startWithBacklog(rider, receiver.url);
  const text = await withBacklog(rider);
  assert.match(text, /^postrider_messages_open\{state="waiting"\} 5$/m);
  assert.match(text, /^postrider_messages_open\{state="ready"\} 0$/m);
  assert.match(text, /^postrider_dead_letters 1$/m);
  assert.match(text, /^postrider_oldest_ready_seconds\{outage="retry"\} 0$/m);
  assert.deepEqual(text.match(/^postrider_(?:queue|flow_key)_depth\{.*/gm), [
    'postrider_queue_depth{rank="1"} 2',
    'postrider_queue_depth{rank="2"} 1',
    'postrider_flow_key_depth{rank="1"} 2',
  ]);
});

test('GET /metrics: what expired and what was changed is counted, and the acks that are open', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, ({ target }) => ({ status: target === '/ack' ? 202 : 503 }));
  await rider.manage('POST', '/v2/queues', { queueName: 'stopped', paused: true });
  const waiting = await rider.accepted(receiver.url, { queue: 'stopped', headers: { 'Service-Expires': '30m' } });
  const change = { body: JSON.stringify({ body: 'new' }) };
  assert.equal((await rider.call('PATCH', `/v2/messages/${waiting}`, change)).status, 200);
  assert.equal((await rider.call('PATCH', `/v2/messages/${waiting}`, { body: '{"delay":"2h"}' })).status, 400);
  await rider.published(`${receiver.url}/ack`, { headers: { 'Service-Await-Ack': '1h' } });
  const after = { 'Service-Expires': '1s', 'Service-Retry-Delay': '60000' };
  await rider.ended(await rider.published(`${receiver.url}/bad`, { headers: after }));
  await rider.advance(1_800_000);
  await rider.ended(waiting);
  const text = await waitFor('the ack to be counted', async () => {
    const { text: some } = await rider.call('GET', '/metrics', { token: null });
    return some.includes('\npostrider_acks_open 1\n') && some;
  });
  assert.match(text, /^postrider_messages_changed_total 1$/m);
  assert.match(text, /^postrider_messages_expired_total 2$/m);
  assert.match(text, /^postrider_messages_ended_total\{state="failed"\} 2$/m);
  assert.match(text, /^postrider_messages_open\{state="claimed"\} 1$/m);
});

test('GET /metrics: with a token, the longest queues and keys have their names', async (t) => {
  const rider = await startRider(t, { flags: ['--metrics-token', TOKEN] });
  const receiver = await startReceiver(t, ({ target }) => (target === '/bad' ? 500 : 200));
  await startWithBacklog(rider, receiver.url);
  const text = await withBacklog(rider, { Authorization: `Bearer ${TOKEN}` });
  assert.match(text, /^postrider_queue_depth\{account="acc_\w+",queue="long"\} 2$/m);
  assert.match(text, /^postrider_flow_key_depth\{account="acc_\w+",key="key"\} 2$/m);
});

test('GET /metrics: requests are counted by route and class of status', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  await rider.published(receiver.url);
  await rider.call('POST', '/v2/publish/not-a-topic');
  await rider.call('POST', `/v2/publish/${receiver.url}`, { token: 'unknown' });
  await rider.call('POST', `/v2/enqueue/q/${receiver.url}`);
  const elements = [{ destination: receiver.url }, { destination: receiver.url }];
  await rider.call('POST', '/v2/batch', { body: JSON.stringify(elements) });
  await rider.call('POST', '/v2/batch', { body: '[' });
  await rider.call('GET', '/v2/messages/msg_unknown');
  await rider.call('GET', '/v2/messages');
  await rider.call('GET', '/nothing/here');
  const counts = async () => {
    const { text } = await rider.call('GET', '/metrics', { token: null });
    const found = text.matchAll(/^postrider_requests_total\{route="([^"]+)",status="(\w+)"\} (\d+)$/gm);
    return new Map([...found].map(([, route, status, count]) => [`${route} ${status}`, Number(count)]));
  };
  await waitFor('the last one to be counted', async () => (await counts()).has('none 4xx'));
  const found = await counts();
  const expected = {
    'POST /v2/publish/{destination} 2xx': 1,
    'POST /v2/publish/{destination} 4xx': 2,
    'POST /v2/enqueue/{queueName}/{destination} 2xx': 1,
    'POST /v2/batch 2xx': 1,
    'POST /v2/batch 4xx': 1,
    'GET /v2/messages/{messageId} 4xx': 1,
    'GET /v2/messages 2xx': 1,
    'none 4xx': 1,
  };
  for (const [route, count] of Object.entries(expected)) assert.equal(found.get(route), count, route);
});

test('GET /metrics: commits, with the calls that shared them, and how busy the event loop is', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const shown = async () => {
    const { text } = await rider.call('GET', '/metrics', { token: null });
    const value = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)![1]);
    const [commits, calls] = [value('postrider_commit_seconds_count'), value('postrider_committed_calls_total')];
    assert.ok(calls >= commits, `${calls} calls in ${commits} transactions`);
    assert.ok(value('postrider_commit_seconds_sum') > 0);
    return { commits, busy: value('postrider_loop_busy_seconds_total') };
  };
  const before = await shown();
  for (let n = 0; n < 3; n += 1) {
    await rider.published(receiver.url);
    await rider.quiet();
  }
  const after = await shown();
  assert.ok(after.commits >= before.commits + 3, `${before.commits} before, ${after.commits} after`);
  assert.ok(after.busy > before.busy);
});
