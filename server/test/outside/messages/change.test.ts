// api.md, Changing a message: PATCH /v2/messages/{id} changes a message that waits.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import { type MessageView, type Rider, refusal, ridersOfOneService, startRider } from '../../support/harness.ts';
import { inTurn, startReceiver } from '../../support/receiver.ts';
import { openTail } from '../../support/tail.ts';
import { waitFor } from '../../support/wait.ts';
import { holdVerb } from '../isolation/held-verb.ts';

const riderOf = ridersOfOneService();

const HOUR = 3_600_000;
const LATER = { 'Service-Delay': '1h' };

type Changed = MessageView & { readonly version: string };

const patch = (
  rider: Rider,
  id: string,
  body: unknown,
  options: {
    readonly token?: string;
    readonly ifMatch?: string;
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
) =>
  rider.call('PATCH', `/v2/messages/${id}`, {
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { ...options.headers, ...(options.ifMatch !== undefined && { 'If-Match': options.ifMatch }) },
    ...(options.token !== undefined && { token: options.token }),
  });

async function changed(rider: Rider, id: string, body: unknown): Promise<Changed> {
  const answer = await patch(rider, id, body);
  assert.equal(answer.status, 200, answer.text);
  return answer.json<Changed>();
}

const eventsOf = async (rider: Rider, id: string) => {
  type Event = { state: string; time: number; changed?: string[] };
  const read = (query: string) =>
    rider.manage<{ events: (Event & { messageId: string })[] }>('GET', `/v2/events?${query}`);
  const named = (await read(`messageId=${id}&order=oldestFirst`)).events;
  const listed = (await read('order=oldestFirst&count=1000')).events.filter(({ messageId }) => messageId === id);
  const told = (events: readonly Event[]) =>
    events.map(({ state, changed }) => (changed ? [state, ...changed] : [state]));
  assert.deepEqual(told(named), told(listed), 'the events of a message, and the list of all events');
  return told(named);
};

test('time, URL, body, headers and settings: the delivery is the changed message, shown as GET shows it', async (t) => {
  const rider = await riderOf(t);
  const [before, after] = [await startReceiver(t), await startReceiver(t)];
  const id = await rider.published(before.url, {
    headers: { ...LATER, 'Content-Type': 'text/plain', 'Service-Forward-X-Old': '1', 'Service-Label': 'old' },
    body: 'old',
  });
  const answer = await patch(rider, id, {
    delay: '2h',
    url: `${after.url}/new?q=1`,
    body: '{"new":true}',
    headers: {
      'content-type': 'application/json',
      'service-method': 'PUT',
      'Service-Forward-X-New': ['2', '3'],
      'Service-Retries': '7',
      'Service-Label': 'new',
      'Service-Timeout': null,
    },
  });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers.etag, '"0-1"');
  const shown = await rider.call('GET', `/v2/messages/${id}`);
  assert.deepEqual(answer.json(), shown.json());
  assert.equal(shown.headers.etag, '"0-1"');
  const view = shown.json<Changed & { labels: string[] }>();
  assert.deepEqual(
    [view.version, view.url, view.method, view.body, view.maxRetries, view.labels, view.header],
    [
      '0-1',
      `${after.url}/new?q=1`,
      'PUT',
      '{"new":true}',
      7,
      ['new'],
      { 'Content-Type': ['application/json'], 'X-New': ['2', '3'] },
    ],
  );
  assert.deepEqual(await eventsOf(rider, id), [
    ['CREATED'],
    ['UPDATED', 'nextDeliveryTime', 'url', 'body', 'header', 'method', 'maxRetries', 'labels'],
  ]);
  await rider.advance(HOUR);
  assert.equal(before.arrivals.length + after.arrivals.length, 0);
  await rider.advance(HOUR);
  const [arrival] = await after.received(1);
  assert.deepEqual(
    [arrival!.method, arrival!.target, String(arrival!.body), arrival!.values('X-New'), arrival!.header('X-Old')],
    ['PUT', '/new?q=1', '{"new":true}', ['2', '3'], undefined],
  );
  assert.equal(before.arrivals.length, 0);
  await rider.ended(id);
  refusal(await patch(rider, id, { delay: 1 }), 404, 'message_not_found');
});

test('a message that is changed to await its ack brings an ack URL, and its attempt stays open', async (t) => {
  const rider = await riderOf(t);
  const receiver = await startReceiver(t, () => 202);
  const id = await rider.published(receiver.url, { headers: LATER });
  await changed(rider, id, { delay: 0, headers: { 'Service-Await-Ack': '30m' } });
  const [arrival] = await receiver.received(1);
  const { pathname } = new URL(arrival!.header('Service-Ack-Url')!);
  type Awaiting = MessageView & { readonly ack?: { readonly attempt: number } };
  await waitFor('it to await its ack', async () => ((await rider.message(id)) as Awaiting).ack?.attempt === 1);
  assert.deepEqual((await eventsOf(rider, id)).slice(0, 2), [['CREATED'], ['UPDATED', 'nextDeliveryTime', 'awaitAck']]);
  assert.equal((await rider.call('POST', pathname, { token: null, body: '{"ok":true}' })).status, 200);
  assert.equal((await rider.ended(id)).state, 'DELIVERED');
});

test('between two attempts the next one is changed; while one is under way nothing is', async (t) => {
  const rider = await riderOf(t);
  const broken = await startReceiver(t, inTurn(500, 'hang'));
  const mended = await startReceiver(t);
  const id = await rider.published(broken.url, { headers: { 'Service-Timeout': '10s' }, body: 'x' });
  await rider.attempted(id, 1);
  assert.equal((await changed(rider, id, { notBefore: (rider.clock.now() + HOUR) / 1000 })).version, '1-1');
  await rider.advance(HOUR);
  await broken.received(2);
  refusal(await patch(rider, id, { url: mended.url }), 409, 'message_active');
  await rider.manage('DELETE', `/v2/messages/${id}`);
  assert.match(refusal(await patch(rider, id, { url: mended.url }), 409, 'message_active'), /being cancelled/);
  const other = await rider.published(broken.url, { headers: { 'Service-Timeout': '10s' }, body: 'y' });
  await broken.received(3);
  await rider.advance(10_000);
  await rider.attempted(other, 1);
  await changed(rider, other, { url: mended.url, delay: 0 });
  assert.equal(String((await mended.received(1))[0]!.body), 'y');
  assert.equal((await rider.ended(other)).state, 'DELIVERED');
  assert.deepEqual(await eventsOf(rider, other), [
    ['CREATED'],
    ['ACTIVE'],
    ['ERROR'],
    ['RETRY'],
    ['UPDATED', 'nextDeliveryTime', 'url'],
    ['ACTIVE'],
    ['DELIVERED'],
  ]);
});

test('If-Match: only with the version of the message; 412 when it changed', async (t) => {
  const rider = await riderOf(t);
  const id = await rider.published('http://127.0.0.1:1/', { headers: LATER });
  const put = (ifMatch: string, n: number) => patch(rider, id, { delay: `${n}h` }, { ifMatch });
  const text = refusal(await put('"0-1"', 2), 412, 'version_changed');
  assert.match(text, /0-0/);
  refusal(await put('W/"0-0"', 2), 412, 'version_changed');
  assert.equal((await put('"9-9", "0-0"', 2)).status, 200);
  refusal(await put('"0-0"', 3), 412, 'version_changed');
  assert.equal((await put('*', 3)).status, 200);
  for (const wrong of ['0-2', '"0-2', '', '"0-2" x', '"a";"b"']) refusal(await put(wrong, 4), 400, 'bad_header');
  assert.equal((await put('"0-2",', 5)).headers.etag, '"0-3"');
  refusal(await patch(rider, 'msg_none', { delay: 1 }, { ifMatch: '"0-0"' }), 404, 'message_not_found');
});

test('the version in the response is that of the own change, whatever others do until it is read', async (t) => {
  const rider = await riderOf(t);
  const id = await rider.published('http://127.0.0.1:1/', { headers: LATER });
  const { store } = rider.postrider;
  const { getMessage } = store;
  t.after(() => Object.assign(store, { getMessage }));
  const held = holdVerb(t, rider, 'getMessage');
  const both = [patch(rider, id, { body: 'one' }), patch(rider, id, { body: 'two' })];
  await waitFor('both changes to be made', () => held.waiting() === 2);
  held.letGo();
  const answers = (await Promise.all(both)).map((answer) => ({ etag: answer.headers.etag, ...answer.json<Changed>() }));
  const [first, last] = answers.toSorted((a, b) => a.version.localeCompare(b.version));
  assert.deepEqual(first, { etag: '"0-1"', messageId: id, version: '0-1' }, 'not the message that the other has made');
  assert.deepEqual([last!.etag, last!.version, last!.body], ['"0-2"', '0-2', answers[0] === last ? 'one' : 'two']);
  Object.assign(store, { getMessage: async () => null });
  const gone = await patch(rider, id, { body: 'three' });
  assert.deepEqual([gone.status, gone.headers.etag, gone.json()], [200, '"0-3"', { messageId: id, version: '0-3' }]);
});

test('what is wrong is refused with the error of a publish, and changes nothing', async (t) => {
  const rider = await riderOf(t);
  const id = await rider.published('http://127.0.0.1:1/', { headers: LATER, body: 'old' });
  const before = (await rider.call('GET', `/v2/messages/${id}`)).text;
  const wrong: readonly (readonly [body: unknown, status: number, code: string, text?: RegExp])[] = [
    ['', 400, 'bad_body'],
    ['{', 400, 'bad_json'],
    ['[]', 400, 'bad_body'],
    ['null', 400, 'bad_body'],
    [{}, 400, 'bad_body'],
    [{ queue: 'q' }, 400, 'bad_body'],
    [{ method: 'PUT' }, 400, 'bad_body'],
    [{ delay: true }, 400, 'bad_body', /^delay: must be string or number$/],
    [{ delay: null }, 400, 'bad_body', /^delay: must be string or number$/],
    [{ delay: 'soon' }, 400, 'bad_body'],
    [{ delay: -1 }, 400, 'bad_body'],
    [{ delay: 1e300 }, 400, 'bad_body'],
    [{ delay: '400d' }, 412, 'limit_exceeded'],
    [{ notBefore: 'tomorrow' }, 400, 'bad_body'],
    [{ notBefore: Date.now() * 1000 }, 400, 'bad_body'],
    [{ notBefore: 95_000_000_000 }, 412, 'limit_exceeded'],
    [{ delay: 1, notBefore: 1 }, 400, 'bad_body'],
    [{ delay: 1, headers: { 'Service-Delay': '1s' } }, 400, 'bad_body'],
    [{ notBefore: 1, headers: { 'Service-Not-Before': '1' } }, 400, 'bad_body'],
    [{ url: 'ftp://a.example/' }, 400, 'bad_destination'],
    [{ url: 'news' }, 400, 'bad_destination'],
    [{ url: '' }, 400, 'bad_destination'],
    [{ url: 'https://user:password@a.example/' }, 400, 'bad_destination'],
    [{ url: `https://a.example/${'x'.repeat(3000)}` }, 400, 'bad_destination'],
    [{ url: 'https://a.example/', delay: 'soon' }, 400, 'bad_body'],
    [{ body: { a: 1 } }, 400, 'bad_body'],
    [{ body: 'a', bodyBase64: 'YQ==' }, 400, 'bad_body'],
    [{ bodyBase64: 'no base64!' }, 400, 'bad_body'],
    [{ body: 'x'.repeat(1024 * 1024 + 1) }, 412, 'limit_exceeded'],
    [{ headers: [] }, 400, 'bad_body'],
    [{ headers: Object.fromEntries(Array.from({ length: 1001 }, (_, n) => [`X-${n}`, '1'])) }, 400, 'bad_body'],
    [{ headers: { 'Service-Label': Array(2000).fill('l') } }, 400, 'bad_body'],
    [{ headers: { 'Service-Retries': 3 } }, 400, 'bad_body'],
    [{ headers: { 'Service-Retries': '-1' } }, 400, 'bad_header'],
    [{ headers: { 'Service-Retries': '101' } }, 412, 'limit_exceeded'],
    [{ headers: { 'Service-Timeout': '1d' } }, 412, 'limit_exceeded'],
    [{ headers: { 'Service-Method': 'BREW' } }, 400, 'bad_header'],
    [{ headers: { 'Service-Outage': 'never' } }, 400, 'bad_header'],
    [{ headers: { 'Service-Await-Ack': 'soon' } }, 400, 'bad_header'],
    [{ headers: { 'Service-Await-Ack': '1d1s' } }, 412, 'limit_exceeded'],
    [{ headers: { 'Service-Expires': '1h', 'Service-Expires-At': '1900000000' } }, 400, 'bad_header'],
    [{ headers: { 'Service-Retry-Jitter': '101%' } }, 400, 'bad_header'],
    [{ headers: { 'Service-Retry-Delay': '1 +' } }, 400, 'bad_header'],
    [{ headers: { 'Service-Callback': 'nowhere' } }, 400, 'bad_header'],
    [{ headers: { 'Service-Callback-Retries': '1' } }, 400, 'bad_header'],
    [{ headers: { 'Service-Failure-Callback-Forward-X': '1' } }, 400, 'bad_header'],
    [{ headers: { 'Service-Forward-Host': 'x' } }, 400, 'bad_forward_header'],
    [{ headers: { 'Service-Forward-X': 'v'.repeat(20_000) } }, 400, 'bad_forward_header'],
    [{ headers: { 'Service-Order-Key': 'x' } }, 400, 'bad_header'],
    [{ headers: { 'Service-Flow-Control-Key': 'x', 'Service-Flow-Control-Value': 'rate=1' } }, 400, 'bad_header'],
    [{ headers: { 'service-deduplication-id': 'x' } }, 400, 'bad_header'],
    [{ headers: { 'Idempotency-Key': 'x' } }, 400, 'bad_header'],
    [{ headers: { 'Service-Content-Based-Deduplication': 'true' } }, 400, 'bad_header'],
    [{ headers: { 'Service-Queue-Name': 'x' } }, 400, 'bad_header'],
    [{ headers: { 'Service-Cron': '* * * * *' } }, 400, 'bad_header'],
    [{ headers: { 'Service-Schedule-Id': 'x' } }, 400, 'bad_header'],
    [{ headers: { 'Service-Schedule-Overlap': 'skip' } }, 400, 'bad_header'],
    [{ headers: { 'Service-Schedule-Jitter': '1s' } }, 400, 'bad_header'],
    [{ headers: { 'Upstash-Workflow-Init': 'true', 'Service-Workflow-Init': 'true' } }, 400, 'not_supported'],
  ];
  for (const [body, status, code, text] of wrong) {
    const answer = await patch(rider, id, body);
    if (text) assert.match(refusal(answer, status, code), text);
    assert.deepEqual(
      [answer.status, answer.json<{ code: string }>().code],
      [status, code],
      JSON.stringify(body).slice(0, 80),
    );
  }
  const encoded = await patch(rider, id, { delay: 1 }, { headers: { 'Content-Encoding': 'gzip' } });
  refusal(encoded, 415, 'unsupported_encoding');
  assert.equal((await rider.call('GET', `/v2/messages/${id}`)).text, before);
});

test('large bodies are taken up to the limit of the tier, as text and as base64; larger text is not read', async (t) => {
  const rider = await riderOf(t);
  const { token } = await rider.account('large', 'paid');
  const id = await rider.published('http://127.0.0.1:1/', { headers: LATER, token });
  const large = 'é'.repeat(4 * 1024 * 1024);
  const answer = await patch(rider, id, { body: large }, { token });
  assert.equal(answer.status, 200, answer.text.slice(0, 200));
  assert.equal(answer.json<Changed>().body!.length, large.length);
  const bytes = Buffer.alloc(9 * 1024 * 1024, 200);
  const binary = await patch(rider, id, { bodyBase64: bytes.toString('base64') }, { token });
  assert.equal(Buffer.from(binary.json<Changed>().bodyBase64!, 'base64').equals(bytes), true);
  const small = await rider.published('http://127.0.0.1:1/', { headers: LATER });
  refusal(await patch(rider, small, { body: 'x'.repeat(4 * 1024 * 1024) }), 413, 'request_too_large');
  assert.equal((await changed(rider, small, { body: '' })).body, undefined);
  refusal(
    await rider.call('POST', '/v2/queues', { body: `{"queueName":"${'x'.repeat(2e6)}"}` }),
    413,
    'request_too_large',
  );
});

test('the scopes: publish may change; without read it learns nothing of the message', async (t) => {
  const rider = await riderOf(t);
  const id = await rider.published('http://127.0.0.1:1/secret', { headers: LATER, body: 'secret' });
  const only = await rider.account('only', 'free', ['publish']);
  const theirs = await rider.published('http://127.0.0.1:1/secret', {
    headers: LATER,
    body: 'secret',
    token: only.token,
  });
  const answer = await patch(rider, theirs, { delay: 1 }, { token: only.token });
  assert.deepEqual(answer.json(), { messageId: theirs, version: '0-1' });
  assert.equal(answer.headers.etag, '"0-1"');
  const reader = await rider.account('reader', 'free', ['read', 'manage']);
  refusal(await patch(rider, theirs, { delay: 1 }, { token: reader.token }), 403, 'forbidden');
  refusal(await patch(rider, id, { delay: 1 }, { token: only.token }), 404, 'message_not_found');
  await rider.manage('PATCH', `/v2/admin/accounts/${only.accountId}`, { suspended: true });
  refusal(await patch(rider, theirs, { delay: 1 }, { token: only.token }), 403, 'account_suspended');
});

test('without the scope read, nothing that decides who gets the message', async (t) => {
  const rider = await riderOf(t);
  const { token } = await rider.account('no-readers', 'free', ['publish']);
  const id = await rider.published('http://127.0.0.1:1/', { headers: LATER, body: 'secret', token });
  const wrong: readonly (readonly [body: unknown, name: RegExp])[] = [
    [{ url: 'http://127.0.0.1:2/' }, /^url: .*"read"/],
    [{ headers: { 'Service-Callback': 'http://127.0.0.1:2/' } }, /^Service-Callback: .*"read"/],
    [{ headers: { 'Service-Failure-Callback': 'http://127.0.0.1:2/' } }, /^Service-Failure-Callback: .*"read"/],
  ];
  for (const [body, name] of wrong)
    assert.match(refusal(await patch(rider, id, body, { token }), 403, 'forbidden'), name);
  assert.equal((await patch(rider, id, { body: 'new' }, { token })).json<Changed>().version, '0-1');
});

test('a message with redacted parts is sent elsewhere only if the change replaces them', async (t) => {
  const rider = await riderOf(t);
  const elsewhere = await startReceiver(t);
  const id = await rider.published('http://127.0.0.1:1/', {
    headers: { ...LATER, 'Service-Redact-Fields': 'body,header[X-Key]', 'Service-Forward-X-Key': 'k' },
    body: 'secret',
  });
  const url = { url: elsewhere.url };
  const callback = { headers: { 'Service-Callback': elsewhere.url } };
  const text = refusal(await patch(rider, id, url), 409, 'message_redacted');
  assert.match(text, /^url: .*give new body and headers \(Service-Forward-…\)/);
  assert.match(refusal(await patch(rider, id, callback), 409, 'message_redacted'), /^Service-Callback: /);
  refusal(await patch(rider, id, { ...url, body: 'new' }), 409, 'message_redacted');
  await changed(rider, id, { url: 'http://127.0.0.1:1/other' });
  await changed(rider, id, { ...url, body: 'new', headers: { 'Service-Forward-X-Key': 'k2' } });
  await rider.advance(HOUR);
  const [arrival] = await elsewhere.received(1);
  assert.deepEqual([String(arrival!.body), arrival!.header('X-Key')], ['new', 'k2']);
});

test('a setting that was not given stays, a redaction can only grow, and a trace stays with its message', async (t) => {
  const rider = await riderOf(t);
  const receiver = await startReceiver(t);
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const id = await rider.published(receiver.url, {
    headers: {
      ...LATER,
      traceparent,
      'Service-Redact-Fields': 'header[X-Key]',
      'Service-Forward-X-Key': 'k',
      'Service-Retries': '1',
    },
    body: 'secret',
  });
  const view = await changed(rider, id, {
    headers: {
      'Service-Redact-Fields': 'body',
      'Service-Forward-X-Key': 'k2',
      'Service-Callback': 'https://c.example/',
    },
  });
  const { callbackSettings } = view as unknown as { callbackSettings: { maxRetries: number } };
  assert.equal(callbackSettings.maxRetries, 1, 'the retry setting of its message');
  assert.match(view.body!, /^REDACTED:/);
  assert.match(view.header['X-Key']![0]!, /^REDACTED:/);
  assert.deepEqual(view.header.Traceparent, [traceparent]);
  await rider.advance(HOUR);
  const [arrival] = await receiver.received(1);
  assert.deepEqual([arrival!.header('X-Key'), String(arrival!.body)], ['k2', 'secret']);
});

test('the limits of a chain of deliveries are tightened by the request and by its body', async (t) => {
  const rider = await riderOf(t);
  const receiver = await startReceiver(t);
  const id = await rider.published(receiver.url, { headers: LATER });
  const chain = { 'Service-Hops': '3', 'Service-Descendants-Left': '7' };
  await rider.published(receiver.url, { headers: chain });
  const [published] = await receiver.received(1);
  const given = { delay: 1, headers: chain };
  assert.equal((await patch(rider, id, given, { headers: { 'Service-Hops': '2' } })).status, 200);
  refusal(await patch(rider, id, { delay: 2, headers: { 'Service-Hops': '1000' } }), 400, 'loop_detected');
  await rider.advance(1000);
  const [, arrival] = await receiver.received(2);
  for (const name of Object.keys(chain)) {
    assert.ok(published!.header(name) !== undefined);
    assert.equal(arrival!.header(name), published!.header(name), 'as one that was published with these headers');
  }
});

test('a misspelt setting is reported as in a publish; with strict settings it is refused', async (t) => {
  const rider = await riderOf(t);
  const id = await rider.published('http://127.0.0.1:1/', { headers: LATER });
  const answer = await patch(rider, id, { delay: 60, headers: { 'Service-Retires': '1' } });
  assert.match(String(answer.headers['service-warning']), /Service-Retries/);
  const strict = await startRider(t, { flags: ['--strict-settings'] });
  const theirs = await strict.published('http://127.0.0.1:1/', { headers: LATER });
  refusal(await patch(strict, theirs, { headers: { 'Service-Retires': '1' } }), 400, 'bad_header');
});

test('an account that stores as much as it may cannot grow by a change', async (t) => {
  const rider = await startRider(t, { flags: ['--tiers', JSON.stringify({ free: { storedBytesMax: 10_000 } })] });
  const { token } = await rider.account('full', 'free');
  const id = await rider.published('http://127.0.0.1:1/', { headers: LATER, token });
  refusal(await patch(rider, id, { body: 'x'.repeat(20_000) }, { token }), 412, 'storage_exceeded');
  assert.equal((await patch(rider, id, { body: 'x' }, { token })).status, 200);
});

test('the live stream tells of a change by its names', async (t) => {
  const rider = await riderOf(t);
  const id = await rider.published('http://127.0.0.1:1/', { headers: LATER });
  const tail = await openTail(t, rider, { query: '?state=UPDATED' });
  await changed(rider, id, { body: 'secret' });
  const [event] = await tail.read().received(1);
  const { changed: names, messageId } = event!.data as unknown as { changed: string[]; messageId: string };
  assert.deepEqual([messageId, names], [id, ['body']]);
});

test('a message is changed at most 1,000 times, and its log shows every change', async (t) => {
  const rider = await riderOf(t);
  // The events of a message with long headers fill many pages.
  const headers = { ...LATER, 'Service-Forward-X-Long': 'v'.repeat(8000) };
  const id = await rider.published('http://127.0.0.1:1/', { headers });
  const changesMax = eachMax('messageChanges');
  for (let made = 0; made < changesMax; made += 20) {
    const some = Array.from({ length: 20 }, (_, n) => patch(rider, id, { delay: 60 + made + n }));
    for (const { status } of await Promise.all(some)) assert.equal(status, 200);
  }
  assert.match(refusal(await patch(rider, id, { delay: 1 }), 412, 'limit_exceeded'), /changed 1000 times/);
  const states: string[] = [];
  let cursor = '';
  do {
    const path = `/v2/events?messageId=${id}&order=oldestFirst&count=1000${cursor}`;
    const page = await rider.manage<{ events: { state: string }[]; cursor?: string }>('GET', path);
    states.push(...page.events.map(({ state }) => state));
    cursor = page.cursor === undefined ? '' : `&cursor=${page.cursor}`;
  } while (cursor !== '');
  assert.deepEqual(states, ['CREATED', ...Array(changesMax).fill('UPDATED')]);
  // What is the same already is no change.
  assert.equal((await patch(rider, id, { headers: { 'Service-Method': 'POST' } })).status, 200);
});
