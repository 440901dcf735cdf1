import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { nextRetryDelayMs, retryAfterMs } from '../../../src/rules/delivery/retry-after.ts';

const NOW_MS = Date.UTC(2026, 0, 15, 12, 0, 0);
const NOW_SECONDS = NOW_MS / 1_000;
const DAY_MS = 86_400_000;

const after = (name: string, value: string) => retryAfterMs([[name, value]], NOW_MS);

test('Retry-After is read as seconds, a date or a duration; a time that is over asks for nothing', () => {
  const table: [string, number | null][] = [
    ['0', 0],
    ['120', 120_000],
    [' 120 ', 120_000],
    ['1.5', 1_500],
    ['0.0001', 1],
    ['-5', null],
    ['1m30s', 90_000],
    ['250ms', 250],
    ['Thu, 15 Jan 2026 12:00:30 GMT', 30_000],
    ['Thu, 15 Jan 2026 12:00:60 GMT', 60_000],
    ['Thu, 15 Jan 2026 11:59:00 GMT', null],
    ['Thu, 15 Jan 2026 12:00:00 GMT', null],
    [' Thu, 15 Jan 2026 12:00:30 GMT ', 30_000],
    ['Wednesday, 15-Jan-76 12:00:30 GMT', DAY_MS],
    ['Friday, 15-Jan-77 12:00:30 GMT', null],
    ['Thursday, 15-Jan-26 12:00:30 GMT', 30_000],
    ['Sunday, 06-Nov-94 08:49:37 GMT', null],
    ['Thu Jan 15 12:00:30 2026', 30_000],
    ['Sun Feb  1 00:00:00 2026', DAY_MS],
    ['Tue Jan  6 00:00:00 2026', null],
  ];
  for (const [value, ms] of table) assert.equal(after('Retry-After', value), ms, value);
});

test('a value that cannot be read is ignored', () => {
  const values = ['', 'soon', '1e3', '--5', '+5', '1, 2', '5 apples', 'Jan 15 2026', '2026-01-15T12:00:30Z'];
  values.push('Thu, 15 Foo 2026 12:00:30 GMT', 'Fri, 30 Feb 2026 12:00:30 GMT', 'Thu, 15 Jan 2026 25:00:30 GMT');
  values.push('Thu, 00 Jan 2026 12:00:30 GMT', 'Thu, 15 Jan 2026 12:00:30 CET', 'Thu, 15 Jan 2026 12:60:30 GMT');
  values.push('Thu, 15 Jan 2026 12:00:61 GMT');
  for (const value of values) assert.equal(after('Retry-After', value), null, value);
});

test('no wait is longer than a day', () => {
  for (const value of ['86401', '9'.repeat(400), '2d', 'Thu, 15 Jan 2099 12:00:30 GMT']) {
    assert.equal(after('Retry-After', value), DAY_MS, value);
  }
  assert.equal(after('Retry-After', String(NOW_SECONDS + 5)), DAY_MS);
});

test('a rate limit reset is also read as an instant', () => {
  for (const name of ['X-RateLimit-Reset', 'x-ratelimit-reset-requests', 'X-RATELIMIT-RESET-TOKENS']) {
    assert.equal(after(name, '60'), 60_000);
    assert.equal(after(name, '6m0s'), 360_000);
    assert.equal(after(name, String(NOW_SECONDS + 60)), 60_000);
    assert.equal(after(name, String(NOW_SECONDS + 0.5)), 500);
    assert.equal(after(name, String(NOW_SECONDS - 60)), null);
    assert.equal(after(name, String(NOW_MS + 60_000)), 60_000);
    assert.equal(after(name, 'Thu, 15 Jan 2026 12:00:30 GMT'), 30_000);
    assert.equal(after(name, '1000000000'), DAY_MS);
  }
});

test('other headers say nothing', () => {
  assert.equal(retryAfterMs([], NOW_MS), null);
  assert.equal(after('X-Retry-After', '5'), null);
  assert.equal(after('RateLimit-Reset', '5'), null);
});

test('of several waits the latest wins, and what cannot be read does not count', () => {
  const headers = [
    ['Retry-After', '5'],
    ['Date', '9'],
    ['X-RateLimit-Reset', '60'],
    ['X-RateLimit-Reset-Tokens', 'never'],
    ['retry-after', '30'],
  ] as const;
  assert.equal(retryAfterMs(headers, NOW_MS), 60_000);
  assert.equal(
    retryAfterMs(
      [
        ['Retry-After', '0'],
        ['X-RateLimit-Reset', '7'],
      ],
      NOW_MS,
    ),
    7_000,
  );
});

test('every date is read back as the second it was written for', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: DAY_MS / 1_000 }), fc.integer({ min: 0, max: 4e9 }), (wait, nowSeconds) => {
      const text = new Date((nowSeconds + wait) * 1_000).toUTCString();
      assert.equal(retryAfterMs([['Retry-After', text]], nowSeconds * 1_000), wait * 1_000);
    }),
    { numRuns: 500 },
  );
});

test('whatever the answer says, the wait is null or a whole number within a day', () => {
  const name = fc.constantFrom('Retry-After', 'X-RateLimit-Reset', 'X-RateLimit-Reset-Requests', 'Date');
  const value = fc.oneof(
    fc.string(),
    fc.string({ unit: fc.constantFrom(...'0123456789.-smhd :,GMTJan') }),
    fc.double().map(String),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value)), (headers) => {
      const ms = retryAfterMs(headers, NOW_MS);
      assert.ok(ms === null || (Number.isInteger(ms) && ms >= 0 && ms <= DAY_MS));
    }),
    { numRuns: 1_000 },
  );
});

test('the response can only delay the next attempt, unless it says 0', () => {
  assert.equal(nextRetryDelayMs({ backoffMs: 7_390, retryAfterMs: null }), 7_390);
  assert.equal(nextRetryDelayMs({ backoffMs: 7_390, retryAfterMs: 60_000 }), 60_000);
  assert.equal(nextRetryDelayMs({ backoffMs: 7_390, retryAfterMs: 1_000 }), 7_390);
  assert.equal(nextRetryDelayMs({ backoffMs: 7_390, retryAfterMs: 1 }), 7_390);
  assert.equal(nextRetryDelayMs({ backoffMs: 7_390, retryAfterMs: 0 }), 0);
  assert.equal(nextRetryDelayMs({ backoffMs: 0, retryAfterMs: 5 }), 5);
});

test('the reset of a rate limit is an instant in milliseconds from the year 2001 on', () => {
  assert.equal(after('X-RateLimit-Reset', '1000000000000'), null, 'that is over');
  assert.equal(after('X-RateLimit-Reset', String(NOW_MS + 5000)), 5000);
});
