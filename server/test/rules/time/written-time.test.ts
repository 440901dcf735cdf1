// Times as callers write them, and the mistakes that are told.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseInstant, parseSeconds } from '../../../src/rules/time/written-time.ts';

const NOON = Date.UTC(2026, 0, 31, 12);

test('an instant is milliseconds since 1970 or a date', () => {
  assert.equal(parseInstant(String(NOON)), NOON);
  assert.equal(parseInstant('0'), 0);
  assert.equal(parseInstant('2026-01-31T12:00:00Z'), NOON);
  assert.equal(parseInstant('2026-01-31T13:00:00.000+01:00'), NOON);
  assert.equal(parseInstant('2026-01-31'), Date.UTC(2026, 0, 31));
  assert.equal(parseInstant('2024-02-29'), Date.UTC(2024, 1, 29));
});

const problemOf = (parsed: number | object) => (parsed as { problem?: string }).problem ?? '';

test('seconds taken for milliseconds are refused, with the value that was probably meant', () => {
  assert.match(problemOf(parseInstant('1790000000')), /looks like seconds; .*1790000000000$/);
  assert.match(problemOf(parseInstant('1790000000.5')), /1790000000000$/);
  assert.match(problemOf(parseInstant(String(1e11 - 1))), /looks like seconds/);
  assert.equal(parseInstant(String(1e11)), 1e11);
  assert.match(problemOf(parseInstant(String(1e9))), /looks like seconds/);
  assert.equal(parseInstant(String(1e9 - 1)), 1e9 - 1);
});

test('a day that no month has is refused by its name', () => {
  for (const day of ['2026-02-30', '2026-02-29', '2026-04-31', '2026-02-30T10:00:00Z']) {
    assert.equal(problemOf(parseInstant(day)), `there is no day ${day.slice(0, 10)}`);
  }
  for (const text of ['2026-13-01', '2026-00-10', '2026-01-32', 'tomorrow', '2026-01-31 or so', '']) {
    assert.match(problemOf(parseInstant(text)), /must be milliseconds since 1970, or a date/, text);
  }
});

test('milliseconds taken for seconds are refused: they would be after the year 5000', () => {
  assert.deepEqual(parseSeconds('1790000000.5'), { value: 1_790_000_000_500 });
  assert.match(problemOf(parseSeconds(String(NOON))), /looks like milliseconds/);
  assert.deepEqual(parseSeconds('1790000000.0001'), { value: 1_790_000_000_001 }, 'never before the given time');
  const year5000 = Date.UTC(5000, 0) / 1000;
  assert.deepEqual(parseSeconds(String(year5000 - 1)), { value: (year5000 - 1) * 1000 });
  assert.match(problemOf(parseSeconds(String(year5000))), /before the year 5000/);
  assert.match(problemOf(parseSeconds('-1')), /in seconds/);
});
