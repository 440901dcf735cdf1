// api.md, section 4: dead letters, listed by each filter, read, deleted, and sent again as new messages.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Published, type Rider, refusal, ridersOfOneService } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

interface DeadLetter {
  readonly dlqId: string;
  readonly messageId: string;
  readonly state: string;
  readonly responseStatus?: number;
  readonly responseHeader?: Readonly<Record<string, readonly string[]>>;
  readonly responseBody?: string;
  readonly error?: string;
}

interface Page {
  readonly messages: readonly DeadLetter[];
  readonly cursor?: string;
}

const ONCE = { 'Service-Retries': '0' };
const dlqIdOf = (messageId: string) => messageId.replace('msg_', 'dlq_');
const list = (rider: Rider, query: string) => rider.manage<Page>('GET', `/v2/dlq?${query}`);

async function dead(rider: Rider, url: string, headers: Record<string, string> = {}, body = ''): Promise<string> {
  const messageId = await rider.published(url, { headers: { ...ONCE, ...headers }, body });
  assert.equal((await rider.ended(messageId)).state, 'FAILED');
  return messageId;
}

test('GET /v2/dlq: each filter finds what it means, newest first', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, ({ target }) => (target === '/404' ? 404 : 500));
  const startedAt = rider.clock.now();
  const queued = await rider.accepted(`${receiver.url}/500`, { queue: 'orders', headers: ONCE });
  await rider.ended(queued);
  await rider.advance(1000);
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [{ url: `${receiver.url}/404` }] });
  const [{ messageId: ofTopic }] = (await rider.publish('news', { headers: ONCE })).json<[Published]>();
  await rider.ended(ofTopic);
  const cron = {
    ...ONCE,
    'Service-Cron': '0 0 1 1 *',
    'Service-Schedule-Id': 'yearly',
    'Service-Label': 'red',
    'Service-Flow-Control-Key': 'k',
    'Service-Flow-Control-Value': 'rate=5',
  };
  await rider.call('POST', '/v2/schedules/http://127.0.0.1:1/', { headers: cron });
  const [{ messageId: ofSchedule }] = await rider.manage<[Published]>('POST', '/v2/schedules/yearly/run');
  await rider.ended(ofSchedule);
  const all = [ofSchedule, ofTopic, queued];
  const expected: Record<string, string[]> = {
    '': all,
    'order=earliestFirst': [...all].reverse(),
    [`messageId=${queued}`]: [queued],
    [`dlqIds=${dlqIdOf(queued)}&dlqIds=${dlqIdOf(ofTopic)}`]: [ofTopic, queued],
    'url=http://127.0.0.1:1/': [ofSchedule],
    'topicName=news': [ofTopic],
    'queueName=orders': [queued],
    'scheduleId=yearly': [ofSchedule],
    'responseStatus=404': [ofTopic],
    'responseStatus=404&responseStatus=500': [ofTopic, queued],
    'label=red': [ofSchedule],
    'flowControlKey=k': [ofSchedule],
    'callerIp=127.0.0.1': all,
    'callerIp=192.0.2.1': [],
    [`toDate=${startedAt}`]: [queued],
    [`fromDate=${startedAt + 1}`]: [ofSchedule, ofTopic],
  };
  for (const [query, ids] of Object.entries(expected)) {
    const { messages } = await list(rider, query);
    assert.deepEqual(
      messages.map(({ messageId }) => messageId),
      ids,
      query,
    );
  }
  refusal(await rider.call('GET', '/v2/dlq?colour=red'), 400, 'bad_filter');
});

test('GET /v2/dlq: goes on page by page', async (t) => {
  const rider = await startRider(t);
  const ids: string[] = [];
  for (let i = 0; i < 5; i += 1) ids.unshift(await dead(rider, 'http://127.0.0.1:1/'));
  const first = await list(rider, 'count=3');
  const second = await list(rider, `count=3&cursor=${first.cursor}`);
  assert.deepEqual(
    [...first.messages, ...second.messages].map(({ messageId }) => messageId),
    ids,
  );
  assert.equal('cursor' in second, false);
});

test('GET /v2/dlq/{id}: the message with its last answer; 404 when there is no such dead letter', async (t) => {
  const rider = await startRider(t);
  const answer = { status: 418, headers: { 'X-Kind': 'pot' }, body: 'short and stout' };
  const receiver = await startReceiver(t, () => answer);
  const messageId = await dead(rider, receiver.url, {}, 'tea');
  const letter = await rider.manage<DeadLetter & { body?: string }>('GET', `/v2/dlq/${dlqIdOf(messageId)}`);
  assert.deepEqual([letter.dlqId, letter.messageId, letter.body], [dlqIdOf(messageId), messageId, 'tea']);
  assert.deepEqual([letter.responseStatus, letter.responseBody], [418, 'short and stout']);
  assert.deepEqual(letter.responseHeader!['X-Kind'], ['pot']);
  const unreachable = await dead(rider, 'http://127.0.0.1:1/');
  const other = await rider.manage<DeadLetter>('GET', `/v2/dlq/${dlqIdOf(unreachable)}`);
  assert.equal('responseStatus' in other, false);
  assert.match(other.error!, /refused/i);
  const open = await rider.published(receiver.url, { headers: { 'Service-Delay': '1h' } });
  refusal(await rider.call('GET', `/v2/dlq/${dlqIdOf(open)}`), 404, 'dead_letter_not_found');
});

test('DELETE /v2/dlq and DELETE /v2/dlq/{id}: by id, by filter a page at a time, never all by accident', async (t) => {
  const rider = await startRider(t);
  const ids: string[] = [];
  for (let i = 0; i < 6; i += 1) ids.push(await dead(rider, 'http://127.0.0.1:1/', { 'Service-Label': `l${i % 2}` }));
  const one = `/v2/dlq/${dlqIdOf(ids[0]!)}`;
  assert.deepEqual(await rider.manage('DELETE', one), { deleted: 1 });
  refusal(await rider.call('DELETE', one), 404, 'dead_letter_not_found');
  refusal(await rider.call('GET', `/v2/messages/${ids[0]}`), 404, 'message_not_found');
  refusal(await rider.call('DELETE', '/v2/dlq'), 400, 'bad_filter');
  assert.deepEqual(await rider.manage('DELETE', '/v2/dlq', { dlqIds: [dlqIdOf(ids[1]!), 'dlq_none'] }), { deleted: 1 });
  const page = await rider.manage<{ deleted: number; cursor?: string }>('DELETE', '/v2/dlq?label=l1&count=1');
  assert.equal(page.deleted, 1);
  assert.deepEqual(await rider.manage('DELETE', `/v2/dlq?label=l1&cursor=${page.cursor}`), { deleted: 1 });
  assert.deepEqual(await rider.manage('DELETE', '/v2/dlq?all=true'), { deleted: 2 });
  assert.deepEqual((await list(rider, '')).messages, []);
});

test('DELETE /v2/dlq and POST /v2/dlq/retry: all may be said as a boolean in the body', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, (_arrival, index) => (index < 2 ? 500 : 200));
  for (let i = 0; i < 2; i += 1) await dead(rider, receiver.url);
  for (const [method, path] of [['POST', '/v2/dlq/retry'] as const, ['DELETE', '/v2/dlq'] as const]) {
    refusal(await rider.call(method, path, { body: '{"all":false}' }), 400, 'bad_filter');
  }
  const { responses } = await rider.manage<{ responses: object[] }>('POST', '/v2/dlq/retry', { all: true });
  assert.equal(responses.length, 2);
  await receiver.received(4);
  await dead(rider, 'http://127.0.0.1:1/');
  assert.deepEqual(await rider.manage('DELETE', '/v2/dlq', { all: true }), { deleted: 1 });
});

test('POST /v2/dlq/retry/{id}: a new message linked to the old, which stays readable, marked and linked to the new', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, (_arrival, index) => (index === 0 ? 500 : 200));
  const headers = { 'Content-Type': 'text/plain', 'Service-Method': 'PUT', 'Service-Forward-X-Shop': '7' };
  const old = await dead(rider, receiver.url, headers, 'hello');
  const answer = await rider.call('POST', `/v2/dlq/retry/${dlqIdOf(old)}`);
  assert.equal(answer.status, 201);
  const { messageId } = answer.json<{ messageId: string }>();
  assert.notEqual(messageId, old);
  const again = await rider.ended(messageId);
  assert.deepEqual([again.state, again.sourceMessageId], ['DELIVERED', old]);
  const [first, second] = await receiver.received(2);
  assert.deepEqual(
    [second!.method, second!.header('X-Shop'), second!.header('Content-Type'), second!.body],
    [first!.method, first!.header('X-Shop'), first!.header('Content-Type'), first!.body],
  );
  const twice = await rider.call('POST', `/v2/dlq/retry/${dlqIdOf(old)}`);
  assert.match(refusal(twice, 409, 'already_retried'), new RegExp(messageId));
  const kept = await rider.message(old);
  assert.deepEqual([kept.state, kept.retriedAs, kept.attempts.length], ['FAILED', messageId, 1]);
  const letter = await rider.manage<{ retriedAs?: string; responseStatus?: number }>('GET', `/v2/dlq/${dlqIdOf(old)}`);
  assert.deepEqual([letter.retriedAs, letter.responseStatus], [messageId, 500]);
  const listed = async (query: string) =>
    (await rider.manage<{ messages: { messageId: string }[] }>('GET', `/v2/dlq${query}`)).messages.length;
  assert.deepEqual(
    [await listed(''), await listed('?retried=true'), await listed('?retried=any'), await listed('?retried=false')],
    [0, 1, 1, 0],
  );
  refusal(await rider.call('GET', '/v2/dlq?retried=maybe'), 400, 'bad_filter');
  refusal(await rider.call('DELETE', '/v2/dlq?retried=any'), 400, 'bad_filter');
  const bulk = { action: 'retry', filter: { retried: 'true', all: 'true' }, dryRun: true };
  assert.equal((await rider.manage<{ matched: number }>('POST', '/v2/bulk', bulk)).matched, 0);
  assert.deepEqual(await rider.manage('DELETE', '/v2/dlq', { all: true }), { deleted: 0 });
  assert.deepEqual(await rider.manage('DELETE', `/v2/dlq/${dlqIdOf(old)}`), { deleted: 1 });
});

test('POST /v2/dlq/retry/{id}: of many at once, one is sent again', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, (_arrival, index) => (index === 0 ? 500 : 200));
  const old = await dead(rider, receiver.url);
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => rider.call('POST', `/v2/dlq/retry/${dlqIdOf(old)}`)),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409, 409, 409, 409, 409]);
});

test('POST /v2/dlq/retry/{id}: url, body and headers may be given anew; all else stays as it was', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, (_arrival, index) => (index === 0 ? 500 : 200));
  const headers = {
    'Content-Type': 'text/plain',
    'Service-Method': 'PUT',
    'Service-Forward-X-Shop': '7',
    'Service-Forward-X-Key': 'k',
    'Service-Label': 'red',
    'Service-Redact-Fields': 'header[X-Key]',
    'Service-Callback': `${receiver.url}/callback`,
    'Service-Callback-Delay': '1h',
  };
  const old = await dead(rider, receiver.url, headers, 'hello');
  const overrides = {
    url: `${receiver.url}/new`,
    body: 'bye',
    headers: { 'Service-Forward-X-Shop': '8', 'Service-Retries': '2' },
  };
  const { messageId } = await rider.manage<{ messageId: string }>('POST', `/v2/dlq/retry/${dlqIdOf(old)}`, overrides);
  const again = await rider.manage<Record<string, unknown>>('GET', `/v2/messages/${messageId}`);
  assert.deepEqual([again.maxRetries, again.labels, again.callback], [2, ['red'], `${receiver.url}/callback`]);
  const [, arrival] = await receiver.received(2);
  assert.deepEqual([arrival!.method, arrival!.target, arrival!.header('Content-Type')], ['PUT', '/new', 'text/plain']);
  assert.deepEqual([arrival!.values('X-Shop'), arrival!.header('X-Key')], [['8'], 'k']);
  assert.equal(Buffer.from(arrival!.body).toString('utf8'), 'bye');
  assert.match(JSON.stringify(again.header), /"X-Key":\["REDACTED:/);
});

test('POST /v2/dlq/retry/{id}: headers of the request override as well; those in its JSON win', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, (_arrival, index) => (index === 0 ? 500 : 200));
  const given = { 'Content-Type': 'text/plain', 'Service-Forward-X-Shop': '7', 'Service-Label': 'red' };
  const old = await dead(rider, receiver.url, given, 'hello');
  const headers = {
    'Content-Type': 'application/json',
    'service-retries': '2',
    'Service-Method': 'PUT',
    'Service-Delay': '90s',
    'Service-Timeout': '5m',
    'Service-Forward-X-Shop': '8',
    'Service-Forward-X-More': 'm',
    'Service-Callback': `${receiver.url}/callback`,
    'X-Other': 'not forwarded',
  };
  const body = JSON.stringify({ headers: { 'Service-Retries': '4' } });
  const answer = await rider.call('POST', `/v2/dlq/retry/${dlqIdOf(old)}`, { headers, body });
  assert.equal(answer.status, 201, answer.text);
  const { messageId } = answer.json<{ messageId: string }>();
  const again = await rider.manage<Record<string, unknown>>('GET', `/v2/messages/${messageId}`);
  assert.deepEqual([again.maxRetries, again.method, again.timeoutMs], [4, 'PUT', 300_000]);
  assert.deepEqual([again.labels, again.callback], [['red'], `${receiver.url}/callback`]);
  assert.equal(again.notBefore, rider.clock.now() + 90_000);
  assert.deepEqual(again.header, { 'Content-Type': ['text/plain'], 'X-Shop': ['8'], 'X-More': ['m'] });
  await rider.advance(90_000);
  const [, arrival] = await receiver.received(2);
  assert.equal(Buffer.from(arrival!.body).toString('utf8'), 'hello');
});

test('POST /v2/dlq/retry: headers of the request override in every one; a bad one is refused and nothing is retried', async (t) => {
  const rider = await startRider(t);
  for (let i = 0; i < 2; i += 1) await dead(rider, 'http://127.0.0.1:1/');
  const path = '/v2/dlq/retry?all=true';
  refusal(await rider.call('POST', path, { headers: { 'Service-Retries': 'x' } }), 400, 'bad_header');
  refusal(await rider.call('POST', path, { headers: { 'Service-Retries': '101' } }), 412, 'limit_exceeded');
  refusal(await rider.call('POST', path, { headers: { 'Service-Cron': '* * * * *' } }), 400, 'bad_header');
  assert.equal((await list(rider, '')).messages.length, 2);
  const headers = { 'Service-Retries': '9', 'Service-Delay': '1h' };
  const { responses } = (await rider.call('POST', path, { headers })).json<{ responses: { messageId: string }[] }>();
  for (const { messageId } of responses) assert.equal((await rider.message(messageId)).maxRetries, 9);
  assert.equal(responses.length, 2);
});

test('POST /v2/dlq/retry/{id}: one that would repeat a message that stands is refused, and the dead letter stays', async (t) => {
  const rider = await startRider(t);
  const headers = { 'Service-Deduplication-Id': 'order-1' };
  await rider.published('http://127.0.0.1:1/', { headers: { ...headers, 'Service-Delay': '1h' } });
  const old = await dead(rider, 'http://127.0.0.1:1/');
  refusal(await rider.call('POST', `/v2/dlq/retry/${dlqIdOf(old)}`, { headers }), 409, 'conflict');
  const { responses } = (await rider.call('POST', '/v2/dlq/retry?all=true', { headers })).json<{
    responses: object[];
  }>();
  assert.deepEqual(responses, []);
  assert.equal((await list(rider, '')).messages.length, 1);
  assert.equal((await rider.call('POST', `/v2/dlq/retry/${dlqIdOf(old)}`)).status, 201);
});

test('POST /v2/dlq/retry: a setting that looks misspelt, or has the prefix of another service, is told', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 500);
  const letters = [await dead(rider, receiver.url), await dead(rider, receiver.url)];
  receiver.answer = () => 200;
  const body = JSON.stringify({ headers: { 'Service-Retires': '1' } });
  const misspelt = await rider.call('POST', `/v2/dlq/retry/${dlqIdOf(letters[0]!)}`, { body });
  assert.match(String(misspelt.headers['service-warning']), /^Service-Retires is not known/);
  const foreign = await rider.call('POST', '/v2/dlq/retry?all=true', { headers: { 'Upstash-Retries': '1' } });
  assert.equal(foreign.json<{ responses: object[] }>().responses.length, 1, foreign.text);
  assert.match(String(foreign.headers['service-warning']), /^Upstash-Retries was ignored/);
});

test('POST /v2/dlq/retry/{id}: a bad override is refused, and the dead letter stays', async (t) => {
  const rider = await startRider(t);
  const old = await dead(rider, 'http://127.0.0.1:1/');
  const retry = (body: unknown) => rider.call('POST', `/v2/dlq/retry/${dlqIdOf(old)}`, { body: JSON.stringify(body) });
  refusal(await retry({ url: 'ftp://x' }), 400, 'bad_destination');
  refusal(await retry({ headers: { 'Service-Retries': 'x' } }), 400, 'bad_header');
  const headers = { 'Service-Retries': 'x' };
  refusal(await rider.call('POST', `/v2/dlq/retry/${dlqIdOf(old)}`, { headers }), 400, 'bad_header');
  refusal(await retry({ colour: 'red' }), 400, 'bad_body');
  refusal(await retry({ bodyBase64: 'no base64' }), 400, 'bad_body');
  refusal(await retry({ body: 'x', bodyBase64: 'eA==' }), 400, 'bad_body');
  assert.equal((await list(rider, '')).messages.length, 1);
});

test('POST /v2/dlq/retry: by ids or by filter, a page at a time', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 500);
  const ids: string[] = [];
  for (let i = 0; i < 4; i += 1) ids.push(await dead(rider, `${receiver.url}/${i}`));
  receiver.answer = () => 200;
  refusal(await rider.call('POST', '/v2/dlq/retry'), 400, 'bad_filter');
  const byId = await rider.call('POST', `/v2/dlq/retry?dlqIds=${dlqIdOf(ids[0]!)}&dlqIds=dlq_none`);
  assert.equal(byId.status, 201);
  assert.equal(byId.json<{ responses: unknown[] }>().responses.length, 1);
  const page = await rider.manage<{ responses: unknown[]; cursor?: string }>(
    'POST',
    '/v2/dlq/retry?responseStatus=500&count=2',
  );
  assert.equal(page.responses.length, 2);
  const rest = await rider.manage<{ responses: { messageId: string }[] }>(
    'POST',
    `/v2/dlq/retry?responseStatus=500&count=2&cursor=${page.cursor}`,
  );
  assert.equal(rest.responses.length, 1);
  await rider.ended(rest.responses[0]!.messageId);
  assert.equal((await receiver.received(8)).length, 8);
  assert.deepEqual((await list(rider, '')).messages, []);
});
