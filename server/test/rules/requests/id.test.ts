import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type IdPrefix, idMaker } from '../../../src/rules/requests/id.ts';

const PREFIXES: readonly IdPrefix[] = ['msg', 'tpc', 'acc', 'tok', 'nod', 'err'];
/** The ten characters of time hold 50 bits: until the year 37648. */
const TIME_MAX = 2 ** 50 - 1;

const formatId = (prefix: IdPrefix, nowMs: number, random: Uint8Array) =>
  idMaker(
    () => nowMs,
    () => random,
  )(prefix);

const prefix = fc.constantFrom(...PREFIXES);
const timeMs = fc.integer({ min: 0, max: TIME_MAX });
const random = fc.uint8Array({ minLength: 16, maxLength: 16 });

test('an id is its prefix and 26 characters that cannot be mistaken for each other', () => {
  fc.assert(
    fc.property(prefix, timeMs, random, (prefix, nowMs, bytes) => {
      assert.match(formatId(prefix, nowMs, bytes), new RegExp(`^${prefix}_[0-9A-HJKMNP-TV-Z]{26}$`));
    }),
  );
});

test('ids are stable: the same time and bytes always give the same text', () => {
  assert.equal(formatId('msg', 0, new Uint8Array(16)), `msg_${'0'.repeat(26)}`);
  assert.equal(formatId('msg', TIME_MAX, new Uint8Array(16).fill(255)), `msg_${'Z'.repeat(26)}`);
  assert.equal(formatId('tpc', 1_469_918_176_385, new Uint8Array(16).fill(1)), `tpc_01ARYZ6S41${'1'.repeat(16)}`);
});

test('ids sort by the time they were made, whatever their random part', () => {
  fc.assert(
    fc.property(prefix, timeMs, timeMs, random, random, (prefix, one, other, bytes, otherBytes) => {
      fc.pre(one !== other);
      assert.equal(formatId(prefix, one, bytes) < formatId(prefix, other, otherBytes), one < other);
    }),
    { numRuns: 1_000 },
  );
});

test('ids of neighbouring milliseconds sort, also across a carry', () => {
  for (const nowMs of [31, 1_023, 32_767, 2 ** 40 - 1, 1_767_225_599_999]) {
    assert.ok(formatId('msg', nowMs, new Uint8Array(16).fill(31)) < formatId('msg', nowMs + 1, new Uint8Array(16)));
  }
});

test('every random byte counts with five bits', () => {
  const seen = new Set<string>();
  for (let place = 0; place < 16; place += 1) {
    for (let bits = 1; bits < 32; bits += 1)
      seen.add(formatId('msg', 0, new Uint8Array(16).fill(bits, place, place + 1)));
  }
  assert.equal(seen.size, 16 * 31);
});

test('a maker takes time and sixteen fresh random bytes for each id', () => {
  let nowMs = 1_000;
  const lengths: number[] = [];
  const newId = idMaker(
    () => nowMs,
    (length) => {
      lengths.push(length);
      return new Uint8Array(length).fill(lengths.length);
    },
  );
  const first = newId('msg');
  const second = newId('msg');
  nowMs = 2_000;
  const third = newId('msg');
  assert.deepEqual(lengths, [16, 16, 16]);
  assert.equal(first, formatId('msg', 1_000, new Uint8Array(16).fill(1)));
  assert.equal(second, formatId('msg', 1_000, new Uint8Array(16).fill(2)));
  assert.ok(first !== second && second < third);
});

test('ids made within one millisecond differ', () => {
  const newId = idMaker(
    () => 1_767_225_600_000,
    (length) => crypto.getRandomValues(new Uint8Array(length)),
  );
  assert.equal(new Set(Array.from({ length: 20_000 }, () => newId('msg'))).size, 20_000);
});
