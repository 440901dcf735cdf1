// Alerts over the API: set, read, changed, deleted and tried; their targets told when something begins and when it is
// over; and what a caller may not do with them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jwtVerify } from 'jose';
import { accountMax } from '../../../src/rules/limits/budgets.ts';
import { type Rider, refusal, ridersOfOneService, temporaryFolder } from '../../support/harness.ts';
import { lacks } from '../../support/machine.ts';
import { type Arrival, type Receiver, startReceiver } from '../../support/receiver.ts';
import { isOnPostgres } from '../../support/store-under-test.ts';
import { waitFor } from '../../support/wait.ts';

const startRider = ridersOfOneService();

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
/** By then every alert has been judged. */
const JUDGED_MS = 15 * SECOND_MS;
const TARGET = { url: 'https://example.com/alert' };

interface AlertView {
  readonly alertId: string;
  readonly rule: Readonly<Record<string, unknown>>;
  readonly target: { readonly url: string; readonly format: string };
  readonly remindEvery?: string;
  readonly state: string;
  readonly since?: number;
  readonly messageId?: string;
  readonly text?: string;
  readonly problem?: string;
}

interface Told {
  readonly alertId: string;
  readonly event: string;
  readonly since?: number;
  readonly text: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

const put = (rider: Rider, id: string, rule: object, more: object = {}) =>
  rider.manage<AlertView>('PUT', `/v2/alerts/${id}`, { rule, target: TARGET, ...more });
const get = (rider: Rider, id: string) => rider.manage<AlertView>('GET', `/v2/alerts/${id}`);
const json = (body: unknown) => ({ body: JSON.stringify(body) });
const toldBy = ({ body }: Arrival) => JSON.parse(body.toString()) as Told;

/** Answers 500 below /down, and 200 otherwise. */
const startTarget = (t: Parameters<typeof startReceiver>[0]) =>
  startReceiver(t, ({ target }) => (target.startsWith('/down') ? 500 : 200));

/** The messages that its target got, once there are so many. */
async function alerted(rider: Rider, receiver: Receiver, count: number): Promise<Arrival[]> {
  await rider.quiet();
  const found = receiver.arrivals.filter(({ target }) => target.startsWith('/alert'));
  assert.equal(found.length, count, found.map(({ body }) => body.toString()).join('\n'));
  return found;
}

async function failed(rider: Rider, url: string, headers: Record<string, string> = {}): Promise<void> {
  await rider.ended(await rider.published(url, { headers: { 'Service-Retries': '0', ...headers } }));
}

test('an alert is set, listed, read, changed and deleted', async (t) => {
  const rider = await startRider(t);
  assert.deepEqual(await rider.manage('GET', '/v2/alerts'), []);
  const made = await put(rider, 'bills', { type: 'messageFailed', label: 'bill' }, { remindEvery: '3600' });
  assert.deepEqual(
    [made.rule, made.target, made.remindEvery, made.state],
    [{ type: 'messageFailed', count: 1, window: '5m', label: 'bill' }, { ...TARGET, format: 'json' }, '1h', 'calm'],
  );
  const answer = await rider.call('POST', '/v2/alerts', json({ rule: { type: 'quotaNear' }, target: TARGET }));
  assert.equal(answer.status, 201, answer.text);
  assert.match(answer.json<AlertView>().alertId, /^alr_[0-9A-Z]{26}$/);
  const named = { alertId: 'stalled', rule: { type: 'queueStalled' }, target: TARGET };
  assert.equal((await rider.call('POST', '/v2/alerts', json(named))).status, 201);
  const ids = (await rider.manage<AlertView[]>('GET', '/v2/alerts')).map(({ alertId }) => alertId);
  assert.deepEqual(ids.slice(1), ['bills', 'stalled']);
  const page = await rider.call('GET', '/v2/alerts?count=2');
  assert.equal(page.json<AlertView[]>().length, 2);
  assert.match(String(page.headers.link), /cursor=/);
  const changed = await put(rider, 'bills', { type: 'hostFailing', host: 'Shop.example' });
  assert.deepEqual(changed.rule, { type: 'hostFailing', attempts: 10, host: 'shop.example' });
  assert.equal('remindEvery' in changed, false, 'it is replaced whole');
  assert.deepEqual(await rider.manage('DELETE', '/v2/alerts/bills'), {});
  refusal(await rider.call('GET', '/v2/alerts/bills'), 404, 'alert_not_found');
  refusal(await rider.call('DELETE', '/v2/alerts/bills'), 404, 'alert_not_found');
  refusal(await rider.call('POST', '/v2/alerts/bills/test'), 404, 'alert_not_found');
});

test('messageFailed and failureRate: a message that expires, or that gets no ack, has failed', async (t) => {
  const rider = await startRider(t);
  const target = await startReceiver(t);
  const receiver = await startReceiver(t, () => 202);
  const begun = (id: string) =>
    target.arrivals.map(toldBy).filter(({ alertId, event }) => alertId === id && event === 'begin');
  const watch = (id: string, rule: object) => put(rider, id, rule, { target: { url: target.url } });
  await watch('expired', { type: 'messageFailed', label: 'late' });
  await watch('unheard', { type: 'messageFailed', label: 'job' });
  await watch('rate', { type: 'failureRate', share: 1, minimum: 2 });
  await rider.manage('POST', '/v2/queues', { queueName: 'stopped', paused: true });
  const late = { 'Service-Expires': '5s', 'Service-Label': 'late' };
  const ids = [await rider.accepted(receiver.url, { queue: 'stopped', headers: late })];
  const job = { 'Service-Await-Ack': '5s', 'Service-Retries': '0', 'Service-Label': 'job' };
  const unheard = await rider.published(receiver.url, { headers: job });
  ids.push(unheard);
  // The time for its ack begins with the 202, which is processed after the receiver has sent it.
  await waitFor('the 202', async () => 'ack' in (await rider.message(unheard)));
  await rider.advance(6000);
  for (const id of ids) assert.equal((await rider.ended(id)).state, 'FAILED');
  await rider.advance(JUDGED_MS);
  await target.received(3);
  assert.deepEqual([begun('expired').length, begun('unheard').length, begun('rate').length], [1, 1, 1]);
});

test('messageFailed: one signed message when it begins, one when it is over, both visible; its own failure is none', async (t) => {
  const rider = await startRider(t);
  const receiver = await startTarget(t);
  const rule = { type: 'messageFailed', window: '1m', label: 'bill' };
  await put(rider, 'bills', rule, { target: { url: `${receiver.url}/alert` } });
  // Its target fails, and it is about everything: it must not go on about itself.
  await put(rider, 'all', { type: 'messageFailed', window: '1m' }, { target: { url: `${receiver.url}/down/alert` } });
  await failed(rider, `${receiver.url}/down`, { 'Service-Label': 'other' });
  await rider.advance(JUDGED_MS);
  await alerted(rider, receiver, 0);
  for (const _ of [1, 2]) await failed(rider, `${receiver.url}/down`, { 'Service-Label': 'bill' });
  const failedAt = rider.clock.now();
  await rider.advance(JUDGED_MS);
  await rider.advance(JUDGED_MS);
  const [begun] = (await alerted(rider, receiver, 1)) as [Arrival];
  assert.ok(begun.header('Service-Signature'));
  assert.equal(begun.header('Content-Type'), 'application/json');
  const told = toldBy(begun);
  assert.deepEqual([told.alertId, told.event, told.facts], ['bills', 'begin', { failed: 2 }]);
  assert.match(told.text, /^2 messages failed with label bill within 1m\.$/);
  const firing = await get(rider, 'bills');
  assert.deepEqual([firing.state, firing.since, firing.text], ['firing', told.since, told.text]);
  assert.equal(begun.header('Service-Message-Id'), firing.messageId);
  const message = await rider.ended(firing.messageId!);
  assert.equal(message.state, 'DELIVERED');
  const { messages } = await rider.manage<{ messages: { messageId: string }[] }>('GET', '/v2/messages?label=bills');
  assert.deepEqual(
    messages.map(({ messageId }) => messageId),
    [firing.messageId],
  );
  while (rider.clock.now() < failedAt + 3 * MINUTE_MS) await rider.advance(JUDGED_MS);
  const [, over] = (await alerted(rider, receiver, 2)) as [Arrival, Arrival];
  assert.equal(toldBy(over).event, 'over');
  assert.equal((await get(rider, 'bills')).state, 'calm');
  // The other alert began with the first failure. By now its messages have failed too, and it is over all the same.
  while (rider.clock.now() < failedAt + 8 * MINUTE_MS) await rider.advance(MINUTE_MS);
  assert.equal((await get(rider, 'all')).state, 'calm');
  const own = receiver.arrivals.filter(({ target }) => target === '/down/alert').map((each) => toldBy(each).event);
  assert.deepEqual([...new Set(own)], ['begin', 'over']);
});

test('failureRate, hostFailing, queueStalled and scheduleFailed tell what they see', async (t) => {
  const rider = await startRider(t);
  const receiver = await startTarget(t);
  const down = `${receiver.url}/down`;
  const to = (id: string) => ({ target: { url: `${receiver.url}/alert/${id}` } });
  const host = `127.0.0.1:${receiver.port}`;
  await put(rider, 'rate', { type: 'failureRate', share: 0.5, minimum: 4, host }, to('rate'));
  await put(rider, 'share', { type: 'failureRate', share: 0.5, minimum: 4 }, to('share'));
  await put(rider, 'host', { type: 'hostFailing', attempts: 4 }, to('host'));
  await put(rider, 'stalled', { type: 'queueStalled', olderThan: '10s' }, to('stalled'));
  await put(rider, 'nightly', { type: 'scheduleFailed', schedule: 'nightly' }, to('nightly'));
  const headers = { 'Service-Cron': '0 0 1 1 *', 'Service-Schedule-Id': 'nightly', 'Service-Retries': '0' };
  assert.equal((await rider.call('POST', `/v2/schedules/${down}`, { headers })).status, 201);
  const [run] = await rider.manage<{ messageId: string }[]>('POST', '/v2/schedules/nightly/run');
  await rider.ended(run!.messageId);
  for (const _ of [1, 2, 3]) await failed(rider, down);
  await rider.manage('POST', '/v2/queues', { queueName: 'line', paused: true });
  await rider.accepted(`${receiver.url}/ok`, { queue: 'line' });
  await rider.advance(JUDGED_MS);
  await rider.advance(JUDGED_MS);
  const told = new Map((await alerted(rider, receiver, 5)).map((each) => [toldBy(each).alertId, toldBy(each)]));
  assert.deepEqual([...told.keys()].toSorted(), ['host', 'nightly', 'rate', 'share', 'stalled']);
  assert.deepEqual(told.get('rate')!.facts, { failed: 4, ended: 4, share: 1 });
  assert.deepEqual(told.get('host')!.facts, { hosts: [{ host, failedInARow: 4 }] });
  assert.deepEqual(told.get('nightly')!.facts, { schedules: ['nightly'] });
  assert.match(told.get('stalled')!.text, /queue line has been due for .*; the queue is paused/);
  // All is well again: the host answers, the schedule runs, the queue goes on.
  receiver.answer = () => 200;
  await rider.manage('POST', '/v2/queues/line/resume');
  await rider.ended((await rider.manage<{ messageId: string }[]>('POST', '/v2/schedules/nightly/run'))[0]!.messageId);
  for (let minute = 0; minute < 8; minute += 1) await rider.advance(MINUTE_MS);
  for (const id of told.keys()) assert.equal((await get(rider, id)).state, 'calm', id);
  await alerted(rider, receiver, 10);
});

test('quotaNear is told before the quota is used up; when it is, an alert waits and says so', async (t) => {
  const tiers = JSON.stringify({ free: { messagesPerDayMax: 10 } });
  const rider = await startRider(t, { flags: ['--tiers', tiers], data: temporaryFolder(t) });
  const receiver = await startTarget(t);
  const { token } = await rider.account('small');
  const own = { token };
  const rule = { type: 'quotaNear', share: 0.5 };
  await rider.manage('PUT', '/v2/alerts/quota', { rule, target: { url: `${receiver.url}/alert` } }, token);
  const late = { rule: { type: 'messageFailed' }, target: { url: `${receiver.url}/alert` } };
  await rider.manage('PUT', '/v2/alerts/late', late, token);
  for (let n = 0; n < 6; n += 1) await rider.published(`${receiver.url}/ok`, own);
  await rider.advance(JUDGED_MS);
  const [begun] = (await alerted(rider, receiver, 1)) as [Arrival];
  assert.deepEqual(toldBy(begun).facts, { used: 6, dayMax: 10 });
  const once = { ...own, headers: { 'Service-Retries': '0' } };
  for (let n = 0; n < 3; n += 1) await rider.ended(await rider.published(`${receiver.url}/down`, once), token);
  refusal(await rider.call('POST', '/v2/alerts/quota/test', own), 429, 'quota_exceeded');
  await rider.advance(JUDGED_MS);
  await alerted(rider, receiver, 1);
  const waiting = await rider.manage<AlertView>('GET', '/v2/alerts/late', undefined, token);
  assert.equal(waiting.state, 'calm');
  assert.match(waiting.problem ?? '', /daily quota/);
});

test('two nodes over one database tell the target once', {
  skip: lacks('postgres'),
}, async (t) => {
  const data = temporaryFolder(t);
  const [one, two] = [await startRider(t, { data }), await startRider(t, { data })];
  const receiver = await startTarget(t);
  await put(one, 'all', { type: 'messageFailed', window: '1m' }, { target: { url: `${receiver.url}/alert` } });
  await failed(one, `${receiver.url}/down`);
  for (let look = 0; look < 20; look += 1) await Promise.all([one, two].map((rider) => rider.advance(JUDGED_MS)));
  const told = (await alerted(one, receiver, 2)).map((each) => toldBy(each).event);
  assert.deepEqual(told, ['begin', 'over']);
});

test('a test message goes to the target as any other, and changes nothing', async (t) => {
  const rider = await startRider(t);
  const receiver = await startTarget(t);
  await put(rider, 'all', { type: 'messageFailed', window: '1m' }, { target: { url: `${receiver.url}/alert/all` } });
  const chat = `${receiver.url}/alert/chat`;
  await put(rider, 'chat', { type: 'messageFailed', window: '1m' }, { target: { url: chat, format: 'slack' } });
  /** All that is known about them, but for when they were judged. */
  const known = async () =>
    (await rider.manage<(AlertView & { evaluatedAt?: number })[]>('GET', '/v2/alerts')).map(
      ({ evaluatedAt: _judgedAt, ...alert }) => alert,
    );
  const tried = async () => {
    const answer = await rider.call('POST', '/v2/alerts/chat/test');
    assert.equal(answer.status, 201, answer.text);
    const { messageId, url } = answer.json<{ messageId: string; url: string }>();
    assert.equal(url, chat);
    return messageId;
  };
  // While they are calm. It fails for good, which is no reason for an alert.
  const calm = await known();
  receiver.answer = () => 489;
  assert.equal((await rider.ended(await tried())).state, 'FAILED');
  for (const _ of [1, 2]) await rider.advance(JUDGED_MS);
  assert.deepEqual(await known(), calm);
  // While they are firing. It is retried.
  receiver.answer = ({ target }) => (target === '/down' ? 500 : 200);
  await failed(rider, `${receiver.url}/down`);
  await rider.advance(JUDGED_MS);
  await alerted(rider, receiver, 3);
  const firing = await known();
  assert.deepEqual(
    firing.map(({ state }) => state),
    ['firing', 'firing'],
  );
  receiver.answer = () => 500;
  const messageId = await tried();
  await rider.attempted(messageId, 1);
  receiver.answer = () => 200;
  await rider.advance(SECOND_MS);
  const message = await rider.ended(messageId);
  assert.deepEqual([message.state, message.retried], ['DELIVERED', 1]);
  assert.deepEqual(await known(), firing);
  const key = new TextEncoder().encode((await rider.manage<{ current: string }>('GET', '/v2/keys')).current);
  for (const arrival of (await alerted(rider, receiver, 5)).slice(3)) {
    assert.equal(arrival.header('Service-Message-Id'), messageId);
    assert.deepEqual(JSON.parse(arrival.body.toString()), {
      text: '[chat] This is a test of the alert. Nothing is wrong.',
    });
    const options = { currentDate: new Date(rider.clock.now()), algorithms: ['HS256'] };
    const { payload } = await jwtVerify(arrival.header('Service-Signature')!, key, options);
    assert.equal(payload.sub, chat);
  }
  for (const label of ['alert', 'chat']) {
    const { messages } = await rider.manage<{ messages: { messageId: string }[] }>(
      'GET',
      `/v2/messages?label=${label}`,
    );
    assert.ok(messages.some((each) => each.messageId === messageId));
  }
  const { usage } = await rider.manage<{ usage: { kind: string; count: number }[] }>('GET', '/v2/usage');
  assert.deepEqual(
    usage.map(({ kind, count }) => [kind, count]),
    [
      ['alert', 4],
      ['publish', 1],
    ],
  );
});

test('an alert of another account is not there, and every call needs the scope manage', async (t) => {
  const rider = await startRider(t);
  await put(rider, 'mine', { type: 'messageFailed' });
  const { token } = await rider.account('other');
  for (const [method, path] of [
    ['GET', '/v2/alerts/mine'],
    ['DELETE', '/v2/alerts/mine'],
    ['POST', '/v2/alerts/mine/test'],
  ] as const) {
    refusal(await rider.call(method, path, { token }), 404, 'alert_not_found');
  }
  assert.deepEqual(await rider.manage('GET', '/v2/alerts', undefined, token), []);
  await rider.manage('PUT', '/v2/alerts/mine', { rule: { type: 'quotaNear' }, target: TARGET }, token);
  assert.equal((await get(rider, 'mine')).rule.type, 'messageFailed');
  const limited = await rider.account('limited', 'free', ['publish', 'read']);
  const body = json({ rule: { type: 'quotaNear' }, target: TARGET });
  for (const [method, path, options] of [
    ['GET', '/v2/alerts', {}],
    ['GET', '/v2/alerts/mine', {}],
    ['POST', '/v2/alerts', body],
    ['PUT', '/v2/alerts/mine', body],
    ['DELETE', '/v2/alerts/mine', {}],
    ['POST', '/v2/alerts/mine/test', {}],
  ] as const) {
    refusal(await rider.call(method, path, { ...options, token: limited.token }), 403, 'forbidden');
  }
});

test('diskLow is about the whole service: only an admin sets it, and only where the service has a disk', async (t) => {
  const rider = await startRider(t);
  const manager = await rider.account('manager', 'free', ['manage']);
  const body = json({ rule: { type: 'diskLow' }, target: TARGET });
  if (isOnPostgres) {
    assert.match(refusal(await rider.call('PUT', '/v2/alerts/disk', body), 400, 'bad_alert'), /database/);
    return;
  }
  refusal(await rider.call('PUT', '/v2/alerts/disk', { ...body, token: manager.token }), 403, 'forbidden');
  const receiver = await startTarget(t);
  const rule = { type: 'diskLow', freeBytes: 2 ** 50 };
  await put(rider, 'disk', rule, { target: { url: `${receiver.url}/alert` } });
  await rider.advance(JUDGED_MS);
  await rider.advance(JUDGED_MS);
  const [begun] = (await alerted(rider, receiver, 1)) as [Arrival];
  assert.equal(toldBy(begun).facts.limitBytes, 2 ** 50);
});

test('bad input is refused with everything that is wrong, and an account has at most so many alerts', async (t) => {
  const rider = await startRider(t);
  const bad = (body: unknown) => rider.call('PUT', '/v2/alerts/a', json(body));
  const wrong = { rule: { type: 'failureRate', share: 7, hots: 'x' }, target: { url: 'mailto:me' }, remindEvery: '1s' };
  const text = refusal(await bad(wrong), 400, 'bad_alert');
  assert.match(text, /^rule\.hots: .*did you mean "host".*; rule\.share: .*; target\.url: .*; remindEvery: /);
  refusal(await bad({ rule: { type: 'messageFailed' } }), 400, 'bad_body');
  refusal(await bad([]), 400, 'bad_body');
  refusal(
    await rider.call('PUT', '/v2/alerts/a%20b', json({ rule: { type: 'quotaNear' }, target: TARGET })),
    400,
    'bad_parameter',
  );
  const other = await bad({ alertId: 'b', rule: { type: 'quotaNear' }, target: TARGET });
  assert.match(refusal(other, 400, 'bad_parameter'), /^alertId: .*different alerts/);
  refusal(await rider.call('POST', '/v2/alerts', json({ alertId: 7, rule: {}, target: {} })), 400, 'bad_parameter');
  refusal(
    await bad({ rule: { type: 'quotaNear' }, target: { url: `https://a.example/${'x'.repeat(3000)}` } }),
    400,
    'bad_alert',
  );
  const max = accountMax('alerts');
  for (let n = 0; n < max; n += 1) await put(rider, `a${n}`, { type: 'quotaNear' });
  const full = await rider.call('PUT', '/v2/alerts/more', json({ rule: { type: 'quotaNear' }, target: TARGET }));
  assert.match(refusal(full, 412, 'limit_exceeded'), new RegExp(`at most ${max}`));
  await put(rider, 'a0', { type: 'messageFailed' });
});
