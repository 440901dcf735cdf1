// How much one request makes is known before anything is made of it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUDGETS, eachMax, nodeMax } from '../../../src/rules/limits/budgets.ts';
import { requestSizeLimits, requestSizeProblem } from '../../../src/rules/publish/request-size.ts';
import type { Topic } from '../../../src/rules/publish/topic.ts';
import { callbackTo, request, settings } from '../given.ts';

const LIMITS = { messagesMax: 10, bytesMax: 1000 };

function topicOf(count: number): { readonly kind: 'topic'; readonly topic: Topic } {
  const endpoints = Array.from({ length: count }, (_, index) => ({ name: null, url: `https://a.example/${index}` }));
  const rest = { id: 'tpc_1', accountId: 'acc_1', name: 'news', defaults: [], createdAt: 0, updatedAt: 0, version: 1 };
  return { kind: 'topic', topic: { ...rest, endpoints } };
}

test('messages are counted over all that a request asks for', () => {
  const [one, five] = [request(), request({ destination: topicOf(5) })];
  assert.equal(requestSizeProblem([five, one, one, one, one, one], LIMITS), null);
  const over = requestSizeProblem([five, five, one], LIMITS);
  assert.equal(over?.problem.code, 'request_too_large');
  assert.match(over.problem.message, /would create 11 messages.*limit for one request is 10/);
});

test('a body counts once, headers of the delivery and of callbacks count for every message', () => {
  const body = new Uint8Array(600);
  assert.equal(requestSizeProblem([request({ destination: topicOf(10), body })], LIMITS), null);
  const forward = [['X-A', 'x'.repeat(40)]] as const;
  const headed = { destination: topicOf(10), body, settings: settings({ forward }) };
  assert.match(requestSizeProblem([request(headed)], LIMITS)!.problem.message, /would store 1030 bytes/);
  const reported = { destination: topicOf(10), callback: callbackTo('https://a.example/', { forward }) };
  assert.match(requestSizeProblem([request({ ...reported, body })], LIMITS)!.problem.message, /1210 bytes/);
});

test('bytes are counted over all messages: callbacks, the retry delay, and every text of a setting', () => {
  const two = { destination: topicOf(2), body: new Uint8Array(0) };
  const bytesOf = (said: Parameters<typeof request>[0]) => {
    const { message } = requestSizeProblem([request({ ...two, ...said })], { ...LIMITS, bytesMax: -1 })!.problem;
    return Number(/would store (\d+) bytes/.exec(message)![1]);
  };
  assert.equal(bytesOf({}), 0);
  const url = 'https://a.example/';
  assert.equal(bytesOf({ callback: callbackTo(url) }), 2 * url.length);
  assert.equal(bytesOf({ failureCallback: callbackTo(url) }), 2 * url.length);
  assert.equal(
    bytesOf({ callback: callbackTo(url), failureCallback: callbackTo(`${url}b`) }),
    2 * (2 * url.length + 1),
  );
  assert.equal(bytesOf({ settings: settings({ retryDelay: '1000 * retried' }) }), 2 * 14);
  assert.equal(bytesOf({ orderKey: 'key' }), 2 * 3);
  assert.equal(bytesOf({ labels: ['red', 'blue'] }), 2 * 7);
  const flow = { key: 'flow', limits: { parallelism: 1, rate: null, periodMs: 1000 } };
  assert.equal(bytesOf({ flow }), 2 * 4);
});

test('as many bytes as the limit are allowed, and one more is not', () => {
  const half = (bytes: number) => request({ body: new Uint8Array(bytes) });
  assert.equal(requestSizeProblem([half(500), half(500)], LIMITS), null);
  assert.match(
    requestSizeProblem([half(500), half(501)], LIMITS)!.problem.message,
    /would store 1001 bytes, .* limit for one request is 1,000 bytes$/,
  );
});

test('a single message is never too much by itself, and the first of several counts', () => {
  const large = request({ body: new Uint8Array(2000) });
  assert.equal(requestSizeProblem([large], LIMITS), null);
  assert.equal(requestSizeProblem([large, request()], LIMITS)!.problem.code, 'request_too_large');
  assert.equal(requestSizeProblem([], LIMITS), null);
});

test('a batch and a request as large as the settings allow are within the limits, whatever is set', () => {
  const limits = requestSizeLimits(100_000, 1024 ** 3);
  assert.ok(limits.messagesMax >= 100_000 && limits.bytesMax > 1024 ** 3);
  assert.deepEqual(requestSizeLimits(1000, 100 * 1024 ** 2), { messagesMax: 5000, bytesMax: 128 * 1024 ** 2 });
});

test('the most that one request makes fits into what an account may have waiting', () => {
  assert.equal(BUDGETS.inboxMessages.account, 'share');
  assert.ok(eachMax('plannedMessages') <= nodeMax('inboxMessages') / 2);
});
