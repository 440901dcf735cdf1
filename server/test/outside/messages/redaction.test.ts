// api.md, section 2: what Redact-Fields names is a hash in every read, and itself in every delivery.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { type Rider, refusal, ridersOfOneService } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

const SECRET = 'card 4111 1111';
const HEADER = 'bearer-of-the-shop';
const hash = (text: string) => `REDACTED:${createHash('sha256').update(text).digest('hex')}`;

const REDACTED = {
  'Service-Redact-Fields': 'body, header[X-Key]',
  'Service-Forward-X-Key': HEADER,
  'Service-Forward-X-Open': 'open',
};

/** Every way to read messages, as text. */
async function everyRead(rider: Rider, messageId: string): Promise<Map<string, string>> {
  const dlqId = messageId.replace('msg_', 'dlq_');
  const paths = [
    `/v2/messages/${messageId}`,
    '/v2/messages',
    '/v2/dlq',
    `/v2/dlq/${dlqId}`,
    '/v2/events',
    '/v2/logs',
    `/v2/events?messageId=${messageId}`,
    '/v2/schedules',
  ];
  const texts = new Map<string, string>();
  for (const path of paths) {
    const answer = await rider.call('GET', path);
    assert.equal(answer.status, 200, `${path}: ${answer.text}`);
    texts.set(path, answer.text);
  }
  return texts;
}

/** The text, and what is in base64 inside it. */
function withDecoded(text: string): string {
  const parts = text.match(/[A-Za-z0-9+/]{16,}={0,2}/g) ?? [];
  return text + parts.map((part) => Buffer.from(part, 'base64').toString('utf8')).join('\n');
}

test('Redact-Fields: no read shows the original, of the message or of its callbacks', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 500);
  const headers = {
    ...REDACTED,
    'Service-Retries': '0',
    'Service-Callback': `${receiver.url}/callback`,
    'Service-Callback-Forward-X-Key': HEADER,
    'Service-Failure-Callback': `${receiver.url}/failed`,
  };
  const messageId = await rider.published(receiver.url, { headers, body: SECRET });
  assert.equal((await rider.ended(messageId)).state, 'FAILED');
  await receiver.received(3);
  const cron = { ...headers, 'Service-Cron': '0 0 1 1 *' };
  assert.equal(
    (await rider.call('POST', `/v2/schedules/${receiver.url}`, { headers: cron, body: SECRET })).status,
    201,
  );
  const view = await rider.message(messageId);
  assert.equal(view.body, hash(SECRET));
  assert.deepEqual(view.header['X-Key'], [hash(HEADER)]);
  assert.deepEqual(view.header['X-Open'], ['open']);
  for (const [path, text] of await everyRead(rider, messageId)) {
    for (const secret of [SECRET, HEADER])
      assert.equal(withDecoded(text).includes(secret), false, `${path}: ${secret}`);
  }
});

test('Redact-Fields: a header alone is not shown by the callback that reports it, either', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  const headers = {
    'Service-Redact-Fields': 'headers',
    'Service-Forward-X-Key': HEADER,
    'Service-Callback': `${receiver.url}/callback`,
  };
  const messageId = await rider.published(receiver.url, { headers, body: 'open' });
  const [, callback] = await receiver.received(2);
  assert.ok(Buffer.from(callback!.body).toString('utf8').includes(HEADER), 'the callback itself is told all');
  await rider.ended(callback!.header('Service-Message-Id')!);
  assert.equal((await rider.message(messageId)).body, 'open');
  for (const path of [`/v2/messages/${callback!.header('Service-Message-Id')}`, '/v2/events']) {
    assert.equal(withDecoded((await rider.call('GET', path)).text).includes(HEADER), false, path);
  }
});

test('Redact-Fields: the original is delivered, and delivered again when the dead letter is retried', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, (_arrival, index) => (index === 0 ? 500 : 200));
  const headers = { ...REDACTED, 'Service-Retries': '0' };
  const messageId = await rider.published(receiver.url, { headers, body: SECRET });
  await rider.ended(messageId);
  const dlqId = messageId.replace('msg_', 'dlq_');
  const again = await rider.manage<{ messageId: string }>('POST', `/v2/dlq/retry/${dlqId}`);
  await rider.ended(again.messageId);
  for (const arrival of await receiver.received(2)) {
    assert.equal(Buffer.from(arrival.body).toString('utf8'), SECRET);
    assert.equal(arrival.header('X-Key'), HEADER);
    assert.equal(arrival.header('Service-Redact-Fields'), undefined);
  }
  assert.equal((await rider.message(again.messageId)).body, hash(SECRET));
});

test('Redact-Fields: a redacted body is not found by searching for what is in it', async (t) => {
  const rider = await startRider(t);
  const delay = { 'Service-Delay': '1h' };
  await rider.published('http://127.0.0.1:1/', { headers: { ...REDACTED, ...delay }, body: SECRET });
  const open = await rider.published('http://127.0.0.1:1/', { headers: delay, body: SECRET });
  const { messages } = await rider.manage<{ messages: { messageId: string }[] }>('GET', '/v2/messages?text=4111');
  assert.deepEqual(
    messages.map(({ messageId }) => messageId),
    [open],
  );
});

test('Redact-Fields: what it does not know is refused', async (t) => {
  const rider = await startRider(t);
  const answer = await rider.publish('http://127.0.0.1:1/', { headers: { 'Service-Redact-Fields': 'url' } });
  assert.match(refusal(answer, 400, 'bad_header'), /^Service-Redact-Fields: "url"/);
});

/** Publishes what fails at once, and sends it again with these settings; the new message as it is shown. */
async function retriedWith(rider: Rider, settings: Record<string, string>, redact: string) {
  const receiver = { url: 'http://127.0.0.1:1/' };
  const headers = { ...REDACTED, 'Service-Redact-Fields': redact, 'Service-Retries': '0' };
  const messageId = await rider.published(receiver.url, { headers, body: SECRET });
  await rider.ended(messageId);
  const overrides = { headers: settings };
  const path = `/v2/dlq/retry/${messageId.replace('msg_', 'dlq_')}`;
  const again = await rider.manage<{ messageId: string }>('POST', path, overrides);
  return rider.message(again.messageId);
}

test('Redact-Fields: a retry can hide more, and never shows what was hidden', async (t) => {
  const rider = await startRider(t);
  const narrower = ['header[X-Open]', 'header[X-Key]', 'body', 'headers'];
  for (const given of narrower) {
    const view = await retriedWith(rider, { 'Service-Redact-Fields': given }, 'body, header[X-Key]');
    assert.equal(view.body, hash(SECRET), given);
    assert.deepEqual(view.header['X-Key'], [hash(HEADER)], given);
    const isOpenHidden = given === 'headers' || given === 'header[X-Open]';
    assert.deepEqual(view.header['X-Open'], [isOpenHidden ? hash('open') : 'open'], given);
  }
  const all = await retriedWith(rider, { 'Service-Redact-Fields': 'header[X-Key]' }, 'headers');
  assert.deepEqual(all.header['X-Open'], [hash('open')]);
  assert.equal(all.body, SECRET);
  const replaced = await retriedWith(rider, { 'Service-Forward-X-Key': 'another' }, 'header[X-Key]');
  assert.deepEqual(replaced.header['X-Key'], [hash('another')]);
});

test('Redact-Fields: what a topic hides by default, a publish can add to but not show', async (t) => {
  const rider = await startRider(t);
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints: [{ url: 'http://127.0.0.1:1/' }] });
  await rider.manage('PATCH', '/v2/topics/news', { headers: { 'Service-Redact-Fields': 'body' } });
  const delay = { 'Service-Delay': '1h', 'Service-Forward-X-Key': HEADER };
  for (const [own, isKeyHidden] of [
    [{}, false],
    [{ 'Service-Redact-Fields': 'header[X-Key]' }, true],
    [{ 'service-redact-fields': '' }, false],
  ] as const) {
    const answer = await rider.publish('news', { headers: { ...delay, ...own }, body: SECRET });
    const view = await rider.message(answer.json<{ messageId: string }[]>()[0]!.messageId);
    assert.equal(view.body, hash(SECRET), JSON.stringify(own));
    assert.deepEqual(view.header['X-Key'], [isKeyHidden ? hash(HEADER) : HEADER]);
  }
  const inQuery = await rider.publish('news?service-redact-fields=header[X-Key]', { headers: delay, body: SECRET });
  const view = await rider.message(inQuery.json<{ messageId: string }[]>()[0]!.messageId);
  assert.deepEqual([view.body, view.header['X-Key']], [hash(SECRET), [hash(HEADER)]]);
});
