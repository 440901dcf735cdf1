// The types of the SDK: what is right compiles, and a line under "@ts-expect-error" would fail the build if it did.
// The compiler is the test (npm run check); what runs here shows only that the calls are made.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type AcceptedMessage,
  type AcceptedMessages,
  type Client,
  calls,
  Postrider,
  PostriderError,
  type Published,
  type PublishRequest,
  type Refused,
} from 'postrider-sdk';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(..._proof: Same<A, B> extends true ? [] : [never]): void {}

const url = 'https://example.com/';

/** Sends nothing: every request is answered at once. */
const fetched: string[] = [];
const postrider = new Postrider({
  baseUrl: 'http://127.0.0.1:1',
  fetch: async (input) => {
    fetched.push(String(input));
    return new Response(String(input).endsWith('/batch') ? '[{"messageId":"a"},[]]' : '{"messageId":"a","url":"b"}');
  },
});

test('a misspelt option is a type error, at every depth', () => {
  const requests = [
    // @ts-expect-error
    calls.publish({ url, retires: 3 }),
    // @ts-expect-error
    calls.publish({ topic: 't', Retires: 3 }),
    // @ts-expect-error
    calls.publish({ destination: 't', settings: { Retires: '3' } }),
    // @ts-expect-error
    calls.publish({ url, callback: { url, retires: 3 } }),
    // @ts-expect-error
    calls.publish({ url, flowControlValue: { raet: 3 } }),
    // @ts-expect-error
    calls.enqueue('q', { url, dealy: '5m' }),
    // @ts-expect-error
    calls.createSchedule({ url, corn: '* * * * *' }),
    // @ts-expect-error
    calls.listMessages({ queuName: 'q' }),
    // @ts-expect-error: cron is for schedules
    calls.publish({ url, cron: '* * * * *' }),
  ];
  assert.equal(requests.length, 9);
});

test('a value of the wrong kind is a type error', () => {
  const requests = [
    // @ts-expect-error
    calls.publish({ url, outage: 'wait' }),
    // @ts-expect-error
    calls.publish({ url, retries: '3' }),
    // @ts-expect-error
    calls.publish({ url, delay: '5 minutes' }),
    // @ts-expect-error
    calls.publish({ url, delay: '90' }),
    // @ts-expect-error
    calls.publish({ url, method: 'post' }),
    // @ts-expect-error: a message has one destination
    calls.publish({ url, topic: 't' }),
    // @ts-expect-error: and one body
    calls.publish({ url, json: {}, body: '' }),
    // @ts-expect-error: and at least a destination
    calls.publish({ json: {} }),
    calls.publish({ url, delay: '1d12h', timeout: 5, notBefore: new Date(), label: ['a'], retries: undefined }),
  ];
  assert.equal(requests.length, 9);
});

test('an alert has the fields of its rule, and no others', async () => {
  const target = { url };
  const requests = [
    calls.saveAlert('a', { rule: { type: 'messageFailed', label: 'x' }, target, remindEvery: '1h' }),
    calls.createAlert({ rule: { type: 'hostFailing', attempts: 3 }, target: { url, format: 'slack' } }),
    // @ts-expect-error
    calls.createAlert({ rule: { type: 'messageFaild' }, target }),
    // @ts-expect-error: that is a field of another rule
    calls.createAlert({ rule: { type: 'quotaNear', host: 'a.example' }, target }),
    // @ts-expect-error
    calls.createAlert({ rule: { type: 'failureRate', share: '10%' }, target }),
    // @ts-expect-error
    calls.createAlert({ rule: { type: 'quotaNear' }, target: { url, format: 'xml' } }),
    // @ts-expect-error: somebody must be told
    calls.createAlert({ rule: { type: 'quotaNear' } }),
  ];
  assert.deepEqual([requests.length, requests[0]!.path], [7, '/v2/alerts/a']);
  const made = await postrider.alerts.get('a');
  same<(typeof made)['state'], 'calm' | 'firing'>();
});

test('what is answered follows from what was asked', async () => {
  const toUrl = await postrider.publish({ url });
  same<typeof toUrl, Published>();
  const toTopic = postrider.publish({ topic: 't' });
  same<Awaited<typeof toTopic>, readonly Published[]>();
  const toEither = postrider.queue('q').enqueue({ destination: 't' } as PublishRequest);
  same<Awaited<typeof toEither>, Published | readonly Published[]>();
  const [first, second] = await postrider.batch([{ url }, { topic: 't', queue: 'q' }]);
  same<typeof first, AcceptedMessage | Refused>();
  same<typeof second, AcceptedMessages | Refused>();
  const mapped = postrider.batch(['a'].map((name) => ({ url: url + name, retries: 1 }))).catch(() => null);
  same<NonNullable<Awaited<typeof mapped>>[number], AcceptedMessage | Refused>();
  assert.equal(toUrl.messageId, 'a');
  assert.ok(first.isAccepted && second.isAccepted);
  await Promise.all([toTopic, toEither, mapped]);
});

test('a misspelt option in a batch is a type error', async () => {
  const sent = [
    // @ts-expect-error
    postrider.batch([{ url }, { url, retires: 3 }]),
    // @ts-expect-error
    postrider.batch([{ url }, { topic: 't', failureCallback: { url, retires: 3 } }]),
    // @ts-expect-error
    postrider.batch([{ url }, { url, settings: { Retires: '3' } }]),
    // @ts-expect-error
    postrider.batch([{ url }, { url, retries: '3' }]),
  ];
  assert.equal((await Promise.all(sent)).length, 4);
});

test('a code that no error has is a type error, and every method takes a signal', async () => {
  const error = new PostriderError(404, 'queue_not_found', 'there is no queue');
  assert.ok(error.code === 'queue_not_found');
  // @ts-expect-error
  assert.ok(error.code !== 'queue_not_fuond');
  const { signal } = new AbortController();
  await postrider.messages.get('id', { signal });
  await postrider.messages.counts({}, { signal });
  await postrider.queues.delete('q', undefined, { signal });
  // @ts-expect-error
  await postrider.messages.get('id', { singal: signal });
  const flat = (client: Client) => client.getMessage('id', { signal });
  assert.equal(flat.length, 1);
});
