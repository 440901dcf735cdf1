// Which messages a filter selects, key by key.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Message } from '../../../src/rules/delivery/message.ts';
import {
  Matcher,
  type MessageFilter,
  SHOWN_STATES,
  StateTally,
  shownState,
} from '../../../src/rules/reads/message-filter.ts';
import { claimOf } from '../given.ts';

const MESSAGE: Message = {
  ...claimOf({}).message,
  id: 'msg_1',
  state: 'failed',
  url: 'https://h.example/a/b?c=d',
  host: 'h.example:443',
  queueName: 'orders',
  topicName: 'news',
  scheduleId: 'scd_1',
  sourceMessageId: 'msg_0',
  labels: ['red', 'Blue'],
  flow: { key: 'shop', limits: { parallelism: 1, rate: null, periodMs: 1000 } },
  callerIp: '192.0.2.1',
  attempts: 2,
  lastStatus: 503,
  failure: 'the destination returned 503',
  createdAt: 1000,
  endedAt: 2000,
  body: new TextEncoder().encode('Größe: 42 Boxes'),
};

const isMeant = (filter: MessageFilter, some: Partial<Message> = {}) =>
  new Matcher(filter).matches({ ...MESSAGE, ...some });

const KEYS: readonly (readonly [MessageFilter, MessageFilter])[] = [
  [{ messageIds: ['msg_2', 'msg_1'] }, { messageIds: ['msg_2'] }],
  [{ states: ['ACTIVE', 'FAILED'] }, { states: ['ACTIVE'] }],
  [{ urls: ['https://h.example/a/b?c=d'] }, { urls: ['https://h.example/a/b'] }],
  [{ hosts: ['h.example'] }, { hosts: ['example'] }],
  [{ hosts: ['h.example:443'] }, { hosts: ['h.example:80'] }],
  [{ paths: ['/a/b'] }, { paths: ['/a'] }],
  [{ queueNames: ['orders'] }, { queueNames: ['other'] }],
  [{ topicNames: ['news'] }, { topicNames: ['other'] }],
  [{ scheduleIds: ['scd_1'] }, { scheduleIds: ['scd_2'] }],
  [{ kinds: ['publish'] }, { kinds: ['schedule', 'callback'] }],
  [{ sourceMessageIds: ['msg_0'] }, { sourceMessageIds: ['msg_1'] }],
  [{ labels: ['green', 'Blue'] }, { labels: ['blue'] }],
  [{ flowKeys: ['shop'] }, { flowKeys: ['other'] }],
  [{ callerIps: ['192.0.2.1'] }, { callerIps: ['192.0.2.2'] }],
  [{ statuses: [500, 503] }, { statuses: [0] }],
  [{ failures: ['the destination returned 503'] }, { failures: ['the destination returned 50'] }],
  [{ isRetried: false }, { isRetried: true }],
  [{ fromAt: 1000 }, { fromAt: 1001 }],
  [{ toAt: 1000 }, { toAt: 999 }],
  [{ endedToAt: 2000 }, { endedToAt: 1999 }],
  [{ text: 'BOXES' }, { text: 'boxer' }],
];

test('each key selects the messages with one of its values', () => {
  for (const [meant, other] of KEYS) {
    assert.equal(isMeant(meant), true, JSON.stringify(meant));
    assert.equal(isMeant(other), false, JSON.stringify(other));
  }
  assert.equal(isMeant({}), true);
});

test('a message must match every key', () => {
  const all = Object.assign({}, ...KEYS.map(([meant]) => meant)) as MessageFilter;
  assert.equal(isMeant(all), true);
  for (const [, other] of KEYS) assert.equal(isMeant({ ...all, ...other }), false, JSON.stringify(other));
});

test('a message without a value matches no filter for it', () => {
  const without: readonly (readonly [MessageFilter, Partial<Message>])[] = [
    [{ queueNames: ['orders'] }, { queueName: null }],
    [{ flowKeys: ['shop'] }, { flow: null }],
    [{ labels: ['red'] }, { labels: [] }],
    [{ endedToAt: 9000 }, { endedAt: null }],
    [{ paths: [''] }, { url: 'https://h.example/' }],
    [{ paths: ['/a/b'] }, { url: '/a/b' }],
  ];
  for (const [filter, some] of without) assert.equal(isMeant(filter, some), false, JSON.stringify(filter));
});

test('status 0 selects messages that were tried and got no response', () => {
  assert.equal(isMeant({ statuses: [0] }, { lastStatus: null, attempts: 1 }), true);
  assert.equal(isMeant({ statuses: [0] }, { lastStatus: null, attempts: 0 }), false);
  assert.equal(isMeant({ statuses: [503] }, { lastStatus: null, attempts: 1 }), false);
});

test('a dead letter that was sent again is told from one that was not, unless both are wanted', () => {
  const again = { retriedAs: 'msg_9' };
  assert.equal(isMeant({ isRetried: true }, again), true);
  assert.equal(isMeant({ isRetried: false }, again), false);
  assert.equal(isMeant({ isRetried: 'any' }, again), true);
  assert.equal(isMeant({ isRetried: 'any' }), true);
});

test('a text is found in the id, the URL, the names, the labels and the body, whatever the case of its letters', () => {
  for (const text of ['MSG_1', 'a/B?c', 'ORDER', 'News', 'scd_', 'RED', 'blue', 'GRÖß']) {
    assert.equal(isMeant({ text }), true, text);
  }
  const bare = { queueName: null, topicName: null, scheduleId: null, labels: [] };
  assert.equal(isMeant({ text: 'boxes' }, bare), true);
  assert.equal(isMeant({ text: 'orders' }, bare), false);
});

test('no search finds a redacted body, but the message is found by what is shown', () => {
  const redaction = { body: true, allHeaders: false, headers: [] };
  assert.equal(isMeant({ text: 'boxes' }, { redaction }), false);
  assert.equal(isMeant({ text: 'orders' }, { redaction }), true);
  assert.equal(isMeant({ text: 'boxes' }, { redaction: { ...redaction, body: false } }), true);
});

test('a text is found in a long body, also where two pieces of it meet', () => {
  const PIECE = 256 * 1024;
  for (const at of [0, PIECE - 6, PIECE - 3, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE - 2, 3 * PIECE - 6]) {
    const body = Buffer.alloc(3 * PIECE, 'x');
    body.write('nädle', at);
    assert.equal(isMeant({ text: 'nädle' }, { body }), true, `at ${at}`);
    assert.equal(isMeant({ text: 'nadle' }, { body }), false);
  }
  // The piece ends inside a character.
  assert.equal(isMeant({ text: 'ä' }, { body: Buffer.alloc(PIECE + 1, 'xä') }), true);
  assert.equal(isMeant({ text: 'x' }, { body: new Uint8Array(0), url: '', labels: [] }), false);
});

test('a half character at the end of a body is decoded as one that nobody wrote', () => {
  for (const length of [2, 256 * 1024]) {
    const body = Buffer.alloc(length, 'x');
    body[length - 1] = 0xc3;
    assert.equal(isMeant({ text: '\ufffd' }, { body }), true);
  }
});

test('without the body, a message may match if all else does', () => {
  const matcher = new Matcher({ text: 'nowhere', queueNames: ['orders'] });
  assert.equal(matcher.hasText, true);
  assert.equal(matcher.mayMatch(MESSAGE), true);
  assert.equal(matcher.mayMatch({ ...MESSAGE, queueName: 'other' }), false);
  assert.equal(matcher.matches(MESSAGE), false);
  assert.equal(new Matcher({}).hasText, false);
});

test('the state that is shown tells a first attempt from a retry, and an attempt whose message shall be cancelled', () => {
  const shown = (state: Message['state'], attempts = 0, cancelRequestedAt?: number) =>
    shownState({ state, attempts, ...(cancelRequestedAt !== undefined && { cancelRequestedAt }) });
  assert.equal(shown('pending'), 'CREATED');
  assert.equal(shown('pending', 1), 'RETRY');
  assert.equal(shown('claimed', 1), 'ACTIVE');
  assert.equal(shown('claimed', 1, 0), 'CANCEL_REQUESTED');
  assert.equal(shown('held'), 'HELD');
  assert.equal(shown('delivered', 1), 'DELIVERED');
  assert.equal(shown('failed', 1), 'FAILED');
  assert.equal(shown('cancelled', 1, 5), 'CANCELLED');
});

test('a count adds up messages and pieces, by state', () => {
  const [one, all] = [new StateTally(), new StateTally()];
  one.add(MESSAGE);
  one.add(MESSAGE);
  one.add({ state: 'pending', attempts: 0 });
  const piece = one.piece(7, { rows: 3, bytes: 0 });
  assert.deepEqual([piece.count, piece.cursor, piece.looked], [3, 7, { rows: 3, bytes: 0 }]);
  all.addPiece(piece);
  all.addPiece(piece);
  assert.equal(all.count, 6);
  assert.deepEqual(
    SHOWN_STATES.filter((state) => all.states[state] > 0).map((state) => [state, all.states[state]]),
    [
      ['CREATED', 2],
      ['FAILED', 4],
    ],
  );
});
