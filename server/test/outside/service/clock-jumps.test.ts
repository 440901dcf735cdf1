// A real process whose wall clock is turned while it runs and between two starts, by libfaketime: queues keep their order,
// nothing waits because of it, dead letters stay, schedules go on. With PostgreSQL the wall clock of all nodes is the
// database's, and what the machine of one of them shows does not matter.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask } from '../../support/client.ts';
import { FakedMachine, noFakedClock } from '../../support/faked-machine.ts';
import { temporaryFolder } from '../../support/harness.ts';
import { type Process, startProcess } from '../../support/process.ts';
import { startReceiver } from '../../support/receiver.ts';
import { isOnPostgres } from '../../support/store-under-test.ts';
import { waitFor } from '../../support/wait.ts';

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DAY = 24 * HOUR;

test('a wall clock that jumps reorders nothing, holds nothing back, deletes nothing and silences no schedule', {
  skip: noFakedClock(),
}, async (t) => {
  const receiver = await startReceiver(t, ({ target }) => (target === '/dead' ? 489 : 200));
  const data = temporaryFolder(t);
  const machine = new FakedMachine(temporaryFolder(t));
  const headers = { Authorization: 'Bearer dev_postrider' };
  let rider: Process;
  const start = async () => {
    const flags = ['dev', '--json', '--port', '0', '--data', data, '--log-level', 'warn'];
    rider = startProcess(t, flags, machine.env);
    machine.api = (await rider.ready()).api;
    await machine.isSeen();
  };
  const post = async (path: string, more: Record<string, string> = {}, body = '') => {
    const answer = await ask(machine.api, path, { method: 'POST', headers: { ...headers, ...more }, body });
    assert.ok(answer.status < 300, answer.text);
    return answer;
  };
  const get = async <T>(path: string) => (await ask(machine.api, path, { headers })).json<T>();
  const enqueue = async (queue: string, from: number, count: number) => {
    for (let n = from; n < from + count; n += 1) await post(`/v2/enqueue/${queue}/${receiver.url}/${queue}-${n}`);
  };
  /** Enqueued before and after the clock is set, in a queue that waits so long. */
  const enqueueAround = async (queue: string, offMs: number) => {
    const made = JSON.stringify({ queueName: queue, parallelism: 1 });
    await post('/v2/queues', { 'Content-Type': 'application/json' }, made);
    await post(`/v2/queues/${queue}/pause`);
    await enqueue(queue, 0, 5);
    await machine.set(offMs);
    await enqueue(queue, 5, 5);
    await post(`/v2/queues/${queue}/resume`);
    const own = () => receiver.arrivals.map(({ target }) => target).filter((target) => target.startsWith(`/${queue}`));
    await waitFor(`all of ${queue} to arrive`, () => own().length >= 10);
    assert.deepEqual(
      own(),
      Array.from({ length: 10 }, (_, n) => `/${queue}-${n}`),
    );
  };

  await start();
  // More than it takes until the server sees it.
  await t.test('some seconds back: the queue keeps its order', () => enqueueAround('seconds', -8 * SECOND));
  await t.test('an hour back: what was accepted before is delivered at once, in order', () =>
    enqueueAround('an-hour', -HOUR),
  );
  if (!isOnPostgres) assert.match(rider!.stderr, /the wall clock jumped 59m\d+s(?:\d+ms)? back/);
  await machine.set(0);

  await t.test('ten days ahead for a while: a schedule of every minute goes on', async () => {
    await post(`/v2/schedules/${receiver.url}/tick`, { 'Service-Cron': '* * * * *', 'Service-Schedule-Id': 'minute' });
    await machine.set(10 * DAY);
    // A delay is as long as it should be; when it is over, the schedules were looked at as well.
    await post(`/v2/publish/${receiver.url}/delayed`, { 'Service-Delay': '7s' });
    await waitFor('the delayed one', () => receiver.arrivals.some(({ target }) => target === '/delayed'));
    await machine.set(0);
    const { nextScheduleTime } = await get<{ nextScheduleTime: number }>('/v2/schedules/minute');
    assert.ok(nextScheduleTime <= Date.now() + 61 * SECOND, `it runs next in ${nextScheduleTime - Date.now()} ms`);
  });

  await t.test('a start with a clock ten days ahead: dead letters stay, and the schedule goes on', async () => {
    await post(`/v2/publish/${receiver.url}/dead`, { 'Service-Retries': '0' });
    const dead = async () => (await get<{ messages: unknown[] }>('/v2/dlq')).messages.length;
    await waitFor('the dead letter', async () => (await dead()) === 1);
    rider!.signal('SIGTERM');
    await rider!.exit;
    machine.restartsAt(10 * DAY);
    await start();
    await post(`/v2/publish/${receiver.url}/after`, { 'Service-Delay': '2s' });
    await waitFor('a delayed one', () => receiver.arrivals.some(({ target }) => target === '/after'));
    assert.equal(await dead(), 1);
    await machine.set(0);
    assert.equal(await dead(), 1);
    const { nextScheduleTime } = await get<{ nextScheduleTime: number }>('/v2/schedules/minute');
    assert.ok(nextScheduleTime <= Date.now() + 61 * SECOND, `it runs next in ${nextScheduleTime - Date.now()} ms`);
  });

  await t.test('a start with a right clock after a stop with one an hour behind: nothing goes early', async () => {
    const early = () =>
      receiver.arrivals.map(({ target }) => target).filter((target) => /half-hour|daily/.test(target));
    await post(`/v2/publish/${receiver.url}/half-hour`, { 'Service-Delay': '30m' });
    const tickAt = new Date(Date.now() + 45 * 60 * SECOND);
    const cron = `${tickAt.getUTCMinutes()} ${tickAt.getUTCHours()} * * *`;
    await post(`/v2/schedules/${receiver.url}/daily`, { 'Service-Cron': cron, 'Service-Schedule-Id': 'daily' });
    await machine.set(-HOUR);
    // When this is over, the time was kept at least once with the clock behind.
    await post(`/v2/publish/${receiver.url}/behind`, { 'Service-Delay': '7s' });
    await waitFor('the delayed one', () => receiver.arrivals.some(({ target }) => target === '/behind'));
    rider!.signal('SIGTERM');
    await rider!.exit;
    machine.restartsAt(0);
    await start();
    await post(`/v2/publish/${receiver.url}/right`, { 'Service-Delay': '2s' });
    await waitFor('one after the start', () => receiver.arrivals.some(({ target }) => target === '/right'));
    assert.deepEqual(early(), []);
    const { nextScheduleTime } = await get<{ nextScheduleTime: number }>('/v2/schedules/daily');
    assert.ok(nextScheduleTime <= tickAt.getTime(), 'its next tick is still to come');
  });
});
