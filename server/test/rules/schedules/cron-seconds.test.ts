// Cron expressions of six fields, with the second first: what is written, the next runs, and when the clocks change.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cron as Croner } from 'croner';
import fc from 'fast-check';
import { type Cron, nextCronTime, parseCron } from '../../../src/rules/schedules/cron.ts';
import { offsetMsAt } from '../../../src/rules/time/time-zone.ts';
import { processorMs } from '../../support/processor-time.ts';

const SECOND_MS = 1000;

function cronOf(text: string): Cron {
  const cron = parseCron(text);
  if ('problem' in cron) assert.fail(`${text}: ${cron.problem}`);
  return cron;
}

function runs(text: string, after: string, count: number): string[] {
  const cron = cronOf(text);
  const found: string[] = [];
  for (let at = Date.parse(after); found.length < count; ) {
    at = nextCronTime(cron, at)!;
    found.push(new Date(at).toISOString().slice(0, 19));
  }
  return found;
}

test('the first of six fields is the second', () => {
  assert.partialDeepStrictEqual(cronOf('5 4 3 2 1 0'), {
    seconds: [5],
    minutes: [4],
    hours: [3],
    daysOfMonth: [2],
    months: [1],
    weekdays: [0],
    isInterval: false,
  });
  assert.partialDeepStrictEqual(cronOf('*/20 0 0 * * *'), { seconds: [0, 20, 40], isInterval: true });
  assert.deepEqual(cronOf('0 30 2 * * 1-5'), cronOf('30 2 * * 1-5'));
});

test('a problem names the field', () => {
  const table: [string, string][] = [
    ['60 * * * * *', 'second "60": must be 0 to 59'],
    ['*/61 * * * * *', 'second "*/61": the step must be 1 to 60'],
    ['0 60 * * * *', 'minute "60": must be 0 to 59'],
    ['0 0 0 31 feb *', 'can never run: day-of-month "31" does not exist in month "feb"'],
  ];
  for (const [text, problem] of table) assert.deepEqual(parseCron(text), { problem }, text);
});

test('the next run is strictly later, to the second', () => {
  assert.deepEqual(runs('*/15 * * * * *', '2026-01-01T00:00:00Z', 5), [
    '2026-01-01T00:00:15',
    '2026-01-01T00:00:30',
    '2026-01-01T00:00:45',
    '2026-01-01T00:01:00',
    '2026-01-01T00:01:15',
  ]);
  assert.deepEqual(runs('* * * * * *', '2026-12-31T23:59:58.999Z', 2), ['2026-12-31T23:59:59', '2027-01-01T00:00:00']);
  assert.deepEqual(runs('59 59 23 * * *', '2026-01-01T23:59:59Z', 1), ['2026-01-02T23:59:59']);
  assert.deepEqual(runs('10,50 5 * * * *', '2026-01-01T00:05:10Z', 2), ['2026-01-01T00:05:50', '2026-01-01T01:05:10']);
});

test('with particular seconds a skipped time runs once, right after the change, and a repeated one only the first time', () => {
  // 2026-03-29 02:00 → 03:00 at 01:00 UTC; 2026-10-25 03:00 → 02:00 at 01:00 UTC.
  const berlin = 'CRON_TZ=Europe/Berlin';
  assert.deepEqual(runs(`${berlin} 15 30 2 * * *`, '2026-03-28T12:00Z', 2), [
    '2026-03-29T01:00:00',
    '2026-03-30T00:30:15',
  ]);
  assert.deepEqual(runs(`${berlin} 10,20 30 2 * * *`, '2026-03-29T00:00Z', 2), [
    '2026-03-29T01:00:00',
    '2026-03-30T00:30:10',
  ]);
  assert.deepEqual(runs(`${berlin} 15 30 2 * * *`, '2026-10-25T00:00Z', 2), [
    '2026-10-25T00:30:15',
    '2026-10-26T01:30:15',
  ]);
});

test('with a * in the second it is an interval: nothing skipped is made up for, and both passes of an hour run', () => {
  const berlin = 'CRON_TZ=Europe/Berlin';
  assert.deepEqual(runs(`${berlin} */30 30 2 * * *`, '2026-03-28T12:00Z', 1), ['2026-03-30T00:30:00']);
  assert.deepEqual(runs(`${berlin} */30 30 2 * * *`, '2026-10-25T00:00Z', 4), [
    '2026-10-25T00:30:00',
    '2026-10-25T00:30:30',
    '2026-10-25T01:30:00',
    '2026-10-25T01:30:30',
  ]);
  assert.deepEqual(runs(`${berlin} */20 * * * * *`, '2026-03-29T00:59:30Z', 3), [
    '2026-03-29T00:59:40',
    '2026-03-29T01:00:00',
    '2026-03-29T01:00:20',
  ]);
});

/** Fields that both sides read alike. */
function fieldText(min: number, max: number): fc.Arbitrary<string> {
  const value = fc.integer({ min, max }).map(String);
  const stepped = fc.integer({ min: 2, max: 20 }).map((step) => `*/${step}`);
  const list = fc.array(fc.oneof(value, stepped), { minLength: 1, maxLength: 3 }).map((parts) => parts.join(','));
  return fc.oneof(fc.constant('*'), list);
}
const timeText = fc
  .tuple(fieldText(0, 59), fieldText(0, 59), fieldText(0, 23))
  .map((fields) => `${fields.join(' ')} * * *`);
const instant = fc.integer({ min: Date.parse('2001-01-01'), max: Date.parse('2037-01-01') });

test('in UTC, the runs are those of croner', () => {
  fc.assert(
    fc.property(timeText, instant, (text, at) => {
      const theirs = new Croner(text, { timezone: 'UTC' }).nextRun(new Date(at));
      assert.equal(nextCronTime(cronOf(text), at), theirs?.getTime());
    }),
    { numRuns: 300 },
  );
});

test('a five-field expression has the runs of the same expression with the second 0', () => {
  const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'Australia/Lord_Howe', 'Africa/Cairo');
  fc.assert(
    fc.property(zone, timeText, instant, (named, text, at) => {
      const five = `CRON_TZ=${named} ${text.split(' ').slice(1).join(' ')}`;
      const six = `CRON_TZ=${named} 0 ${text.split(' ').slice(1).join(' ')}`;
      assert.equal(nextCronTime(cronOf(five), at), nextCronTime(cronOf(six), at));
      assert.equal(nextCronTime(cronOf(five), at)! % 60_000, 0);
    }),
    { numRuns: 200 },
  );
});

/** The rule again, second by second, without a thought for speed. */
function runsBySecond(cron: Cron, fromAt: number, untilAt: number): number[] {
  const isMatch = (local: number): boolean => {
    const date = new Date(local);
    return (
      cron.hours.includes(date.getUTCHours()) &&
      cron.minutes.includes(date.getUTCMinutes()) &&
      cron.seconds.includes(date.getUTCSeconds())
    );
  };
  const found: number[] = [];
  let seenLocal = fromAt + offsetMsAt(cron.timeZone, fromAt);
  for (let at = fromAt + SECOND_MS; at <= untilAt; at += SECOND_MS) {
    const local = at + offsetMsAt(cron.timeZone, at);
    let isDue = isMatch(local);
    if (!cron.isInterval) {
      isDue &&= local > seenLocal;
      for (let skipped = seenLocal + SECOND_MS; skipped < local && !isDue; skipped += SECOND_MS) {
        isDue = isMatch(skipped);
      }
    }
    seenLocal = Math.max(seenLocal, local);
    if (isDue) found.push(at);
  }
  return found;
}

test('over changes of the clock, the runs are those found second by second', () => {
  const changes = fc.constantFrom(
    ['Europe/Berlin', '2026-03-29T01:00Z'],
    ['Europe/Berlin', '2026-10-25T01:00Z'],
    ['Australia/Lord_Howe', '2026-10-03T15:30Z'],
    ['Australia/Lord_Howe', '2026-04-04T15:00Z'],
  );
  // Within the hours of the change, so that most of them have runs.
  const text = fc
    .tuple(fieldText(0, 59), fieldText(0, 59), fc.constantFrom('1', '2', '1,2', '2,3', '*'))
    .map((fields) => `${fields.join(' ')} * * *`);
  fc.assert(
    fc.property(changes, text, ([zone, changesAt], fields) => {
      const cron = cronOf(`CRON_TZ=${zone} ${fields}`);
      const fromAt = Date.parse(changesAt!) - 30 * 60 * SECOND_MS;
      const untilAt = fromAt + 2 * 60 * 60 * SECOND_MS;
      const ours: number[] = [];
      for (let at = nextCronTime(cron, fromAt); at !== null && at <= untilAt; at = nextCronTime(cron, at))
        ours.push(at);
      assert.deepEqual(ours, runsBySecond(cron, fromAt, untilAt));
    }),
    { numRuns: 25 },
  );
});

test('the next second of a day is found at once, also late on it', async () => {
  const cron = cronOf('CRON_TZ=Europe/Berlin * * * * * *');
  const from = Date.parse('2026-01-01T22:50:00Z');
  const tookMs = await processorMs(() => {
    for (let second = 0; second < 5_000; second += 1) nextCronTime(cron, from + second * SECOND_MS);
  });
  assert.ok(tookMs < 2_000, `${tookMs} ms of the processor`);
});
