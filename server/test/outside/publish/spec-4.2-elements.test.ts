// Sections 2 and 4.2 of the spec: what an element of a batch may carry. Its headers are those of an enqueue.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ridersOfOneService } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

type Entries = { readonly messageId: string }[];

test('2 batch element: the body is a string and arrives as its UTF-8 bytes; it may be left out', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const bodies = ['plain', 'héllo €𝄞', '{"a": 1}', '\u0000\n\t"\\', '', null, undefined];
  await rider.batch(bodies.map((body, index) => ({ destination: `${receiver.url}/${index}`, body })));
  const arrivals = await receiver.received(bodies.length);
  for (const arrival of arrivals) {
    const body = bodies[Number(arrival.target.slice(1))] ?? '';
    assert.ok(arrival.body.equals(Buffer.from(body)), `${arrival.target}: ${arrival.body}`);
  }
});

test('2 batch element: headers may be left out', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  for (const headers of [undefined, null, {}]) await rider.batch([{ destination: receiver.url, headers }]);
  for (const arrival of await receiver.received(3)) {
    assert.equal(arrival.method, 'POST');
    assert.deepEqual(arrival.values('Content-Type'), []);
  }
});

test('2 batch element: the destination is a topic name, a topic id, or a URL', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const { id } = await rider.manage<{ id: string }>('POST', '/v2/topics/news/endpoints', {
    endpoints: [{ url: `${receiver.url}/topic` }],
  });
  await rider.batch([{ destination: 'news' }, { destination: id }, { destination: `${receiver.url}/a%2Fb?x=//` }]);
  const arrivals = await receiver.received(3);
  assert.deepEqual(arrivals.map(({ target }) => target).sort(), ['/a%2Fb?x=//', '/topic', '/topic']);
});

test('4.2 batch headers: each element has its own', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const entries = (
    await rider.batch([
      { destination: `${receiver.url}/put`, headers: { 'Service-Method': 'PUT', 'Content-Type': 'text/plain' } },
      { destination: `${receiver.url}/retries`, headers: { 'Service-Retries': '9' } },
      { destination: `${receiver.url}/none` },
    ])
  ).json<Entries>();
  const arrivals = await receiver.received(3);
  const byTarget = new Map(arrivals.map((arrival) => [arrival.target, arrival]));
  assert.equal(byTarget.get('/put')!.method, 'PUT');
  assert.equal(byTarget.get('/put')!.header('Content-Type'), 'text/plain');
  assert.equal(byTarget.get('/none')!.method, 'POST');
  assert.equal(byTarget.get('/none')!.header('Content-Type'), undefined);
  const retries = await Promise.all(entries.map(async ({ messageId }) => (await rider.message(messageId)).maxRetries));
  assert.deepEqual(retries, [3, 9, 3]);
});

test('4.2 batch headers: Service-Delay delays only its own element', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const entries = (
    await rider.batch([
      { destination: `${receiver.url}/later`, headers: { 'Service-Delay': '60s' } },
      { destination: `${receiver.url}/now` },
    ])
  ).json<Entries>();
  await receiver.received(1);
  await rider.advance(59_999);
  assert.deepEqual(
    receiver.arrivals.map(({ target }) => target),
    ['/now'],
  );
  await rider.advance(1);
  await receiver.received(2);
  const { attempts, createdAt } = await rider.ended(entries[0]!.messageId);
  assert.equal(attempts[0]!.startedAt - createdAt, 60_000);
});

test('4.2 batch headers: Service-Forward-<Name> is forwarded with its case and value', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const headers = { 'Service-Forward-X-My-Tag': 'a b', 'service-forward-lower': 'C' };
  await rider.batch([{ destination: receiver.url, headers }]);
  const [arrival] = await receiver.received(1);
  assert.ok(arrival!.head.includes('\r\nX-My-Tag: a b\r\n'));
  assert.ok(arrival!.head.includes('\r\nlower: C\r\n'));
});

test('4.2 batch headers: Service-Callback and Service-Failure-Callback are called', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 500);
  const reports = await startReceiver(t);
  const headers = {
    'Service-Retries': '0',
    'Service-Callback': `${reports.url}/each`,
    'Service-Failure-Callback': `${reports.url}/failed`,
  };
  await rider.batch([{ destination: receiver.url, headers }]);
  const calls = await reports.received(2);
  assert.deepEqual(calls.map(({ target }) => target).sort(), ['/each', '/failed']);
});

test('4.2 batch headers: names are accepted in any letter case', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const headers = { 'service-method': 'PATCH', 'SERVICE-RETRIES': '4', 'content-type': 'text/csv' };
  const [entry] = (await rider.batch([{ destination: receiver.url, headers }])).json<Entries>();
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.method, 'PATCH');
  assert.equal(arrival!.header('Content-Type'), 'text/csv');
  assert.equal((await rider.message(entry!.messageId)).maxRetries, 4);
});

test('4.2 batch headers: null and "" mean absent; an array means that the header is given several times', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const headers = {
    'Service-Method': null,
    'Service-Retries': '',
    'Service-Delay': [],
    'Service-Callback': ['', null],
    'Content-Type': ['text/plain'],
    'Service-Forward-X-Tag': ['1', '', '2'],
    'Service-Forward-X-None': null,
  };
  const answer = await rider.batch([{ destination: receiver.url, headers }]);
  assert.equal(answer.status, 201, answer.text);
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.method, 'POST');
  assert.deepEqual(arrival!.values('Content-Type'), ['text/plain']);
  assert.deepEqual(arrival!.values('X-Tag'), ['1', '2']);
  assert.deepEqual(arrival!.values('X-None'), []);
  assert.equal((await rider.message(answer.json<Entries>()[0]!.messageId)).maxRetries, 3);
});

test('4.2 batch headers: headers of the request do not apply to its elements', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const headers = { 'Service-Method': 'PUT', 'Service-Forward-X-Tag': '1' };
  await rider.batch([{ destination: receiver.url }], { headers });
  const [arrival] = await receiver.received(1);
  assert.equal(arrival!.method, 'POST');
  assert.deepEqual(arrival!.values('X-Tag'), []);
  assert.deepEqual(arrival!.values('Content-Type'), []);
});

test('4.2 batch element: bodyBase64 carries any bytes', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  await rider.batch([{ destination: receiver.url, bodyBase64: bytes.toString('base64') }]);
  const [arrival] = await receiver.received(1);
  assert.ok(arrival!.body.equals(bytes));
});

test('4.2 batch element: with a queue it is enqueued there, in the order of the batch', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const targets = ['/1', '/2', '/3', '/4', '/5'];
  await rider.batch(targets.map((target) => ({ destination: receiver.url + target, queue: 'line' })));
  const arrivals = await receiver.received(5);
  assert.deepEqual(
    arrivals.map(({ target }) => target),
    targets,
  );
  for (const arrival of arrivals) assert.equal(arrival.header('Service-Queue-Name'), 'line');
});

test('4.2 batch element: unknown keys are ignored, and no key can reach beyond its element', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const element = `{"destination":"${receiver.url}","extra":{"a":[1]},"__proto__":{"queue":"x"},"constructor":1,
    "headers":{"__proto__":"x","Service-Forward-__proto__":"y"}}`;
  const answer = await rider.call('POST', '/v2/batch', { body: `[${element},{"destination":"${receiver.url}"}]` });
  assert.equal(answer.status, 201, answer.text);
  const arrivals = await receiver.received(2);
  assert.deepEqual(arrivals.map((arrival) => arrival.header('__proto__')).sort(), [undefined, 'y'].sort());
  for (const arrival of arrivals) assert.equal(arrival.header('Service-Queue-Name'), undefined);
});
