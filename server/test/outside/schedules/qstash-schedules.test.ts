// The client's `schedules`: made for URLs and URL groups, read, paused, resumed, replaced, deleted.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refused, startOracle } from '../../support/qstash-client.ts';
import { startReceiver } from '../../support/receiver.ts';

const oracle = await startOracle();
const URL = 'https://example.com/';
/** Not while these tests run. */
const CRON = '0 0 29 2 *';

test('schedules.create: every option is shown by schedules.get as its types say', async () => {
  const { client } = await oracle.account();
  const before = Date.now();
  const { scheduleId } = await client.schedules.create({
    destination: URL,
    cron: 'CRON_TZ=Europe/Berlin 0 9 * * *',
    body: 'text',
    headers: { 'Content-Type': 'text/plain', 'X-One': '1' },
    method: 'PUT',
    delay: '2m',
    retries: 4,
    retryDelay: '1000',
    callback: `${URL}callback`,
    failureCallback: `${URL}failure`,
    timeout: '10s',
    flowControl: { key: 'flow', rate: 5, period: 60, parallelism: 2 },
    label: ['one', 'two'],
  });
  const { createdAt, nextScheduleTime, ...rest } = await client.schedules.get(scheduleId);
  assert.ok(createdAt >= before && createdAt <= Date.now());
  assert.ok(nextScheduleTime! > before && nextScheduleTime! <= before + 25 * 3_600_000);
  assert.deepEqual(rest, {
    scheduleId,
    cron: 'CRON_TZ=Europe/Berlin 0 9 * * *',
    destination: URL,
    method: 'PUT',
    header: { 'Content-Type': ['text/plain'], 'X-One': ['1'] },
    body: 'text',
    retries: 4,
    delay: 120,
    retryDelayExpression: '1000',
    callback: `${URL}callback`,
    failureCallback: `${URL}failure`,
    callerIP: '127.0.0.1',
    callerIp: '127.0.0.1',
    isPaused: false,
    label: 'one',
    labels: ['one', 'two'],
    flowControlKey: 'flow',
    parallelism: 2,
    rate: 5,
    ratePerSecond: 5,
    period: 60,
  });
});

test('schedules.create: without options there are none to see', async () => {
  const { client } = await oracle.account();
  const { scheduleId } = await client.schedules.create({ destination: URL, cron: CRON });
  assert.match(scheduleId, /^scd_/);
  const { createdAt: _created, nextScheduleTime: _next, ...rest } = await client.schedules.get(scheduleId);
  assert.deepEqual(rest, {
    scheduleId,
    cron: CRON,
    destination: URL,
    method: 'POST',
    header: { 'Content-Type': ['application/json'] },
    retries: 3,
    callerIP: '127.0.0.1',
    callerIp: '127.0.0.1',
    isPaused: false,
  });
});

test('schedules.create: for a URL group, into a queue', async (t) => {
  const { client, ask } = await oracle.account();
  const receiver = await startReceiver(t);
  await client.urlGroups.addEndpoints({ name: 'group', endpoints: [{ url: receiver.url }] });
  const { scheduleId } = await client.schedules.create({
    destination: 'group',
    cron: CRON,
    queueName: 'scheduled',
    body: '{"n":1}',
    label: 'nightly',
  });
  const schedule = await client.schedules.get(scheduleId);
  assert.deepEqual([schedule.destination, schedule.queueName], ['group', 'scheduled']);
  assert.equal((await ask('POST', `/v2/schedules/${scheduleId}/run`)).status, 201);
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.header('Upstash-Schedule-Id'), scheduleId);
  assert.equal(arrival!.header('Upstash-Queue-Name'), 'scheduled');
  assert.equal(arrival!.header('Content-Type'), 'application/json');
  const message = await client.messages.get(arrival!.header('Upstash-Message-Id')!);
  assert.deepEqual(
    [message.scheduleId, message.queueName, message.urlGroup, message.label],
    [scheduleId, 'scheduled', 'group', 'nightly'],
  );
});

test('schedules.create: the same id replaces the schedule whole', async () => {
  const { client } = await oracle.account();
  const scheduleId = 'mine';
  const first = { destination: URL, cron: CRON, scheduleId, body: 'old', retries: 1, label: 'old' };
  assert.deepEqual(await client.schedules.create(first), { scheduleId });
  await client.schedules.create({ destination: `${URL}new`, cron: '0 1 * * *', scheduleId });
  const schedule = await client.schedules.get(scheduleId);
  assert.deepEqual([schedule.destination, schedule.cron, schedule.retries], [`${URL}new`, '0 1 * * *', 3]);
  assert.ok(!('body' in schedule) && !('label' in schedule));
  assert.equal((await client.schedules.list()).length, 1);
});

test('schedules.list: all schedules of the account', async () => {
  const { client } = await oracle.account();
  assert.deepEqual(await client.schedules.list(), []);
  const flowControl = { key: 'k', rate: 7 };
  const { scheduleId } = await client.schedules.create({ destination: URL, cron: CRON, flowControl });
  await client.schedules.create({ destination: `${URL}2`, cron: CRON });
  const listed = await client.schedules.list();
  assert.deepEqual(
    listed.find((each) => each.scheduleId === scheduleId),
    await client.schedules.get(scheduleId),
  );
  assert.deepEqual(listed.map(({ destination }) => destination).sort(), [URL, `${URL}2`]);
});

test('schedules.pause: stops it until schedules.resume', async () => {
  const { client } = await oracle.account();
  const { scheduleId } = await client.schedules.create({ destination: URL, cron: CRON });
  await client.schedules.pause({ schedule: scheduleId });
  const paused = await client.schedules.get(scheduleId);
  assert.ok(paused.isPaused && !('nextScheduleTime' in paused));
  await client.schedules.resume({ schedule: scheduleId });
  const resumed = await client.schedules.get(scheduleId);
  assert.ok(!resumed.isPaused && resumed.nextScheduleTime! > Date.now());
});

test('schedules.delete: removes it; an unknown one is refused with 404', async () => {
  const { client } = await oracle.account();
  const { scheduleId } = await client.schedules.create({ destination: URL, cron: CRON });
  await client.schedules.delete(scheduleId);
  await refused(404, () => client.schedules.get(scheduleId));
  await refused(404, () => client.schedules.delete(scheduleId));
  await refused(404, () => client.schedules.pause({ schedule: scheduleId }));
});

test('schedules.create: a bad cron or an unknown URL group is refused now, not at the first tick', async () => {
  const { client } = await oracle.account();
  assert.match(await refused(400, () => client.schedules.create({ destination: URL, cron: 'often' })), /Cron/);
  assert.match(await refused(404, () => client.schedules.create({ destination: 'nobody', cron: CRON })), /nobody/);
});
