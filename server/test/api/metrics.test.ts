// The numbers for a monitoring system: in the format it reads, counting what happens, telling nothing of any account.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startRider } from '../http/harness.ts';
import { startReceiver } from '../http/receiver.ts';

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
  assert.match(after, /^postrider_messages_accepted_total 1$/m);
  assert.match(after, /^postrider_attempts_total\{outcome="answered",status="2xx"\} 1$/m);
  assert.match(after, /^postrider_messages_ended_total\{state="delivered"\} 1$/m);
  assert.match(after, /^postrider_attempts_in_flight 0$/m);
  assert.match(after, /^postrider_ready 1$/m);
  assert.ok(!after.includes(id) && !after.includes('acc_'));
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
