// What a filter may hold: so many values, so many characters. Beyond that it is refused before anything is looked at, and
// nothing is changed. What a filter costs for each message does not grow with its values.

import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import { BUDGETS } from '../../../src/rules/limits/budgets.ts';
import { Matcher, type MessageFilter } from '../../../src/rules/reads/message-filter.ts';
import { claimOf } from '../../rules/given.ts';
import { type Rider, refusal, sharedRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const VALUES_MAX = BUDGETS.filterValues.each!;
const IDS_MAX = BUDGETS.filterIds.each!;
const CHARACTERS_MAX = BUDGETS.filterCharacters.each!;
/** Twice as many values of this length are too many characters. */
const LONG = Math.ceil(CHARACTERS_MAX / VALUES_MAX / 2) + 10;
const SEARCHED_MAX = BUDGETS.searchCharacters.each!;

const many = (count: number, length = 1) => Array.from({ length: count }, (_, n) => `${n}`.padStart(length, 'x'));

suite('a filter', () => {
  const shared = sharedRider();
  let rider: Rider;
  let other: string;
  before(async () => {
    rider = shared();
    other = (await rider.account('other')).token;
  });

  const post = (path: string, body: unknown, method = 'POST') =>
    rider.call(method, path, { body: JSON.stringify(body) });

  for (const [what, filter] of [
    ['30,000 labels', { label: many(30_000) }],
    ['one label too many', { label: many(VALUES_MAX + 1) }],
    ['one state too many', { state: Array(VALUES_MAX + 1).fill('CREATED') }],
    ['one id too many', { messageIds: many(IDS_MAX + 1) }],
    ['too many ids under three names', { messageIds: many(IDS_MAX - 1), messageId: ['a', 'b'] }],
    ['too many characters in one value', { url: `http://a/${'x'.repeat(CHARACTERS_MAX)}` }],
    ['too many characters in all', { url: many(VALUES_MAX, LONG), label: many(VALUES_MAX, LONG) }],
    ['a text that is too long', { text: 'x'.repeat(SEARCHED_MAX + 1) }],
    ['a name that is a book', { ['x'.repeat(100_000)]: 'y' }],
  ] as const) {
    test(`with ${what} is refused by a bulk call, which makes no job`, async () => {
      for (const dryRun of [true, false]) {
        const answer = await post('/v2/bulk', { action: 'cancel', filter, dryRun });
        assert.ok(refusal(answer, 400, 'bad_filter').length < 300);
      }
      assert.deepEqual(await rider.manage('GET', '/v2/bulk'), { jobs: [] });
    });

    test(`with ${what} is refused by a cancel, which cancels nothing`, async (t) => {
      const receiver = await startReceiver(t);
      const id = await rider.published(receiver.url, { headers: { 'Service-Delay': '1d' } });
      refusal(await post('/v2/messages', filter, 'DELETE'), 400, 'bad_filter');
      assert.equal((await rider.message(id)).state, 'CREATED');
      await rider.manage('DELETE', `/v2/messages/${id}`);
    });
  }

  test('with too much of it is refused in the query as well, for dead letters and events too', async () => {
    const query = `label=${many(VALUES_MAX + 1).join('&label=')}`;
    for (const path of ['/v2/messages', '/v2/dlq', '/v2/events', '/v2/logs', '/v2/events/stream']) {
      refusal(await rider.call('GET', `${path}?${query}`), 400, 'bad_filter');
    }
    refusal(await post('/v2/dlq/retry', { dlqIds: many(IDS_MAX + 1) }), 400, 'bad_filter');
    refusal(await post('/v2/dlq', { dlqIds: many(IDS_MAX + 1) }, 'DELETE'), 400, 'bad_filter');
    const states = Array(VALUES_MAX + 1).fill('state=CREATED');
    refusal(await rider.call('GET', `/v2/events?${states.join('&')}`), 400, 'bad_filter');
  });

  test('with as much as it may hold is taken, and finds what it means', async (t) => {
    const receiver = await startReceiver(t);
    const id = await rider.published(receiver.url, { headers: { 'Service-Delay': '1d', 'Service-Label': 'x7' } });
    const filter = { label: many(VALUES_MAX, 2), messageIds: [...many(IDS_MAX - 1), id] };
    const counted = await rider.manage('POST', '/v2/bulk', { action: 'cancel', filter, dryRun: true });
    assert.deepEqual(counted, { action: 'cancel', matched: 1 });
    assert.deepEqual(await rider.manage('DELETE', '/v2/messages', filter), { cancelled: 1 });
  });

  test('that is refused is not felt by another account: it publishes, lists and is delivered to', async (t) => {
    const receiver = await startReceiver(t);
    const attack = Array.from({ length: 20 }, () =>
      post('/v2/bulk', { action: 'cancel', filter: { label: many(30_000) }, dryRun: true }),
    );
    const id = (await rider.publish(receiver.url, { token: other })).json<{ messageId: string }>().messageId;
    await receiver.received(1);
    const { messages } = await rider.manage<{ messages: { messageId: string }[] }>(
      'GET',
      '/v2/messages',
      undefined,
      other,
    );
    assert.deepEqual(
      messages.map(({ messageId }) => messageId),
      [id],
    );
    for (const answer of await Promise.all(attack)) refusal(answer, 400, 'bad_filter');
  });
});

test('the values of a filter are read once, however many messages are judged', () => {
  let reads = 0;
  const counted = (values: readonly string[]) =>
    new Proxy(values, {
      get(target, key, receiver) {
        if (/^\d+$/.test(String(key))) reads += 1;
        return Reflect.get(target, key, receiver);
      },
    });
  const { message } = claimOf({}, { labels: many(60, 3) });
  // One by one: the first that a message fails keeps it from the others.
  const names = ['messageIds', 'labels', 'hosts', 'urls', 'paths', 'queueNames', 'failures'] as const;
  for (const name of names) {
    reads = 0;
    const filter: MessageFilter = { [name]: counted(many(100)) };
    const matcher = new Matcher(filter);
    const before = reads;
    assert.ok(before >= 100, name);
    for (let n = 0; n < 1000; n += 1) assert.equal(matcher.matches(message), false);
    assert.equal(reads, before, name);
  }
});

test('a text is found wherever it stands in a large body, of which little is text at a time', (t) => {
  const AT_ONCE = 256 * 1024;
  const decode = t.mock.method(TextDecoder.prototype, 'decode');
  const { message } = claimOf({});
  const found = (body: string, text: string) => new Matcher({ text }).matches({ ...message, body: Buffer.from(body) });
  for (const before of [0, AT_ONCE - 20, AT_ONCE - 10, AT_ONCE - 3, AT_ONCE, 3 * AT_ONCE - 1]) {
    // Of three bytes each, so that pieces end within a letter as well.
    const body = `${'x'.repeat(before)}Ẁord Ẁ Ẁ${'y'.repeat(AT_ONCE)}`;
    assert.equal(found(body, 'ẁoRD ẁ ẁ'), true, `behind ${before}`);
    assert.equal(found(body, 'ẁord ẁ  ẁ'), false, `behind ${before}`);
    assert.equal(found(body, 'Y'.repeat(200)), true);
  }
  const most = Math.max(...decode.mock.calls.map(({ arguments: [bytes] }) => bytes?.byteLength ?? 0));
  assert.ok(most <= AT_ONCE, `${most} bytes at once`);
});
