import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallbackTarget, HeaderList, Message } from '../../../src/rules/delivery/message.ts';
import { decideSettlement } from '../../../src/rules/delivery/settle.ts';
import { attemptWeight, bodyWeight, eventWeight, messageWeight } from '../../../src/rules/reads/page-weight.ts';
import { answered, claimOf, countingIds, NOW, PREFIX } from '../given.ts';

const HEADERS: HeaderList = [
  ['X-A', '12'],
  ['X-Bc', '345'],
];
/** A name, its value with every character escaped, and punctuation. */
const HEADERS_WEIGHT = 3 + 2 * 2 + 8 + (4 + 2 * 3 + 8);

const plain: Message = { ...claimOf({}).message, headers: [], body: new Uint8Array(0), url: '' };
const FRAME = messageWeight(plain);

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

test('every part of a message that a caller can make long adds its length', () => {
  const more = (some: Partial<Message>) => messageWeight({ ...plain, ...some }) - FRAME;
  assert.ok(FRAME >= 500);
  assert.equal(more({ url: 'https://a.example/' }), 18);
  assert.equal(more({ headers: HEADERS }), HEADERS_WEIGHT);
  assert.equal(more({ callback }), 18 + HEADERS_WEIGHT);
  assert.equal(more({ failureCallback: callback }), 18 + HEADERS_WEIGHT);
  assert.equal(more({ failure: 'x'.repeat(9) }), 9);
  assert.equal(more({ retryDelay: '1000' }), 4);
  // Shown twice: as `labels`, and as text.
  assert.equal(more({ labels: ['ab', 'cde'] }), 2 * (2 + 3 + 3 + 3));
  assert.equal(more({ body: new Uint8Array(30).fill(97), url: 'x', failure: 'y' }), 40 + 2);
});

test('a body weighs as much as the longer of its forms: JSON text, or base64', () => {
  const text = (value: string) => bodyWeight(new TextEncoder().encode(value));
  assert.equal(text(''), 0);
  assert.equal(text('abc'), 4);
  assert.equal(text('abcd'), 6);
  assert.equal(text('"""'), 6);
  assert.equal(text('\\\\\\'), 6);
  assert.equal(text('\u001f\u001f'), 12);
  assert.equal(text('   '), 4, 'a blank is not escaped');
  assert.equal(bodyWeight(Uint8Array.of(0, 0x22, 0x61)), 9);
});

test('a body never weighs less than its JSON text takes', () => {
  for (let byte = 0; byte < 128; byte += 1) {
    const json = JSON.stringify(String.fromCharCode(byte).repeat(30));
    assert.ok(bodyWeight(new Uint8Array(30).fill(byte)) >= json.length - 2, `byte ${byte}`);
  }
});

const context = { headerPrefix: PREFIX, retentionMs: 1, newId: countingIds() };
const { attempt } = decideSettlement(claimOf({}), { outcome: answered(200), startedAt: NOW, endedAt: NOW }, context);

test('an attempt weighs what its response does, and an event twice its message and its attempt', () => {
  const empty = attemptWeight(attempt);
  assert.equal(empty, FRAME);
  assert.equal(attemptWeight({ ...attempt, responseHeaders: HEADERS }) - empty, HEADERS_WEIGHT);
  assert.equal(attemptWeight({ ...attempt, responseBody: new Uint8Array(3).fill(97), error: 'gone' }) - empty, 4 + 4);
  const event = { message: { ...plain, url: 'x' }, at: NOW } as unknown as Parameters<typeof eventWeight>[0];
  assert.equal(eventWeight({ ...event, attempt: null } as typeof event), 2 * (FRAME + 1));
  assert.equal(eventWeight({ ...event, attempt } as typeof event), 2 * (FRAME + 1 + empty));
});
