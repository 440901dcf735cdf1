// When a schedule ticks: `@every` beside the cron expressions.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  nextTickAt,
  nextTicks,
  parseTickTimes,
  type TickTimes,
  zoneOf,
} from '../../../src/rules/schedules/tick-times.ts';

const SECOND = 1000;
const DAY = 86_400 * SECOND;
const CREATED = Date.parse('2026-01-01T12:00:00.700Z');

function timesOf(text: string): TickTimes {
  const times = parseTickTimes(text);
  if ('problem' in times) assert.fail(`${text}: ${times.problem}`);
  return times;
}

test('@every takes a duration of whole seconds', () => {
  const table: [string, number][] = [
    ['@every 1s', SECOND],
    ['@every 10s', 10 * SECOND],
    [' @EVERY\t1h30m10s ', 5410 * SECOND],
    ['@every 90', 90 * SECOND],
    ['@every 1.5m', 90 * SECOND],
    ['@every 365d', 365 * DAY],
  ];
  for (const [text, everyMs] of table) assert.deepEqual(timesOf(text), { everyMs }, text);
});

test('what is wrong with @every is said', () => {
  const whole = 'must be whole seconds, from 1s to 365d';
  const table: [string, string][] = [
    ['@every', '@every needs a duration, such as @every 10s'],
    ['@every  ', '@every needs a duration, such as @every 10s'],
    ['@every soon', '@every "soon": must be a duration such as 10s, 5m or 1h30m'],
    ['@every -1s', '@every "-1s": must be a duration such as 10s, 5m or 1h30m'],
    ['@every 0s', `@every "0s": ${whole}`],
    ['@every 999ms', `@every "999ms": ${whole}`],
    ['@every 1500ms', `@every "1500ms": ${whole}`],
    ['@every 366d', `@every "366d": ${whole}`],
    ['@every 99999999999999999999d', `@every "99999999999999999999d": ${whole}`],
    ['CRON_TZ=Europe/Berlin @every 10s', '@every counts the time that passes, and has no time zone; leave it out'],
    [
      '@everyday',
      '"@everyday" is not one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually, @every 10s',
    ],
  ];
  for (const [text, problem] of table) assert.deepEqual(parseTickTimes(text), { problem }, text);
  assert.match(JSON.stringify(parseTickTimes(`@every ${'1s'.repeat(300)}`)), /607 characters; the limit is 512/);
});

test('everything else is a cron expression', () => {
  assert.equal(zoneOf(timesOf('CRON_TZ=Asia/Tokyo 0 9 * * *')), 'Asia/Tokyo');
  assert.equal(zoneOf(timesOf('@every 10s')), 'UTC');
  assert.equal(nextTickAt(timesOf('*/5 * * * * *'), CREATED, CREATED), Date.parse('2026-01-01T12:00:05Z'));
});

test('the first tick comes one interval after the creation, to the second', () => {
  const first = nextTickAt(timesOf('@every 10s'), CREATED, CREATED);
  assert.equal(first, Date.parse('2026-01-01T12:00:10Z'));
});

test('the ticks lie on one grid, wherever they are looked for from: nothing drifts', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 365 * 86_400 }),
      fc.integer({ min: -400 * DAY, max: 400 * DAY }),
      (seconds, distanceMs) => {
        const times = { everyMs: seconds * SECOND };
        const at = CREATED + distanceMs;
        const next = nextTickAt(times, CREATED, at)!;
        const fromAt = CREATED - 700;
        assert.ok(next > at && next - at <= times.everyMs, 'the first after it');
        assert.equal(Math.abs((next - fromAt) % times.everyMs), 0, 'on the grid');
      },
    ),
  );
});

test('the next ticks follow each other, and end where there are no more', () => {
  assert.deepEqual(
    nextTicks(timesOf('@every 1m'), CREATED, CREATED, 3).map((at) => (at - CREATED + 700) / SECOND),
    [60, 120, 180],
  );
  const never = { ...timesOf('0 0 1 * *'), daysOfMonth: [30], months: [2] };
  assert.deepEqual(nextTicks(never, CREATED, CREATED, 3), []);
});
