// The rows of the API about what is sent, what counts as a success and what follows, each by one request over real
// sockets. The tests named after the sections of the spec look at the same rules from more sides.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ridersOfOneService } from '../../support/harness.ts';
import { inTurn, startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

test('Content-Type: passed on as it is, and absent when absent', async (t) => {
  const [rider, receiver] = [await startRider(t), await startReceiver(t)];
  await rider.published(receiver.url, { headers: { 'Content-Type': 'text/plain; charset="x"' }, body: 'a' });
  await rider.published(receiver.url);
  const arrivals = await receiver.received(2);
  assert.deepEqual(arrivals.map((each) => each.header('Content-Type')).sort(), ['text/plain; charset="x"', undefined]);
});

test('Method: each of the five is used for the delivery; POST unless given', async (t) => {
  const [rider, receiver] = [await startRider(t), await startReceiver(t)];
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
  for (const method of methods) await rider.published(receiver.url, { headers: { 'Service-Method': method } });
  await rider.published(receiver.url);
  const seen = (await receiver.received(6)).map(({ method }) => method);
  assert.deepEqual(seen.sort(), [...methods, 'POST'].sort());
});

test('Retries: at most 1 + retries deliveries; over the maximum of the tier 412', async (t) => {
  const [rider, receiver] = [await startRider(t), await startReceiver(t, () => 500)];
  const id = await rider.published(receiver.url, { headers: { 'Service-Retries': '1', 'Service-Retry-Delay': '0' } });
  const message = await rider.ended(id);
  assert.equal(message.state, 'FAILED');
  assert.equal(receiver.arrivals.length, 2);
  assert.equal((await rider.publish(receiver.url, { headers: { 'Service-Retries': '101' } })).status, 412);
});

test('Forward-<Name>: sent as <Name>, any number; what cannot be sent is refused at the door', async (t) => {
  const [rider, receiver] = [await startRider(t), await startReceiver(t)];
  await rider.published(receiver.url, { headers: { 'Service-Forward-X-One': '1', 'Service-Forward-x-two': 'zwei' } });
  const [arrival] = await receiver.received(1);
  assert.deepEqual([arrival!.header('X-One'), arrival!.header('x-two')], ['1', 'zwei']);
  for (const name of ['Host', 'Content-Length', 'Transfer-Encoding', 'Connection', 'Service-Retries']) {
    assert.equal(
      (await rider.publish(receiver.url, { headers: { [`Service-Forward-${name}`]: '1' } })).status,
      400,
      name,
    );
  }
});

test('Delivery, sent: message id, retried, signature, user agent, and where they apply topic, queue and caller', async (t) => {
  const [rider, receiver] = [await startRider(t), await startReceiver(t)];
  const id = await rider.accepted(receiver.url, { queue: 'orders' });
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.header('Service-Message-Id'), id);
  assert.equal(arrival!.header('Service-Retried'), '0');
  assert.equal(arrival!.header('Service-Queue-Name'), 'orders');
  assert.equal(arrival!.header('Service-Caller-Ip'), '127.0.0.1');
  assert.match(arrival!.header('Service-Signature') ?? '', /^[\w-]+\.[\w-]+\.[\w-]+$/);
  assert.match(arrival!.header('User-Agent') ?? '', /^postrider\//);
  assert.equal(arrival!.header('webhook-id'), id);
});

test('Delivery, success: any 2xx and nothing else; a redirect is never followed', async (t) => {
  const rider = await startRider(t);
  const elsewhere = await startReceiver(t);
  for (const [status, state] of [
    [200, 'DELIVERED'],
    [204, 'DELIVERED'],
    [299, 'DELIVERED'],
    [302, 'FAILED'],
    [404, 'FAILED'],
    [500, 'FAILED'],
  ] as const) {
    const receiver = await startReceiver(t, () => ({ status, headers: { Location: elsewhere.url } }));
    const id = await rider.published(receiver.url, { headers: { 'Service-Retries': '0' } });
    assert.equal((await rider.ended(id)).state, state, String(status));
  }
  assert.equal(elsewhere.arrivals.length, 0);
});

test('Delivery, backoff: 1 s, then 7.39 s, then 54.6 s, never earlier', async (t) => {
  const [rider, receiver] = [await startRider(t), await startReceiver(t, () => 503)];
  const id = await rider.published(receiver.url);
  for (const [count, waitMs] of [
    [1, 1000],
    [2, 7390],
    [3, 54_599],
  ] as const) {
    const message = await rider.attempted(id, count);
    assert.equal(message.nextDeliveryTime! - message.attempts.at(-1)!.endedAt, waitMs);
    await rider.advance(waitMs - 1);
    assert.equal(receiver.arrivals.length, count);
    await rider.advance(1);
  }
  await rider.attempted(id, 4);
});

test('Delivery, retried: a retry counts from when it starts; one that waits, or was cancelled waiting, is not made', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 500);
  const headers = { 'Service-Retry-Delay': '1000', 'Service-Retries': '2' };
  const messageId = await rider.published(receiver.url, { headers });
  const other = await rider.published(receiver.url, { headers });
  const seen: [string, number][] = [];
  const look = async (id: string) => {
    const { state, retried } = await rider.message(id);
    seen.push([state, retried]);
  };
  await rider.attempted(messageId, 1);
  await rider.attempted(other, 1);
  await look(messageId);
  await rider.manage('DELETE', `/v2/messages/${other}`);
  await look(other);
  receiver.answer = () => 'hang';
  await rider.advance(1000);
  await receiver.received(3);
  await look(messageId);
  await rider.advance(30_000);
  receiver.answer = () => 500;
  await rider.attempted(messageId, 2);
  await look(messageId);
  await rider.advance(1000);
  await rider.ended(messageId);
  await look(messageId);
  assert.deepEqual(seen, [
    ['RETRY', 0],
    ['CANCELLED', 0],
    ['ACTIVE', 1],
    ['RETRY', 1],
    ['FAILED', 2],
  ]);
  const [listed] = (await rider.manage<{ messages: [{ retried: number }] }>('GET', '/v2/messages?state=FAILED'))
    .messages;
  assert.equal(listed.retried, 2);
});

test('Delivery, Retry-After: moves the next attempt later, never sooner, unless it says 0', async (t) => {
  const rider = await startRider(t);
  for (const [said, waitMs] of [
    ['30', 30_000],
    ['0.5', 1000],
    ['0', 0],
  ] as const) {
    const receiver = await startReceiver(t, inTurn({ status: 429, headers: { 'Retry-After': said } }, 200));
    const id = await rider.published(receiver.url);
    const message = await rider.attempted(id, 1);
    const [first] = message.attempts;
    const nextAt = message.nextDeliveryTime ?? message.endedAt!;
    assert.equal(nextAt - first!.endedAt, waitMs, said);
  }
});

test('Delivery, not retryable: status 489 or the header NonRetryable-Error end it at once', async (t) => {
  const rider = await startRider(t);
  for (const reply of [489, { status: 500, headers: { 'Service-NonRetryable-Error': 'true' } }] as const) {
    const receiver = await startReceiver(t, () => reply);
    const message = await rider.ended(await rider.published(receiver.url));
    assert.equal(message.state, 'FAILED');
    assert.equal(message.attempts.length, 1);
  }
});

test('Delivery, egress: an address the guard refuses fails at once, without retries, with the reason in words', async (t) => {
  const rider = await startRider(t, { command: 'serve' });
  const receiver = await startReceiver(t);
  const message = await rider.ended(await rider.published(receiver.url));
  assert.equal(message.state, 'FAILED');
  assert.match(message.failure ?? '', /egress guard: 127\.0\.0\.1 is a loopback address/);
  assert.equal(message.attempts.length, 1);
  assert.equal(receiver.arrivals.length, 0);
});

test('Delivery, answer: status, headers and up to 64 KiB of the body are kept; the rest is cut', async (t) => {
  const [rider, receiver] = [
    await startRider(t),
    await startReceiver(t, () => ({ status: 200, body: 'x'.repeat(70_000) })),
  ];
  const id = await rider.published(receiver.url);
  await rider.ended(id);
  const stored = await rider.manage<{ attempts: { responseBody: string; isResponseBodyCut: boolean }[] }>(
    'GET',
    `/v2/messages/${id}`,
  );
  assert.equal(stored.attempts[0]!.responseBody.length, 65_536);
  assert.equal(stored.attempts[0]!.isResponseBodyCut, true);
});

test('Queues: the next starts when the one before has ended, and a retrying head holds its queue', async (t) => {
  const [rider, receiver] = [await startRider(t), await startReceiver(t, inTurn(500, 200))];
  const first = await rider.accepted(`${receiver.url}/1`, { queue: 'line' });
  const second = await rider.accepted(`${receiver.url}/2`, { queue: 'line' });
  await rider.attempted(first, 1);
  await rider.quiet();
  assert.deepEqual(
    receiver.arrivals.map(({ target }) => target),
    ['/1'],
  );
  await rider.advance(1000);
  await rider.ended(second);
  assert.deepEqual(
    receiver.arrivals.map(({ target }) => target),
    ['/1', '/1', '/2'],
  );
});

test('Callbacks: after each attempt, and a failure callback once with the dead letter’s id', async (t) => {
  const rider = await startRider(t);
  const [receiver, callbacks, failures] = [
    await startReceiver(t, () => 500),
    await startReceiver(t),
    await startReceiver(t),
  ];
  const headers = {
    'Service-Retries': '1',
    'Service-Retry-Delay': '0',
    'Service-Callback': callbacks.url,
    'Service-Failure-Callback': failures.url,
  };
  const id = await rider.published(receiver.url, { headers, body: 'hello' });
  const reports = (await callbacks.received(2)).map(({ body }) => JSON.parse(Buffer.from(body).toString()));
  assert.deepEqual(
    reports.map(({ status }) => status),
    [500, 500],
  );
  assert.deepEqual(reports.map(({ retried }) => retried).sort(), [0, 1]);
  assert.equal(reports[0].sourceMessageId, id);
  assert.equal(Buffer.from(reports[0].sourceBody, 'base64').toString(), 'hello');
  const [failure] = await failures.received(1);
  assert.equal(JSON.parse(Buffer.from(failure!.body).toString()).dlqId, id.replace('msg_', 'dlq_'));
  await rider.quiet();
  assert.equal(failures.arrivals.length, 1);
});

test('Limits: a message that comes back more than five times is refused as a loop', async (t) => {
  const [rider, receiver] = [await startRider(t), await startReceiver(t)];
  assert.equal((await rider.publish(receiver.url, { headers: { 'Service-Hops': '5' } })).status, 201);
  const refused = await rider.publish(receiver.url, { headers: { 'Service-Hops': '6' } });
  assert.equal(refused.json<{ code: string }>().code, 'loop_detected');
});
