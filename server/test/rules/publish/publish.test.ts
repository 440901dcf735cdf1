// From a request to its messages: defaults, limits by tier, fan-out, and when each is due.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DEFAULT_TIERS, type Tier } from '../../../src/rules/limits/tier.ts';
import {
  type DeliverySettings,
  defaultsProblem,
  hostOf,
  messageCount,
  type PublishRequest,
} from '../../../src/rules/publish/publish.ts';
import type { Topic } from '../../../src/rules/publish/topic.ts';
import { planMessages } from '../../support/plan-messages.ts';
import {
  CALLBACK_URL,
  callbackTo,
  FAILURE_URL,
  NOW,
  planContext,
  planned,
  publisher,
  request,
  settings,
  URL_GIVEN,
} from '../given.ts';

const DAY_MS = 86_400_000;

function topicOf(urls: readonly string[]): PublishRequest['destination'] {
  const endpoints = urls.map((url, index) => ({ name: index % 2 === 0 ? `e${index}` : null, url }));
  const topic: Topic = {
    id: 'tpc_1',
    accountId: 'acc_1',
    name: 'news',
    endpoints,
    defaults: [],
    createdAt: 0,
    updatedAt: 0,
    version: 1,
  };
  return { kind: 'topic', topic };
}

function problemOf(said: Partial<PublishRequest>, limits: Partial<Tier> = {}): string {
  const by = { accountId: 'acc_1', tier: { ...DEFAULT_TIERS.free, ...limits } };
  const plan = planMessages(request(said), by, planContext());
  return 'problem' in plan ? `${plan.problem.code}: ${plan.problem.message}` : 'no problem';
}

test('a request that says nothing gets the defaults', () => {
  const [message, ...more] = planned({});
  assert.equal(more.length, 0);
  assert.partialDeepStrictEqual(message, {
    id: 'msg_1',
    accountId: 'acc_1',
    kind: 'publish',
    url: URL_GIVEN,
    host: 'receiver.example:443',
    method: 'POST',
    headers: [],
    body: new TextEncoder().encode('hello'),
    retriesMax: 3,
    retryDelay: null,
    retryJitter: null,
    timeoutMs: 30_000,
    queueName: null,
    topicName: null,
    endpointName: null,
    callback: null,
    failureCallback: null,
    sourceMessageId: null,
    callerIp: null,
    hops: 0,
    createdAt: NOW,
    dueAt: NOW,
  });
});

test('the default number of retries is 3 in the free tier and 5 in the paid one; 0 is a number', () => {
  assert.equal(planned({}, publisher('free'))[0]!.retriesMax, 3);
  assert.equal(planned({}, publisher('paid'))[0]!.retriesMax, 5);
  assert.equal(planned({ settings: settings({ retries: 0 }) }, publisher('paid'))[0]!.retriesMax, 0);
});

test('the message has the settings of the request', () => {
  const said = settings({ method: 'DELETE', retries: 9, retryDelay: '1000', retryJitter: 20, timeoutMs: 5000 });
  const [message] = planned({ settings: said, queueName: 'orders', callerIp: '192.0.2.1', hops: 3 });
  assert.deepEqual(
    [message!.method, message!.retriesMax, message!.retryDelay, message!.retryJitter, message!.timeoutMs],
    ['DELETE', 9, '1000', 20, 5000],
  );
  assert.deepEqual([message!.queueName, message!.callerIp, message!.hops], ['orders', '192.0.2.1', 3]);
});

test('a delay counts from now', () => {
  assert.equal(planned({ settings: settings({ delayMs: 0 }) })[0]!.dueAt, NOW);
  assert.equal(planned({ settings: settings({ delayMs: 1500 }) })[0]!.dueAt, NOW + 1500);
});

test('an absolute time wins over the delay; one that is over means now', () => {
  const withDelay = settings({ delayMs: 1500 });
  assert.equal(planned({ settings: withDelay, notBefore: NOW + 60_000 })[0]!.dueAt, NOW + 60_000);
  assert.equal(planned({ settings: withDelay, notBefore: NOW - 1 })[0]!.dueAt, NOW);
  assert.equal(planned({ notBefore: 0 })[0]!.dueAt, NOW);
});

test('an absolute time stays as it was named while the clocks differ by what a correction leaves, and moves with them beyond', () => {
  const dueWhen = (aheadMs: number) => {
    const context = { ...planContext(), now: NOW, wallNow: NOW - aheadMs };
    const plan = planMessages(request({ notBefore: NOW + 60_000 }), publisher(), context);
    return 'messages' in plan ? plan.messages[0]!.dueAt - NOW : null;
  };
  assert.deepEqual([-100, -2, 0, 2, 100].map(dueWhen), [60_000, 60_000, 60_000, 60_000, 60_000]);
  assert.deepEqual([-101, 101, 3_600_000].map(dueWhen), [59_899, 60_101, 3_660_000]);
});

test('no message is due before it exists', () => {
  const delays = fc.option(fc.integer({ min: 0, max: DAY_MS }));
  fc.assert(
    fc.property(delays, fc.option(fc.integer({ min: 0, max: NOW + DAY_MS })), (delayMs, notBefore) => {
      const [message] = planned({ settings: settings({ delayMs }), notBefore });
      assert.ok(message!.dueAt >= message!.createdAt);
    }),
  );
});

test('a topic makes one message per endpoint, in its order, each with an id of its own', () => {
  const urls = ['https://b.example/1', 'http://a.example:8080/2', 'https://b.example/1'];
  const messages = planned({ destination: topicOf(urls), queueName: 'q' });
  assert.deepEqual(
    messages.map(({ id, url, host, topicName, endpointName }) => [id, url, host, topicName, endpointName]),
    [
      ['msg_1', urls[0], 'b.example:443', 'news', 'e0'],
      ['msg_2', urls[1], 'a.example:8080', 'news', null],
      ['msg_3', urls[2], 'b.example:443', 'news', 'e2'],
    ],
  );
  const { id: _, url: __, host: ___, endpointName: ____, ...first } = messages[0]!;
  for (const message of messages) assert.deepEqual({ ...message, ...first }, message, 'all else is the same');
});

test('a topic without endpoints has nowhere to deliver to', () => {
  assert.equal(problemOf({ destination: topicOf([]) }), 'topic_empty: topic "news" has no endpoints; add one first');
});

test('the Content-Type goes first, unless one is forwarded: that is the more deliberate of the two', () => {
  const forward = (...headers: [string, string][]) => settings({ forward: headers });
  const contentType = 'text/plain';
  assert.deepEqual(planned({ contentType, settings: forward(['X-A', 'b']) })[0]!.headers, [
    ['Content-Type', 'text/plain'],
    ['X-A', 'b'],
  ]);
  assert.deepEqual(planned({ contentType, settings: forward(['content-TYPE', 'text/html']) })[0]!.headers, [
    ['content-TYPE', 'text/html'],
  ]);
  assert.deepEqual(planned({ settings: forward(['X-A', 'b'], ['x-a', 'c']) })[0]!.headers, [
    ['X-A', 'b'],
    ['x-a', 'c'],
  ]);
});

test('both callbacks are planned with the message, with all their defaults resolved', () => {
  const [message] = planned({
    callback: callbackTo(CALLBACK_URL),
    failureCallback: callbackTo(FAILURE_URL, { method: 'PUT' }),
  });
  const defaults = { headers: [], retriesMax: 3, retryDelay: null, retryJitter: null, delayMs: 0, timeoutMs: 30_000 };
  assert.deepEqual(message!.callback, { url: CALLBACK_URL, method: 'POST', ...defaults });
  assert.deepEqual(message!.failureCallback, { url: FAILURE_URL, method: 'PUT', ...defaults });
});

test('each limit of the tier is checked, to the last unit, and the problem names what is over it', () => {
  const by = (said: Partial<DeliverySettings>) => ({ settings: settings(said) });
  const table: [Partial<PublishRequest>, Partial<Tier>, string][] = [
    [{ body: new Uint8Array(11) }, { bodyBytesMax: 10 }, 'the body (11 bytes)'],
    [by({ retries: 11 }), { retriesMax: 10 }, 'Service-Retries (11)'],
    [by({ timeoutMs: 10_001 }), { timeoutMsMax: 10_000 }, 'Service-Timeout'],
    [by({ delayMs: 10_001 }), { delayMsMax: 10_000 }, 'Service-Delay'],
    [{ awaitAckMs: 10_001 }, { awaitAckMsMax: 10_000 }, 'Service-Await-Ack'],
    [{ notBefore: NOW + 10_001 }, { delayMsMax: 10_000 }, 'Service-Not-Before'],
    [{ callback: callbackTo(CALLBACK_URL, { retries: 11 }) }, { retriesMax: 10 }, 'Service-Callback-Retries (11)'],
    [
      { callback: callbackTo(CALLBACK_URL, { timeoutMs: 10_001 }) },
      { timeoutMsMax: 10_000 },
      'Service-Callback-Timeout',
    ],
    [{ callback: callbackTo(CALLBACK_URL, { delayMs: 10_001 }) }, { delayMsMax: 10_000 }, 'Service-Callback-Delay'],
    [
      { failureCallback: callbackTo(FAILURE_URL, { retries: 11 }) },
      { retriesMax: 10 },
      'Service-Failure-Callback-Retries (11)',
    ],
    [
      { failureCallback: callbackTo(FAILURE_URL, { timeoutMs: 10_001 }) },
      { timeoutMsMax: 10_000 },
      'Service-Failure-Callback-Timeout',
    ],
    [
      { failureCallback: callbackTo(FAILURE_URL, { delayMs: 10_001 }) },
      { delayMsMax: 10_000 },
      'Service-Failure-Callback-Delay',
    ],
  ];
  for (const [said, limits, what] of table) {
    assert.ok(problemOf(said, limits).startsWith(`limit_exceeded: ${what} exceeds the limit of the free tier: `), what);
    const [[limit, max]] = Object.entries(limits) as [[string, number]];
    assert.equal(problemOf(said, { [limit]: max + 1 }), 'no problem', `${what}, exactly at the limit`);
    if (limit !== 'retentionMs')
      assert.equal(problemOf(said, { [limit]: null }), 'no problem', `${what}, without a limit`);
  }
});

test('an ack may be awaited for a day, and in the paid tier for a week', () => {
  for (const [tier, days] of [
    ['free', 1],
    ['paid', 7],
  ] as const) {
    const by = { accountId: 'acc_1', tier: DEFAULT_TIERS[tier] };
    const plan = (awaitAckMs: number) => planMessages(request({ awaitAckMs }), by, planContext());
    assert.ok('messages' in plan(days * DAY_MS), tier);
    const over = plan(days * DAY_MS + 1);
    assert.ok('problem' in over && over.problem.message.endsWith(`: ${days}d`), tier);
  }
});

test('a limit is said in words that people write', () => {
  assert.match(problemOf({ settings: settings({ delayMs: 400 * DAY_MS }) }), /365d$/);
  assert.match(problemOf({ settings: settings({ timeoutMs: 901_000 }) }), /15m$/);
  assert.match(problemOf({ body: new Uint8Array(1_048_577) }), /1048576 bytes$/);
});

test('the paid tier takes what the free tier refuses', () => {
  const said = { body: new Uint8Array(2_000_000), settings: settings({ timeoutMs: 3_600_000 }) };
  assert.match(problemOf(said), /^limit_exceeded/);
  assert.equal(planned(said, publisher('paid')).length, 1);
});

test('the host of a stored URL is found, and an invalid stored URL throws', () => {
  assert.equal(hostOf('http://EXAMPLE.com/x'), 'example.com:80');
  assert.throws(() => hostOf('not a url'), /a stored URL is no longer valid/);
});

test('the content of a publish to a topic is hashed once, whatever the number of endpoints', () => {
  let hashed = 0;
  const context = {
    ...planContext(),
    sha256: () => {
      hashed += 1;
      return 'hash';
    },
  };
  const destination = topicOf(['https://a.example/1', 'https://a.example/2', 'https://a.example/3']);
  const plan = planMessages(request({ destination, deduplication: 'byContent' }), publisher(), context);
  assert.ok('messages' in plan);
  assert.equal(hashed, 1);
  assert.equal(new Set(plan.messages.map(({ deduplication }) => deduplication?.key)).size, 3);
});

test('a publish makes one message for a URL, and one for each endpoint of a topic', () => {
  assert.equal(messageCount(request()), 1);
  assert.equal(messageCount(request({ destination: topicOf([URL_GIVEN, CALLBACK_URL, FAILURE_URL]) })), 3);
});

test('a message of a schedule is of another kind', () => {
  assert.equal(planned({})[0]!.kind, 'publish');
  assert.equal(planned({ scheduleId: 'scd_1' })[0]!.kind, 'schedule');
});

test('a deduplication id is the key, for the time of the window, and each endpoint of a topic has its own', () => {
  const deduplication = { id: 'order-7' };
  assert.deepEqual(planned({ deduplication })[0]!.deduplication, { key: 'id:order-7', expiresAt: NOW + 600_000 });
  assert.deepEqual(
    planned({ deduplication, destination: topicOf([URL_GIVEN, CALLBACK_URL]) }).map((each) => each.deduplication!.key),
    [`id:order-7 ${URL_GIVEN}`, `id:order-7 ${CALLBACK_URL}`],
  );
  assert.match(planned({ deduplication: 'byContent' })[0]!.deduplication!.key, /^content:hash of \d+ bytes$/);
  assert.equal(planned({})[0]!.deduplication, null);
});

const FLOW = { key: 'shop', limits: { parallelism: 1, rate: null, periodMs: 1000 } };

test('a flow key is refused in a queue, and an order key outside of one', () => {
  assert.match(problemOf({ flow: FLOW, queueName: 'orders' }), /Flow-Control-Key: not allowed in a queue/);
  assert.match(problemOf({ orderKey: 'k' }), /Order-Key: only allowed in a queue/);
  assert.equal(planned({ flow: FLOW })[0]!.flow, FLOW);
  assert.equal(planned({ orderKey: 'k', queueName: 'orders' })[0]!.orderKey, 'k');
});

test('settings for all messages of a topic are refused if they fit neither in a queue nor outside', () => {
  const wrong = (some: Partial<PublishRequest>) => {
    const refused = defaultsProblem(request(some), DEFAULT_TIERS.free, planContext(), 'Service-');
    return refused?.problem.message ?? null;
  };
  assert.equal(wrong({}), null);
  assert.equal(wrong({ flow: FLOW }), null);
  assert.equal(wrong({ orderKey: 'k' }), null);
  assert.match(wrong({ flow: FLOW, orderKey: 'k' }) ?? '', /Service-Order-Key/);
  assert.match(wrong({ settings: settings({ retries: 101 }) }) ?? '', /Retries/);
});
