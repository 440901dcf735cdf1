// What may descend from one message: hops, fan-out, callbacks and their retries, also through run and retry. Loops end, and
// other accounts are served while they run.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask } from '../../support/client.ts';
import { type Published, refusal, sharedRider } from '../../support/harness.ts';
import { type Arrival, startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const shared = sharedRider();
const NOWHERE = 'http://127.0.0.1:9';

/** What a delivery to this service itself would carry on: its own headers, as a proxy in between leaves them. */
function ownHeaders(arrival: Arrival): Record<string, string> {
  const own = arrival.headers.filter(([name]) => /^service-(?:hops|descendants-left)$/i.test(name));
  return Object.fromEntries(own);
}

test('a schedule whose delivery runs it again ends', async (t) => {
  const rider = shared();
  const { token } = await rider.account('runs-itself');
  const answers: number[] = [];
  const relay = await startReceiver(t, async (arrival) => {
    const headers = { ...ownHeaders(arrival), Authorization: `Bearer ${token}` };
    const again = await ask(rider.url, `/v2/schedules/${scheduleId}/run`, { method: 'POST', headers });
    answers.push(again.status);
    return again.status === 201 ? 200 : 489;
  });
  const headers = { 'Service-Cron': '0 0 1 1 *' };
  const made = await rider.call('POST', `/v2/schedules/${relay.url}`, { token, headers });
  const { scheduleId } = made.json<{ scheduleId: string }>();
  assert.equal((await rider.call('POST', `/v2/schedules/${scheduleId}/run`, { token })).status, 201);
  // A delivery may come before the response to the call that made it.
  await waitFor('the last run to be refused', () => answers.includes(400) && answers.length >= 6);
  assert.deepEqual(answers.toSorted(), [201, 201, 201, 201, 201, 400]);
});

test('an alert whose test is its own target ends, and a delivery can set no alert', async (t) => {
  const rider = shared();
  const { token } = await rider.account('tests-itself');
  const answers: number[] = [];
  const relay = await startReceiver(t, async (arrival) => {
    const headers = { ...ownHeaders(arrival), Authorization: `Bearer ${token}` };
    // Without an end of its own, the loop must not outlive the test.
    if (answers.length > 20) return 489;
    const again = await ask(rider.url, '/v2/alerts/loop/test', { method: 'POST', headers });
    answers.push(again.status);
    return again.status === 201 ? 200 : 489;
  });
  const alert = { rule: { type: 'messageFailed' }, target: { url: relay.url } };
  await rider.manage('PUT', '/v2/alerts/loop', alert, token);
  await rider.manage('POST', '/v2/alerts/loop/test', undefined, token);
  await waitFor(
    'the last test to be refused',
    () => answers.length > 20 || (answers.includes(400) && answers.length >= 6),
  );
  assert.deepEqual(answers.toSorted(), [201, 201, 201, 201, 201, 400]);
  const led = { token, headers: { 'Service-Hops': '1' }, body: JSON.stringify(alert) };
  refusal(await rider.call('PUT', '/v2/alerts/loop', led), 400, 'loop_detected');
  refusal(await rider.call('POST', '/v2/alerts', led), 400, 'loop_detected');
});

test('fan-out divides what is left, and what is over it is refused whole', async (t) => {
  const rider = shared();
  const receiver = await startReceiver(t);
  const { token } = await rider.account('fans-out');
  const endpoints = Array.from({ length: 100 }, (_, index) => ({ url: `${receiver.url}/${index}` }));
  await rider.manage('POST', '/v2/topics/wide/endpoints', { endpoints }, token);
  const led = (left: number) => ({ token, headers: { 'Service-Hops': '1', 'Service-Descendants-Left': String(left) } });
  refusal(await rider.publish('wide', led(99)), 400, 'loop_detected');
  const batch = { ...led(99), body: JSON.stringify([{ destination: 'wide' }]) };
  refusal(await rider.call('POST', '/v2/batch', batch), 400, 'loop_detected');
  assert.equal(receiver.arrivals.length, 0);
  assert.equal((await rider.publish('wide', led(500))).status, 201);
  const arrivals = await receiver.received(100);
  assert.deepEqual(new Set(arrivals.map((arrival) => arrival.header('service-descendants-left'))), new Set(['2']));
});

test('an element of a batch cannot make itself younger than the request it came in', async (t) => {
  const rider = shared();
  const receiver = await startReceiver(t);
  const { token } = await rider.account('younger');
  const element = { destination: receiver.url, headers: { 'Service-Hops': '0', 'Service-Descendants-Left': '2000' } };
  const headers = { 'Service-Hops': '4', 'Service-Descendants-Left': '9' };
  assert.equal((await rider.batch([element], { token, headers })).status, 201);
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.header('service-hops'), '5');
  assert.equal(arrival!.header('service-descendants-left'), '4');
  refusal(await rider.batch([element], { token, headers: { 'Service-Hops': '6' } }), 400, 'loop_detected');
});

test('a hundred retries without a wait and a failing callback are some hundred requests, not ten thousand', async (t) => {
  const rider = shared();
  const receiver = await startReceiver(t, () => 500);
  const well = await startReceiver(t);
  const [attacker, other] = [await rider.account('fails', 'paid'), await rider.account('beside-the-failing')];
  const headers = {
    'Service-Retries': '100',
    'Service-Retry-Delay': '0',
    'Service-Callback': `${receiver.url}/callback`,
  };
  const id = await rider.published(receiver.url, { token: attacker.token, headers });
  await receiver.received(50);
  const mine = await rider.published(well.url, { token: other.token });
  assert.equal((await rider.ended(mine, other.token)).state, 'DELIVERED');
  assert.equal((await rider.ended(id, attacker.token)).attempts.length, 101);
  await waitFor('everything to have ended', async () => {
    const { waiting, active, retrying } = await rider.manage<{ waiting: number; active: number; retrying: number }>(
      'GET',
      '/v2/overview',
      undefined,
      attacker.token,
    );
    return waiting + active + retrying === 0;
  });
  // 101 attempts, and 101 callbacks with the 4 retries that there is room for.
  assert.equal(receiver.arrivals.length, 101 + 101 * 5);
});

test('a retry of a dead letter that a delivery asked for has come as far as that delivery', async (t) => {
  const rider = shared();
  const receiver = await startReceiver(t, () => 500);
  const { token } = await rider.account('retries');
  const id = await rider.published(receiver.url, { token, headers: { 'Service-Retries': '0' } });
  await rider.ended(id, token);
  const path = `/v2/dlq/retry/${id.replace('msg_', 'dlq_')}`;
  refusal(await rider.call('POST', path, { token, headers: { 'Service-Hops': '6' } }), 400, 'loop_detected');
  const none = { 'Service-Hops': '1', 'Service-Descendants-Left': '0' };
  refusal(await rider.call('POST', path, { token, headers: none }), 400, 'loop_detected');
  const bulk = JSON.stringify({ action: 'retry', filter: { all: true } });
  refusal(
    await rider.call('POST', '/v2/bulk', { token, headers: { 'Service-Hops': '1' }, body: bulk }),
    400,
    'loop_detected',
  );
  assert.equal((await rider.call('POST', path, { token, headers: { 'Service-Hops': '3' } })).status, 201);
  assert.equal((await receiver.received(2))[1]!.header('service-hops'), '4');
});

test('dead letters that a delivery sends again share what is left of it', async (t) => {
  const rider = shared();
  const receiver = await startReceiver(t, () => 500);
  const { token } = await rider.account('retries-all');
  for (let count = 0; count < 2; count += 1) {
    const id = await rider.published(receiver.url, { token, headers: { 'Service-Retries': '0' } });
    await rider.ended(id, token);
  }
  const retry = (left: string) =>
    rider.call('POST', '/v2/dlq/retry?all=true', {
      token,
      headers: { 'Service-Hops': '1', 'Service-Descendants-Left': left },
    });
  refusal(await retry('1'), 400, 'loop_detected');
  assert.equal((await retry('22')).status, 201);
  // Each has ten left, and hands on half of them.
  for (const arrival of (await receiver.received(4)).slice(2)) {
    assert.equal(arrival.header('service-descendants-left'), '5');
  }
});

test('the messages of a schedule that a delivery made may not come back', async (t) => {
  const rider = shared();
  const receiver = await startReceiver(t);
  const { token } = await rider.account('makes-schedules');
  const headers = { 'Service-Cron': '0 0 1 1 *', 'Service-Hops': '1', 'Service-Descendants-Left': '500' };
  const made = await rider.call('POST', `/v2/schedules/${receiver.url}`, { token, headers });
  const { scheduleId } = made.json<{ scheduleId: string }>();
  await rider.manage('POST', `/v2/schedules/${scheduleId}/run`, undefined, token);
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.header('service-hops'), '6');
  refusal(await rider.publish(NOWHERE, { token, headers: ownHeaders(arrival!) }), 400, 'loop_detected');
});

test('nor may those of a schedule that a delivery changed, whatever a later change says', async (t) => {
  const rider = shared();
  const receiver = await startReceiver(t);
  const { token } = await rider.account('changes-schedules');
  const made = await rider.call('POST', `/v2/schedules/${NOWHERE}`, {
    token,
    headers: { 'Service-Cron': '0 0 1 1 *' },
  });
  const path = `/v2/schedules/${made.json<{ scheduleId: string }>().scheduleId}`;
  const change = (body: object, headers: Record<string, string>) =>
    rider.call('PATCH', path, { token, headers, body: JSON.stringify(body) });
  const led = { 'Service-Hops': '1', 'Service-Descendants-Left': '500' };
  assert.equal((await change({ destination: receiver.url }, led)).status, 200);
  assert.equal((await change({ headers: { 'Service-Hops': '', 'Service-Retries': '0' } }, {})).status, 200);
  await rider.manage('POST', `${path}/run`, undefined, token);
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.header('service-hops'), '6');
});

test('beyond the default number of retries each waits at least what the tier says, whatever is asked for', async (t) => {
  const rider = shared();
  const receiver = await startReceiver(t, () => ({ status: 503, headers: { 'Retry-After': '0' } }));
  const { token } = await rider.account('in-a-hurry');
  const headers = { 'Service-Retries': '4', 'Service-Retry-Delay': '0' };
  const { messageId } = (await rider.publish(receiver.url, { token, headers })).json<Published>();
  const message = await rider.attempted(messageId, 4, token);
  assert.equal(message.nextDeliveryTime! - message.attempts.at(-1)!.endedAt, 1000);
});
