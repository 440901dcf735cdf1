// Section 4.2 of the spec: a batch, its answer, and that it is accepted whole or, where an element is bad, without it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Published, type Refused, type Rider, refusal, ridersOfOneService } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

async function publishedCount(rider: Rider): Promise<number> {
  const { usage } = await rider.manage<{ usage: { kind: string; count: number }[] }>('GET', '/v2/usage');
  return usage.filter(({ kind }) => kind === 'publish').reduce((sum, { count }) => sum + count, 0);
}

test('4.2 batch: one entry per element, in the same order', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const elements = Array.from({ length: 50 }, (_, index) => ({ destination: receiver.url, body: `number ${index}` }));
  const answer = await rider.batch(elements);
  assert.equal(answer.status, 201);
  assert.equal(answer.headers['content-type'], 'application/json');
  const entries = answer.json<{ messageId: string }[]>();
  assert.equal(entries.length, 50);
  const bodyOf = new Map<string, string>();
  for (const arrival of await receiver.received(50)) {
    bodyOf.set(arrival.header('Service-Message-Id')!, arrival.body.toString());
  }
  assert.deepEqual(
    entries.map(({ messageId }) => bodyOf.get(messageId)),
    elements.map(({ body }) => body),
  );
});

test('4.2 batch: the entry of a URL is an object with messageId and nothing else', async (t) => {
  const rider = await startRider(t);
  const [entry] = (await rider.batch([{ destination: 'http://127.0.0.1:1/' }])).json<object[]>();
  assert.deepEqual(Object.keys(entry!), ['messageId']);
});

test('4.2 batch: the entry of a topic is an array of { messageId, url }, one per endpoint, by name or id', async (t) => {
  const rider = await startRider(t);
  const urls = ['http://127.0.0.1:1/b', 'http://127.0.0.1:1/a'];
  const endpoints = urls.map((url) => ({ url }));
  const { id } = await rider.manage<{ id: string }>('POST', '/v2/topics/news/endpoints', { endpoints });
  const entries = (await rider.batch([{ destination: 'news' }, { destination: id }])).json<Published[][]>();
  assert.equal(entries.length, 2);
  for (const entry of entries) {
    assert.ok(Array.isArray(entry));
    assert.deepEqual(
      entry.map(({ url }) => url),
      urls,
    );
    for (const result of entry) assert.deepEqual(Object.keys(result), ['messageId', 'url']);
  }
});

test('4.2 batch: URLs and topics may be mixed', async (t) => {
  const rider = await startRider(t);
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [{ url: 'http://127.0.0.1:1/' }] });
  const destinations = ['http://127.0.0.1:1/', 'news', 'http://127.0.0.1:1/'];
  const entries = (await rider.batch(destinations.map((destination) => ({ destination })))).json<unknown[]>();
  assert.deepEqual(entries.map(Array.isArray), [false, true, false]);
});

test('4.2 batch: a bad element has { error, code } in its place, and the good ones are accepted', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const answer = await rider.batch([
    { destination: `${receiver.url}/1` },
    { destination: 'no-such-topic' },
    { destination: `${receiver.url}/2` },
    { destination: `${receiver.url}/3`, headers: { 'Service-Retries': 'x' } },
    'not an object',
    { destination: `${receiver.url}/4` },
  ]);
  assert.equal(answer.status, 201);
  const entries = answer.json<(Refused & { messageId?: string })[]>();
  assert.deepEqual(
    entries.map((entry) => entry.code ?? 'accepted'),
    ['accepted', 'topic_not_found', 'accepted', 'bad_header', 'bad_body', 'accepted'],
  );
  assert.deepEqual(Object.keys(entries[1]!), ['error', 'code']);
  const arrivals = await receiver.received(3);
  assert.deepEqual(arrivals.map(({ target }) => target).sort(), ['/1', '/2', '/4']);
  assert.equal(await publishedCount(rider), 3);
});

test('4.2 batch: the error of a bad element says what is wrong and in which field', async (t) => {
  const rider = await startRider(t);
  const destination = 'https://example.com';
  const cases: readonly (readonly [element: unknown, code: string, says: RegExp])[] = [
    [{}, 'bad_destination', /^destination: /],
    [{ destination: '' }, 'bad_destination', /^destination: /],
    [{ destination: 7 }, 'bad_destination', /^destination: /],
    [{ destination: 'ftp://x' }, 'bad_destination', /^destination: /],
    [null, 'bad_body', /an object with a destination/],
    [[], 'bad_body', /an object with a destination/],
    [{ destination, headers: 'x' }, 'bad_body', /^headers: /],
    [{ destination, headers: { 'Service-Retries': 3 } }, 'bad_body', /^headers: .*"Service-Retries"/],
    [{ destination, headers: { 'Service-Delay': 'soon' } }, 'bad_header', /^Service-Delay: /],
    [{ destination, headers: { 'Service-Forward-Host': 'x' } }, 'bad_forward_header', /^Service-Forward-Host: /],
    [{ destination, headers: { 'Service-Forward-X': 'a\nb' } }, 'bad_forward_header', /control character/],
    [{ destination, headers: { 'Service-Forward-X': '€' } }, 'bad_forward_header', /Latin-1/],
    [{ destination, headers: { 'Service-Forward-a b': 'x' } }, 'bad_forward_header', /not a valid header name/],
    [
      { destination, headers: { 'Service-Retries': '101' } },
      'limit_exceeded',
      /^Service-Retries \(101\).*free tier: 100/,
    ],
    [{ destination, body: { a: 1 } }, 'bad_body', /^body: must be a string/],
    [{ destination, body: 'a', bodyBase64: 'YQ==' }, 'bad_body', /body or bodyBase64/],
    [{ destination, bodyBase64: 'not base64!' }, 'bad_body', /^bodyBase64: /],
    [{ destination, bodyBase64: 'YQ' }, 'bad_body', /^bodyBase64: /],
    [{ destination, queue: 'a b' }, 'bad_queue_name', /^queue: /],
    [{ destination, queue: 1 }, 'bad_queue_name', /^queue: /],
    [{ destination, body: 'x'.repeat(1024 * 1024 + 1) }, 'limit_exceeded', /body \(1048577 bytes\)/],
  ];
  const entries = (await rider.batch(cases.map(([element]) => element))).json<Refused[]>();
  for (const [index, [element, code, says]] of cases.entries()) {
    const shown = JSON.stringify(element).slice(0, 80);
    assert.equal(entries[index]!.code, code, shown);
    assert.match(entries[index]!.error, says, shown);
  }
});

test('4.2 batch: when no element is good, the response is 400 with every reason in its place', async (t) => {
  const rider = await startRider(t);
  const answer = await rider.batch([{ destination: 'nowhere' }, { destination: 'ftp://x' }]);
  assert.equal(answer.status, 400);
  assert.deepEqual(
    answer.json<Refused[]>().map(({ code }) => code),
    ['topic_not_found', 'bad_destination'],
  );
  assert.equal(await publishedCount(rider), 0);
});

test('4.2 batch: a body that is not an array is refused with 400, and nothing is accepted', async (t) => {
  const rider = await startRider(t);
  for (const body of ['{}', '"x"', '1', 'null', 'true', '{"destination":"http://127.0.0.1:1/"}']) {
    const answer = await rider.call('POST', '/v2/batch', { body });
    assert.match(refusal(answer, 400, 'bad_body'), /JSON array/, body);
  }
  assert.equal(await publishedCount(rider), 0);
});

test('4.2 batch: malformed JSON is refused with 400, and nothing is accepted', async (t) => {
  const rider = await startRider(t);
  const bodies = [
    '',
    '[',
    '[{"destination":"http://127.0.0.1:1/"}',
    '[{"destination":"http://127.0.0.1:1/"},]',
    "[{'destination':'http://127.0.0.1:1/'}]",
    '[{"destination":"http://127.0.0.1:1/"}] x',
    Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]),
  ];
  for (const body of bodies) {
    const answer = await rider.call('POST', '/v2/batch', { body });
    assert.match(refusal(answer, 400, 'bad_json'), /^the body is not valid JSON/);
  }
  assert.equal(await publishedCount(rider), 0);
});

test('4.2 batch: an empty array returns an empty array', async (t) => {
  const rider = await startRider(t);
  const answer = await rider.batch([]);
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.json(), []);
});

test('4.2 batch: 1,000 elements are accepted; 1,001 are refused with 400, and none of them is accepted', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const most = Array.from({ length: 1000 }, (_, index) => ({ destination: receiver.url, body: String(index) }));
  const error = refusal(await rider.batch([...most, most[0]]), 400, 'batch_too_long');
  assert.match(error, /too many elements; the limit is 1000/);
  assert.equal(await publishedCount(rider), 0);
  assert.equal((await rider.batch(most)).json<unknown[]>().length, 1000);
  assert.equal((await receiver.received(1000)).length, 1000);
});

test('4.2 batch: Content-Type is not required', async (t) => {
  const rider = await startRider(t);
  const body = JSON.stringify([{ destination: 'http://127.0.0.1:1/' }]);
  for (const headers of [{}, { 'Content-Type': 'text/plain' }, { 'Content-Type': 'application/json; charset=utf-8' }]) {
    assert.equal((await rider.call('POST', '/v2/batch', { headers, body })).status, 201);
  }
});
