// The messages that report an attempt: what they say, where they go, and how they are retried.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadLetterId, headerMap, messageIdOf, planCallbackMessage } from '../../../src/rules/delivery/callback.ts';
import type { Attempt, CallbackTarget, Message } from '../../../src/rules/delivery/message.ts';
import { outageOfCallback } from '../../../src/rules/hosts/parking.ts';
import type { DeliverySettings, PublishRequest } from '../../../src/rules/publish/publish.ts';
import { CALLBACK_URL, callbackTo, claimOf, countingIds, NOW, planned, settings, URL_GIVEN } from '../given.ts';

const ATTEMPT: Attempt = {
  number: 2,
  startedAt: NOW + 1000,
  endedAt: NOW + 1200,
  outcome: 'answered',
  status: 503,
  error: null,
  nextAt: NOW + 8590,
  responseHeaders: [
    ['retry-after', '5'],
    ['set-cookie', 'a=1'],
    ['Set-Cookie', 'b=2'],
  ],
  responseBody: new Uint8Array([0, 255, 10]),
  isResponseBodyCut: false,
};
const NO_ANSWER: Attempt = {
  ...ATTEMPT,
  outcome: 'timedOut',
  status: null,
  error: 'no complete response within 30s',
  responseHeaders: [],
  responseBody: new Uint8Array(0),
};

function source(said: Partial<PublishRequest> = {}, sofar: Partial<Message> = {}): Message {
  return claimOf({ callback: callbackTo(CALLBACK_URL), ...said }, sofar).message;
}

function report(message: Message, attempt = ATTEMPT, isFailure = false): Record<string, unknown> {
  const { body } = planCallbackMessage(message, message.callback!, attempt, isFailure, 1000, countingIds());
  return JSON.parse(new TextDecoder().decode(body)) as Record<string, unknown>;
}

function targetFor(original: Partial<DeliverySettings>, own: Partial<DeliverySettings> = {}): CallbackTarget {
  return planned({ settings: settings(original), callback: callbackTo(CALLBACK_URL, own) })[0]!.callback!;
}

test('a callback reports the attempt and what was published', () => {
  const message = source(
    {
      contentType: 'text/plain',
      settings: settings({
        retries: 4,
        method: 'PUT',
        forward: [
          ['X-Tag', 'one'],
          ['x-tag', 'two'],
        ],
      }),
      callerIp: '192.0.2.7',
    },
    { retried: 1 },
  );
  assert.deepEqual(report(message), {
    status: 503,
    header: { 'Retry-After': ['5'], 'Set-Cookie': ['a=1', 'b=2'] },
    body: 'AP8K',
    retried: 1,
    maxRetries: 4,
    sourceMessageId: message.id,
    url: URL_GIVEN,
    method: 'PUT',
    sourceHeader: { 'Content-Type': ['text/plain'], 'X-Tag': ['one', 'two'] },
    sourceBody: 'aGVsbG8=',
    notBefore: NOW,
    createdAt: NOW,
    callerIP: '192.0.2.7',
  });
});

test('an attempt without an answer is reported as status 0 with its error', () => {
  const { status, error, header, body } = report(source(), NO_ANSWER);
  assert.deepEqual([status, error, header, body], [0, 'no complete response within 30s', {}, '']);
});

test('a copy of a topic names its topic and endpoint, and only then', () => {
  const copy = { ...source(), topicName: 'news', endpointName: 'first' };
  assert.deepEqual([report(copy).topicName, report(copy).endpointName], ['news', 'first']);
  for (const key of ['topicName', 'endpointName', 'callerIP', 'error', 'dlqId'])
    assert.ok(!(key in report(source())), key);
});

test('notBefore is when the message was first due, not when it is retried', () => {
  assert.equal(report(source({}, { firstDueAt: NOW + 7, dueAt: NOW + 99_000 })).notBefore, NOW + 7);
});

test('a failure callback also names the dead letter', () => {
  const message = source();
  assert.equal(report(message, ATTEMPT, true).dlqId, deadLetterId(message.id));
  assert.equal(deadLetterId('msg_01ABC'), 'dlq_01ABC');
});

test('a callback is an ordinary message: own id, JSON, due when its attempt ended', () => {
  const message = source({ queueName: 'orders', callerIp: '192.0.2.7', hops: 2 });
  const made = planCallbackMessage(message, message.callback!, ATTEMPT, false, 1000, countingIds());
  assert.equal(made.kind, 'callback');
  assert.equal(made.id, 'msg_1');
  assert.equal(made.accountId, message.accountId);
  assert.deepEqual([made.url, made.host, made.method], [CALLBACK_URL, 'callbacks.example:443', 'POST']);
  assert.deepEqual(made.headers, [['Content-Type', 'application/json']]);
  assert.deepEqual([made.createdAt, made.dueAt], [ATTEMPT.endedAt, ATTEMPT.endedAt]);
  assert.deepEqual([made.queueName, made.topicName, made.endpointName], [null, null, null]);
  assert.deepEqual([made.sourceMessageId, made.hops], [message.id, 2]);
  assert.deepEqual([made.callback, made.failureCallback], [null, null]);
  const failure = planCallbackMessage(message, message.callback!, ATTEMPT, true, 1000, countingIds());
  assert.equal(failure.kind, 'failureCallback');
});

test('a callback has the retry setting of the original: count, delay and jitter', () => {
  const original = targetFor({ retries: 7, retryDelay: '1000 * retried', retryJitter: 30 });
  assert.deepEqual([original.retriesMax, original.retryDelay, original.retryJitter], [7, '1000 * retried', 30]);
  assert.equal(targetFor({}).retriesMax, 3, "the tier's default, when the original asked for none");
  assert.equal(targetFor({ retries: 0 }).retriesMax, 0);
});

test('a retry setting of its own wins, each part by itself', () => {
  const own = targetFor({ retries: 7, retryDelay: '1000' }, { retries: 0 });
  assert.deepEqual([own.retriesMax, own.retryDelay], [0, '1000']);
  const delay = targetFor({ retries: 7, retryDelay: '1000' }, { retryDelay: '5' });
  assert.deepEqual([delay.retriesMax, delay.retryDelay], [7, '5']);
  const jitter = targetFor({ retries: 7, retryJitter: 30 }, { retryJitter: 0 });
  assert.deepEqual([jitter.retriesMax, jitter.retryJitter], [7, 0]);
});

test('method, headers, delay and timeout of a callback are its own and never those of the original', () => {
  const original = { method: 'PUT', delayMs: 9000, timeoutMs: 9000, forward: [['X-A', 'b']] } as const;
  const { method, headers, delayMs, timeoutMs } = targetFor(original);
  assert.deepEqual([method, headers, delayMs, timeoutMs], ['POST', [], 0, 30_000]);
  const message = source({
    callback: callbackTo(CALLBACK_URL, { method: 'PATCH', delayMs: 500, timeoutMs: 2000, forward: [['X-C', 'd']] }),
  });
  const made = planCallbackMessage(message, message.callback!, ATTEMPT, false, 1000, countingIds());
  assert.deepEqual([made.method, made.timeoutMs, made.dueAt], ['PATCH', 2000, ATTEMPT.endedAt + 500]);
  assert.deepEqual(made.headers.at(-1), ['X-C', 'd']);
});

test('header names are shown in one form, and a name such as __proto__ is just a name', () => {
  const map = headerMap([
    ['x-my-id', '1'],
    ['X-MY-ID', '2'],
    ['__proto__', '3'],
    ['constructor', '4'],
  ]);
  assert.deepEqual(Object.entries(map), [
    ['X-My-Id', ['1', '2']],
    ['__proto__', ['3']],
    ['Constructor', ['4']],
  ]);
  assert.equal(Object.getPrototypeOf(map), null);
});

test('a dead letter has the id of its message, with another prefix', () => {
  assert.equal(messageIdOf('dlq_7'), 'msg_7');
  assert.equal(messageIdOf(deadLetterId('msg_7')), 'msg_7');
});

test('half of the room is for retries of the callback, the rest for what it leads to', () => {
  const message = source({}, {});
  const made = (retriesMax: number, room: number) => {
    const target = { ...message.callback!, retriesMax };
    const planned = planCallbackMessage(message, target, ATTEMPT, false, room, countingIds());
    return [planned.retriesMax, planned.descendantsLeft];
  };
  assert.deepEqual(made(100, 1), [0, 0]);
  assert.deepEqual(made(100, 2), [0, 1]);
  assert.deepEqual(made(100, 7), [3, 3]);
  assert.deepEqual(made(2, 7), [2, 4]);
});

test('the report of a message with anything redacted has a redacted body, because it contains the original', () => {
  const redactionOf = (redaction: Message['redaction']) =>
    planCallbackMessage(source({ redaction }), source().callback!, ATTEMPT, false, 9, countingIds()).redaction;
  assert.equal(redactionOf(null), null);
  assert.deepEqual(redactionOf({ body: false, allHeaders: false, headers: ['x-a'] }), {
    body: true,
    allHeaders: false,
    headers: ['x-a'],
  });
});

test('a callback parks if the account does, whatever the message itself says', () => {
  const outages = [null, 'retry', 'park', 'parkAsAccount'] as const;
  for (const outage of outages) {
    const message = source({}, { outage });
    const expected = outage === 'parkAsAccount' ? 'parkAsAccount' : null;
    assert.equal(outageOfCallback(outage), expected, String(outage));
    for (const isFailure of [true, false]) {
      const planned = planCallbackMessage(message, message.callback!, ATTEMPT, isFailure, 1000, countingIds());
      assert.equal(planned.outage, expected, String(outage));
    }
  }
});
