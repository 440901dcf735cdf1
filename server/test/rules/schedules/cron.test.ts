import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Cron as Croner } from 'croner';
import fc from 'fast-check';
import { type Cron, nextCronTime, parseCron } from '../../../src/rules/schedules/cron.ts';
import { offsetMsAt } from '../../../src/rules/time/time-zone.ts';
import { processorMs } from '../../support/processor-time.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;

function cronOf(text: string): Cron {
  const cron = parseCron(text);
  if ('problem' in cron) assert.fail(`${text}: ${cron.problem}`);
  return cron;
}

function problemOf(text: string): string {
  const cron = parseCron(text);
  if (!('problem' in cron)) assert.fail(`accepted: ${text}`);
  return cron.problem;
}

/** The next runs, as UTC to the minute. */
function runs(text: string, after: string, count: number): string[] {
  const cron = cronOf(text);
  const found: string[] = [];
  for (let at = Date.parse(after); found.length < count; ) {
    const next = nextCronTime(cron, at);
    assert.ok(next !== null && next > at, `${text} after ${after}`);
    found.push(new Date(next).toISOString().slice(0, 16));
    at = next;
  }
  return found;
}

suite('what is written', () => {
  test('each field takes values, lists, ranges, steps and names', () => {
    const table: [string, Partial<Cron>][] = [
      ['5 4 3 2 1', { minutes: [5], hours: [4], daysOfMonth: [3], months: [2], weekdays: [1] }],
      ['*/15 * * * *', { minutes: [0, 15, 30, 45] }],
      ['10-20/5 * * * *', { minutes: [10, 15, 20] }],
      ['50/5 * * * *', { minutes: [50, 55] }],
      ['5,1,3,1-2 * * * *', { minutes: [1, 2, 3, 5] }],
      ['007 * * * *', { minutes: [7] }],
      ['0 22-23,*/12 * * *', { hours: [0, 12, 22, 23] }],
      ['0 0 1 JAN,feb-Apr,12 *', { months: [1, 2, 3, 4, 12] }],
      ['0 0 * * mon-FRI', { weekdays: [1, 2, 3, 4, 5] }],
      ['0 0 * * 7', { weekdays: [0] }],
      ['0 0 * * 0,7', { weekdays: [0] }],
      ['0 0 * * 5-7', { weekdays: [0, 5, 6] }],
      ['0 0 * * fri-sun', { weekdays: [0, 5, 6] }],
      ['0 0 * * sun-tue', { weekdays: [0, 1, 2] }],
      ['0 0 * * 7/2', { weekdays: [0] }],
      ['0 0 * * 1-7/2', { weekdays: [0, 1, 3, 5] }],
      [' \t0  0\t* * *  ', { minutes: [0], hours: [0] }],
      ['@hourly', { minutes: [0], isInterval: true }],
      ['@Daily', { minutes: [0], hours: [0], isInterval: false }],
      ['@weekly', { hours: [0], weekdays: [0] }],
      ['@monthly', { hours: [0], daysOfMonth: [1] }],
      ['@yearly', { hours: [0], daysOfMonth: [1], months: [1] }],
      ['@annually', { months: [1] }],
      ['@midnight', { hours: [0] }],
    ];
    for (const [text, expected] of table) assert.partialDeepStrictEqual(cronOf(text), expected, text);
  });

  test('the zone is UTC unless a prefix names another', () => {
    assert.equal(cronOf('0 0 * * *').timeZone, 'UTC');
    assert.equal(cronOf('CRON_TZ=Asia/Kathmandu 0 0 * * *').timeZone, 'Asia/Kathmandu');
    assert.equal(cronOf('TZ=europe/berlin  @daily').timeZone, 'europe/berlin');
  });

  test('a problem names the field and the value', () => {
    const table: [string, string][] = [
      ['60 * * * *', 'minute "60": must be 0 to 59'],
      ['* 24 * * *', 'hour "24": must be 0 to 23'],
      ['* * 0 * *', 'day-of-month "0": must be 1 to 31'],
      ['* * 32 * *', 'day-of-month "32": must be 1 to 31'],
      ['* * * 13 *', 'month "13": must be 1 to 12 or jan to dec'],
      ['* * * mon *', 'month "mon": must be 1 to 12 or jan to dec'],
      ['* * * * 8', 'day-of-week "8": must be 0 to 7 or sun to sat'],
      ['* * * * monday', 'day-of-week "monday": must be 0 to 7 or sun to sat'],
      ['0,5,x * * * *', 'minute "x": must be 0 to 59'],
      ['*/0 * * * *', 'minute "*/0": the step must be 1 to 60'],
      ['*/90 * * * *', 'minute "*/90": the step must be 1 to 60'],
      ['* */1.5 * * *', 'hour "*/1.5": must be "*", a value or a range such as 1-5, with or without a /step'],
      ['* 5-2 * * *', 'hour "5-2": the range runs backwards; write two ranges, separated by a comma'],
      ['* 22-25 * * *', 'hour "22-25": must be 0 to 23'],
      ['0, * * * *', 'minute "": must be "*", a value or a range such as 1-5, with or without a /step'],
      ['-5 * * * *', 'minute "-5": must be "*", a value or a range such as 1-5, with or without a /step'],
      [
        '* * * *',
        'has 4 fields; five are needed: minute, hour, day-of-month, month, day-of-week; or six, with second before them',
      ],
      [
        '0 0 * * * * *',
        'has 7 fields; five are needed: minute, hour, day-of-month, month, day-of-week; or six, with second before them',
      ],
      [
        '',
        'has 0 fields; five are needed: minute, hour, day-of-month, month, day-of-week; or six, with second before them',
      ],
      [
        'CRON_TZ=UTC',
        'has 0 fields; five are needed: minute, hour, day-of-month, month, day-of-week; or six, with second before them',
      ],
      [
        '@reboot',
        '"@reboot" is not one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually, @every 10s',
      ],
      ['CRON_TZ=Mars/Olympus * * * * *', 'time zone "Mars/Olympus" is not known; use a name such as Europe/Berlin'],
      ['CRON_TZ= * * * * *', 'time zone "" is not known; use a name such as Europe/Berlin'],
      ['TZ=+02:00 * * * * *', 'time zone "+02:00" is not known; use a name such as Europe/Berlin'],
    ];
    for (const [text, problem] of table) assert.equal(problemOf(text), problem, text);
    assert.match(problemOf('0 '.repeat(300)), /600 characters; the limit is 512/);
  });

  test('a day that never comes is a problem', () => {
    assert.equal(problemOf('0 0 30 2 *'), 'can never run: day-of-month "30" does not exist in month "2"');
    assert.equal(
      problemOf('0 0 31 feb,4,jun *'),
      'can never run: day-of-month "31" does not exist in month "feb,4,jun"',
    );
    for (const text of ['0 0 29 2 *', '0 0 31 4,5 *', '0 0 30 2 1', '0 0 28-31 2 *']) cronOf(text);
  });

  test('every text is either a valid cron expression or a problem', () => {
    const noise = fc.array(fc.string({ unit: fc.constantFrom(...'0123456789*/,-monjanTZ= @') }), { maxLength: 6 });
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          noise.map((parts) => parts.join(' ')),
        ),
        (text) => {
          const cron = parseCron(text);
          if ('problem' in cron) assert.notEqual(cron.problem, '');
          else assert.ok(nextCronTime(cron, 0)! > 0);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

suite('the next run', () => {
  test('is strictly later, on the whole minute', () => {
    assert.deepEqual(runs('* * * * *', '2026-01-01T00:00:00.000Z', 1), ['2026-01-01T00:01']);
    assert.deepEqual(runs('* * * * *', '2025-12-31T23:59:59.999Z', 1), ['2026-01-01T00:00']);
    assert.equal(nextCronTime(cronOf('* * * * *'), -0.5), 0);
    assert.equal(nextCronTime(cronOf('* * * * *'), 0.5), MINUTE_MS);
  });

  test('comes on a day that is either of the two when both are restricted', () => {
    const days = ['2026-05-01', '2026-05-04', '2026-05-11', '2026-05-13', '2026-05-18'];
    assert.deepEqual(
      runs('0 0 1,13 * mon', '2026-04-30T12:00Z', 5),
      days.map((day) => `${day}T00:00`),
    );
    // A step restricts, a step of one does not.
    assert.deepEqual(runs('0 0 */30 * mon', '2026-05-01T12:00Z', 2), ['2026-05-04T00:00', '2026-05-11T00:00']);
    assert.deepEqual(runs('0 0 */1 * mon', '2026-05-01T12:00Z', 2), ['2026-05-04T00:00', '2026-05-11T00:00']);
    assert.deepEqual(runs('0 0 1 * *', '2026-05-01T12:00Z', 2), ['2026-06-01T00:00', '2026-07-01T00:00']);
  });

  test('knows how long each month is', () => {
    // Croner (10.0.1 and 11.0.0) goes from 1 February to 31 March here.
    const days = ['2027-02-01', '2027-03-01', '2027-03-31', '2027-04-01', '2027-05-01', '2027-05-31'];
    assert.deepEqual(
      runs('0 0 1,31 * *', '2027-01-31T12:00Z', 6),
      days.map((day) => `${day}T00:00`),
    );
    assert.deepEqual(runs('0 0 29-31 2,3 *', '2028-02-01T00:00Z', 2), ['2028-02-29T00:00', '2028-03-29T00:00']);
    assert.deepEqual(runs('0 0 31 * *', '2026-12-31T00:00Z', 2), ['2027-01-31T00:00', '2027-03-31T00:00']);
  });

  test('may be eight years away', () => {
    assert.deepEqual(runs('0 12 29 2 *', '2096-02-29T12:00Z', 2), ['2104-02-29T12:00', '2108-02-29T12:00']);
    assert.deepEqual(runs('CRON_TZ=America/New_York * 0 29 2 *', '2096-03-01T12:00Z', 1), ['2104-02-29T05:00']);
  });

  test('is found at once, however far it is', async () => {
    const cron = cronOf('CRON_TZ=America/New_York 0 0 29 2 *');
    const tookMs = await processorMs(() => {
      for (let day = 0; day < 1_000; day += 1) nextCronTime(cron, day * DAY_MS);
    });
    assert.ok(tookMs < 2_000, `${tookMs} ms of the processor`);
  });

  test('is null when a cron made by hand names no day at all', () => {
    assert.equal(nextCronTime({ ...cronOf('0 0 * * *'), daysOfMonth: [30], months: [2] }, 0), null);
  });

  test('follows the wall clock of zones without changes', () => {
    assert.deepEqual(runs('CRON_TZ=Asia/Kathmandu 0 9 * * *', '2026-03-28T00:00Z', 2), [
      '2026-03-28T03:15',
      '2026-03-29T03:15',
    ]);
    assert.deepEqual(runs('CRON_TZ=Asia/Kathmandu */30 * * * *', '2026-03-28T00:00Z', 2), [
      '2026-03-28T00:15',
      '2026-03-28T00:45',
    ]);
    assert.deepEqual(runs('CRON_TZ=Asia/Tokyo 0 0 1 * *', '2026-03-30T00:00Z', 2), [
      '2026-03-31T15:00',
      '2026-04-30T15:00',
    ]);
  });
});

suite('when the clocks change', () => {
  // [cron without its zone, after, the runs that follow, all in UTC]
  type Row = [string, string, string[]];
  const tables: Record<string, Row[]> = {
    // 2026-03-29 02:00 → 03:00 at 01:00 UTC; 2026-10-25 03:00 → 02:00 at 01:00 UTC.
    'Europe/Berlin': [
      ['30 2 * * *', '2026-03-28T01:30Z', ['2026-03-29T01:00', '2026-03-30T00:30']],
      ['0 2 * * *', '2026-03-29T00:59Z', ['2026-03-29T01:00', '2026-03-30T00:00']],
      // All that was skipped is one run, and so is what is due at that instant anyway.
      ['0,20,40 2,3 * * *', '2026-03-29T00:00Z', ['2026-03-29T01:00', '2026-03-29T01:20', '2026-03-29T01:40']],
      ['30 2 29 3 *', '2026-03-29T00:00Z', ['2026-03-29T01:00', '2027-03-29T00:30']],
      ['30 2 29 3 *', '2025-11-01T00:00Z', ['2026-03-29T01:00']],
      ['30 1 * * *', '2026-03-29T00:00Z', ['2026-03-29T00:30', '2026-03-29T23:30']],
      ['*/15 * * * *', '2026-03-29T00:30Z', ['2026-03-29T00:45', '2026-03-29T01:00', '2026-03-29T01:15']],
      ['30 * * * *', '2026-03-29T00:00Z', ['2026-03-29T00:30', '2026-03-29T01:30']],
      ['0 */2 * * *', '2026-03-28T23:00Z', ['2026-03-29T02:00', '2026-03-29T04:00']],
      ['*/30 2 * * *', '2026-03-28T12:00Z', ['2026-03-30T00:00', '2026-03-30T00:30']],
      ['30 2 * * *', '2026-10-24T12:00Z', ['2026-10-25T00:30', '2026-10-26T01:30']],
      ['30 2 * * *', '2026-10-25T01:00Z', ['2026-10-26T01:30']],
      ['30 2 * * *', '2026-10-25T01:29Z', ['2026-10-26T01:30']],
      ['30 2 25 10 *', '2026-01-01T00:00Z', ['2026-10-25T00:30', '2027-10-25T00:30']],
      ['0 3 * * *', '2026-10-25T00:00Z', ['2026-10-25T02:00', '2026-10-26T02:00']],
      ['0,30 2,3 * * *', '2026-10-25T00:15Z', ['2026-10-25T00:30', '2026-10-25T02:00', '2026-10-25T02:30']],
      ['*/30 * * * *', '2026-10-25T00:15Z', ['2026-10-25T00:30', '2026-10-25T01:00', '2026-10-25T01:30']],
      ['30 * * * *', '2026-10-25T00:00Z', ['2026-10-25T00:30', '2026-10-25T01:30', '2026-10-25T02:30']],
      ['*/30 2 25 10 *', '2026-01-01T00:00Z', ['2026-10-25T00:00', '2026-10-25T00:30', '2026-10-25T01:00']],
      ['*/30 2 25 10 *', '2026-10-25T00:30Z', ['2026-10-25T01:00', '2026-10-25T01:30', '2027-10-25T00:00']],
    ],
    // 2026-03-08 02:00 → 03:00 at 07:00 UTC; 2026-11-01 02:00 → 01:00 at 06:00 UTC.
    'America/New_York': [
      ['30 2 * * *', '2026-03-07T12:00Z', ['2026-03-08T07:00', '2026-03-09T06:30']],
      ['0 9 * * *', '2026-03-07T12:00Z', ['2026-03-07T14:00', '2026-03-08T13:00']],
      ['30 2 * * sun', '2026-03-02T00:00Z', ['2026-03-08T07:00', '2026-03-15T06:30']],
      ['30 1 * * *', '2026-10-31T12:00Z', ['2026-11-01T05:30', '2026-11-02T06:30']],
      ['0 2 * * *', '2026-10-31T12:00Z', ['2026-11-01T07:00', '2026-11-02T07:00']],
      ['@hourly', '2026-11-01T04:30Z', ['2026-11-01T05:00', '2026-11-01T06:00', '2026-11-01T07:00']],
      ['@daily', '2026-10-31T12:00Z', ['2026-11-01T04:00', '2026-11-02T05:00']],
    ],
    // Half an hour only. 2026-10-04 02:00 → 02:30 at 2026-10-03 15:30 UTC; 2026-04-05 02:00 → 01:30 at 2026-04-04 15:00 UTC.
    'Australia/Lord_Howe': [
      ['15 2 * * *', '2026-10-02T20:00Z', ['2026-10-03T15:30', '2026-10-04T15:15']],
      ['45 2 * * *', '2026-10-02T20:00Z', ['2026-10-03T15:45', '2026-10-04T15:45']],
      ['*/15 * * * *', '2026-10-03T15:14Z', ['2026-10-03T15:15', '2026-10-03T15:30', '2026-10-03T15:45']],
      ['45 1 * * *', '2026-04-04T00:00Z', ['2026-04-04T14:45', '2026-04-05T15:15']],
      ['0,15,30,45 * * * *', '2026-04-04T14:45Z', ['2026-04-04T15:00', '2026-04-04T15:15', '2026-04-04T15:30']],
      ['15 1 * * *', '2026-04-04T00:00Z', ['2026-04-04T14:15', '2026-04-05T14:45']],
    ],
    // At midnight: 2026-04-24 00:00 → 01:00 at 2026-04-23 22:00 UTC; 2026-10-30 00:00 → 2026-10-29 23:00 at 21:00 UTC.
    'Africa/Cairo': [
      ['@daily', '2026-04-23T00:00Z', ['2026-04-23T22:00', '2026-04-24T21:00']],
      ['0 */2 * * *', '2026-04-23T20:30Z', ['2026-04-23T23:00', '2026-04-24T01:00']],
      ['30 23 * * *', '2026-10-29T20:30Z', ['2026-10-30T21:30']],
      ['@daily', '2026-10-29T12:00Z', ['2026-10-29T22:00', '2026-10-30T22:00']],
    ],
    // 30 December 2011 was left out.
    'Pacific/Apia': [
      ['0 12 * * *', '2011-12-29T12:00Z', ['2011-12-29T22:00', '2011-12-30T10:00', '2011-12-30T22:00']],
      ['0 12 30 * *', '2011-12-01T00:00Z', ['2011-12-30T10:00', '2012-01-29T22:00']],
      ['@hourly', '2011-12-30T08:30Z', ['2011-12-30T09:00', '2011-12-30T10:00', '2011-12-30T11:00']],
    ],
  };
  for (const [zone, rows] of Object.entries(tables)) {
    test(`in ${zone}`, () => {
      for (const [text, after, expected] of rows) {
        assert.deepEqual(runs(`CRON_TZ=${zone} ${text}`, after, expected.length), expected, `${text} after ${after}`);
      }
    });
  }
});

/** The rule again, without a thought for speed; `locals` is what the clock shows every minute since `fromAt`. */
function runsByMinute(cron: Cron, fromAt: number, locals: readonly number[]): number[] {
  const isMatch = (local: number): boolean => {
    const date = new Date(local);
    const inMonth = cron.daysOfMonth.includes(date.getUTCDate());
    const inWeek = cron.weekdays.includes(date.getUTCDay());
    const isDay = cron.isEitherDay ? inMonth || inWeek : inMonth && inWeek;
    const isTime = cron.hours.includes(date.getUTCHours()) && cron.minutes.includes(date.getUTCMinutes());
    return isDay && isTime && cron.months.includes(date.getUTCMonth() + 1);
  };
  const found: number[] = [];
  let seenLocal = locals[0]!;
  for (const [minute, local] of locals.entries()) {
    if (minute === 0) continue;
    let isDue = isMatch(local);
    if (!cron.isInterval) {
      isDue &&= local > seenLocal;
      for (let skipped = seenLocal + MINUTE_MS; skipped < local; skipped += MINUTE_MS) isDue ||= isMatch(skipped);
    }
    seenLocal = Math.max(seenLocal, local);
    if (isDue) found.push(fromAt + minute * MINUTE_MS);
  }
  return found;
}

/** Fields both sides read alike: no `N/step`, no backward range, no step of one. */
function fieldText(min: number, max: number): fc.Arbitrary<string> {
  const value = fc.integer({ min, max }).map(String);
  const range = fc
    .tuple(fc.integer({ min, max }), fc.integer({ min, max }))
    .map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
  const stepped = fc
    .tuple(fc.oneof(fc.constant('*'), range), fc.integer({ min: 2, max: Math.min(20, max - min) }))
    .map(([base, step]) => `${base}/${step}`);
  const part = fc.oneof({ weight: 3, arbitrary: value }, range, stepped);
  const list = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(','));
  return fc.oneof(fc.constant('*'), list);
}

const timeText = fc.tuple(fieldText(0, 59), fieldText(0, 23)).map((texts) => texts.join(' '));
const cronText = fc
  .tuple(timeText, fieldText(1, 31), fieldText(1, 12), fieldText(0, 7))
  .map((texts) => texts.join(' '))
  .filter((text) => !('problem' in parseCron(text)));
/** Croner takes 31 February for 3 March, in either kind of day, and then misses the days before it. */
function isRightInCroner({ daysOfMonth, isEitherDay, timeZone }: Cron, dueAt: number): boolean {
  if (daysOfMonth.length === 31) return true;
  const dayOfMonth = new Date(dueAt + offsetMsAt(timeZone, dueAt)).getUTCDate();
  return daysOfMonth.at(-1)! <= 28 && !(isEitherDay && dayOfMonth <= 3);
}
const instant = fc.integer({ min: Date.parse('2001-01-01'), max: Date.parse('2037-01-01') });

suite('compared', () => {
  test('in UTC, the runs are those of croner', () => {
    fc.assert(
      fc.property(cronText, instant, (text, at) => {
        const cron = cronOf(text);
        const ours = nextCronTime(cron, at)!;
        fc.pre(isRightInCroner(cron, ours));
        const theirs = new Croner(text, { timezone: 'UTC' }).nextRun(new Date(at));
        assert.equal(ours, theirs?.getTime());
      }),
      { numRuns: 1_000 },
    );
  });

  test('in other zones, away from changes of the clock, the runs are those of croner', () => {
    const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'Asia/Tokyo'];
    zones.push('America/St_Johns', 'Pacific/Apia', 'Africa/Casablanca', 'Antarctica/Troll', 'America/Sao_Paulo');
    const isCalm = (zone: string, at: number) =>
      offsetMsAt(zone, at - 2 * DAY_MS) === offsetMsAt(zone, at) &&
      offsetMsAt(zone, at + 2 * DAY_MS) === offsetMsAt(zone, at);
    fc.assert(
      fc.property(fc.constantFrom(...zones), cronText, instant, (zone, text, at) => {
        const cron = cronOf(`CRON_TZ=${zone} ${text}`);
        const ours = nextCronTime(cron, at)!;
        fc.pre(isRightInCroner(cron, ours) && isCalm(zone, at) && isCalm(zone, ours));
        const theirs = new Croner(text, { timezone: zone }).nextRun(new Date(at));
        assert.equal(ours, theirs?.getTime());
      }),
      { numRuns: 500 },
    );
  });

  test('where the clock is put back by two hours, a time runs once, whenever the next one is looked for', () => {
    // At 01:00 UTC the clock there goes from 03:00 back to 01:00.
    const cron = cronOf('CRON_TZ=Antarctica/Troll 30 2 * * *');
    const [first, second] = ['2026-10-25T00:30Z', '2026-10-26T02:30Z'].map((text) => Date.parse(text));
    assert.equal(nextCronTime(cron, first! - MINUTE_MS), first);
    for (let at = first!; at < second!; at += 5 * MINUTE_MS) assert.equal(nextCronTime(cron, at), second);
  });

  test('over changes of the clock and ends of months, the runs are those found minute by minute', () => {
    const changes: [string, string][] = [
      ['Europe/Berlin', '2026-03-29T01:00Z'],
      ['Europe/Berlin', '2026-10-25T01:00Z'],
      ['America/New_York', '2026-03-08T07:00Z'],
      ['America/New_York', '2026-11-01T06:00Z'],
      ['Australia/Lord_Howe', '2026-10-03T15:30Z'],
      ['Australia/Lord_Howe', '2026-04-04T15:00Z'],
      ['Africa/Cairo', '2026-04-23T22:00Z'],
      ['Africa/Cairo', '2026-10-29T21:00Z'],
      ['Antarctica/Troll', '2026-03-29T01:00Z'],
      ['Antarctica/Troll', '2026-10-25T01:00Z'],
      ['Pacific/Apia', '2011-12-30T10:00Z'],
      ['UTC', '2028-02-29T00:00Z'],
      ['UTC', '2030-03-01T00:00Z'],
    ];
    const spans = changes.map(([zone, changesAt]) => {
      const fromAt = Date.parse(changesAt) - 1.5 * DAY_MS;
      const instants = Array.from({ length: 3 * 24 * 60 + 1 }, (_, minute) => fromAt + minute * MINUTE_MS);
      return { zone, fromAt, untilAt: instants.at(-1)!, locals: instants.map((at) => at + offsetMsAt(zone, at)) };
    });
    const text = fc.oneof(
      timeText.map((time) => `${time} * * *`),
      cronText,
    );
    fc.assert(
      fc.property(fc.constantFrom(...spans), text, ({ zone, fromAt, untilAt, locals }, fields) => {
        const cron = cronOf(`CRON_TZ=${zone} ${fields}`);
        const ours: number[] = [];
        for (let at = nextCronTime(cron, fromAt); at !== null && at <= untilAt; at = nextCronTime(cron, at))
          ours.push(at);
        assert.deepEqual(ours, runsByMinute(cron, fromAt, locals));
      }),
      { numRuns: 100 },
    );
  });

  test('from whatever instant it is asked, the next run is the first of the sequence after it', () => {
    const around = fc.integer({ min: -DAY_MS, max: DAY_MS });
    const changesAt = fc.constantFrom(Date.parse('2026-03-29T01:00Z'), Date.parse('2026-10-25T01:00Z'));
    fc.assert(
      fc.property(timeText, changesAt, around, (time, changeAt, distanceMs) => {
        const cron = cronOf(`CRON_TZ=Europe/Berlin ${time} * * *`);
        const at = changeAt + distanceMs;
        let inSequence = nextCronTime(cron, changeAt - 2 * DAY_MS)!;
        while (inSequence <= at) inSequence = nextCronTime(cron, inSequence)!;
        assert.equal(nextCronTime(cron, at), inSequence);
      }),
      { numRuns: 50 },
    );
  });

  test('no run is more than the years between two leap days away', () => {
    fc.assert(
      fc.property(cronText, instant, (text, at) => {
        const next = nextCronTime(cronOf(`CRON_TZ=Europe/Berlin ${text}`), at)!;
        assert.ok(next > at && next - at < 8.1 * YEAR_MS && next % MINUTE_MS === 0);
      }),
    );
  });
});
