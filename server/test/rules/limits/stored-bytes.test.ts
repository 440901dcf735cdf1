import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallbackTarget, HeaderList } from '../../../src/rules/delivery/message.ts';
import {
  bytesBesideBody,
  bytesOfAll,
  bytesOfAttempt,
  bytesOfJob,
  bytesOfLine,
  bytesOfSchedule,
  bytesOfTopic,
} from '../../../src/rules/limits/stored-bytes.ts';

const HEADERS: HeaderList = [['X-A', '12345']];
const callback: CallbackTarget = {
  url: 'https://c.example/',
  method: 'POST',
  headers: HEADERS,
  retriesMax: 0,
  retryDelay: null,
  retryJitter: null,
  delayMs: 0,
  timeoutMs: 1,
};
const message = {
  url: 'https://a.example/',
  headers: [],
  callback: null,
  failureCallback: null,
  labels: [],
  debounce: null,
  body: new Uint8Array(100),
};

test('a message is its row and all that its caller gave', () => {
  assert.equal(bytesBesideBody(message), 1024 + 18);
  assert.equal(bytesBesideBody({ ...message, headers: HEADERS }), 1024 + 18 + 8);
  assert.equal(bytesBesideBody({ ...message, callback }), 1024 + 18 + 18 + 8);
  assert.equal(bytesBesideBody({ ...message, failureCallback: callback }), 1024 + 18 + 18 + 8);
  assert.equal(bytesBesideBody({ ...message, labels: ['ab', 'c'] }), 1024 + 18 + 2 * 64 + 3);
});

test('a body that several messages share counts once', () => {
  assert.equal(bytesOfAll([]), 0);
  assert.equal(bytesOfAll([message]), 1042 + 100);
  assert.equal(bytesOfAll([message, message, { ...message, url: '' }]), 2 * 1042 + 1024 + 100);
  assert.equal(bytesOfAll([message, { ...message, body: new Uint8Array(7) }]), 2 * 1042 + 107);
  const debounced = { ...message, debounce: { key: 'k', latestAt: 0, count: 1 } };
  assert.equal(bytesOfAll([debounced, debounced, message]), 3 * (1042 + 100), 'each may store it for itself');
});

test('an attempt counts with its response', () => {
  assert.equal(bytesOfAttempt({ responseHeaders: [], responseBody: new Uint8Array(0) }), 256);
  assert.equal(bytesOfAttempt({ responseHeaders: HEADERS, responseBody: new Uint8Array(50) }), 256 + 8 + 50);
});

test('what a person sets up counts with its names, its headers and its body', () => {
  const endpoint = { url: 'https://a.example/', name: null };
  const topic = { name: 'news', endpoints: [endpoint, { ...endpoint, name: 'one' }], defaults: HEADERS };
  assert.equal(bytesOfTopic(topic as Parameters<typeof bytesOfTopic>[0]), 1024 + 4 + 8 + 2 * 18 + 3);
  const schedule = { destination: 'news', headers: HEADERS, body: new Uint8Array(6) };
  assert.equal(bytesOfSchedule(schedule), 1024 + 4 + 8 + 6);
  assert.equal(bytesOfLine('orders'), 1024 + 6);
  assert.equal(bytesOfJob({ filter: { urls: ['a'] } }), 1024 + '{"urls":["a"]}'.length);
});
