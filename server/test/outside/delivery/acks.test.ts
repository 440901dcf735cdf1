// api.md, Long jobs: a receiver that answers with 202 says later how its work has ended.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type MessageView, type Rider, refusal, startRider } from '../../support/harness.ts';
import { type Answer, type Receiver, startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;

interface Ack {
  readonly attempt: number;
  readonly deadline: number;
  readonly progress?: number;
  readonly note?: string;
}
interface AwaitingView extends MessageView {
  readonly awaitAck?: string;
  readonly ack?: Ack;
  readonly failureCode?: string;
  readonly responseStatus?: number;
}

const AWAIT = { 'Service-Await-Ack': '30m' };
const accepted = () => 202;

/** The path of the ack URL that a request has brought. */
function ackPath(receiver: Receiver, index = 0): string {
  const url = receiver.arrivals[index]!.header('Service-Ack-Url');
  assert.ok(url, 'the delivery names an ack URL');
  return new URL(url).pathname;
}

const acknowledge = (rider: Rider, path: string, body: unknown) =>
  rider.call('POST', path, { token: null, body: JSON.stringify(body) });

/** Published, and answered with 202. */
async function awaiting(rider: Rider, receiver: Receiver, more: Record<string, string> = {}): Promise<string> {
  const id = await rider.published(receiver.url, { headers: { ...AWAIT, ...more } });
  await awaited(rider, id);
  return id;
}

function awaited(rider: Rider, id: string): Promise<Ack> {
  return waitFor(`${id} to await its ack`, async () => ((await rider.message(id)) as AwaitingView).ack ?? false);
}

const eventsOf = async (rider: Rider, id: string) => {
  type Event = { readonly state: string; readonly progress?: number };
  const path = `/v2/events?messageId=${id}&order=oldestFirst`;
  const { events } = await rider.manage<{ events: readonly Event[] }>('GET', path);
  return events.map(({ state, progress }) => (progress === undefined ? state : `${state} ${progress}`));
};

async function riderWith(t: Parameters<typeof startRider>[0], answer: Answer = accepted) {
  return [await startRider(t), await startReceiver(t, answer)] as const;
}

test('after a 202 the attempt is open until its ack, which delivers the message', async (t) => {
  const [rider, receiver] = await riderWith(t, () => ({ status: 202, body: 'took it' }));
  const now = rider.clock.now();
  const id = await awaiting(rider, receiver);
  const { ack, state, attempts, awaitAck } = (await rider.message(id)) as AwaitingView;
  assert.deepEqual(
    [ack, state, attempts, awaitAck],
    [{ attempt: 1, deadline: now + 30 * MINUTE }, 'ACTIVE', [], '30m'],
  );
  const why = await rider.manage<{ reason: string; text: string; ackDeadline: number }>(
    'GET',
    `/v2/messages/${id}/why`,
  );
  assert.deepEqual([why.reason, why.ackDeadline], ['awaitingAck', now + 30 * MINUTE]);
  await rider.advance(29 * MINUTE);
  const answer = await acknowledge(rider, ackPath(receiver), { ok: true });
  assert.deepEqual([answer.status, answer.json()], [200, { messageId: id, attempt: 1, ok: true }]);
  const ended = (await rider.message(id)) as AwaitingView;
  assert.deepEqual(
    [
      ended.state,
      ended.ack,
      ended.endedAt,
      ended.attempts.map(({ outcome, responseStatus }) => [outcome, responseStatus]),
    ],
    ['DELIVERED', undefined, now + 29 * MINUTE, [['answered', 202]]],
  );
  assert.deepEqual(await eventsOf(rider, id), ['CREATED', 'ACTIVE', 'AWAITING_ACK', 'DELIVERED']);
  // The same word again, whose response was lost; then a contradiction.
  assert.equal((await acknowledge(rider, ackPath(receiver), { ok: true })).status, 200);
  refusal(await acknowledge(rider, ackPath(receiver), { ok: false }), 410, 'ack_gone');
  refusal(await acknowledge(rider, ackPath(receiver), { progress: 1 }), 410, 'ack_gone');
  await rider.advance(60 * MINUTE);
  assert.equal(receiver.arrivals.length, 1);
});

test('an ack with ok false fails the attempt, which is retried unless it says that it must not be', async (t) => {
  const [rider, receiver] = await riderWith(t);
  const id = await awaiting(rider, receiver, { 'Service-Retry-Delay': '1000' });
  assert.equal((await acknowledge(rider, ackPath(receiver), { ok: false, error: 'no disk' })).status, 200);
  assert.equal((await acknowledge(rider, ackPath(receiver), { ok: false, error: 'no disk' })).status, 200);
  refusal(await acknowledge(rider, ackPath(receiver), { ok: true }), 410, 'ack_gone');
  refusal(await acknowledge(rider, ackPath(receiver), { ok: false, retry: false }), 410, 'ack_gone');
  await rider.advance(SECOND);
  await receiver.received(2);
  await awaited(rider, id);
  assert.notEqual(ackPath(receiver, 1), ackPath(receiver, 0));
  refusal(await acknowledge(rider, ackPath(receiver, 0), { ok: true }), 410, 'ack_gone');
  const last = { ok: false, error: 'bad input', retry: false };
  assert.equal((await acknowledge(rider, ackPath(receiver, 1), last)).status, 200);
  const { state, failure, retried, attempts } = await rider.message(id);
  assert.deepEqual(
    [state, failure, retried, attempts.map(({ outcome, error }) => [outcome, error])],
    [
      'FAILED',
      'the receiver reported: bad input; it requested no retry',
      1,
      [
        ['rejected', 'the receiver reported: no disk'],
        ['rejected', 'the receiver reported: bad input'],
      ],
    ],
  );
  refusal(await acknowledge(rider, ackPath(receiver, 1), { ok: false }), 410, 'ack_gone');
  assert.equal((await acknowledge(rider, ackPath(receiver, 1), last)).status, 200);
});

test('without an ack in time the attempt has failed, and the message fails with no_ack when no retry is left', async (t) => {
  const [rider, receiver] = await riderWith(t);
  const callbacks = await startReceiver(t);
  const id = await awaiting(rider, receiver, { 'Service-Retries': '1', 'Service-Failure-Callback': callbacks.url });
  await rider.advance(30 * MINUTE);
  await rider.attempted(id, 1);
  refusal(await acknowledge(rider, ackPath(receiver), { ok: true }), 410, 'ack_gone');
  await rider.advance(MINUTE);
  await receiver.received(2);
  await awaited(rider, id);
  await rider.advance(30 * MINUTE);
  const ended = (await rider.ended(id)) as AwaitingView;
  assert.deepEqual(
    [ended.state, ended.failure, ended.failureCode, ended.attempts.map(({ outcome }) => outcome)],
    ['FAILED', 'no ack came in time', 'no_ack', ['noAck', 'noAck']],
  );
  const [report] = await callbacks.received(1);
  const { status, ack, failureCode } = JSON.parse(Buffer.from(report!.body).toString());
  assert.deepEqual([status, ack, failureCode], [202, { ok: false, code: 'no_ack' }, 'no_ack']);
});

test('what a receiver reports before its ack is shown, and extends its time up to the limit of the tier', async (t) => {
  const [rider, receiver] = await riderWith(t);
  const id = await awaiting(rider, receiver);
  const start = rider.clock.now();
  const path = ackPath(receiver);
  await rider.advance(20 * MINUTE);
  const half = await acknowledge(rider, path, { extendBy: '1h', progress: 0.45, note: 'halfway' });
  const deadline = start + 80 * MINUTE;
  assert.deepEqual(half.json(), { messageId: id, attempt: 1, deadline, progress: 0.45, note: 'halfway' });
  assert.deepEqual(((await rider.message(id)) as AwaitingView).ack, {
    attempt: 1,
    deadline,
    progress: 0.45,
    note: 'halfway',
  });
  const { text } = await rider.manage<{ text: string }>('GET', `/v2/messages/${id}/why`);
  assert.match(text, /waits for its ack until .*its receiver reported 45 %, "halfway"$/);
  // Within ten seconds of the last event there is no other; an extension never shortens.
  const shorter = await acknowledge(rider, path, { extendBy: '1s', progress: 0.5 });
  assert.equal(shorter.json<Ack>().deadline, deadline);
  await rider.advance(10 * SECOND);
  await acknowledge(rider, path, { note: 'nearly' });
  assert.deepEqual(await eventsOf(rider, id), ['CREATED', 'ACTIVE', 'AWAITING_ACK', 'PROGRESS 0.45', 'PROGRESS']);
  const most = await acknowledge(rider, path, { extendBy: '7d' });
  assert.equal(most.json<Ack>().deadline, start + 24 * 60 * MINUTE);
  await rider.advance(30 * MINUTE);
  assert.equal((await acknowledge(rider, path, { ok: true })).status, 200);
  assert.equal((await rider.message(id)).state, 'DELIVERED');
});

test('a message that awaits its ack holds its place in its queue and its flow key', async (t) => {
  const [rider, receiver] = await riderWith(t);
  for (const path of ['/one', '/two']) await rider.accepted(receiver.url + path, { headers: AWAIT });
  await receiver.received(1);
  await rider.advance(MINUTE);
  assert.equal(receiver.arrivals.length, 1);
  await acknowledge(rider, ackPath(receiver), { ok: true });
  await receiver.received(2);
  const flow = { 'Service-Flow-Control-Key': 'k', 'Service-Flow-Control-Value': 'parallelism=1' };
  const [first] = [
    await awaiting(rider, receiver, flow),
    await rider.published(receiver.url, { headers: { ...AWAIT, ...flow } }),
  ];
  await rider.advance(MINUTE);
  assert.equal(receiver.arrivals.length, 3);
  await rider.manage('DELETE', `/v2/messages/${first}`);
  await rider.advance(2 * SECOND);
  await receiver.received(4);
});

test('a message that awaits its ack holds no slot and no connection', async (t) => {
  const rider = await startRider(t, { flags: ['--concurrency', '1', '--host-concurrency', '1'] });
  const receiver = await startReceiver(t, accepted);
  for (let count = 1; count <= 3; count += 1) {
    await awaiting(rider, receiver);
    await receiver.received(count);
  }
  const { parallelismCount } = await rider.manage<{ parallelismCount: number }>('GET', '/v2/globalParallelism');
  assert.equal(parallelismCount, 0);
  receiver.answer = () => 200;
  assert.equal((await rider.ended(await rider.published(receiver.url))).state, 'DELIVERED');
});

test('a callback reports the outcome of the ack, also of one that failed, and metrics count them', async (t) => {
  const [rider, receiver] = await riderWith(t);
  const callbacks = await startReceiver(t);
  const more = { 'Service-Callback': callbacks.url, 'Service-Retries': '1', 'Service-Retry-Delay': '0' };
  const id = await awaiting(rider, receiver, more);
  await acknowledge(rider, ackPath(receiver), { ok: false, error: 'no disk' });
  await receiver.received(2);
  await awaited(rider, id);
  assert.equal((await acknowledge(rider, ackPath(receiver, 1), { ok: true })).status, 200);
  await callbacks.received(2);
  const reports = callbacks.arrivals.map(({ body }) => JSON.parse(String(body)));
  assert.deepEqual(
    reports.map(({ retried, ack, status, error }) => [retried, ack, status, error]),
    [
      [0, { ok: false }, 202, 'the receiver reported: no disk'],
      [1, { ok: true }, 202, undefined],
    ],
  );
  const { text } = await rider.call('GET', '/metrics', { token: null });
  const counted = [...text.matchAll(/^postrider_acks_received_total\{([^}]*)\} (\d+)$/gm)].map(
    ([, label, count]) => `${label} ${count}`,
  );
  assert.deepEqual(counted.toSorted(), ['kind="failed" 1', 'kind="ok" 1']);
});

test('a word that meets the cancel of its message is refused, and so is the same word again', async (t) => {
  const [rider, receiver] = await riderWith(t);
  for (const word of [{ ok: true }, { ok: false }, { ok: false, retry: false }]) {
    const before = receiver.arrivals.length;
    const id = await awaiting(rider, receiver);
    const path = ackPath(receiver, before);
    const { store } = rider.postrider;
    const settle = store.settle.bind(store);
    // The cancel is written after the ack has found the attempt open, and before its settlement.
    let isFirst = true;
    Object.assign(store, {
      settle: async (...args: Parameters<typeof settle>) => {
        if (isFirst) {
          isFirst = false;
          await rider.call('DELETE', `/v2/messages/${id}`);
        }
        return settle(...args);
      },
    });
    const statuses: number[] = [];
    for (let time = 0; time < 3; time += 1) statuses.push((await acknowledge(rider, path, word)).status);
    Object.assign(store, { settle });
    assert.deepEqual(statuses, [410, 410, 410], JSON.stringify(word));
    assert.equal((await rider.ended(id)).state, 'CANCELLED');
  }
});

test('a cancelled message ends without its ack, which is refused then', async (t) => {
  const [rider, receiver] = await riderWith(t);
  const id = await awaiting(rider, receiver);
  await rider.manage('DELETE', `/v2/messages/${id}`);
  refusal(await acknowledge(rider, ackPath(receiver), { ok: true }), 410, 'ack_gone');
  await rider.advance(2 * SECOND);
  const { state, attempts } = await rider.ended(id);
  assert.deepEqual([state, attempts.map(({ outcome }) => outcome)], ['CANCELLED', ['noAck']]);
  refusal(await acknowledge(rider, ackPath(receiver), { progress: 0.5 }), 410, 'ack_gone');
  assert.deepEqual((await eventsOf(rider, id)).slice(2), ['AWAITING_ACK', 'CANCEL_REQUESTED', 'ERROR', 'CANCELLED']);
});

test('a message that awaits its ack cannot be changed', async (t) => {
  const [rider, receiver] = await riderWith(t);
  const id = await awaiting(rider, receiver);
  const change = (body: unknown) => rider.call('PATCH', `/v2/messages/${id}`, { body: JSON.stringify(body) });
  for (const body of [{ body: 'new' }, { delay: '1m' }, { url: `${receiver.url}/other` }]) {
    refusal(await change(body), 409, 'message_active');
  }
  assert.equal((await acknowledge(rider, ackPath(receiver), { ok: true })).status, 200);
  assert.deepEqual([(await rider.message(id)).state, receiver.arrivals.length], ['DELIVERED', 1]);
  refusal(await change({ body: 'new' }), 404, 'message_not_found');
});

test('a message that expires while it awaits its ack is active until its ack or its deadline', async (t) => {
  const [rider, receiver] = await riderWith(t);
  const headers = { 'Service-Expires': '10m', 'Service-Retries': '3' };
  const [acked, late] = [await awaiting(rider, receiver, headers), await awaiting(rider, receiver, headers)];
  await rider.advance(20 * MINUTE);
  for (const id of [acked, late]) assert.equal((await rider.message(id)).state, 'ACTIVE');
  assert.equal((await acknowledge(rider, ackPath(receiver), { ok: true })).status, 200);
  assert.equal((await rider.message(acked)).state, 'DELIVERED');
  await rider.advance(10 * MINUTE);
  const ended = (await rider.ended(late)) as AwaitingView;
  assert.deepEqual(
    [ended.state, ended.failureCode, ended.attempts.map(({ outcome }) => outcome)],
    ['FAILED', 'expired', ['noAck']],
  );
  assert.equal(receiver.arrivals.length, 2, 'no attempt starts after the expiry');
});

test('an ack before the response counts: progress is kept, and a final word ends the attempt', async (t) => {
  const rider = await startRider(t);
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const receiver = await startReceiver(t, async () => {
    await released;
    return 202;
  });
  const [one, two] = [
    await rider.published(`${receiver.url}/one`, { headers: AWAIT }),
    await rider.published(`${receiver.url}/two`, { headers: AWAIT }),
  ];
  await receiver.received(2);
  const at = receiver.arrivals.findIndex(({ target }) => target === '/one');
  const early = await acknowledge(rider, ackPath(receiver, at), { progress: 0.1, extendBy: '2h' });
  assert.equal(early.status, 200, early.text);
  assert.equal((await acknowledge(rider, ackPath(receiver, 1 - at), { ok: true })).status, 200);
  const ended = await rider.message(two);
  assert.deepEqual([ended.state, ended.attempts.map(({ outcome }) => outcome)], ['DELIVERED', ['answered']]);
  release();
  const ack = await awaited(rider, one);
  assert.deepEqual([ack.progress, ack.deadline], [0.1, rider.clock.now() + 120 * MINUTE]);
  await rider.quiet();
  assert.equal((await rider.message(two)).attempts.length, 1);
});

test('any other success is one as always, and a message without the header has no ack URL', async (t) => {
  const [rider, receiver] = await riderWith(t, (_arrival, index) => (index === 0 ? 200 : 202));
  assert.equal((await rider.ended(await rider.published(receiver.url, { headers: AWAIT }))).state, 'DELIVERED');
  assert.equal((await acknowledge(rider, ackPath(receiver), { ok: true })).status, 200);
  assert.equal((await rider.ended(await rider.published(receiver.url))).state, 'DELIVERED');
  assert.equal(receiver.arrivals[1]!.header('Service-Ack-Url'), undefined);
});

test('Await-Ack of a topic and of a schedule is that of their messages', async (t) => {
  const [rider, receiver] = await riderWith(t);
  await rider.manage('POST', '/v2/topics/jobs/endpoints', { endpoints: [{ url: receiver.url }] });
  await rider.manage('PATCH', '/v2/topics/jobs', { headers: AWAIT });
  const [{ messageId }] = (await rider.publish('jobs')).json<[{ messageId: string }]>();
  await awaited(rider, messageId);
  const headers = { ...AWAIT, 'Service-Cron': '* * * * *' };
  assert.equal((await rider.call('POST', `/v2/schedules/${receiver.url}`, { headers })).status, 201);
  await rider.advance(MINUTE);
  await receiver.received(2);
  const tick = receiver.arrivals[1]!.header('Service-Message-Id')!;
  await awaited(rider, tick);
  for (const [index, id] of [messageId, tick].entries()) {
    assert.equal((await acknowledge(rider, ackPath(receiver, index), { ok: true })).status, 200);
    assert.equal((await rider.ended(id)).state, 'DELIVERED');
  }
});

test('bad acks are refused and change nothing', async (t) => {
  const [rider, receiver] = await riderWith(t);
  const id = await awaiting(rider, receiver);
  const path = ackPath(receiver);
  refusal(await acknowledge(rider, `${path}x`, { ok: true }), 404, 'ack_not_found');
  refusal(await acknowledge(rider, '/v2/acks/nothing', { ok: true }), 404, 'ack_not_found');
  for (const body of [
    {},
    [],
    { ok: 1 },
    { ok: true, error: 'x' },
    { ok: true, progress: 1 },
    { done: true },
    { progress: 2 },
  ]) {
    refusal(await acknowledge(rider, path, body), 400, 'bad_body');
  }
  refusal(await rider.call('POST', path, { token: null, body: '{' }), 400, 'bad_json');
  refusal(await acknowledge(rider, path, { note: 'x'.repeat(20_000) }), 413, 'request_too_large');
  assert.equal((await rider.message(id)).state, 'ACTIVE');
  const tooLong = { ...AWAIT, 'Service-Await-Ack': '2d' };
  refusal(await rider.publish(receiver.url, { headers: tooLong }), 412, 'limit_exceeded');
  refusal(await rider.publish(receiver.url, { headers: { 'Service-Await-Ack': '10ms' } }), 400, 'bad_header');
});
