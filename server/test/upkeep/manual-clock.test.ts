// `dev --clock manual`: everything that becomes due in an advance happens at its own time and is settled when the advance
// is answered, and without an advance nothing becomes due.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { type Postrider, startPostrider } from '../../src/node/main.ts';
import { parseConfig } from '../../src/node/settings/config.ts';
import { runCli } from '../support/command.ts';
import { Rider, refusal, temporaryFolder } from '../support/harness.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { type Cleanup, inTurn, startReceiver } from '../support/receiver.ts';
import { waitFor } from '../support/wait.ts';

interface ClockView {
  readonly now: number;
  readonly clock: 'real' | 'frozen' | 'running';
  readonly advancingTo?: number;
  readonly underWay: readonly { readonly messageId: string; readonly url: string }[];
  readonly underWayCount: number;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

function start(...flags: string[]): Promise<Postrider> {
  const parsed = parseConfig('dev', ['--clock', 'manual', '--port', '0', '--log-level', 'silent', ...flags], {});
  if (!('config' in parsed)) throw new Error(JSON.stringify(parsed));
  return startPostrider(parsed.config);
}

/** For its calls: what a Rider does with its clock is not used here. */
const riderOf = (postrider: Postrider, token = postrider.token) => new Rider(postrider, new ManualClock(0), token);

suite('a manual clock', () => {
  let postrider: Postrider;
  let accounts = 0;

  before(async () => {
    postrider = await start();
  });
  after(() => postrider.close());

  /** With an account of its own. */
  async function rider(t: Cleanup): Promise<Rider> {
    const admin = riderOf(postrider);
    accounts += 1;
    const { token } = await admin.account(`test-${accounts}`);
    const own = riderOf(postrider, token);
    t.after(() => {
      admin.leave();
      own.leave();
    });
    return own;
  }

  const order = (own: Rider, body: object) => own.manage<ClockView>('POST', '/v2/dev/clock', body);
  const view = (own: Rider) => own.manage<ClockView>('GET', '/v2/dev/clock');

  test('a message is retried at its own times and given up, with its callback, in one advance', async (t) => {
    const own = await rider(t);
    const receiver = await startReceiver(t, ({ target }) => (target === '/failed' ? 200 : 500));
    const { now } = await view(own);
    const headers = { 'Service-Retries': '3', 'Service-Failure-Callback': `${receiver.url}/failed` };
    const messageId = await own.published(`${receiver.url}/hook`, { headers });
    const answer = await order(own, { advance: '1h' });
    assert.deepEqual(answer, { now: now + HOUR, clock: 'frozen', underWay: [], underWayCount: 0 });
    const times = [0, 1000, 8390, 62_989].map((ms) => now + ms);
    const message = await own.message(messageId);
    assert.equal(message.state, 'FAILED');
    assert.deepEqual(
      message.attempts.map(({ startedAt, endedAt }) => [startedAt, endedAt]),
      times.map((at) => [at, at]),
    );
    assert.equal(message.endedAt, times.at(-1));
    // The signatures have these times too, and so has that of the callback.
    const issued = receiver.arrivals.map((arrival) => {
      const claims = arrival.header('Service-Signature')!.split('.')[1]!;
      return (JSON.parse(Buffer.from(claims, 'base64url').toString()) as { iat: number }).iat;
    });
    assert.deepEqual(
      issued,
      [...times, times.at(-1)!].map((at) => Math.floor(at / SECOND)),
    );
    assert.equal(receiver.arrivals.at(-1)!.target, '/failed');
  });

  test('everything that expires in an advance has ended when it is answered, however many there are', async (t) => {
    const own = await rider(t);
    const receiver = await startReceiver(t);
    const { now } = await view(own);
    await own.manage('POST', '/v2/queues', { queueName: 'stopped', paused: true });
    const headers = { 'Service-Expires': '10m', 'Service-Failure-Callback': `${receiver.url}/failed` };
    const elements = new Array(450).fill({ destination: receiver.url, queue: 'stopped', headers });
    assert.equal((await own.batch(elements)).status, 201);
    const failed = async () =>
      (await own.manage<{ states: { FAILED: number } }>('GET', '/v2/messages/counts')).states.FAILED;
    await order(own, { advance: '599999ms' });
    assert.equal(await failed(), 0);
    const answer = await order(own, { advance: '1ms' });
    assert.deepEqual([await failed(), answer.now], [450, now + 10 * MINUTE]);
    assert.equal(receiver.arrivals.length, 450);
    // A time at which nothing waits any more is not stopped at.
    await order(own, { advance: '200d' });
  });

  test('acks, extensions and attempts without an ack go by it', async (t) => {
    const own = await rider(t);
    const receiver = await startReceiver(t, () => 202);
    const { now } = await view(own);
    const headers = { 'Service-Await-Ack': '10m', 'Service-Retries': '1', 'Service-Retry-Delay': '60000' };
    const id = await own.published(receiver.url, { headers });
    await order(own, { advance: '5m' });
    const [arrival] = await receiver.received(1);
    const { pathname } = new URL(arrival!.header('Service-Ack-Url')!);
    const said = await own.call('POST', pathname, { token: null, body: '{"extendBy":"30m"}' });
    assert.equal(said.json<{ deadline: number }>().deadline, now + 35 * MINUTE);
    await order(own, { advance: '2h' });
    const { state, attempts, ...message } = await own.message(id);
    assert.deepEqual([state, (message as { failureCode?: string }).failureCode], ['FAILED', 'no_ack']);
    assert.deepEqual(
      attempts.map(({ startedAt, endedAt }) => [startedAt, endedAt]),
      [
        [now, now + 35 * MINUTE],
        [now + 36 * MINUTE, now + 46 * MINUTE],
      ],
    );
  });

  test('a host is parked, probed at its times and opened again within one advance', async (t) => {
    const own = await rider(t);
    const receiver = await startReceiver(t, (_arrival, index) => (index < 10 + 4 ? 503 : 200));
    const headers = { 'Service-Outage': 'park', 'Service-Retries': '0' };
    for (let count = 0; count < 10; count += 1) await own.published(receiver.url, { headers });
    await order(own, { advance: '1ms' });
    const { now } = await view(own);
    const ids = await Promise.all(Array.from({ length: 5 }, () => own.published(receiver.url, { headers })));
    await order(own, { advance: '1h' });
    const messages = await Promise.all(ids.map((id) => own.message(id)));
    assert.deepEqual([...new Set(messages.map(({ state }) => state))], ['DELIVERED']);
    const attempts = messages.flatMap((message) => message.attempts.map(({ startedAt }) => startedAt));
    // The host was parked a millisecond before. The answered probe opens it for the others.
    const probes = [5, 15, 35, 75, 135].map((seconds) => now - 1 + seconds * SECOND);
    assert.deepEqual(attempts.toSorted((one, other) => one - other).slice(0, 5), probes);
    assert.equal(attempts.length, 9);
  });

  test('a debounced message is due after its window, and never later than its maximum', async (t) => {
    const own = await rider(t);
    const receiver = await startReceiver(t);
    const { now } = await view(own);
    const headers = { 'Service-Debounce-Key': 'k', 'Service-Debounce': '1m', 'Service-Debounce-Max': '3m' };
    const id = await own.published(receiver.url, { headers, body: '0' });
    for (let minute = 1; minute <= 5; minute += 1) {
      await order(own, { advance: '50s' });
      if (minute < 4) await own.published(receiver.url, { headers, body: `${minute}` });
    }
    const { attempts } = await own.message(id);
    assert.deepEqual(
      [receiver.arrivals.map(({ body }) => String(body)), attempts[0]!.startedAt],
      [['3'], now + 3 * MINUTE],
    );
  });

  test('schedules of every second and with a jitter tick at each of their times', async (t) => {
    const own = await rider(t);
    const receiver = await startReceiver(t);
    for (const [id, cron] of Object.entries({ seconds: '*/10 * * * * *', every: '@every 15s' })) {
      const headers = { 'Service-Cron': cron, 'Service-Schedule-Id': id, 'Service-Schedule-Jitter': '2s' };
      const made = await own.call('POST', `/v2/schedules/${receiver.url}/${id}`, { headers });
      assert.equal(made.status, 201, made.text);
    }
    await order(own, { advance: '1m' });
    for (const id of ['seconds', 'every']) await own.manage('DELETE', `/v2/schedules/${id}`);
    await order(own, { advance: '3s' });
    const count = (id: string) => receiver.arrivals.filter(({ target }) => target === `/${id}`).length;
    assert.deepEqual([count('seconds'), count('every')], [6, 4]);
  });

  test('while it stands still, only what is due already is attempted', async (t) => {
    const own = await rider(t);
    const receiver = await startReceiver(t);
    const { now } = await view(own);
    const later = await own.published(`${receiver.url}/later`, { headers: { 'Service-Delay': '1ms' } });
    const atOnce = await own.published(`${receiver.url}/now`);
    await order(own, { advance: 0 });
    assert.equal((await own.message(atOnce)).endedAt, now);
    assert.deepEqual((await own.message(later)).attempts, []);
    await order(own, { advance: '1ms' });
    assert.equal((await own.message(later)).endedAt, now + 1);
  });

  test('a schedule fires at each of its ticks, in order', async (t) => {
    const own = await rider(t);
    const receiver = await startReceiver(t);
    const { now } = await view(own);
    const headers = { 'Service-Cron': '*/10 * * * *' };
    const made = await own.call('POST', `/v2/schedules/${receiver.url}/tick`, { headers });
    assert.equal(made.status, 201, made.text);
    await order(own, { advance: '1h' });
    const first = Math.ceil((now + 1) / (10 * MINUTE)) * 10 * MINUTE;
    const { messages } = await own.manage<{ messages: { createdAt: number; state: string }[] }>('GET', '/v2/messages');
    assert.deepEqual(
      messages.map(({ createdAt, state }) => [createdAt, state]).sort(),
      [0, 1, 2, 3, 4, 5].map((tick) => [first + tick * 10 * MINUTE, 'DELIVERED']),
    );
    await own.manage('DELETE', `/v2/schedules/${made.json<{ scheduleId: string }>().scheduleId}`);
  });

  test('an alert begins, and is over, within one advance; then the clock does not stop for it', async (t) => {
    const own = await rider(t);
    const receiver = await startReceiver(t, ({ target }) => (target === '/alert' ? 200 : 500));
    const { now } = await view(own);
    const alert = { rule: { type: 'messageFailed' }, target: { url: `${receiver.url}/alert` } };
    await own.manage('PUT', '/v2/alerts/failed', alert);
    await own.published(`${receiver.url}/hook`, { headers: { 'Service-Retries': '0' } });
    await order(own, { advance: '1h' });
    const told = receiver.arrivals
      .filter(({ target }) => target === '/alert')
      .map(({ body }) => JSON.parse(body.toString()) as { event: string; at: number });
    assert.deepEqual(
      told.map(({ event }) => event),
      ['begin', 'over'],
    );
    assert.ok(told[0]!.at <= now + MINUTE && told[1]!.at >= now + 5 * MINUTE && told[1]!.at <= now + 8 * MINUTE);
    // With a stop each minute, it would be refused after some minutes of work.
    await order(own, { advance: '200d' });
    await own.manage('DELETE', '/v2/alerts/failed');
  });

  test('a rate lets one message in for each of its periods', async (t) => {
    const own = await rider(t);
    const receiver = await startReceiver(t);
    const headers = { 'Service-Flow-Control-Key': 'slow', 'Service-Flow-Control-Value': 'rate=1,period=1m' };
    const ids: string[] = [];
    for (let i = 0; i < 3; i += 1) ids.push(await own.published(receiver.url, { headers }));
    await order(own, { advance: '1h' });
    const startedAt = (await Promise.all(ids.map((id) => own.message(id)))).map(
      ({ attempts }) => attempts[0]!.startedAt,
    );
    assert.deepEqual(
      startedAt.map((at) => at - startedAt[0]!),
      [0, MINUTE, 2 * MINUTE],
    );
  });

  test('a deduplication id is free again after its window, and a message is gone after its retention time', async (t) => {
    const own = await rider(t);
    const receiver = await startReceiver(t);
    const headers = { 'Service-Deduplication-Id': 'order-7' };
    const publish = async () => (await own.publish(receiver.url, { headers })).json<{ deduplicated?: boolean }>();
    const first = await own.published(receiver.url, { headers });
    await order(own, { advance: '599s' });
    assert.equal((await publish()).deduplicated, true);
    await order(own, { advance: '1s' });
    assert.equal((await publish()).deduplicated, undefined);
    await order(own, { advance: '370d' });
    refusal(await own.call('GET', `/v2/messages/${first}`), 404, 'message_not_found');
  });

  test('a bulk operation keeps its pace', async (t) => {
    const own = await rider(t);
    const headers = { 'Service-Delay': '1d' };
    const element = { destination: 'http://127.0.0.1:9/', headers };
    assert.equal((await own.batch(Array.from({ length: 25 }, () => element))).status, 201);
    const pending = async () =>
      (await own.manage<{ messages: { state: string }[] }>('GET', '/v2/messages')).messages.filter(
        ({ state }) => state !== 'CANCELLED',
      ).length;
    await own.manage('POST', '/v2/bulk', { action: 'cancel', filter: { host: '127.0.0.1:9' }, perSecond: 10 });
    await order(own, { advance: '1s' });
    assert.equal(await pending(), 5);
    await order(own, { advance: '1s' });
    assert.equal(await pending(), 0);
  });

  test('two advances at once happen one after the other', async (t) => {
    const own = await rider(t);
    const { now } = await view(own);
    const both = await Promise.all([order(own, { advance: '1h' }), order(own, { advance: '1h' })]);
    assert.deepEqual(both.map((each) => each.now - now).sort(), [HOUR, 2 * HOUR]);
  });

  test('an attempt that hangs is waited for only so long, and is named', async (t) => {
    const own = await rider(t);
    const receiver = await startReceiver(t, ({ target }) => (target === '/hang' ? 'hang' : 200));
    const { now } = await view(own);
    const hanging = await own.published(`${receiver.url}/hang`, { headers: { 'Service-Retries': '0' } });
    await receiver.received(1);
    const later = await own.published(`${receiver.url}/later`, { headers: { 'Service-Delay': '30m' } });
    const answer = await order(own, { advance: '1h', wait: '1ms' });
    assert.equal(answer.now, now + HOUR);
    assert.deepEqual(
      answer.underWay.map(({ messageId, url }) => [messageId, url]).find(([id]) => id === hanging),
      [hanging, `${receiver.url}/hang`],
    );
    await own.ended(later);
    assert.equal((await own.message(hanging)).state, 'ACTIVE');
    assert.equal((await own.call('DELETE', `/v2/messages/${hanging}`)).status, 200);
  });

  test('the deadline of an attempt is in real time', async (t) => {
    const own = await rider(t);
    const receiver = await startReceiver(t, inTurn('hang', 200));
    const { now } = await view(own);
    const messageId = await own.published(receiver.url, { headers: { 'Service-Timeout': '1s' } });
    await order(own, { advance: '1h' });
    const { attempts } = await own.message(messageId);
    assert.deepEqual(
      attempts.map(({ outcome, startedAt }) => [outcome, startedAt - now]),
      [
        ['timedOut', 0],
        ['answered', 1000],
      ],
    );
  });

  test('an advance whose caller has gone ends where it is', async (t) => {
    const own = await rider(t);
    const receiver = await startReceiver(t, () => 'hang');
    const { now } = await view(own);
    const hanging = await own.published(receiver.url);
    const caller = new AbortController();
    const asked = fetch(`${own.url}/v2/dev/clock`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${own.token}` },
      body: JSON.stringify({ advance: '1h', wait: '1h' }),
      signal: caller.signal,
    });
    await waitFor('the advance to begin', async () => (await view(own)).advancingTo === now + HOUR);
    caller.abort();
    await assert.rejects(asked);
    await waitFor('the advance to end', async () => (await view(own)).advancingTo === undefined);
    assert.equal((await view(own)).now, now);
    assert.equal((await own.call('DELETE', `/v2/messages/${hanging}`)).status, 200);
  });

  test('it runs when it is told to, and stands still again', async (t) => {
    const own = await rider(t);
    const receiver = await startReceiver(t);
    const messageId = await own.published(receiver.url, { headers: { 'Service-Delay': '20ms' } });
    assert.equal((await order(own, { run: true })).clock, 'running');
    await own.ended(messageId);
    const { now } = await order(own, { freeze: true });
    assert.deepEqual(await view(own), { now, clock: 'frozen', underWay: [], underWayCount: 0 });
  });

  test('the command counts how long ago something was by the clock of the service', async (t) => {
    const own = await rider(t);
    const receiver = await startReceiver(t);
    const before = await own.published(`${receiver.url}/before`);
    await order(own, { advance: '3h' });
    const after = await own.published(`${receiver.url}/after`);
    await order(own, { advance: 0 });
    const listed = async (...args: string[]) => {
      const ran = await runCli([...args, '--json', '--url', postrider.url, '--token', own.token!]);
      assert.equal(ran.code, 0, ran.stderr);
      return ran.json<{ messageId: string }[]>().map(({ messageId }) => messageId);
    };
    assert.deepEqual(await listed('messages', 'list', '--from', '1h'), [after]);
    assert.deepEqual(await listed('messages', 'list', '--until', '1h'), [before]);
    assert.deepEqual((await listed('messages', 'list', '--from', '4h')).sort(), [after, before].sort());
  });

  test('an order that means nothing is refused', async (t) => {
    const own = await rider(t);
    for (const body of [{}, { advance: '-1h' }, { freeze: false }, { advance: null }, { ahead: '1h' }, []]) {
      refusal(await own.call('POST', '/v2/dev/clock', { body: JSON.stringify(body) }), 400, 'bad_body');
    }
    const { token } = await riderOf(postrider).tokenFor((await own.account('reader')).accountId, ['read']);
    const reader = riderOf(postrider, token);
    assert.equal((await reader.call('GET', '/v2/dev/clock')).status, 200);
    refusal(await reader.call('POST', '/v2/dev/clock', { body: '{"advance":"1h"}' }), 403, 'forbidden');
  });
});

suite('the data of a manual clock', () => {
  test('is removed at the end, also when an advance is under way', async (t) => {
    const postrider = await start('--drain', '1s');
    assert.ok(existsSync(join(postrider.location, 'postrider.db')));
    const own = riderOf(postrider);
    t.after(() => own.leave());
    const receiver = await startReceiver(t, () => 'hang');
    await own.published(receiver.url);
    const advance = own.call('POST', '/v2/dev/clock', { body: '{"advance":"1h"}' });
    await receiver.received(1);
    await waitFor('the advance', async () => (await own.manage<ClockView>('GET', '/v2/dev/clock')).advancingTo);
    const closing = postrider.close();
    refusal(await advance, 503, 'draining');
    await closing;
    assert.ok(!existsSync(postrider.location));
  });

  test('goes on from its time if it is kept, and belongs to no service with a real clock', async (t) => {
    const data = temporaryFolder(t);
    const first = await start('--data', data);
    const own = riderOf(first);
    const { now } = await own.manage<ClockView>('POST', '/v2/dev/clock', { advance: '100d' });
    own.leave();
    await first.close();
    const again = await start('--data', data);
    const other = riderOf(again);
    assert.equal((await other.manage<ClockView>('GET', '/v2/dev/clock')).now, now);
    other.leave();
    await again.close();
    const withRealClock = (folder: string) => {
      const parsed = parseConfig('dev', ['--port', '0', '--data', folder, '--log-level', 'silent'], {});
      return startPostrider(('config' in parsed && parsed.config) as never);
    };
    await assert.rejects(withRealClock(data), /was used with --clock manual/);
    const realData = temporaryFolder(t);
    await (await withRealClock(realData)).close();
    await assert.rejects(start('--data', realData), /has messages of a service with a real clock/);
  });
});
