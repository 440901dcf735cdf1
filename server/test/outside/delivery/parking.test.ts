// api.md, Parking: what happens to messages that park while their host is down, as their sender and their receiver see it.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { accountMax } from '../../../src/rules/limits/budgets.ts';
import { freePort } from '../../support/free-port.ts';
import { Rider, refusal, startRider, temporaryFolder } from '../../support/harness.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const SECOND = 1000;

interface HostView {
  readonly state: string;
  readonly parkedSince?: number;
  readonly failedProbes?: number;
  readonly nextProbeAt?: number;
  readonly opensWith?: number;
  readonly isParkedByHand?: boolean;
}
interface WhyView {
  readonly reason: string;
  readonly text: string;
  readonly parkedSince?: number;
  readonly nextAttemptAt?: number;
}

const PARK = { 'Service-Outage': 'park' };
const pathOf = ({ url }: Pick<Receiver, 'url'>) => `/v2/hosts/${encodeURIComponent(new URL(url).host)}`;

async function hostOf(rider: Rider, receiver: Pick<Receiver, 'url'>): Promise<HostView> {
  return rider.manage<HostView>('GET', pathOf(receiver));
}

/** A host that ten failed attempts of messages without a further retry have parked. */
async function startParked(t: TestContext, rider: Rider, answer: () => number = () => 503): Promise<Receiver> {
  const receiver = await startReceiver(t, answer);
  const headers = { ...PARK, 'Service-Retries': '0' };
  for (let count = 0; count < 10; count += 1) {
    await rider.ended(await rider.published(`${receiver.url}/first`, { headers }));
  }
  await waitFor('the host to be parked', async () => (await hostOf(rider, receiver)).state === 'parked');
  await rider.quiet();
  return receiver;
}

test('a parked message is not sent and uses up no retry; when a probe is answered, the host opens in steps', async (t) => {
  const rider = await startRider(t);
  let isUp = false;
  let atOnce = 0;
  let mostAtOnce = 0;
  const receiver = await startParked(t, rider);
  const parked = await hostOf(rider, receiver);
  assert.deepEqual([parked.parkedSince, parked.failedProbes], [rider.clock.now(), 0]);
  receiver.answer = async () => {
    atOnce += 1;
    mostAtOnce = Math.max(mostAtOnce, atOnce);
    await new Promise((resolve) => setImmediate(resolve));
    atOnce -= 1;
    return isUp ? 200 : 503;
  };
  const ids: string[] = [];
  const headers = { ...PARK, 'Service-Retries': '0' };
  for (let count = 0; count < 20; count += 1) ids.push(await rider.published(`${receiver.url}/${count}`, { headers }));
  await rider.quiet();
  assert.equal(receiver.arrivals.length, 10);
  const why = await rider.manage<WhyView>('GET', `/v2/messages/${ids[0]}/why`);
  assert.deepEqual(
    [why.reason, why.parkedSince, why.nextAttemptAt],
    ['parked', rider.clock.now(), rider.clock.now() + 5 * SECOND],
  );

  // Probes after 5 s, 10 s, 20 s, 40 s, 60 s, 60 s: one message each time.
  for (const [probe, waitMs] of [5, 10, 20, 40, 60, 60].map((seconds) => seconds * SECOND).entries()) {
    await rider.advance(waitMs - 1);
    assert.equal(receiver.arrivals.length, 10 + probe, `before probe ${probe + 1}`);
    await rider.advance(1);
    await receiver.received(11 + probe);
    await waitFor('the probe to be counted', async () => (await hostOf(rider, receiver)).failedProbes === probe + 1);
    await rider.quiet();
  }
  assert.deepEqual(
    receiver.arrivals.slice(10).map(({ target }) => target),
    ['/0', '/1', '/2', '/3', '/4', '/5'],
    'the one that has waited longest; one that has failed waits behind the others',
  );
  for (const id of ids) {
    const { state, retried } = (await rider.message(id)) as { state: string; retried?: number };
    assert.ok(state !== 'FAILED' && (retried ?? 0) === 0, `${id} ${state}`);
  }

  isUp = true;
  mostAtOnce = 0;
  await rider.advance(60 * SECOND);
  for (const id of ids) assert.equal((await rider.ended(id)).state, 'DELIVERED');
  assert.ok(mostAtOnce <= 8, `${mostAtOnce} at once`);
  const opening = await waitFor('the steps', async () => {
    const view = await hostOf(rider, receiver);
    return view.state === 'well' && view;
  });
  assert.equal(opening.opensWith, 16);
  await rider.advance(61 * SECOND);
  await waitFor('the host to be open', async () => !('opensWith' in (await hostOf(rider, receiver))));

  const { events } = await rider.manage<{ events: readonly { state: string }[] }>(
    'GET',
    '/v2/events?state=PARKED&state=RESUMED',
  );
  assert.deepEqual(events.map(({ state }) => state).toSorted(), ['PARKED', 'RESUMED']);
});

test('messages that retry go on as before, and one of them that is answered resumes the host', async (t) => {
  const rider = await startRider(t);
  const receiver = await startParked(t, rider);
  const parked = await rider.published(`${receiver.url}/parked`, { headers: PARK });
  await rider.published(`${receiver.url}/retried`, { headers: { 'Service-Retries': '0' } });
  await receiver.received(11);
  assert.equal(receiver.arrivals[10]!.target, '/retried');
  await rider.advance(SECOND);
  receiver.answer = () => 200;
  await rider.published(`${receiver.url}/answered`);
  assert.equal((await rider.ended(parked)).state, 'DELIVERED');
});

test('a 4xx parks nothing, and ends a row of failures', async (t) => {
  const rider = await startRider(t);
  const statuses = [400, 401, 404, 408, 410, 422, 429, 499];
  // Nine failures, and then one response that is none.
  const receiver = await startReceiver(t, (_arrival, index) =>
    index < 12 ? statuses[index % statuses.length]! : index % 10 === 1 ? 404 : 503,
  );
  for (let count = 0; count < 40; count += 1) {
    await rider.ended(await rider.published(receiver.url, { headers: { ...PARK, 'Service-Retries': '0' } }));
    if (count === 11) assert.equal((await hostOf(rider, receiver)).state, 'well');
  }
  await rider.quiet();
  assert.equal(receiver.arrivals.length, 40);
  assert.equal((await hostOf(rider, receiver)).state, 'failing');
});

test('a closed port and a receiver that hangs park too; the message that waits arrives when they are back', async (t) => {
  const rider = await startRider(t);
  const headers = { ...PARK, 'Service-Retries': '0', 'Service-Timeout': '5s' };
  const hanging = await startReceiver(t, () => 'hang');
  const port = await freePort();
  const closed = { url: `http://127.0.0.1:${port}` };
  for (const { url } of [hanging, closed]) {
    const ids = await Promise.all(Array.from({ length: 10 }, () => rider.published(url, { headers })));
    if (url === hanging.url) {
      await hanging.received(10);
      await rider.advance(5 * SECOND);
    }
    for (const id of ids) assert.equal((await rider.ended(id)).state, 'FAILED');
    const { outcome } = (await rider.message(ids[0]!)).attempts[0]!;
    assert.equal(outcome, url === hanging.url ? 'timedOut' : 'unreachable');
  }
  for (const down of [hanging, closed]) {
    await waitFor('the host to be parked', async () => (await hostOf(rider, down)).state === 'parked');
  }
  await rider.quiet();
  const waiting = [await rider.published(hanging.url, { headers }), await rider.published(closed.url, { headers })];
  await rider.quiet();
  assert.equal(hanging.arrivals.length, 10);
  // A probe of each fails in its own way.
  await rider.advance(5 * SECOND);
  await hanging.received(11);
  await waitFor('the probe to the closed port', async () => (await hostOf(rider, closed)).failedProbes === 1);
  await rider.advance(5 * SECOND);
  await waitFor('the probe that hangs', async () => (await hostOf(rider, hanging)).failedProbes === 1);
  hanging.answer = () => 200;
  const reopened = createServer((_request, response) => response.end()).listen(port, '127.0.0.1');
  t.after(() => reopened.close());
  await once(reopened, 'listening');
  await rider.advance(10 * SECOND);
  for (const id of waiting) assert.equal((await rider.ended(id)).state, 'DELIVERED');
  assert.equal(hanging.arrivals.length, 12);
});

test('the failures of one account park the host for no other', async (t) => {
  const rider = await startRider(t);
  const receiver = await startParked(t, rider);
  const { token } = await rider.account('other');
  const id = (await rider.publish(receiver.url, { token, headers: PARK })).json<{ messageId: string }>().messageId;
  await receiver.received(11);
  await rider.attempted(id, 1, token);
  const theirs = await rider.manage<HostView>('GET', pathOf(receiver), undefined, token);
  assert.equal(theirs.state, 'failing');
  receiver.answer = () => 200;
  await rider.advance(SECOND);
  assert.equal((await rider.ended(id, token)).state, 'DELIVERED');
  assert.equal((await hostOf(rider, receiver)).state, 'parked');
});

test('a parked message can be cancelled and changed, and expires; the head of a queue keeps its place', async (t) => {
  const rider = await startRider(t);
  const receiver = await startParked(t, rider);
  const other = await startReceiver(t);
  const cancelled = await rider.published(receiver.url, { headers: PARK });
  const changed = await rider.published(receiver.url, { headers: PARK });
  const expired = await rider.published(receiver.url, { headers: { ...PARK, 'Service-Expires': '3s' } });
  const first = await rider.accepted(`${receiver.url}/1`, { headers: PARK });
  const second = await rider.accepted(`${other.url}/2`);
  await rider.manage('DELETE', `/v2/messages/${cancelled}`);
  await rider.manage('PATCH', `/v2/messages/${changed}`, { url: `${other.url}/changed` });
  await other.received(1);
  await rider.advance(3 * SECOND);
  const ended = (await rider.ended(expired)) as { state: string; failureCode?: string };
  assert.deepEqual([ended.state, ended.failureCode], ['FAILED', 'expired']);
  assert.equal(receiver.arrivals.length, 10);
  assert.deepEqual(
    other.arrivals.map(({ target }) => target),
    ['/changed'],
  );
  receiver.answer = () => 200;
  await rider.advance(2 * SECOND);
  for (const id of [first, second]) assert.equal((await rider.ended(id)).state, 'DELIVERED');
});

test('by hand: a host is parked until it is resumed', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const parked = await rider.manage<HostView>('POST', `${pathOf(receiver)}/park`);
  assert.deepEqual([parked.state, parked.isParkedByHand, 'nextProbeAt' in parked], ['parked', true, false]);
  await rider.quiet();
  const id = await rider.published(receiver.url, { headers: PARK });
  await rider.advance(600 * SECOND);
  assert.equal(receiver.arrivals.length, 0);
  const why = await rider.manage<WhyView>('GET', `/v2/messages/${id}/why`);
  assert.match(why.text, /parked by hand/);
  const resumed = await rider.manage<HostView>('POST', `${pathOf(receiver)}/resume`);
  assert.deepEqual([resumed.state, resumed.opensWith], ['well', 1]);
  assert.equal((await rider.ended(id)).state, 'DELIVERED');
  refusal(await rider.call('POST', '/v2/hosts/unknown.example/resume'), 404, 'host_not_found');
  refusal(await rider.call('POST', '/v2/hosts/a%2Fb/park'), 400, 'bad_parameter');
});

test('by hand: the first message that is due and waits for the host has the events', async (t) => {
  const rider = await startRider(t, { flags: ['--concurrency', '1'] });
  const other = await startReceiver(t, () => 'hang');
  const receiver = await startReceiver(t);
  await rider.published(other.url, { headers: { 'Service-Timeout': '15m', 'Service-Retries': '0' } });
  await other.received(1);
  const id = await rider.published(receiver.url, { headers: PARK });
  await rider.published(receiver.url, { headers: { ...PARK, 'Service-Delay': '1h' } });
  await rider.manage('POST', `${pathOf(receiver)}/park`);
  await rider.manage('POST', `${pathOf(receiver)}/resume`);
  const path = '/v2/events?state=PARKED&state=RESUMED&order=oldestFirst';
  const { events } = await rider.manage<{ events: { messageId: string; state: string }[] }>('GET', path);
  assert.deepEqual(
    events.map(({ messageId, state }) => [messageId, state]),
    [
      [id, 'PARKED'],
      [id, 'RESUMED'],
    ],
  );
});

test('a host has the same name however it is written', async (t) => {
  const rider = await startRider(t);
  const names = { 'A.example': 'a.example:443', '0x7f.1:9': '127.0.0.1:9', '[0::1]:9': '[::1]:9' };
  for (const [given, host] of Object.entries(names)) {
    const path = `/v2/hosts/${encodeURIComponent(given)}`;
    for (const call of ['/park', '/resume']) {
      assert.equal((await rider.manage<{ host: string }>('POST', path + call)).host, host);
    }
    assert.equal((await rider.manage<{ host: string }>('GET', path)).host, host);
  }
  for (const wrong of ['a b', 'bücher.example', 'a.example/x', 'u@a.example', 'a.example?', '::1', 'a.example:99999']) {
    refusal(await rider.call('POST', `/v2/hosts/${encodeURIComponent(wrong)}/park`), 400, 'bad_parameter');
    refusal(await rider.call('POST', `/v2/hosts/${encodeURIComponent(wrong)}/resume`), 404, 'host_not_found');
  }
});

test('the setting of a message, its topic, its queue or its account decides, in this order', async (t) => {
  const rider = await startRider(t);
  const url = 'http://127.0.0.1:9/';
  const outageOf = async (id: string) => (await rider.manage<{ outage?: string }>('GET', `/v2/messages/${id}`)).outage;
  const later = { 'Service-Delay': '1h' };
  const published = (headers = {}) => rider.published(url, { headers: { ...later, ...headers } });
  const enqueued = (queue: string, headers = {}) => rider.accepted(url, { queue, headers: { ...later, ...headers } });
  refusal(await rider.publish(url, { headers: { 'Service-Outage': 'never' } }), 400, 'bad_header');
  assert.equal(await outageOf(await published()), undefined);
  assert.equal(await outageOf(await published({ 'Service-Outage': 'retry' })), 'retry');
  await rider.manage('POST', '/v2/queues', { queueName: 'parks', outage: 'park' });
  await rider.manage('POST', '/v2/queues', { queueName: 'retries', outage: 'retry' });
  assert.equal(await outageOf(await enqueued('parks')), 'park');
  assert.equal(await outageOf(await enqueued('parks', { 'Service-Outage': 'retry' })), 'retry');
  const account = await rider.manage<{ outage: string }>('PATCH', '/v2/account', { outage: 'park' });
  assert.equal(account.outage, 'park');
  assert.equal(await outageOf(await published()), 'park');
  assert.equal(await outageOf(await published({ 'Service-Outage': 'retry' })), 'retry');
  assert.equal(await outageOf(await enqueued('retries')), 'retry');
  assert.equal(await outageOf(await enqueued('retries', PARK)), 'park');
  assert.equal(await outageOf(await enqueued('neither')), 'park');
  assert.equal((await rider.manage<{ outage: string }>('PATCH', '/v2/account', { outage: 'retry' })).outage, 'retry');
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [{ url }] });
  await rider.manage('PATCH', '/v2/topics/news', { headers: { 'Service-Outage': 'park' } });
  const toTopic = async (path: string, headers = {}) => {
    const answer = await rider.call('POST', path, { headers: { ...later, ...headers } });
    const [{ messageId }] = answer.json<[{ messageId: string }]>();
    return outageOf(messageId);
  };
  assert.equal(await toTopic('/v2/publish/news'), 'park');
  assert.equal(await toTopic('/v2/publish/news', { 'Service-Outage': 'retry' }), 'retry');
  assert.equal(await toTopic('/v2/enqueue/retries/news'), 'park', 'the topic before the queue');
  await rider.manage('PATCH', '/v2/account', { outage: 'park' });
  await rider.manage('PATCH', '/v2/topics/news', { headers: { 'Service-Outage': 'retry' } });
  assert.equal(await toTopic('/v2/publish/news'), 'retry', 'the topic before the account');
  assert.equal(await toTopic('/v2/enqueue/parks/news'), 'retry', 'the topic before the queue');
  assert.equal(await toTopic('/v2/enqueue/parks/news', PARK), 'park');
  await rider.manage('PATCH', '/v2/account', { outage: 'retry' });
  const element = (queue?: string, headers = {}) => ({ destination: url, queue, headers: { ...later, ...headers } });
  const elements = [
    element(),
    element('parks'),
    element(undefined, PARK),
    element('parks', { 'Service-Outage': 'retry' }),
  ];
  const batch = await rider.call('POST', '/v2/batch', { body: JSON.stringify(elements) });
  const ofElements = batch.json<{ messageId: string }[]>().map(({ messageId }) => outageOf(messageId));
  assert.deepEqual(await Promise.all(ofElements), [undefined, 'park', 'park', 'retry']);
});

test('a tick of a schedule has its setting, or else that of its queue or of the account', async (t) => {
  const rider = await startRider(t);
  await rider.manage('POST', '/v2/queues', { queueName: 'parks', outage: 'park' });
  await rider.manage('POST', '/v2/queues', { queueName: 'retries', outage: 'retry' });
  const outages = async () => {
    const settings = [
      {},
      PARK,
      { 'Service-Outage': 'retry', 'Service-Queue-Name': 'parks' },
      { 'Service-Queue-Name': 'parks' },
      { 'Service-Queue-Name': 'retries' },
    ];
    const ids: string[] = [];
    for (const setting of settings) {
      const headers = { 'Service-Cron': '* * * * *', 'Service-Delay': '1h', ...setting };
      const made = await rider.call('POST', '/v2/schedules/http://127.0.0.1:9/', { headers });
      ids.push(made.json<{ scheduleId: string }>().scheduleId);
    }
    await rider.advance(60 * SECOND);
    const found: (string | undefined)[] = [];
    for (const id of ids) {
      const states = await waitFor('the message of the tick', async () => {
        type View = { lastScheduleStates?: Readonly<Record<string, string>> };
        return (await rider.manage<View>('GET', `/v2/schedules/${id}`)).lastScheduleStates ?? false;
      });
      const [messageId] = Object.keys(states);
      found.push((await rider.manage<{ outage?: string }>('GET', `/v2/messages/${messageId}`)).outage);
      await rider.manage('DELETE', `/v2/schedules/${id}`);
    }
    return found;
  };
  assert.deepEqual(await outages(), [undefined, 'park', 'retry', 'park', 'retry']);
  await rider.manage('PATCH', '/v2/account', { outage: 'park' });
  assert.deepEqual(await outages(), ['park', 'park', 'retry', 'park', 'retry']);
});

test('no further host is parked by hand than an account may have', async (t) => {
  const rider = await startRider(t);
  const max = accountMax('parkedHosts');
  const park = (host: string) => rider.call('POST', `/v2/hosts/${host}/park`);
  const { accountId } = await rider.manage<{ accountId: string }>('GET', '/v2/account');
  const { store } = rider.postrider;
  for (let count = 1; count < max; count += 1) {
    await store.parkHost(accountId, `h${count}.example:443`, rider.clock.now(), max, accountMax('hosts'));
  }
  assert.equal((await park('h0.example')).status, 200);
  assert.match(refusal(await park('one-more.example'), 412, 'limit_exceeded'), new RegExp(`\\b${max}\\b`));
  assert.equal((await park('h0.example')).status, 200, 'it is parked already');
  await rider.manage('POST', '/v2/hosts/h0.example/resume');
  const other = await rider.account('other');
  const ofOther = await rider.call('POST', '/v2/hosts/h0.example/park', { token: other.token });
  assert.equal(ofOther.status, 200, 'the limit of each account');
});

test('an account whose messages do not park has no parked host', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 503);
  for (let count = 0; count < 12; count += 1) {
    await rider.ended(await rider.published(receiver.url, { headers: { 'Service-Retries': '0' } }));
  }
  assert.equal(receiver.arrivals.length, 12);
  assert.equal((await hostOf(rider, receiver)).state, 'failing');
});

test('a node that starts sends nothing to a host that is parked', async (t) => {
  const data = temporaryFolder(t);
  const receiver = await startReceiver(t);
  const first = await startRider(t, { data });
  await first.manage('POST', `${pathOf(receiver)}/park`);
  await first.quiet();
  for (let count = 0; count < 20; count += 1) await first.published(receiver.url, { headers: PARK });
  await first.close();
  const second = await startRider(t, { data });
  const again = new Rider(second.postrider, second.clock, first.token);
  await again.quiet();
  const other = await startReceiver(t);
  await again.ended(await again.published(other.url));
  assert.equal(receiver.arrivals.length, 0);
  assert.equal((await hostOf(again, receiver)).state, 'parked');
  again.leave();
});

test('a restart keeps a host that failures have parked, with its failed probes and the time of the next', async (t) => {
  const data = temporaryFolder(t);
  const first = await startRider(t, { data });
  const receiver = await startParked(t, first);
  const id = await first.published(receiver.url, { headers: PARK });
  for (const [probe, waitMs] of [5 * SECOND, 10 * SECOND].entries()) {
    await first.advance(waitMs);
    await receiver.received(11 + probe);
    await waitFor('the probe to be counted', async () => (await hostOf(first, receiver)).failedProbes === probe + 1);
    await first.quiet();
  }
  const before = await hostOf(first, receiver);
  assert.deepEqual([before.failedProbes, before.nextProbeAt], [2, first.clock.now() + 20 * SECOND]);
  const now = first.clock.now();
  // Not by the clock: a later time would be that of the next probe.
  first.leave();
  await first.postrider.close();
  const second = await startRider(t, { data, now });
  const again = new Rider(second.postrider, second.clock, first.token);
  await again.quiet();
  const { state, parkedSince, failedProbes, nextProbeAt } = await hostOf(again, receiver);
  assert.deepEqual(
    [state, parkedSince, failedProbes, nextProbeAt],
    ['parked', before.parkedSince, before.failedProbes, before.nextProbeAt],
  );
  await again.advance(20 * SECOND - 1);
  assert.equal(receiver.arrivals.length, 12);
  receiver.answer = () => 200;
  await again.advance(1);
  assert.equal((await again.ended(id)).state, 'DELIVERED');
  again.leave();
});

test('the metrics count probes, parked hosts and what became of them; an alert of a failing host says that it is parked', async (t) => {
  const rider = await startRider(t);
  const target = await startReceiver(t);
  const rule = { type: 'hostFailing', attempts: 10 };
  await rider.manage('PUT', '/v2/alerts/down', { rule, target: { url: target.url } });
  const receiver = await startParked(t, rider);
  const metric = async (name: string) => {
    const { text } = await rider.call('GET', '/metrics', { token: null });
    return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
  };
  const counted = (name: string) => waitFor(`one of ${name}`, async () => (await metric(name)) === 1);
  const isParked = async () => (await metric('postrider_parked_hosts')) === 1;
  await waitFor('the node to know that the host is parked', isParked);
  await counted('postrider_parking_changes_total\\{to="parked"\\}');
  const id = await rider.published(receiver.url, { headers: PARK });
  await rider.advance(5 * SECOND);
  await receiver.received(11);
  await rider.quiet();
  await counted('postrider_probes_total\\{result="failed"\\}');
  await rider.advance(15 * SECOND);
  const [told] = await target.received(1);
  const { host } = new URL(receiver.url);
  const { text, facts } = JSON.parse(told!.body.toString()) as { text: string; facts: { hosts: unknown[] } };
  assert.ok(text.endsWith(`Messages that park wait for ${host}.`), text);
  assert.deepEqual(
    facts.hosts.map((each) => ({ ...(each as object), failedInARow: 0 })),
    [{ host, failedInARow: 0, isParked: true }],
  );
  receiver.answer = () => 200;
  await rider.advance(60 * SECOND);
  assert.equal((await rider.ended(id)).state, 'DELIVERED');
  await waitFor('the host to open', async () => (await metric('postrider_opening_hosts')) === 1);
  await counted('postrider_probes_total\\{result="answered"\\}');
  await counted('postrider_parking_changes_total\\{to="resumed"\\}');
  assert.equal(await metric('postrider_parked_hosts'), 0);
});
