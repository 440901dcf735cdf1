// api.md, section 2: the headers of a publish, each as the receiver and a reader of the message see it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answered } from '../../support/client.ts';
import { type Published, refusal, ridersOfOneService } from '../../support/harness.ts';
import { inTurn, startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

const NOWHERE = 'http://127.0.0.1:1/';

interface Settings {
  readonly label?: string;
  readonly labels?: readonly string[];
  readonly retryDelayExpression?: string;
  readonly retryJitter?: string;
  readonly timeoutMs: number;
}

test('Label: the first is label, all are labels, and they come back in every read', async (t) => {
  const rider = await startRider(t);
  const headers = { 'Service-Label': 'red, blue,red', 'Service-Delay': '1h' };
  const messageId = await rider.published(NOWHERE, { headers });
  const { label, labels } = await rider.manage<Settings>('GET', `/v2/messages/${messageId}`);
  assert.deepEqual({ label, labels }, { label: 'red', labels: ['red', 'blue'] });
  const bare = await rider.manage<Settings>(
    'GET',
    `/v2/messages/${await rider.published(NOWHERE, { headers: { 'Service-Delay': '1h' } })}`,
  );
  assert.equal('label' in bare || 'labels' in bare, false);
});

test('Not-Before: the first attempt starts at that second, wins over Delay, and the past means now', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const at = rider.clock.now() / 1000 + 90.5;
  const headers = { 'Service-Not-Before': String(at), 'Service-Delay': '1s' };
  const messageId = await rider.published(`${receiver.url}/later`, { headers });
  assert.equal((await rider.message(messageId)).notBefore, at * 1000);
  await rider.advance(90_499);
  assert.equal(receiver.arrivals.length, 0);
  await rider.advance(1);
  await receiver.received(1);
  await rider.published(`${receiver.url}/past`, { headers: { 'Service-Not-Before': '1' } });
  assert.equal((await receiver.received(2))[1]!.target, '/past');
});

test('Delay: a duration before the first attempt; over the tier it is refused with 412', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  await rider.published(receiver.url, { headers: { 'Service-Delay': '1m30s' } });
  await rider.advance(89_999);
  assert.equal(receiver.arrivals.length, 0);
  await rider.advance(1);
  await receiver.received(1);
  refusal(await rider.publish(NOWHERE, { headers: { 'Service-Delay': '366d' } }), 412, 'limit_exceeded');
});

test('Delay, Timeout, Retries: any number over the tier is 412 with the name of its header, however large; what is no number is 400', async (t) => {
  const rider = await startRider(t);
  const huge = '9'.repeat(40);
  for (const name of ['Delay', 'Timeout', 'Retries', 'Callback-Delay', 'Failure-Callback-Retries']) {
    const callbacks = { 'Service-Callback': NOWHERE, 'Service-Failure-Callback': NOWHERE };
    const over = await rider.publish(NOWHERE, { headers: { ...callbacks, [`Service-${name}`]: huge } });
    assert.match(
      refusal(over, 412, 'limit_exceeded'),
      new RegExp(`^Service-${name} .*exceeds the limit of the free tier`),
      name,
    );
    const wrong = await rider.publish(NOWHERE, { headers: { ...callbacks, [`Service-${name}`]: `${huge}x` } });
    assert.match(refusal(wrong, 400, 'bad_header'), new RegExp(`^Service-${name}: `), name);
  }
});

test('Delay, Timeout, Retries: on a tier without a limit, what could not be kept is 412', async (t) => {
  const unlimited = { retriesMax: null, delayMsMax: null, timeoutMsMax: null };
  const rider = await startRider(t, { flags: ['--tiers', JSON.stringify({ free: unlimited })] });
  for (const name of ['Delay', 'Timeout', 'Retries']) {
    const over = await rider.publish(NOWHERE, { headers: { [`Service-${name}`]: '9'.repeat(40) } });
    refusal(over, 412, 'limit_exceeded');
  }
  const headers = { 'Service-Delay': '36500d', 'Service-Retries': '999999999', 'Service-Timeout': '24d' };
  const { maxRetries, notBefore } = await rider.message(await rider.published(NOWHERE, { headers }));
  assert.deepEqual([maxRetries, notBefore], [999_999_999, rider.clock.now() + 36_500 * 86_400_000]);
});

test('Not-Before in milliseconds is refused with 400: it says that seconds are expected', async (t) => {
  const rider = await startRider(t);
  for (const value of [String(rider.clock.now() + 60_000), '9'.repeat(40)]) {
    const answer = await rider.publish(NOWHERE, { headers: { 'Service-Not-Before': value } });
    assert.match(refusal(answer, 400, 'bad_header'), /^Service-Not-Before: must be a time in seconds .*milliseconds/);
  }
  const years = await rider.publish(NOWHERE, { headers: { 'Service-Not-Before': '95617584000' } });
  refusal(years, 400, 'bad_header');
  const lastSecond = await rider.publish(NOWHERE, { headers: { 'Service-Not-Before': '95617583999' } });
  refusal(lastSecond, 412, 'limit_exceeded');
});

test('a setting of a callback without the callback is accepted with a warning, and refused with --strict-settings', async (t) => {
  const settings = ['Callback-Retries', 'Failure-Callback-Delay', 'Callback-Forward-X-Tenant'];
  const rider = await startRider(t);
  for (const name of settings) {
    const callback = name.startsWith('Failure') ? 'Failure-Callback' : 'Callback';
    const headers = { [`Service-${name}`]: '3', 'Service-Delay': '1h' };
    const answer = await rider.publish(NOWHERE, { headers });
    assert.equal(answer.status, 201);
    const warning = String(answer.headers['service-warning']);
    assert.match(
      warning,
      new RegExp(`^Service-${name} was ignored: it has no effect without Service-${callback}$`, 'i'),
    );
    const whole = await rider.publish(NOWHERE, { headers: { ...headers, [`Service-${callback}`]: NOWHERE } });
    assert.deepEqual([whole.status, whole.headers['service-warning']], [201, undefined]);
  }
  const strict = await startRider(t, { flags: ['--strict-settings'] });
  for (const name of settings) {
    const answer = await strict.publish(NOWHERE, { headers: { [`Service-${name}`]: '3' } });
    assert.match(
      refusal(answer, 400, 'bad_header'),
      new RegExp(`^Service-${name}: has no effect without Service-`, 'i'),
    );
  }
  // The defaults of a topic are for those who ask for the callback.
  await strict.manage('POST', '/v2/topics/news/endpoints', { endpoints: [{ url: NOWHERE }] });
  const defaults = { 'Service-Callback-Retries': '3', 'Service-Delay': '1h' };
  await strict.manage('PATCH', '/v2/topics/news', { headers: defaults });
  const published = await strict.publish('news');
  assert.deepEqual([published.status, published.headers['service-warning']], [201, undefined]);
  const batch = await rider.batch([{ destination: NOWHERE, headers: { 'Service-Callback-Retries': '3' } }]);
  assert.match(String(batch.headers['service-warning']), /^Service-Callback-Retries was ignored/);
});

test('a topic takes no query: the error says so, and does not blame the name of the topic', async (t) => {
  const rider = await startRider(t);
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [{ url: NOWHERE }] });
  for (const destination of ['news?x=1', 'news?', `news?${'x'.repeat(500)}`]) {
    for (const answer of [await rider.publish(destination), await rider.enqueue('q', destination)]) {
      const text = refusal(answer, 400, 'bad_destination');
      assert.match(text, /^destination: "\?.*" follows the name of the topic, but a topic has no query/);
      assert.ok(text.length < 300);
    }
  }
  const delayed = await rider.publish('news?service-delay=1h');
  assert.equal(delayed.status, 201, 'a setting is no query');
});

test('Cron: not on a publish, an enqueue, in a batch or as the default of a topic; it names the call that takes it', async (t) => {
  const rider = await startRider(t);
  const headers = { 'Service-Cron': '* * * * *' };
  const answers = [await rider.publish(NOWHERE, { headers }), await rider.enqueue('q', NOWHERE, { headers })];
  for (const answer of answers) {
    assert.match(refusal(answer, 400, 'bad_header'), /^Service-Cron: .*\/v2\/schedules\//);
  }
  refusal(await rider.publish(`${NOWHERE}?service-cron=*`), 400, 'bad_header');
  const batch = await rider.batch([{ destination: NOWHERE, headers }, { destination: NOWHERE }]);
  const [refused] = batch.json<[{ error: string; code: string }]>();
  assert.deepEqual([batch.status, refused.code], [201, 'bad_header']);
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [{ url: NOWHERE }] });
  refusal(await rider.call('PATCH', '/v2/topics/news', { body: JSON.stringify({ headers }) }), 400, 'bad_header');
  assert.equal((await rider.manage<object[]>('GET', '/v2/schedules')).length, 0);
});

test('Timeout: the attempt ends at its deadline as timed out; only a duration is taken', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 'hang');
  const headers = { 'Service-Timeout': '2s', 'Service-Retries': '0' };
  const messageId = await rider.published(receiver.url, { headers });
  assert.equal((await rider.manage<Settings>('GET', `/v2/messages/${messageId}`)).timeoutMs, 2000);
  await receiver.received(1);
  await rider.advance(2000);
  assert.equal((await rider.ended(messageId)).attempts[0]!.outcome, 'timedOut');
  refusal(await rider.publish(NOWHERE, { headers: { 'Service-Timeout': 'soon' } }), 400, 'bad_header');
});

test('Retry-Delay: an expression over retried replaces the backoff; a bad one is refused at once', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, inTurn(500, 500, 200));
  const headers = { 'Service-Retry-Delay': '100 * pow(2, retried)', 'Service-Retries': '2' };
  const messageId = await rider.published(receiver.url, { headers });
  const first = await rider.attempted(messageId, 1);
  assert.equal(first.nextDeliveryTime, rider.clock.now() + 100);
  await rider.advance(100);
  assert.equal((await rider.attempted(messageId, 2)).nextDeliveryTime, rider.clock.now() + 200);
  await rider.advance(200);
  assert.equal((await rider.ended(messageId)).state, 'DELIVERED');
  const { retryDelayExpression } = await rider.manage<Settings>('GET', `/v2/messages/${messageId}`);
  assert.equal(retryDelayExpression, '100 * pow(2, retried)');
  const bad = await rider.publish(NOWHERE, { headers: { 'Service-Retry-Delay': 'process.exit()' } });
  assert.match(refusal(bad, 400, 'bad_header'), /^Service-Retry-Delay: /);
});

test('Retry-Jitter: up to this share of the wait is added to it; a retry never comes earlier', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => ({ status: 500, headers: { 'Retry-After': '30' } }));
  const headers = { 'Service-Retry-Jitter': '100%', 'Service-Retries': '1' };
  const waits: number[] = [];
  for (let count = 0; count < 10; count += 1) {
    const messageId = await rider.published(receiver.url, { headers });
    const { nextDeliveryTime } = await rider.attempted(messageId, 1);
    waits.push(nextDeliveryTime! - rider.clock.now());
    assert.equal((await rider.manage<Settings>('GET', `/v2/messages/${messageId}`)).retryJitter, '100%');
  }
  for (const wait of waits) assert.ok(wait >= 30_000 && wait <= 60_000, `${wait}`);
  assert.ok(new Set(waits).size > 5, `${waits}`);
  for (const bad of ['20', '101%', '-1%', '1.5%', 'x']) {
    const refused = await rider.publish(NOWHERE, { headers: { 'Service-Retry-Jitter': bad } });
    assert.match(refusal(refused, 400, 'bad_header'), /^Service-Retry-Jitter: must be a whole percentage/);
  }
});

test('Header-Forward: all headers of the request go on, but for ours, secrets and hop-by-hop ones', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const headers = {
    'Service-Header-Forward': 'true',
    'X-Shop': '7',
    Cookie: 'session=1',
    'Service-Telemetry-Sdk': 'x',
    'Service-Forward-X-Own': 'own',
  };
  await rider.published(receiver.url, { headers });
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.header('X-Shop'), '7');
  assert.equal(arrival!.header('X-Own'), 'own');
  for (const name of ['Authorization', 'Cookie', 'Service-Telemetry-Sdk', 'Service-Header-Forward']) {
    assert.equal(arrival!.header(name), undefined, name);
  }
  await rider.published(receiver.url, { headers: { 'X-Shop': '8' } });
  assert.equal((await receiver.received(2))[1]!.header('X-Shop'), undefined);
});

test('settings as query parameters: they are taken out of the destination, and a header wins', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const target = `${receiver.url}/in?a=1&service-method=PUT&b=%2F&service-forward-x-shop=7%2B1&service-label=query`;
  const messageId = await rider.published(target, { headers: { 'Service-Label': 'header' } });
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.method, 'PUT');
  assert.equal(arrival!.target, '/in?a=1&b=%2F');
  assert.equal(arrival!.header('X-Shop'), '7+1');
  const view = await rider.manage<Settings & Published>('GET', `/v2/messages/${messageId}`);
  assert.equal(view.url, `${receiver.url}/in?a=1&b=%2F`);
  assert.deepEqual(view.labels, ['header']);
});

test('Callback: its own method, retries, delay, timeout and headers are heeded, as are those of Failure-Callback', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, ({ target }) => (target === '/job' ? 500 : 200));
  const callbacks = await startReceiver(t);
  const headers = {
    'Service-Retries': '0',
    'Service-Callback': `${callbacks.url}/each`,
    'Service-Callback-Method': 'PUT',
    'Service-Callback-Retries': '7',
    'Service-Callback-Retry-Delay': '5',
    'Service-Callback-Retry-Jitter': '40%',
    'Service-Callback-Timeout': '9s',
    'Service-Callback-Forward-X-Key': 'secret-1',
    'Service-Failure-Callback': `${callbacks.url}/failed`,
    'Service-Failure-Callback-Delay': '10s',
    'Service-Failure-Callback-Forward-X-Key': 'secret-2',
  };
  const messageId = await rider.published(`${receiver.url}/job`, { headers });
  const [each] = await callbacks.received(1);
  assert.deepEqual([each!.method, each!.target, each!.header('X-Key')], ['PUT', '/each', 'secret-1']);
  const callback = await rider.manage<Settings & { maxRetries: number }>(
    'GET',
    `/v2/messages/${each!.header('Service-Message-Id')}`,
  );
  assert.deepEqual([callback.maxRetries, callback.retryDelayExpression, callback.timeoutMs], [7, '5', 9000]);
  assert.equal(callback.retryJitter, '40%');
  await rider.advance(9999);
  assert.equal(callbacks.arrivals.length, 1);
  await rider.advance(1);
  const [, failed] = await callbacks.received(2);
  assert.deepEqual([failed!.method, failed!.target, failed!.header('X-Key')], ['POST', '/failed', 'secret-2']);
  const shown = await rider.manage<Record<string, unknown>>('GET', `/v2/messages/${messageId}`);
  assert.deepEqual(shown.callbackHeader, { 'X-Key': ['secret-1'] });
  assert.deepEqual(shown.failureCallbackHeader, { 'X-Key': ['secret-2'] });
});

test('PATCH /v2/topics/{nameOrId}: default headers are for every message, and those of a request win', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [{ url: receiver.url }] });
  const headers = { 'Service-Method': 'PUT', 'Service-Forward-X-Shop': '7', 'Service-Label': 'news' };
  assert.deepEqual((await rider.manage<{ headers: object }>('PATCH', '/v2/topics/news', { headers })).headers, headers);
  await rider.publish('news');
  const [first] = await receiver.received(1);
  assert.deepEqual([first!.method, first!.header('X-Shop')], ['PUT', '7']);
  await rider.publish('news', { headers: { 'Service-Method': 'PATCH', 'Service-Forward-X-Shop': '8' } });
  const [, second] = await receiver.received(2);
  assert.deepEqual([second!.method, second!.values('X-Shop')], ['PATCH', ['8']]);
  const bad = { headers: { 'Service-Retries': 'many' } };
  const answer = await rider.call('PATCH', '/v2/topics/news', { body: JSON.stringify(bad) });
  assert.match(refusal(answer, 400, 'bad_header'), /^headers: Service-Retries: /);
  const cleared = await rider.manage<object>('PATCH', '/v2/topics/news', { headers: {} });
  assert.equal('headers' in cleared, false);
});

test('a header that looks like a misspelt setting is accepted with a warning that names the setting', async (t) => {
  const rider = await startRider(t);
  const warningOf = (answer: Awaited<ReturnType<typeof rider.publish>>) => {
    assert.equal(answer.status, 201);
    return answer.headers['service-warning'];
  };
  const retires = 'Service-Retires is not known and was ignored; did you mean Service-Retries?';
  const headers = { 'Service-Delay': '1h', 'Service-Retires': '9' };
  assert.equal(warningOf(await rider.publish(NOWHERE, { headers })), retires);
  const element = { destination: NOWHERE, headers };
  assert.equal(warningOf(await rider.batch([{ destination: NOWHERE }, element])), retires);
  const cron = { headers: { 'Service-Cron': '0 9 * * *', 'Service-Retires': '9' } };
  assert.equal(warningOf(await rider.call('POST', `/v2/schedules/${NOWHERE}`, cron)), retires);
  const others = { 'Service-Delay': '1h', 'Service-Foo': '1', 'Service-Retried': '1', 'Service-Forward-Retires': '1' };
  assert.equal(warningOf(await rider.publish(NOWHERE, { headers: others })), undefined);
});

test('a field that no element of a batch has is accepted with a warning, that of the first such element', async (t) => {
  const rider = await startRider(t);
  const LATER = { 'Service-Delay': '1h' };
  const plain = { destination: NOWHERE, headers: LATER, body: 'x', queue: null };
  const answer = await rider.batch([plain, { ...plain, delay: '1h', Body: 'x' }, { ...plain, url: NOWHERE }]);
  assert.equal(answer.status, 201);
  assert.equal(
    answer.headers['service-warning'],
    'the field "delay" of an element is not known and was ignored; did you mean the header Service-Delay?; ' +
      'the field "Body" of an element is not known and was ignored; did you mean "body"?',
  );
  const refused = { destination: 'no-such-topic', delay: '1h' };
  assert.equal((await rider.batch([plain, refused])).headers['service-warning'], undefined);
});

test('a setting with the prefix of another service is told, wherever settings can be given', async (t) => {
  const rider = await startRider(t);
  const headers = { 'Upstash-Delay': '1h', 'Service-Delay': '2h' };
  const said =
    'Upstash-Delay was ignored, because settings of this service start with Service-; did you mean Service-Delay?';
  const warningOf = (answer: Answered) => {
    assert.equal(answer.status, 201, answer.text);
    return answer.headers['service-warning'];
  };
  assert.equal(warningOf(await rider.publish(NOWHERE, { headers })), said);
  assert.equal(warningOf(await rider.batch([{ destination: NOWHERE, headers }])), said);
  const cron = { headers: { ...headers, 'Service-Cron': '@yearly' } };
  assert.equal(warningOf(await rider.call('POST', `/v2/schedules/${NOWHERE}`, cron)), said);
  const inQuery = await rider.publish(`${NOWHERE}?Upstash-Delay=1h&a=b`, { headers: { 'Service-Delay': '2h' } });
  assert.equal(warningOf(inQuery), said);
  const { url } = await rider.message(inQuery.json<{ messageId: string }>().messageId);
  assert.equal(url, `${NOWHERE}?Upstash-Delay=1h&a=b`, 'it may be meant for the destination');
  const forwarded = { ...headers, 'Service-Header-Forward': 'true' };
  assert.equal(warningOf(await rider.publish(NOWHERE, { headers: forwarded })), undefined, 'it is not ignored');
  const delivered = { 'Upstash-Message-Id': 'x', 'Upstash-Retried': '1', 'Service-Delay': '2h' };
  assert.equal(warningOf(await rider.publish(NOWHERE, { headers: delivered })), undefined);
});

test('with --strict-settings a setting with the prefix of another service is refused', async (t) => {
  const rider = await startRider(t, { flags: ['--strict-settings', '--header-prefix', 'Acme-'] });
  const headers = { 'Service-Retries': '9', 'Acme-Delay': '1h' };
  const expected = 'Service-Retries: settings of this service start with Acme-; did you mean Acme-Retries?';
  assert.equal(refusal(await rider.publish(NOWHERE, { headers }), 400, 'bad_header'), expected);
  const [first] = (await rider.batch([{ destination: NOWHERE, headers }])).json<{ error: string }[]>();
  assert.equal(first!.error, expected);
  assert.equal((await rider.call('GET', '/')).json<{ headerPrefix: string }>().headerPrefix, 'Acme-');
});

test('with --strict-settings an element with such a field is refused in its place', async (t) => {
  const rider = await startRider(t, { flags: ['--strict-settings'] });
  const good = { destination: NOWHERE, headers: { 'Service-Delay': '1h' } };
  const answer = await rider.batch([{ ...good, delay: '1h' }, good]);
  const [first, second] = answer.json<[{ code: string; error: string }, { messageId: string }]>();
  assert.deepEqual(first, {
    error: 'the field "delay" of an element is not known; did you mean the header Service-Delay?',
    code: 'bad_body',
  });
  assert.match(second.messageId, /^msg_/);
  assert.equal(answer.headers['service-warning'], undefined);
});

test('with --strict-settings such a header is refused with 400, in a batch in its place', async (t) => {
  const rider = await startRider(t, { flags: ['--strict-settings'] });
  const headers = { 'Service-Retires': '9' };
  const answer = await rider.publish(NOWHERE, { headers });
  const expected = 'Service-Retires: is not known; did you mean Service-Retries?';
  assert.equal(refusal(answer, 400, 'bad_header'), expected);
  const cron = { headers: { ...headers, 'Service-Cron': '0 9 * * *' } };
  refusal(await rider.call('POST', `/v2/schedules/${NOWHERE}`, cron), 400, 'bad_header');
  const delayed = { destination: NOWHERE, headers: { 'Service-Delay': '1h', 'Service-Unheard-Of': '1' } };
  const batch = await rider.batch([{ destination: NOWHERE, headers }, delayed]);
  const [first, second] = batch.json<[{ code: string }, { messageId: string }]>();
  assert.equal(first.code, 'bad_header');
  assert.match(second.messageId, /^msg_/);
});

test('with another prefix, every header beyond the specification carries it, and one with the usual prefix means nothing', async (t) => {
  const rider = await startRider(t, { flags: ['--header-prefix', 'Upstash-'] });
  const receiver = await startReceiver(t, () => 202);
  const view = async (id: string) => (await rider.message(id)) as unknown as Record<string, unknown>;
  const settings = {
    Expires: '10m',
    'Retry-Jitter': '5%',
    'Await-Ack': '30m',
    Priority: '9',
    Outage: 'park',
  };
  const named = (prefix: string, given: Record<string, string>) =>
    Object.fromEntries(Object.entries(given).map(([name, value]) => [prefix + name, value]));
  const id = await rider.published(receiver.url, { headers: named('Upstash-', settings) });
  const [arrival] = await receiver.received(1);
  assert.ok(arrival!.header('Upstash-Ack-Url') && !arrival!.header('Service-Ack-Url'));
  const { expiresAt, retryJitter, awaitAck, priority, outage } = await view(id);
  assert.deepEqual([typeof expiresAt, retryJitter, awaitAck, priority, outage], ['number', '5%', '30m', 9, 'park']);
  const plain = await view(await rider.published(NOWHERE, { headers: named('Service-', settings) }));
  for (const name of ['expiresAt', 'retryJitter', 'awaitAck', 'priority', 'outage']) assert.ok(!(name in plain), name);
  const debounce = { 'Upstash-Debounce-Key': 'k', 'Upstash-Debounce': '1m', 'Upstash-Debounce-Max': '2m' };
  const debounced = [1, 2].map(async () => (await rider.publish(NOWHERE, { headers: debounce })).json<object>());
  assert.deepEqual(
    (await Promise.all(debounced)).map((each) => (each as { debounced: number }).debounced).toSorted(),
    [1, 2],
  );
  const headers = { 'Upstash-Cron': '*/10 * * * * *', 'Upstash-Schedule-Id': 's' };
  const options = { 'Upstash-Schedule-Overlap': 'skip', 'Upstash-Schedule-Jitter': '2s' };
  const made = await rider.call('POST', `/v2/schedules/${NOWHERE}`, { headers: { ...headers, ...options } });
  assert.equal(made.status, 201, made.text);
  const bad = { ...headers, 'Upstash-Schedule-Jitter': 'long' };
  assert.match(
    refusal(await rider.call('POST', `/v2/schedules/${NOWHERE}`, { headers: bad }), 400, 'bad_header'),
    /^Upstash-Schedule-Jitter: /,
  );
  const body = JSON.stringify({ headers: { 'Upstash-Priority': '10' } });
  assert.match(
    refusal(await rider.call('PATCH', `/v2/messages/${id}`, { body }), 400, 'bad_header'),
    /^Upstash-Priority: /,
  );
});
