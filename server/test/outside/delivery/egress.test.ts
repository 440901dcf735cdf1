// Where a delivery may go, seen from outside: `serve` refuses loopback and private addresses unless they are allowed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Rider, startRider } from '../../support/harness.ts';
import { lacks } from '../../support/machine.ts';
import { startReceiver } from '../../support/receiver.ts';

const servers = (...allowed: string[]) => ({
  command: 'serve' as const,
  flags: allowed.flatMap((cidr) => ['--allow-cidr', cidr]),
});

async function failureOf(rider: Rider, url: string): Promise<string> {
  const message = await rider.ended(await rider.accepted(url, { headers: { 'Service-Retries': '5' } }));
  assert.equal(message.state, 'FAILED');
  assert.equal(message.attempts.length, 1);
  assert.equal(message.attempts[0]!.outcome, 'refusedByPolicy');
  return message.failure!;
}

test('serve refuses a loopback address at delivery: failed at once, without a retry, the reason in words', async (t) => {
  const rider = await startRider(t, servers());
  const receiver = await startReceiver(t);
  assert.match(await failureOf(rider, receiver.url), /refused by the egress guard: 127\.0\.0\.1 is a loopback address/);
  assert.equal(receiver.arrivals.length, 0);
});

test('serve refuses loopback in every spelling, and by name', async (t) => {
  const rider = await startRider(t, servers());
  const receiver = await startReceiver(t);
  for (const host of ['2130706433', '0x7f.1', '0177.0.0.1', '127.1', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0']) {
    assert.match(await failureOf(rider, `http://${host}:${receiver.port}/`), /refused by the egress guard/, host);
  }
  assert.match(await failureOf(rider, `http://localhost:${receiver.port}/`), /localhost resolves to an address/);
  assert.equal(receiver.arrivals.length, 0);
});

test('serve refuses private and link-local addresses', async (t) => {
  const rider = await startRider(t, servers());
  for (const host of ['10.0.0.1', '172.16.0.1', '192.168.0.1', '169.254.169.254', '100.64.0.1', '[fd00::1]']) {
    assert.match(await failureOf(rider, `http://${host}/`), /refused by the egress guard/, host);
  }
});

// Other systems have one loopback address.
test('serve refuses the same for callbacks', { skip: lacks('linux') }, async (t) => {
  const rider = await startRider(t, servers('127.0.0.2/32'));
  const receiver = await startReceiver(t, undefined, '127.0.0.2');
  const reports = await startReceiver(t);
  await rider.ended(await rider.accepted(receiver.url, { headers: { 'Service-Callback': reports.url } }));
  await rider.quiet();
  assert.equal(reports.arrivals.length, 0);
});

test('serve delivers to what --allow-cidr allows', async (t) => {
  const rider = await startRider(t, servers('127.0.0.0/8'));
  const receiver = await startReceiver(t);
  assert.equal((await rider.ended(await rider.accepted(receiver.url))).state, 'DELIVERED');
});

test('dev delivers to loopback, but to no other private address', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  assert.equal((await rider.ended(await rider.accepted(receiver.url))).state, 'DELIVERED');
  assert.match(await failureOf(rider, 'http://10.0.0.1/'), /10\.0\.0\.1 is a private address/);
});

test('a refused message is reported to its failure callback', async (t) => {
  const rider = await startRider(t, servers('127.0.0.0/8'));
  const reports = await startReceiver(t);
  await rider.accepted('http://10.0.0.1/', { headers: { 'Service-Failure-Callback': reports.url } });
  const [call] = await reports.received(1);
  const report = JSON.parse(call!.body.toString()) as { status: number; error: string };
  assert.equal(report.status, 0);
  assert.match(report.error, /refused by the egress guard: 10\.0\.0\.1/);
});

test('a host that does not exist is accepted at publish and fails as an attempt', async (t) => {
  const rider = await startRider(t, servers());
  const messageId = await rider.accepted('https://no-such-host.invalid/', { headers: { 'Service-Retries': '0' } });
  const message = await rider.ended(messageId);
  assert.equal(message.attempts[0]!.outcome, 'unreachable');
  assert.match(message.failure ?? '', /no-such-host\.invalid/);
});
