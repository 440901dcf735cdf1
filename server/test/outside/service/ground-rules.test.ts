// api.md, section 1: the rules that hold for every call, each once. The files spec-*.test.ts go deeper where the
// user's spec says more.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Published, refusal, ridersOfOneService } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

const LATER = { 'Service-Delay': '1h' };
const URL_ = 'https://example.com/';

test('Header prefix: one setting renames every own header in and out, and the issuer', async (t) => {
  const rider = await startRider(t, { flags: ['--header-prefix', 'Acme-'] });
  const receiver = await startReceiver(t);
  const headers = { 'acme-method': 'PUT', 'Service-Method': 'PATCH', 'ACME-FORWARD-X-Shop': '7' };
  await rider.published(receiver.url, { headers });
  const [arrival] = await receiver.received(1);
  assert.deepEqual([arrival!.method, arrival!.header('X-Shop')], ['PUT', '7']);
  assert.ok(arrival!.header('Acme-Message-Id'));
  assert.equal(arrival!.header('Service-Message-Id'), undefined);
  const claims = Buffer.from(arrival!.header('Acme-Signature')!.split('.')[1]!, 'base64url').toString();
  assert.equal((JSON.parse(claims) as { iss: string }).iss, 'Acme');
});

test('Errors: an unknown field or parameter is named, with the nearest allowed one or all of them', async (t) => {
  const rider = await startRider(t);
  const saved = (body: object) => rider.call('POST', '/v2/queues', { body: JSON.stringify(body) });
  assert.equal(
    refusal(await saved({ queueName: 'q', paralelism: 2 }), 400, 'bad_body'),
    'body: "paralelism" is not known here; did you mean "parallelism"?',
  );
  assert.match(
    refusal(await saved({ queueName: 'q', colour: 'red' }), 400, 'bad_body'),
    /^body: "colour" is not known here; allowed: .*queueName.*parallelism/,
  );
  assert.ok(refusal(await saved({ queueName: 'q', ['x'.repeat(5000)]: 1 }), 400, 'bad_body').length < 300);
  assert.match(
    refusal(await rider.call('GET', '/v2/usage?fromday=2026-01-01'), 400, 'bad_parameter'),
    /"fromday" is not known here; did you mean "fromDay"\?$/,
  );
  const endpoints = JSON.stringify({ endpoints: [{ url: URL_, nam: 'x' }] });
  assert.equal(
    refusal(await rider.call('POST', '/v2/topics/t/endpoints', { body: endpoints }), 400, 'bad_body'),
    'endpoints.0: "nam" is not known here; did you mean "name"?',
  );
});

test('Header prefix: what the public clients expect beside our contract is for their prefix alone', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const withToken = `${receiver.url}/a?qstash_token=${rider.token}`;
  refusal(await rider.publish(withToken, { token: null }), 401, 'unauthorized');
  assert.equal((await rider.publish(withToken)).json<Published>().url, withToken);
  for (const path of ['/v2/Queues', '/v2/queues/', '/V2/queues']) {
    assert.equal((await rider.call('GET', path)).status, 404, path);
  }
  const body = JSON.stringify({ endpoints: [{ url: URL_, name: 'First endpoint' }] });
  refusal(await rider.call('POST', '/v2/topics/news/endpoints', { body }), 400, 'bad_body');
  await rider.enqueue('q', URL_, { headers: LATER });
  refusal(await rider.call('DELETE', '/v2/queues/q'), 409, 'queue_not_empty');
  const owned = { 'Service-Forward-Host': 'x' };
  refusal(await rider.publish(URL_, { headers: owned }), 400, 'bad_forward_header');
  assert.ok(Array.isArray((await rider.batch([{ destination: 'nobody' }])).json()));
});

test('Success codes: 201 for a new message, 202 for a duplicate, 200 for reads and updates', async (t) => {
  const rider = await startRider(t);
  const headers = { ...LATER, 'Service-Deduplication-Id': 'a' };
  assert.equal((await rider.publish(URL_, { headers })).status, 201);
  assert.equal((await rider.publish(URL_, { headers })).status, 202);
  assert.equal((await rider.call('GET', '/v2/messages')).status, 200);
  assert.equal((await rider.call('POST', '/v2/queues', { body: '{"queueName":"q"}' })).status, 200);
});

test('Errors: error and code as JSON, naming what is wrong, with the headers that go with the status', async (t) => {
  const rider = await startRider(t);
  const bad = await rider.publish(URL_, { headers: { 'Service-Retries': '-1' } });
  assert.match(refusal(bad, 400, 'bad_header'), /^Service-Retries: /);
  assert.ok((await rider.call('GET', '/v2/keys', { token: null })).headers['www-authenticate']);
});

test('Errors: a path that is not there is 404 and a method that is not taken 405, whatever their body', async (t) => {
  const rider = await startRider(t);
  const options = { headers: { 'Content-Type': 'text/plain' }, body: 'no JSON {' };
  for (const path of [`/v2/publsh/${URL_}`, '/v2/messages/msg_1/retri', '/v3/batch', '/v2/batch/x']) {
    assert.match(refusal(await rider.call('POST', path, options), 404, 'not_found'), new RegExp(path), path);
  }
  for (const path of ['/v2/queues', '/v2/messages/msg_1/retry']) {
    refusal(await rider.call('PUT', path, options), 405, 'method_not_allowed');
  }
  refusal(await rider.call('POST', '/v2/queues', options), 400, 'bad_json');
});

test('Authentication: a bearer token, or a basic one in any of its three forms', async (t) => {
  const rider = await startRider(t);
  const basic = (text: string) => ({ Authorization: `Basic ${Buffer.from(text).toString('base64')}` });
  for (const text of [rider.token!, `${rider.token}:`, `anything:${rider.token}`]) {
    assert.equal((await rider.call('GET', '/v2/keys', { token: null, headers: basic(text) })).status, 200, text);
  }
  refusal(await rider.call('GET', '/v2/keys', { token: null, headers: basic('x:y') }), 401, 'unauthorized');
});

test('Accounts and tiers: nothing is visible across accounts, and the tier gives the default retries', async (t) => {
  const rider = await startRider(t);
  const { token } = await rider.account('payer', 'paid');
  const free = await rider.published(URL_, { headers: LATER });
  const paid = await rider.published(URL_, { headers: LATER, token });
  assert.equal((await rider.message(free)).maxRetries, 3);
  assert.equal((await rider.message(paid, token)).maxRetries, 5);
  refusal(await rider.call('GET', `/v2/messages/${paid}`), 404, 'message_not_found');
});

test('Path: the destination arrives byte for byte; encoded once and with merged slashes it is taken too', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const target = '/c%2Fd/../e//?x=1&y=//&z=%zz';
  await rider.published(receiver.url + target);
  await rider.published(encodeURIComponent(`${receiver.url}/encoded?a=b`));
  await rider.published(`${receiver.url.replace('//', '/')}/merged`);
  const targets = (await receiver.received(3)).map((arrival) => arrival.target).sort();
  assert.deepEqual(targets, [target, '/encoded?a=b', '/merged'].sort());
});

test('Destination: a URL or a topic by name or id; 404 for an unknown topic, no credentials, no fragment', async (t) => {
  const rider = await startRider(t);
  const endpoints = [{ url: URL_ }];
  const { id } = await rider.manage<{ id: string }>('POST', '/v2/topics/news/endpoints', { endpoints });
  for (const topic of ['news', id]) assert.equal((await rider.publish(topic, { headers: LATER })).status, 201);
  refusal(await rider.publish('unknown'), 404, 'topic_not_found');
  for (const url of ['https://a:b@example.com/', 'https://example.com/#x', `${URL_}${'x'.repeat(2048)}`]) {
    refusal(await rider.publish(url), 400, 'bad_destination');
  }
});

test('Names: 1 to 128 letters, digits, "-", "_" or "."', async (t) => {
  const rider = await startRider(t);
  assert.equal((await rider.enqueue('A-z_0.9'.padEnd(128, 'x'), URL_, { headers: LATER })).status, 201);
  for (const name of ['a b', 'ä', 'x'.repeat(129)]) {
    refusal(await rider.enqueue(encodeURIComponent(name), URL_), 400, 'bad_queue_name');
  }
});

test('Empty values: a header that is present but empty counts as absent', async (t) => {
  const rider = await startRider(t);
  const headers = { ...LATER, 'Service-Retries': '', 'Service-Label': ' ', 'Service-Cron': '' };
  const view = await rider.message(await rider.published(URL_, { headers }));
  assert.equal(view.maxRetries, 3);
});

test('Durations: numbers with units, a bare number means seconds, anything else is refused', async (t) => {
  const rider = await startRider(t);
  const delays: Record<string, number> = { '90s': 90_000, '1d10h30m': 124_200_000, '250ms': 250, '7': 7000 };
  for (const [delay, ms] of Object.entries(delays)) {
    const view = await rider.message(await rider.published(URL_, { headers: { 'Service-Delay': delay } }));
    assert.equal(view.notBefore - view.createdAt, ms, delay);
  }
  for (const delay of ['soon', '-1s', '1 s', '1w']) {
    const answer = await rider.publish(URL_, { headers: { 'Service-Delay': delay } });
    assert.match(refusal(answer, 400, 'bad_header'), /^Service-Delay: /);
  }
});

test('Bodies: the same bytes out as in, never parsed; in a batch as text or as bodyBase64', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
  await rider.ended(await rider.published(receiver.url, { body: bytes }));
  const bodyBase64 = Buffer.from(bytes).toString('base64');
  await rider.batch([{ destination: receiver.url, bodyBase64 }]);
  for (const arrival of await receiver.received(2)) assert.deepEqual([...arrival.body], [...bytes]);
});

test('Ids: a prefix and a time-ordered id', async (t) => {
  const rider = await startRider(t);
  const first = await rider.published(URL_, { headers: LATER });
  await rider.advance(1);
  const second = await rider.published(URL_, { headers: LATER });
  for (const id of [first, second]) assert.match(id, /^msg_[0-9A-Z]{26}$/);
  assert.ok(first < second);
});

test('Cursors: absent on the last page', async (t) => {
  const rider = await startRider(t);
  for (let i = 0; i < 2; i += 1) await rider.published(URL_, { headers: LATER });
  for (const path of ['/v2/messages', '/v2/events']) {
    assert.equal(typeof (await rider.manage<{ cursor?: string }>('GET', `${path}?count=1`)).cursor, 'string');
    assert.equal('cursor' in (await rider.manage<object>('GET', `${path}?count=2`)), false);
  }
});

test('POST /v2/enqueue, /v2/publish and /v2/batch: an id and a URL, an array for a topic, slots for a batch', async (t) => {
  const rider = await startRider(t);
  const endpoints = [{ url: `${URL_}a` }, { url: `${URL_}b` }];
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints });
  const options = { headers: LATER };
  for (const post of [rider.publish.bind(rider), rider.enqueue.bind(rider, 'q')]) {
    assert.deepEqual(Object.keys((await post(URL_, options)).json<Published>()).sort(), ['messageId', 'url']);
    const copies = (await post('news', options)).json<Published[]>();
    assert.deepEqual(
      copies.map(({ url }) => ({ url })),
      endpoints,
    );
  }
  const batch = [
    { destination: URL_, headers: LATER },
    { destination: 'none' },
    { destination: 'news', headers: LATER },
  ];
  const [ofUrl, bad, ofTopic] = (await rider.batch(batch)).json<[object, { code: string }, object[]]>();
  assert.deepEqual(Object.keys(ofUrl), ['messageId']);
  assert.equal(bad.code, 'topic_not_found');
  assert.equal(ofTopic.length, 2);
});
