// Schedules to the second, at intervals, without overlap, with a jitter, and schedules that are changed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jitterOf } from '../../../src/rules/schedules/tick.ts';
import { schedule } from '../../conformance/schedules.ts';
import { type Published, type Rider, refusal, ridersOfOneService, temporaryFolder } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const startRider = ridersOfOneService();

interface ScheduleView {
  readonly cron: string;
  readonly createdAt: number;
  readonly destination: string;
  readonly body?: string;
  readonly isPaused: boolean;
  readonly settings: Readonly<Record<string, string>>;
  readonly header: Readonly<Record<string, readonly string[]>>;
  readonly queueName?: string;
  readonly overlap?: string;
  readonly jitter?: number;
  readonly nextScheduleTime?: number;
  readonly nextScheduleTimes?: readonly number[];
  readonly lastScheduleTime?: number;
  readonly lastScheduleStates?: Readonly<Record<string, string>>;
  readonly skippedCount?: number;
  readonly lastSkippedTime?: number;
  readonly skippedText?: string;
  readonly lastRuns?: readonly {
    readonly messageId: string;
    readonly url: string;
    readonly createdAt: number;
    readonly notBefore: number;
    readonly state: string;
    readonly endedAt?: number;
    readonly responseStatus?: number;
  }[];
}

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const URL_ = 'https://example.com/tick';

async function scheduled(rider: Rider, destination: string, cron: string, more: Record<string, string> = {}) {
  const answer = await rider.call('POST', `/v2/schedules/${destination}`, {
    headers: { 'Service-Cron': cron, ...more },
  });
  assert.equal(answer.status, 201, answer.text);
  return answer.json<{ scheduleId: string }>().scheduleId;
}

const read = (rider: Rider, id: string) => rider.manage<ScheduleView>('GET', `/v2/schedules/${id}`);
const change = (rider: Rider, id: string, body: object) =>
  rider.manage<ScheduleView>('PATCH', `/v2/schedules/${id}`, body);

for (const cron of ['*/10 * * * * *', '@every 10s']) {
  test(`Cron ${cron}: one message every ten seconds, and the next five times are shown`, async (t) => {
    const rider = await startRider(t);
    const receiver = await startReceiver(t);
    const startedAt = rider.clock.now();
    const id = await scheduled(rider, receiver.url, cron);
    const times = (await read(rider, id)).nextScheduleTimes!;
    const first = times[0]!;
    assert.ok(first > startedAt && first <= startedAt + 10 * SECOND_MS && first % SECOND_MS === 0);
    assert.deepEqual(
      times,
      [0, 1, 2, 3, 4].map((each) => first + each * 10 * SECOND_MS),
    );
    await rider.advance(first - startedAt - 1);
    assert.equal(receiver.arrivals.length, 0);
    for (let tick = 1; tick <= 3; tick += 1) {
      await rider.advance(tick === 1 ? 1 : 10 * SECOND_MS);
      await receiver.received(tick);
      await rider.quiet();
      assert.equal((await read(rider, id)).nextScheduleTime, first + tick * 10 * SECOND_MS);
    }
    await rider.manage('POST', `/v2/schedules/${id}/pause`);
    assert.deepEqual((await read(rider, id)).nextScheduleTimes, []);
    await rider.advance(35 * SECOND_MS);
    await rider.manage('POST', `/v2/schedules/${id}/resume`);
    assert.equal((await read(rider, id)).nextScheduleTime, first + 60 * SECOND_MS);
    assert.equal(receiver.arrivals.length, 3);
    const { times: named, timeZone } = await rider.manage<{ times: number[]; timeZone: string }>(
      'GET',
      `/v2/cron?cron=${encodeURIComponent(cron)}`,
    );
    assert.equal(timeZone, 'UTC');
    assert.deepEqual(
      named.map((at) => at - named[0]!),
      [0, 10_000, 20_000, 30_000, 40_000],
    );
  });
}

test('Cron: what is wrong with six fields or an interval is refused, for a schedule and as a question', async (t) => {
  const rider = await startRider(t);
  const refused: Record<string, RegExp> = {
    '60 * * * * *': /second "60": must be 0 to 59/,
    '* * * * * * *': /has 7 fields; five are needed: .*; or six, with second before them/,
    '@every': /@every needs a duration/,
    '@every 500ms': /must be whole seconds, from 1s to 365d/,
    '@every 400d': /must be whole seconds, from 1s to 365d/,
    'CRON_TZ=Europe/Berlin @every 10s': /has no time zone/,
  };
  for (const [cron, says] of Object.entries(refused)) {
    const answer = await rider.call('POST', `/v2/schedules/${URL_}`, { headers: { 'Service-Cron': cron } });
    assert.match(refusal(answer, 400, 'bad_cron'), says);
    const asked = await rider.call('GET', `/v2/cron?cron=${encodeURIComponent(cron)}`);
    assert.match(refusal(asked, 400, 'bad_cron'), says);
  }
  assert.deepEqual(await rider.manage('GET', '/v2/schedules'), []);
});

test('Cron @every: an interval is counted from the creation, also over a time when nothing ran, without a burst', async (t) => {
  const data = temporaryFolder(t);
  const receiver = await startReceiver(t);
  const first = await startRider(t, { data });
  const startedAt = first.clock.now();
  const id = await scheduled(first, receiver.url, '@every 7m');
  await first.advance(7 * MINUTE_MS);
  await first.ended((await receiver.received(1))[0]!.header('Service-Message-Id')!);
  await first.close();
  const second = await startRider(t, { data, now: startedAt + HOUR_MS });
  await receiver.received(2);
  await second.quiet();
  assert.equal((await read(second, id)).nextScheduleTime, startedAt + 63 * MINUTE_MS);
  await second.advance(3 * MINUTE_MS - 1);
  assert.equal(receiver.arrivals.length, 2);
  await second.advance(1);
  await receiver.received(3);
});

test('Schedule-Overlap skip: no message while the one before is open; the schedule says what it skipped', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const startedAt = rider.clock.now();
  const id = await scheduled(rider, receiver.url, '@every 1m', {
    'Service-Schedule-Overlap': 'skip',
    'Service-Delay': '150s',
  });
  assert.equal((await read(rider, id)).skippedText, undefined);
  await rider.advance(MINUTE_MS);
  await rider.quiet();
  const [run] = (await read(rider, id)).lastRuns!;
  const { messageId } = run!;
  assert.equal((await read(rider, id)).skippedText, `Ticks are skipped until ${messageId} has ended.`);
  for (let tick = 2; tick <= 3; tick += 1) await rider.advance(MINUTE_MS);
  const skipped = await read(rider, id);
  assert.deepEqual(
    [skipped.overlap, skipped.skippedCount, skipped.lastSkippedTime, skipped.lastScheduleTime],
    ['skip', 2, startedAt + 3 * MINUTE_MS, startedAt + MINUTE_MS],
  );
  assert.match(
    skipped.skippedText!,
    /^2 ticks were skipped, the last at .* Ticks are skipped until msg_\w+ has ended\.$/,
  );
  assert.deepEqual(Object.keys(skipped.lastScheduleStates!), [messageId]);
  assert.equal(skipped.nextScheduleTime, startedAt + 4 * MINUTE_MS);
  await rider.advance(MINUTE_MS / 2);
  await rider.ended(messageId);
  await rider.advance(MINUTE_MS / 2);
  await rider.quiet();
  const after = await read(rider, id);
  assert.deepEqual([after.lastRuns!.length, after.skippedCount], [2, 2]);
  assert.deepEqual(
    [after.lastRuns![1]!.state, after.lastRuns![1]!.endedAt !== undefined, after.lastRuns![1]!.responseStatus],
    ['DELIVERED', true, 200],
  );
  const [listed] = await rider.manage<ScheduleView[]>('GET', '/v2/schedules');
  assert.deepEqual([listed!.overlap, listed!.skippedCount, listed!.lastRuns], ['skip', 2, undefined]);
  const { text: metrics } = await rider.call('GET', '/metrics', { token: null });
  assert.match(metrics, /^postrider_schedule_ticks_skipped_total 2$/m);
  const { messageId: byHand } = (await rider.manage<Published[]>('POST', `/v2/schedules/${id}/run`))[0]!;
  assert.ok(
    (await read(rider, id)).lastRuns!.some((each) => each.messageId === byHand),
    'a run by hand is made',
  );
});

test('GET /v2/schedules/{id}: lastRuns are its last ten messages, however many callbacks these had', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const id = await scheduled(rider, 'http://127.0.0.1:1/', '@yearly', {
    'Service-Retries': '5',
    'Service-Retry-Delay': '1000',
    'Service-Callback': receiver.url,
  });
  const made: string[] = [];
  for (let run = 0; run < 11; run += 1) {
    made.push((await rider.manage<Published[]>('POST', `/v2/schedules/${id}/run`))[0]!.messageId);
  }
  await waitFor('the callbacks of all attempts', async () => {
    if (receiver.arrivals.length >= 66) return true;
    await rider.advance(SECOND_MS);
    return false;
  });
  const { lastRuns } = await read(rider, id);
  assert.deepEqual(
    lastRuns!.map(({ messageId }) => messageId),
    made.toReversed().slice(0, 10),
  );
});

test('Schedule-Jitter: messages are due later by what the tick has, and the ticks stay where they are', async (t) => {
  const rider = await startRider(t);
  const startedAt = rider.clock.now();
  const id = await scheduled(rider, URL_, '@every 1h', { 'Service-Schedule-Jitter': '30m', 'Service-Delay': '1h' });
  assert.equal((await read(rider, id)).jitter, 1800);
  for (let tick = 1; tick <= 3; tick += 1) {
    const tickAt = startedAt + tick * HOUR_MS;
    await rider.advance(tickAt - rider.clock.now());
    const runs = await waitFor(`the run of tick ${tick}`, async () => {
      const view = await read(rider, id);
      return view.lastScheduleTime === tickAt ? view.lastRuns! : null;
    });
    const { accountId } = (await rider.manage<{ accountId: string }>('GET', '/v2/account'))!;
    const laterMs = jitterOf(schedule({ accountId, id, jitterMs: 30 * MINUTE_MS }), tickAt);
    assert.equal(runs[0]!.notBefore, tickAt + HOUR_MS + laterMs);
    assert.equal((await read(rider, id)).nextScheduleTime, tickAt + HOUR_MS);
  }
});

test('Schedule-Overlap, Schedule-Jitter: what is wrong is refused, and so are they on a message', async (t) => {
  const rider = await startRider(t);
  const make = (headers: Record<string, string>) =>
    rider.call('POST', `/v2/schedules/${URL_}`, { headers: { 'Service-Cron': '@hourly', ...headers } });
  const wrong: [Record<string, string>, RegExp][] = [
    [{ 'Service-Schedule-Overlap': 'queue' }, /Service-Schedule-Overlap: must be one of allow, skip/],
    [{ 'Service-Schedule-Jitter': 'some' }, /Service-Schedule-Jitter: must be a duration of at most 1d/],
    [{ 'Service-Schedule-Jitter': '25h' }, /Service-Schedule-Jitter: must be a duration of at most 1d/],
  ];
  for (const [headers, says] of wrong) assert.match(refusal(await make(headers), 400, 'bad_header'), says);
  const tooLong = await make({ 'Service-Schedule-Jitter': '1h', 'Service-Delay': '365d' });
  assert.match(refusal(tooLong, 412, 'limit_exceeded'), /Service-Schedule-Jitter: with the delay/);
  for (const [name, value] of [
    ['Service-Schedule-Overlap', 'skip'],
    ['Service-Schedule-Jitter', '30s'],
  ] as const) {
    const answer = await rider.publish(URL_, { headers: { [name]: value } });
    assert.match(refusal(answer, 400, 'bad_header'), /only for a schedule/);
  }
  assert.deepEqual(await rider.manage('GET', '/v2/schedules'), []);
});

test('POST /v2/schedules/{destination} with the id of a schedule: it does something else, and keeps its history', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const own = { 'Service-Schedule-Id': 'kept' };
  await scheduled(rider, receiver.url, '* * * * *', own);
  const { createdAt } = await read(rider, 'kept');
  await rider.advance(MINUTE_MS);
  await rider.ended((await receiver.received(1))[0]!.header('Service-Message-Id')!);
  const before = await read(rider, 'kept');
  await rider.advance(MINUTE_MS / 2);
  await scheduled(rider, URL_, '0 0 1 1 *', { ...own, 'Service-Label': 'new' });
  const after = await read(rider, 'kept');
  assert.deepEqual([after.destination, after.cron, after.settings], [URL_, '0 0 1 1 *', { Label: 'new' }]);
  assert.equal(after.createdAt, createdAt);
  assert.deepEqual(
    [after.lastScheduleTime, after.lastScheduleStates, after.lastRuns],
    [before.lastScheduleTime, before.lastScheduleStates, before.lastRuns],
  );
});

test('PATCH /v2/schedules/{id}: changes what is named, and nothing else', async (t) => {
  const rider = await startRider(t);
  const made = await rider.call('POST', `/v2/schedules/${URL_}`, {
    headers: {
      'Service-Cron': '@hourly',
      'Service-Retries': '2',
      'Service-Queue-Name': 'q',
      'Service-Forward-X-Shop': '7',
      'Content-Type': 'text/plain',
    },
    body: 'first',
  });
  const id = made.json<{ scheduleId: string }>().scheduleId;
  await rider.manage('POST', `/v2/schedules/${id}/pause`);
  const before = await read(rider, id);
  const changed = await change(rider, id, {
    cron: '*/30 * * * * *',
    headers: { 'service-retries': '', 'Service-Label': 'new', 'Service-Schedule-Overlap': 'skip' },
  });
  assert.deepEqual(changed, await read(rider, id));
  const { nextScheduleTimes: _times, ...same } = before;
  assert.deepEqual(changed, {
    ...same,
    cron: '*/30 * * * * *',
    retries: 3,
    settings: { Label: 'new' },
    label: 'new',
    labels: ['new'],
    overlap: 'skip',
    nextScheduleTimes: [],
  });
  assert.equal((await change(rider, id, { body: 'second' })).body, 'second');
  assert.equal((await change(rider, id, { bodyBase64: 'Yg==' })).body, 'b');
  assert.equal(
    (await change(rider, id, { destination: 'https://example.com/b' })).destination,
    'https://example.com/b',
  );
  assert.equal((await change(rider, id, { headers: { 'Service-Queue-Name': '' } })).queueName, undefined);
  await rider.manage('POST', `/v2/schedules/${id}/resume`);
  const now = rider.clock.now();
  const resumed = await change(rider, id, { cron: '@every 10s' });
  assert.ok(resumed.nextScheduleTime! > now && resumed.nextScheduleTime! <= now + 10 * SECOND_MS);
});

test('PATCH /v2/schedules/{id}: what is wrong is refused, and changes nothing', async (t) => {
  const rider = await startRider(t);
  await scheduled(rider, URL_, '@hourly', { 'Service-Schedule-Id': 'one' });
  const before = await read(rider, 'one');
  const wrong: [object, number, string][] = [
    [{ cron: '60 * * * *' }, 400, 'bad_cron'],
    [{ cron: '' }, 400, 'bad_cron'],
    [{ headers: { 'Service-Cron': '' } }, 400, 'bad_cron'],
    [{ cron: '@daily', headers: { 'Service-Cron': '@daily' } }, 400, 'bad_body'],
    [{ headers: { 'Service-Schedule-Overlap': 'x' } }, 400, 'bad_header'],
    [{ headers: { 'Service-Schedule-Jitter': '2d' } }, 400, 'bad_header'],
    [{ headers: { 'Service-Schedule-Id': 'two' } }, 400, 'bad_header'],
    [{ headers: { 'Service-Retries': 'x' } }, 400, 'bad_header'],
    [{ destination: 'ftp://example.com/' }, 400, 'bad_destination'],
    [{ destination: 'no-such-topic' }, 404, 'topic_not_found'],
    [{ body: 'a', bodyBase64: 'Yg==' }, 400, 'bad_body'],
    [{ bodyBase64: '!' }, 400, 'bad_body'],
    [{ crn: '@daily' }, 400, 'bad_body'],
    [{}, 400, 'bad_body'],
  ];
  for (const [json, status, code] of wrong) {
    const answer = await rider.call('PATCH', '/v2/schedules/one', { body: JSON.stringify(json), headers: JSON_TYPE });
    refusal(answer, status, code);
  }
  const unknown = await rider.call('PATCH', '/v2/schedules/none', { body: '{"cron":"@daily"}', headers: JSON_TYPE });
  refusal(unknown, 404, 'schedule_not_found');
  assert.deepEqual(await read(rider, 'one'), before);
});

const JSON_TYPE = { 'Content-Type': 'application/json' };

test('PATCH /v2/schedules/{id}: a body is taken up to the limit of the tier; larger text is not read', async (t) => {
  const rider = await startRider(t);
  const { token: paid } = await rider.account('paid', 'paid');
  const { token: free } = await rider.account('free', 'free');
  const patch = (json: object, token: string) =>
    rider.call('PATCH', '/v2/schedules/large', { body: JSON.stringify(json), headers: JSON_TYPE, token });
  const headers = { 'Service-Cron': '@yearly', 'Service-Schedule-Id': 'large' };
  for (const token of [paid, free]) await rider.call('POST', `/v2/schedules/${URL_}`, { headers, token });
  const body = 'é'.repeat(4 * 1024 * 1024);
  const answer = await patch({ body }, paid);
  assert.equal(answer.status, 200, answer.text.slice(0, 200));
  assert.equal(answer.json<ScheduleView>().body, body);
  refusal(await patch({ body: 'x'.repeat(1024 * 1024 + 1) }, free), 412, 'limit_exceeded');
  refusal(await patch({ body }, free), 413, 'request_too_large');
});

test('PATCH /v2/schedules/{id}: changes at the same time all count', async (t) => {
  const rider = await startRider(t);
  await scheduled(rider, URL_, '@hourly', { 'Service-Schedule-Id': 'one' });
  const names = ['A', 'B', 'C', 'D', 'E'];
  await Promise.all(names.map((name) => change(rider, 'one', { headers: { [`Service-Forward-${name}`]: '1' } })));
  const { header } = await read(rider, 'one');
  assert.deepEqual(Object.keys(header).toSorted(), names);
});
