// The SDK against a real service: what a program does, and what happens when the service fails it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acknowledge, calls, connect, PartlyDoneError, Postrider, PostriderError } from 'postrider-sdk';
import { sharedService } from '../../console/test/service.ts';
import { startReceiver } from '../../server/test/support/receiver.ts';
import { waitFor } from '../../server/test/support/wait.ts';
import { EXPECTED, scenario } from './scenario.ts';
import { startTroubled } from './troubled-service.ts';

const service = sharedService();

function postriderOf(): Postrider {
  return new Postrider({ baseUrl: service().url, token: service().token });
}

test('in Node.js a program publishes, batches, lists, tails, waits and verifies', async () => {
  assert.deepEqual(await scenario({ ...service(), run: 'node' }), EXPECTED);
});

test('every option becomes the header of its name, also those of callbacks', () => {
  const { settings, body, headers } = calls.publish({
    url: 'https://example.com/',
    json: null,
    method: 'PUT',
    retries: 0,
    retryDelay: '1000 * retried',
    delay: '1m30s',
    timeout: 5,
    notBefore: new Date(1_790_000_000_500),
    label: ['a', 'b'],
    redactFields: 'body',
    contentBasedDeduplication: true,
    flowControlKey: 'shop',
    flowControlValue: { rate: 10, period: '1m' },
    headers: { 'X-A': 'b' },
    callback: 'https://example.com/done',
    failureCallback: { url: 'https://example.com/failed', retries: 1, delay: '5s', headers: { 'X-C': 'd' } },
    settings: { Retries: '9' },
  });
  assert.deepEqual(settings, {
    Method: 'PUT',
    Retries: '9',
    'Retry-Delay': '1000 * retried',
    Delay: '1m30s',
    Timeout: '5',
    'Not-Before': '1790000000.5',
    Label: 'a,b',
    'Redact-Fields': 'body',
    'Content-Based-Deduplication': 'true',
    'Flow-Control-Key': 'shop',
    'Flow-Control-Value': 'rate=10,period=1m',
    'Forward-X-A': 'b',
    Callback: 'https://example.com/done',
    'Failure-Callback': 'https://example.com/failed',
    'Failure-Callback-Retries': '1',
    'Failure-Callback-Delay': '5s',
    'Failure-Callback-Forward-X-C': 'd',
  });
  assert.deepEqual([body, headers], ['null', { 'Content-Type': 'application/json' }]);
});

test('an option without a value is no header', () => {
  const unset = undefined as unknown as string;
  const { settings } = calls.publish({
    url: 'https://example.com/',
    label: undefined,
    headers: { 'X-A': unset },
    settings: { 'Deduplication-Id': unset, Delay: unset },
  });
  assert.deepEqual(settings, {});
});

test('what goes beyond the specification has an option or a call', async (t) => {
  const postrider = postriderOf();
  const receiver = await startReceiver(t, () => 202);
  const { messageId } = await postrider.publish({
    url: receiver.url,
    body: 'one',
    delay: '1h',
    expires: '2h',
    priority: 9,
    outage: 'park',
    awaitAck: '30m',
    retryJitter: '20%',
  });
  const message = await postrider.messages.get(messageId);
  assert.deepEqual(
    [message.priority, message.outage, message.awaitAck, message.retryJitter],
    [9, 'park', '30m', '20%'],
  );
  assert.equal(message.expiresAt! - message.createdAt, 7_200_000);
  await assert.rejects(postrider.messages.update(messageId, { body: 'no', ifMatch: '9-9' }), {
    code: 'version_changed',
  });
  const changed = await postrider.messages.update(messageId, { delay: 0, body: 'two', ifMatch: message.version });
  assert.equal(changed.version, '0-1');
  const [arrival] = await receiver.received(1);
  assert.equal(String(arrival!.body), 'two');
  const ackUrl = arrival!.header('Service-Ack-Url')!;
  const awaiting = () => postrider.messages.get(messageId).then(({ ack }) => ack);
  await waitFor('the message to await its ack', awaiting);
  await acknowledge(ackUrl, { progress: 0.5, extendBy: '1h', note: 'half' });
  assert.deepEqual({ ...(await awaiting())!, deadline: 0 }, { attempt: 1, deadline: 0, progress: 0.5, note: 'half' });
  assert.equal((await postrider.why(messageId)).reason, 'awaitingAck');
  await acknowledge(ackUrl, { ok: true });
  assert.equal((await postrider.messages.get(messageId)).state, 'DELIVERED');
  await assert.rejects(acknowledge(ackUrl, { ok: false, error: 'late' }), { code: 'ack_gone' });

  const { host } = new URL(receiver.url);
  assert.equal((await postrider.hosts.park(host)).state, 'parked');
  const hosts: string[] = [];
  for await (const each of postrider.hosts.list()) hosts.push(each.host);
  assert.ok(hosts.includes(host));
  assert.equal((await postrider.hosts.resume(host)).opensWith, 1);
  assert.equal((await postrider.hosts.get(host)).attempts, 1);
  const debounced = { url: receiver.url, debounceKey: 'sdk', debounce: '1h', debounceMax: '2h' } as const;
  await postrider.publish(debounced);
  assert.equal((await postrider.publish(debounced)).debounced, 2);
  const found: string[] = [];
  for await (const each of postrider.messages.list({ debounceKey: 'sdk' })) found.push(each.debounceKey!);
  assert.deepEqual(found, ['sdk']);

  const scheduleId = 'beyond';
  const overlap = { scheduleOverlap: 'skip', scheduleJitter: '30s' } as const;
  await postrider.schedules.create({ url: receiver.url, cron: '*/10 * * * * *', scheduleId, ...overlap });
  await postrider.schedules.change(scheduleId, { cron: '@every 1h' });
  const schedule = await postrider.schedules.get(scheduleId);
  assert.deepEqual([schedule.cron, schedule.overlap, schedule.jitter], ['@every 1h', 'skip', 30]);
  assert.equal(schedule.nextScheduleTimes!.length, 5);
  await postrider.queue('beyond').set({ priority: 8, expires: '10m', outage: 'park' });
  const queue = await postrider.queue('beyond').get();
  assert.deepEqual([queue.priority, queue.expires, queue.outage], [8, '10m', 'park']);
  assert.equal((await postrider.account.setOutage('park')).outage, 'park');
  assert.equal((await postrider.account.setOutage('retry')).outage, 'retry');
  await postrider.schedules.delete(scheduleId);
});

test('a long batch is cut into calls, and every element has its result in its place', async () => {
  const troubled = await startTroubled(service());
  try {
    const postrider = new Postrider({ baseUrl: troubled.url, token: service().token });
    const elements = Array.from({ length: 1203 }, (_, index) => ({
      url: index % 100 === 7 ? 'nonsense://' : service().sink('ok'),
      delay: '1d' as const,
      label: 'many',
    }));
    const slots = await postrider.batch(elements);
    assert.deepEqual(troubled.requests, ['GET /', 'POST /v2/batch', 'POST /v2/batch', 'POST /v2/batch']);
    assert.deepEqual(
      slots.map(({ isAccepted }) => isAccepted),
      elements.map((_, index) => index % 100 !== 7),
    );
    const none = await postrider.batch([{ url: 'x' }, { topic: 'no such topic' }]);
    assert.deepEqual(
      none.map((slot) => !slot.isAccepted && slot.code),
      ['topic_not_found', 'bad_destination'],
    );
    assert.deepEqual(await postrider.batch([]), []);
    const { cancelled } = await postrider.messages.cancelMany({ label: 'many' });
    assert.equal(cancelled, 1191);
  } finally {
    await troubled.close();
  }
});

test('a publish whose answer is lost is sent again and accepted once', async () => {
  const troubled = await startTroubled(service());
  try {
    const warnings: string[] = [];
    const postrider = new Postrider({
      baseUrl: troubled.url,
      token: service().token,
      onWarning: (text) => warnings.push(text),
    });
    for (const trouble of ['lose answer', 'cut answer', 'bad gateway after'] as const) {
      troubled.next(trouble);
      const published = await postrider.publish({ url: service().sink('ok'), label: trouble.replaceAll(' ', '-') });
      assert.deepEqual(Object.keys(published).sort(), ['messageId', 'url']);
      const found = await postrider.messages.list({ label: trouble.replaceAll(' ', '-') }).all();
      assert.deepEqual(
        found.map(({ messageId }) => messageId),
        [published.messageId],
        trouble,
      );
    }
    const label = 'no-key-of-its-own';
    const keyless = [{ contentBasedDeduplication: false }, { deduplicationId: '' }, { settings: {} }] as const;
    for (const [index, options] of keyless.entries()) {
      troubled.next('lose answer');
      await postrider.publish({ url: service().sink('ok'), label, ...options });
      assert.equal((await postrider.messages.list({ label }).all()).length, index + 1, JSON.stringify(options));
    }
    troubled.next('lose answer');
    const slots = await postrider.batch([
      { url: service().sink('ok'), label: 'lost-batch' },
      { url: service().sink('ok'), label: 'lost-batch', contentBasedDeduplication: false },
    ]);
    assert.equal((await postrider.messages.list({ label: 'lost-batch' }).all()).length, 2);
    assert.deepEqual(Object.keys(slots[0]).sort(), ['isAccepted', 'messageId']);
    // Retires is what a program without types may write.
    await postrider.publish({ url: service().sink('ok'), ...({ retires: 3 } as object) });
    assert.match(warnings[0]!, /Service-retires is not known .* Service-Retries/i);
  } finally {
    await troubled.close();
  }
});

test('what may have been done is not sent again, and what was not done is', async () => {
  const troubled = await startTroubled(service());
  try {
    const postrider = new Postrider({ baseUrl: troubled.url, token: service().token });
    const { messageId } = await postrider.publish({ url: service().sink('ok'), delay: '1d' });
    const rotate = () => postrider.account.rotateKeys();
    for (const trouble of ['lose answer', 'bad gateway', 'outcome unknown'] as const) {
      const before = troubled.requests.length;
      troubled.next(trouble);
      await assert.rejects(rotate(), trouble);
      assert.equal(troubled.requests.length, before + 1, trouble);
    }
    for (const trouble of ['overloaded', 'too many'] as const) {
      const before = troubled.requests.length;
      troubled.next(trouble);
      await rotate();
      assert.equal(troubled.requests.length, before + 2, trouble);
    }
    for (const trouble of ['lose answer', 'bad gateway', 'outcome unknown'] as const) {
      troubled.next(trouble);
      assert.equal((await postrider.messages.get(messageId)).messageId, messageId);
    }
    troubled.next('tomorrow');
    const before = troubled.requests.length;
    await assert.rejects(postrider.publish({ url: service().sink('ok') }), { code: 'quota_exceeded' });
    assert.equal(troubled.requests.length, before + 1, 'nobody waits for a day');
    troubled.next('until 2099');
    const away: unknown = await postrider.messages.get(messageId).catch((error: unknown) => error);
    assert.ok(away instanceof PostriderError);
    const secondsLeft = (Date.UTC(2099, 0, 1) - Date.now()) / 1000;
    assert.ok(Math.abs(away.retryAfterSeconds! - secondsLeft) < 900, String(away.retryAfterSeconds));
    assert.equal(troubled.requests.length, before + 2, 'nor for years');
  } finally {
    await troubled.close();
  }
});

test('nonsense in place of an answer is an error that says so', async () => {
  const troubled = await startTroubled(service());
  try {
    const options = { baseUrl: troubled.url, token: service().token, headerPrefix: 'Service-', retries: 0 };
    const postrider = new Postrider(options);
    for (const trouble of ['not json', 'redirect', 'teapot'] as const) {
      troubled.next(trouble);
      await assert.rejects(postrider.queues.get('q'), (error: unknown) => {
        assert.ok(error instanceof PostriderError, trouble);
        assert.equal(error.code, '');
        return true;
      });
    }
    troubled.next('error of another');
    await assert.rejects(postrider.queues.get('q'), { code: '', message: 'the service returned 403' });
    const nobody = new Postrider({ ...options, baseUrl: 'http://127.0.0.1:1' });
    await assert.rejects(nobody.queues.get('q'), { message: 'no response from http://127.0.0.1:1' });
    troubled.next('not a list');
    await assert.rejects(postrider.messages.list().all(), /has no list/);
    troubled.next('not a list');
    await assert.rejects(postrider.batch([{ url: 'https://example.com/' }]), /a result for each element/);
    troubled.next('not json');
    await assert.rejects(postrider.tail().next(), /not a stream of events/);
    await assert.rejects(postrider.publish({ url: 'https://example.com/', label: 'a\nb' }), TypeError);
    troubled.next('silence');
    const short = new Postrider({ ...options, timeoutMs: 50 });
    await assert.rejects(short.queues.get('q'), /no response within 50 ms/);
    troubled.next('silence');
    const stop = new AbortController();
    const waiting = postrider.queues.get('q', { signal: stop.signal });
    stop.abort(new Error('enough'));
    await assert.rejects(waiting, /enough/);
  } finally {
    await troubled.close();
  }
});

test('a message is waited for while the service is away, but not if it was never found', async () => {
  const troubled = await startTroubled(service());
  try {
    const postrider = new Postrider({ baseUrl: troubled.url, token: service().token, retries: 0 });
    const { messageId } = await postriderOf().publish({ url: service().sink('ok'), delay: '1d' });
    troubled.next('bad gateway');
    await assert.rejects(postrider.waitFor(messageId), { status: 502 });
    const before = troubled.requests.length;
    const waiting = postrider.waitFor(messageId);
    const looked = (times: number) => waitFor(`look ${times}`, () => troubled.requests.length >= before + times);
    await looked(1);
    troubled.next('lose answer');
    await looked(2);
    troubled.next('bad gateway');
    await looked(3);
    await postriderOf().messages.cancel(messageId);
    assert.equal((await waiting).state, 'CANCELLED');
    const stop = new AbortController();
    const later = await postriderOf().publish({ url: service().sink('ok'), delay: '1d' });
    const given = postrider.waitFor(later.messageId, { signal: stop.signal });
    stop.abort(new Error('enough'));
    await assert.rejects(given, /enough/);
  } finally {
    await troubled.close();
  }
});

test('a tail that is cut off goes on where it was, without loss or repeat', async () => {
  const troubled = await startTroubled(service());
  try {
    const postrider = new Postrider({ baseUrl: troubled.url, token: service().token });
    const queueName = 'tailed-through-trouble';
    const lost: unknown[] = [];
    const seen: string[] = [];
    const stop = new AbortController();
    let sent = 0;
    const publish = () => service().publish(service().sink('ok'), { queue: queueName });
    const options = {
      signal: stop.signal,
      // Cut off before any event, and one happens meanwhile.
      onOpen: () => troubled.cutAll(publish),
      onLost: (error: unknown) => lost.push(error),
    };
    for await (const event of postrider.tail({ queueName }, options)) {
      seen.push(event.state);
      if (event.state === 'DELIVERED') {
        sent += 1;
        if (sent === 3) stop.abort();
        else await troubled.cutAll(publish);
      }
    }
    const each = ['CREATED', 'ACTIVE', 'DELIVERED'];
    assert.deepEqual(seen, [...each, ...each, ...each]);
    assert.equal(lost.length, 3);
  } finally {
    await troubled.close();
  }
});

test('a tail can be left, and continued later by the id of its last event', async () => {
  const postrider = postriderOf();
  const queueName = 'left-and-continued';
  const opened = Promise.withResolvers<void>();
  const tail = postrider.tail({ queueName }, { onOpen: opened.resolve });
  const first = tail.next();
  await opened.promise;
  await service().publish(service().sink('ok'), { queue: queueName });
  const { value } = await first;
  await tail.return(undefined);
  for await (const event of postrider.tail({ queueName }, { after: value!.eventId })) {
    assert.equal(event.state, 'ACTIVE');
    break;
  }
});

test('dead letters are sent again and deleted in bulk, over as many pages as there are', async () => {
  const postrider = postriderOf();
  const slots = await postrider.batch(
    Array.from({ length: 130 }, () => ({ url: service().sink('status/500'), retries: 0, label: 'dead' })),
  );
  for (const slot of slots) if (slot.isAccepted) await postrider.waitFor(slot.messageId);
  const again = await postrider.deadLetters.retryMany({ label: 'dead' }, { delay: '1d', headers: { 'X-Again': '1' } });
  assert.equal(again.length, 130);
  assert.deepEqual((await postrider.messages.get(again[0]!)).header['X-Again'], ['1']);
  assert.equal(await postrider.deadLetters.deleteMany({ label: 'dead', retried: 'any' }), 130);
  assert.equal((await postrider.messages.cancelMany({ messageIds: again })).cancelled, 130);
});

test('what was done before a page failed is not lost', async () => {
  const pages = [
    { responses: [{ messageId: 'msg_1' }], deleted: 2, cursor: 'c1' },
    { responses: [{ messageId: 'msg_2' }], deleted: 3, cursor: 'c2' },
  ];
  const postrider = () => {
    const left = [...pages];
    const fetch = async () => {
      const page = left.shift();
      return Response.json(page ?? { error: 'gone', code: 'store_gone' }, { status: page ? 200 : 503 });
    };
    return new Postrider({ baseUrl: 'http://127.0.0.1:1', retries: 0, fetch });
  };
  for (const [call, done] of [
    [() => postrider().deadLetters.retryMany({ all: true }), ['msg_1', 'msg_2']],
    [() => postrider().deadLetters.deleteMany({ all: true }), [2, 3]],
  ] as const) {
    const error: unknown = await call().catch((caught: unknown) => caught);
    assert.ok(error instanceof PartlyDoneError && error.cause instanceof PostriderError, String(error));
    assert.deepEqual([error.done, error.cause.code], [done, 'store_gone']);
  }
  pages.length = 0;
  await assert.rejects(postrider().deadLetters.retryMany({ all: true }), PostriderError);
});

test('flow keys, schedules, queues and topics have all that the API has', async () => {
  const postrider = postriderOf();
  await postrider.publish({ url: service().sink('ok'), flowControlKey: 'k', flowControlValue: { parallelism: 2 } });
  assert.equal((await postrider.flow.get('k')).parallelismMax, 2);
  assert.equal((await postrider.flow.pin('k', { parallelism: 5 })).isPinnedParallelism, true);
  assert.equal((await postrider.flow.unpin('k')).isPinnedParallelism, false);
  await postrider.flow.resetRate('k');
  assert.deepEqual(
    (await postrider.flow.list().all()).map(({ flowControlKey }) => flowControlKey),
    ['k'],
  );
  const { scheduleId } = await postrider.schedules.create({ url: service().sink('ok'), cron: '0 9 * * 1', retries: 1 });
  assert.equal((await postrider.schedules.get(scheduleId)).retries, 1);
  await postrider.schedules.delete(scheduleId);
  const queue = postrider.queue('of-its-own');
  await queue.set({ parallelism: 3 });
  await queue.pause();
  assert.deepEqual([(await queue.get()).parallelism, (await queue.get()).paused], [3, true]);
  await queue.delete({ force: true });
  const send = connect({ baseUrl: service().url, token: service().token });
  assert.equal((await send(calls.publish({ url: service().sink('ok') }))).url, service().sink('ok'));
});
