// The limits of a cron expression: its length, the blanks around its parts, and the edges of the search for the next run.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CRON_LENGTH_MAX, type Cron, nextCronTime, parseCron } from '../../../src/rules/schedules/cron.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

function cronOf(text: string): Cron {
  const cron = parseCron(text);
  if ('problem' in cron) assert.fail(`${text}: ${cron.problem}`);
  return cron;
}

const next = (text: string, after: string) => new Date(nextCronTime(cronOf(text), Date.parse(after))!).toISOString();

test('an expression may have 512 characters, with the blanks around it', () => {
  assert.equal(CRON_LENGTH_MAX, 512);
  assert.deepEqual(cronOf('0 0 * * *'.padEnd(512)), cronOf('0 0 * * *'));
  assert.deepEqual(parseCron('0 0 * * *'.padEnd(513)), {
    problem: 'the cron expression has 513 characters; the limit is 512',
  });
});

test('blanks may stand before the zone and behind it', () => {
  const daily = cronOf('CRON_TZ=Asia/Tokyo 0 0 * * *');
  assert.equal(daily.timeZone, 'Asia/Tokyo');
  for (const text of [' \tCRON_TZ=Asia/Tokyo 0 0 * * *', 'TZ=Asia/Tokyo \t @daily\n', 'TZ=Asia/Tokyo @DAILY']) {
    assert.deepEqual(cronOf(text), daily, text);
  }
});

test('the next run is found before 1970 as well', () => {
  assert.equal(nextCronTime(cronOf('0 0 * * *'), -2 * DAY_MS), -DAY_MS);
  assert.equal(nextCronTime(cronOf('30 12 * * *'), -2 * DAY_MS), -1.5 * DAY_MS + 30 * MINUTE_MS);
  assert.equal(nextCronTime(cronOf('CRON_TZ=Asia/Tokyo 0 0 * * *'), -2 * DAY_MS), -2 * DAY_MS + 15 * 60 * MINUTE_MS);
});

test('a time at the very instant at which the clock goes on after a change runs once', () => {
  const berlin = 'CRON_TZ=Europe/Berlin';
  assert.equal(next(`${berlin} 0 3 * * *`, '2026-03-29T00:59Z'), '2026-03-29T01:00:00.000Z');
  assert.equal(next(`${berlin} 0 3 * * *`, '2026-03-29T01:00Z'), '2026-03-30T01:00:00.000Z');
  assert.equal(next(`${berlin} 59 2 * * *`, '2026-03-29T00:59Z'), '2026-03-29T01:00:00.000Z');
});

test('a run that is months away is found over the changes of the clock before it, to the minute', () => {
  const york = 'CRON_TZ=America/New_York';
  assert.equal(next(`${york} 30 2 8 3 *`, '2025-06-01T00:00Z'), '2026-03-08T07:00:00.000Z');
  assert.equal(next(`${york} 30 1 1 11 *`, '2026-01-01T00:00Z'), '2026-11-01T05:30:00.000Z');
  assert.equal(next(`${york} 0 0 31 12 *`, '2026-01-01T06:00Z'), '2026-12-31T05:00:00.000Z');
  assert.equal(next(`${york} 0 0 1 7 *`, '2026-01-01T06:00Z'), '2026-07-01T04:00:00.000Z');
});

test('a time is not repeated for a day after the clock was put back, and not held back after that', () => {
  const cron = 'CRON_TZ=Europe/Berlin 30 2 * * *';
  for (const after of ['2026-10-25T00:30Z', '2026-10-25T01:00Z', '2026-10-25T01:29:59.999Z', '2026-10-26T00:59Z']) {
    assert.equal(next(cron, after), '2026-10-26T01:30:00.000Z', after);
  }
  assert.equal(next(cron, '2026-10-26T01:30Z'), '2026-10-27T01:30:00.000Z');
});
