// api.md, section 4: schedules made, replaced, paused, run by hand, and the messages of their ticks.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLOCK_BELIEVED_AFTER_MS } from '../../../src/rules/time/clock.ts';
import { type Published, type Rider, refusal, ridersOfOneService, temporaryFolder } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

interface ScheduleView {
  readonly scheduleId: string;
  readonly cron: string;
  readonly destination: string;
  readonly isPaused: boolean;
  readonly queueName?: string;
  readonly nextScheduleTime?: number;
  readonly lastScheduleTime?: number;
  readonly lastScheduleStates?: Readonly<Record<string, string>>;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const URL_ = 'https://example.com/tick';

async function scheduled(rider: Rider, destination: string, cron: string, more: Record<string, string> = {}) {
  const answer = await rider.call('POST', `/v2/schedules/${destination}`, {
    headers: { 'Service-Cron': cron, ...more },
  });
  assert.equal(answer.status, 201, answer.text);
  return answer.json<{ scheduleId: string }>().scheduleId;
}

const read = (rider: Rider, id: string) => rider.manage<ScheduleView>('GET', `/v2/schedules/${id}`);

test('POST /v2/schedules/{destination}: one message a tick, with all its settings, until it is deleted', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const startedAt = rider.clock.now();
  const headers = { 'Service-Method': 'PUT', 'Service-Forward-X-Shop': '7', 'Service-Queue-Name': 'ticks' };
  const id = await scheduled(rider, `${receiver.url}/tick`, '* * * * *', headers);
  assert.match(id, /^scd_[0-9A-Z]{26}$/);
  assert.equal((await read(rider, id)).nextScheduleTime, startedAt + MINUTE_MS);
  await rider.advance(MINUTE_MS - 1);
  assert.equal(receiver.arrivals.length, 0);
  for (let tick = 1; tick <= 3; tick += 1) {
    await rider.advance(tick === 1 ? 1 : MINUTE_MS);
    const arrival = (await receiver.received(tick))[tick - 1]!;
    assert.deepEqual([arrival.method, arrival.header('X-Shop')], ['PUT', '7']);
    assert.equal(arrival.header('Service-Schedule-Id'), id);
    assert.equal(arrival.header('Service-Queue-Name'), 'ticks');
    const messageId = arrival.header('Service-Message-Id')!;
    await rider.ended(messageId);
    const view = await read(rider, id);
    assert.equal(view.lastScheduleTime, startedAt + tick * MINUTE_MS);
    assert.equal(view.nextScheduleTime, startedAt + (tick + 1) * MINUTE_MS);
    assert.deepEqual(view.lastScheduleStates, { [messageId]: 'SUCCESS' });
  }
  assert.deepEqual(await rider.manage('DELETE', `/v2/schedules/${id}`), {});
  await rider.advance(5 * MINUTE_MS);
  assert.equal(receiver.arrivals.length, 3);
  refusal(await rider.call('GET', `/v2/schedules/${id}`), 404, 'schedule_not_found');
  refusal(await rider.call('DELETE', `/v2/schedules/${id}`), 404, 'schedule_not_found');
});

test('POST /v2/schedules/{destination}: the same id replaces the schedule whole', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const own = { 'Service-Schedule-Id': 'daily' };
  await scheduled(rider, `${receiver.url}/old`, '* * * * *', { ...own, 'Service-Queue-Name': 'q' });
  await rider.manage('POST', '/v2/schedules/daily/pause');
  assert.equal(await scheduled(rider, `${receiver.url}/new`, '*/2 * * * *', own), 'daily');
  const view = await read(rider, 'daily');
  assert.deepEqual([view.destination, view.isPaused, view.queueName], [`${receiver.url}/new`, false, undefined]);
  assert.equal((await rider.manage<ScheduleView[]>('GET', '/v2/schedules')).length, 1);
  await rider.advance(2 * MINUTE_MS);
  assert.equal((await receiver.received(1))[0]!.target, '/new');
});

test('Cron: a zone is heeded; what is wrong is refused naming the field', async (t) => {
  const rider = await startRider(t);
  const berlin = await read(rider, await scheduled(rider, URL_, 'CRON_TZ=Europe/Berlin 0 9 * * *'));
  assert.equal(berlin.nextScheduleTime, Date.UTC(2026, 0, 1, 8));
  const refused: Record<string, RegExp> = {
    '61 * * * *': /^Service-Cron: minute /,
    '* 24 * * *': /^Service-Cron: hour /,
    '* * 0 * *': /^Service-Cron: day-of-month /,
    '* * * 13 *': /^Service-Cron: month /,
    '* * * * 8': /^Service-Cron: day-of-week /,
    '* * * *': /has 4 fields/,
    'CRON_TZ=Mars/Base * * * * *': /time zone "Mars\/Base"/,
  };
  for (const [cron, says] of Object.entries(refused)) {
    const answer = await rider.call('POST', `/v2/schedules/${URL_}`, { headers: { 'Service-Cron': cron } });
    assert.match(refusal(answer, 400, 'bad_cron'), says);
  }
  refusal(await rider.call('POST', `/v2/schedules/${URL_}`), 400, 'bad_cron');
});

test('POST /v2/schedules/{destination}: what would be refused as a publish is refused now', async (t) => {
  const rider = await startRider(t);
  const make = (destination: string, more: Record<string, string>) =>
    rider.call('POST', `/v2/schedules/${destination}`, { headers: { 'Service-Cron': '* * * * *', ...more } });
  refusal(await make('no-such-topic', {}), 404, 'topic_not_found');
  refusal(await make(URL_, { 'Service-Retries': 'x' }), 400, 'bad_header');
  refusal(await make(URL_, { 'Service-Schedule-Id': 'a b' }), 400, 'bad_header');
  assert.deepEqual(await rider.manage('GET', '/v2/schedules'), []);
});

for (const method of ['POST', 'PATCH']) {
  test(`${method} /v2/schedules/{id}/pause and /resume: ticks during the pause are not made up for`, async (t) => {
    const rider = await startRider(t);
    const receiver = await startReceiver(t);
    const id = await scheduled(rider, receiver.url, '* * * * *');
    await rider.manage(method, `/v2/schedules/${id}/pause`);
    const paused = await read(rider, id);
    assert.deepEqual([paused.isPaused, paused.nextScheduleTime], [true, undefined]);
    await rider.advance(10 * MINUTE_MS);
    assert.equal(receiver.arrivals.length, 0);
    await rider.manage(method, `/v2/schedules/${id}/resume`);
    const resumed = await read(rider, id);
    assert.deepEqual([resumed.isPaused, resumed.nextScheduleTime], [false, rider.clock.now() + MINUTE_MS]);
    await rider.advance(MINUTE_MS);
    await receiver.received(1);
    refusal(await rider.call(method, '/v2/schedules/none/pause'), 404, 'schedule_not_found');
  });
}

test('POST /v2/schedules/{id}/run: makes its messages now, beside the ticks', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const id = await scheduled(rider, receiver.url, '0 0 1 1 *');
  const before = await read(rider, id);
  const [made] = await rider.manage<Published[]>('POST', `/v2/schedules/${id}/run`);
  assert.equal((await rider.ended(made!.messageId)).url, receiver.url);
  assert.equal((await receiver.received(1))[0]!.header('Service-Schedule-Id'), id);
  assert.equal((await read(rider, id)).nextScheduleTime, before.nextScheduleTime);
});

test('POST /v2/schedules/{destination}: a topic is looked up at every tick', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const add = (path: string) =>
    rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [{ url: receiver.url + path }] });
  await add('/a');
  const id = await scheduled(rider, 'news', '* * * * *');
  await add('/b');
  await rider.advance(MINUTE_MS);
  assert.deepEqual((await receiver.received(2)).map(({ target }) => target).sort(), ['/a', '/b']);
  await rider.manage('DELETE', '/v2/topics/news');
  await rider.advance(MINUTE_MS);
  const view = await read(rider, id);
  assert.equal(view.nextScheduleTime, rider.clock.now() + MINUTE_MS);
  assert.equal(receiver.arrivals.length, 2);
});

test('POST /v2/schedules/{destination}: ticks missed while nothing ran are made up for once', async (t) => {
  const data = temporaryFolder(t);
  const receiver = await startReceiver(t);
  const first = await startRider(t, { data });
  const startedAt = first.clock.now();
  const id = await scheduled(first, receiver.url, '0 0 * * *');
  await first.advance(DAY_MS);
  await first.ended((await receiver.received(1))[0]!.header('Service-Message-Id')!);
  await first.close();
  const second = await startRider(t, { data, now: startedAt + 10.5 * DAY_MS });
  // A clock that is ten days ahead must show for a while that it is right.
  await second.advance(CLOCK_BELIEVED_AFTER_MS + 5000);
  await receiver.received(2);
  await second.quiet();
  assert.equal((await read(second, id)).nextScheduleTime, startedAt + 11 * DAY_MS);
  await second.advance(startedAt + 11 * DAY_MS - 1 - second.clock.now());
  assert.equal(receiver.arrivals.length, 2);
  await second.advance(1);
  await receiver.received(3);
});
