// Computes when a schedule is due: the next instant that a cron expression of five fields, or of six with the second
// before them, names in a time zone. This file starts nothing and does not remember past runs; the caller makes up for
// a missed run.
//
// When a zone changes its clocks, the rule of Debian's cron applies (croner has it too since version 11). A cron
// without a `*` in second, minute and hour names particular times: a time that the change skips runs once, at the first
// instant after the change, and a time that comes twice runs at its first occurrence only. A cron with a `*` in second,
// minute or hour is an interval: it follows the clock, runs through a repeated hour both times, and makes up for
// nothing that was skipped.

import { isTimeZone, offsetChangeAt, offsetMsAt } from '../time/time-zone.ts';
import { CRON_FIELD_KINDS, type CronField, parseCronField, SECOND_FIELD_KIND } from './cron-fields.ts';

export interface Cron {
  readonly timeZone: string;
  /** Only 0 if the expression has five fields. */
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly daysOfMonth: readonly number[];
  /** The months, from 1 to 12. */
  readonly months: readonly number[];
  /** The weekdays, from 0 for Sunday. */
  readonly weekdays: readonly number[];
  /** Whether both day fields are restricted: then a day needs to match only one of them. */
  readonly isEitherDay: boolean;
  readonly isInterval: boolean;
}

export const CRON_LENGTH_MAX = 512;

const SECOND_MS = 1000;
const DAY_MS = 86_400_000;
/** Limit for the search: far more than the 8 years for which the rarest day, 29 February, can be away. */
const SEARCH_MS_MAX = 28 * 366 * DAY_MS;

const NICKNAMES: ReadonlyMap<string, string> = new Map([
  ['@hourly', '0 * * * *'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@weekly', '0 0 * * 0'],
  ['@monthly', '0 0 1 * *'],
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
]);

const KINDS_WITH_SECOND = [SECOND_FIELD_KIND, ...CRON_FIELD_KINDS];

const DAYS_IN_MONTH_MAX = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

interface Refusal {
  readonly problem: string;
}

export function parseCron(text: string): Cron | Refusal {
  if (text.length > CRON_LENGTH_MAX) {
    return { problem: `the cron expression has ${text.length} characters; the limit is ${CRON_LENGTH_MAX}` };
  }
  const [, zone, expression] = /^(?:(?:CRON_)?TZ=(\S*))?(.*)$/s.exec(text.trim()) ?? [];
  if (zone !== undefined && !isTimeZone(zone)) {
    return { problem: `time zone ${JSON.stringify(zone)} is not known; use a name such as Europe/Berlin` };
  }
  return parseFields(zone ?? 'UTC', expression?.trim() ?? '');
}

/** The texts of the six fields. The second is 0 if there are five. */
function fieldTexts(expression: string): readonly string[] | Refusal {
  const spelledOut = expression.startsWith('@') ? NICKNAMES.get(expression.toLowerCase()) : expression;
  if (spelledOut === undefined) {
    const nicknames = [...NICKNAMES.keys()].join(', ');
    return { problem: `${JSON.stringify(expression.slice(0, 40))} is not one of ${nicknames}, @every 10s` };
  }
  const texts = spelledOut.split(/\s+/).filter(Boolean);
  if (texts.length === KINDS_WITH_SECOND.length) return texts;
  if (texts.length === CRON_FIELD_KINDS.length) return ['0', ...texts];
  const names = CRON_FIELD_KINDS.map(({ name }) => name).join(', ');
  return {
    problem: `has ${texts.length} fields; five are needed: ${names}; or six, with ${SECOND_FIELD_KIND.name} before them`,
  };
}

function parseFields(timeZone: string, expression: string): Cron | Refusal {
  const texts = fieldTexts(expression);
  if ('problem' in texts) return texts;
  const fields: CronField[] = [];
  for (const [index, kind] of KINDS_WITH_SECOND.entries()) {
    const parsed = parseCronField(kind, texts[index]!);
    if ('problem' in parsed) return parsed;
    fields.push(parsed);
  }
  const [second, minute, hour, dayOfMonth, month, dayOfWeek] = fields as [
    CronField,
    CronField,
    CronField,
    CronField,
    CronField,
    CronField,
  ];

  const isEitherDay = dayOfMonth.isRestricted && dayOfWeek.isRestricted;
  const longestMonth = Math.max(...month.values.map((each) => DAYS_IN_MONTH_MAX[each - 1]!));
  if (!isEitherDay && dayOfMonth.values[0]! > longestMonth) {
    return { problem: `can never run: day-of-month "${texts[3]}" does not exist in month "${texts[4]}"` };
  }
  return {
    timeZone,
    seconds: second.values,
    minutes: minute.values,
    hours: hour.values,
    daysOfMonth: dayOfMonth.values,
    months: month.values,
    weekdays: dayOfWeek.values,
    isEitherDay,
    isInterval: second.isWildcard || minute.isWildcard || hour.isWildcard,
  };
}

/** The first instant after `afterAt`, in milliseconds since 1970. Null when there is none within 28 years. */
export function nextCronTime(cron: Cron, afterAt: number): number | null {
  const { timeZone, isInterval } = cron;
  let at = afterAt;
  let offsetMs = offsetMsAt(timeZone, at);
  let fromLocal = wholeSecond(Math.floor(at + offsetMs) + 1);
  if (!isInterval) fromLocal = Math.max(fromLocal, repeatedUntilLocal(timeZone, at, offsetMs));
  const lastLocal = fromLocal + SEARCH_MS_MAX;

  // Each turn searches up to the next change of the offset. Until then, local time is the instant plus a constant.
  for (;;) {
    const local = nextLocalMatch(cron, fromLocal, lastLocal);
    if (local === null) return null;
    const dueAt = local - offsetMs;
    const seenUntil = Math.min(dueAt, at + DAY_MS);
    const changeAt = offsetChangeAt(timeZone, at, seenUntil);
    if (changeAt !== null) {
      const skippedFrom = changeAt + offsetMs;
      offsetMs = offsetMsAt(timeZone, changeAt);
      at = changeAt;
      const resumesAt = changeAt + offsetMs;
      if (!isInterval && local < resumesAt) return changeAt;
      fromLocal = wholeSecond(isInterval ? resumesAt : Math.max(resumesAt, skippedFrom));
    } else if (seenUntil === dueAt) {
      return dueAt;
    } else {
      // Offset changes until shortly before `dueAt` do not matter: nothing before `local` matches.
      at = Math.max(seenUntil, dueAt - 2 * DAY_MS);
      offsetMs = offsetMsAt(timeZone, at);
      fromLocal = local;
    }
  }
}

/**
 * If the clock was put back within the last day, the local time that it had reached before: earlier local times are
 * repetitions. -Infinity if it was not put back.
 */
function repeatedUntilLocal(timeZone: string, at: number, offsetMs: number): number {
  const earlierOffsetMs = offsetMsAt(timeZone, at - DAY_MS);
  if (earlierOffsetMs <= offsetMs) return Number.NEGATIVE_INFINITY;
  return wholeSecond(offsetChangeAt(timeZone, at - DAY_MS, at)! + earlierOffsetMs);
}

function wholeSecond(local: number): number {
  return Math.ceil(local / SECOND_MS) * SECOND_MS;
}

/** The next local time that matches. Local times are numbers, computed as if they were UTC: it has no clock changes. */
function nextLocalMatch(cron: Cron, fromLocal: number, lastLocal: number): number | null {
  let day = Math.floor(fromLocal / DAY_MS) * DAY_MS;
  let fromSecond = (fromLocal - day) / SECOND_MS;
  while (day <= lastLocal) {
    const date = new Date(day);
    const month = date.getUTCMonth() + 1;
    const isInMonth = cron.months.includes(month);
    const second = isInMonth && isOnDay(cron, date) ? nextSecondOfDay(cron, fromSecond) : null;
    if (second !== null) return day + second * SECOND_MS;
    day = isInMonth ? day + DAY_MS : Date.UTC(date.getUTCFullYear(), month, 1);
    fromSecond = 0;
  }
  return null;
}

function isOnDay(cron: Cron, date: Date): boolean {
  const isInMonth = cron.daysOfMonth.includes(date.getUTCDate());
  const isInWeek = cron.weekdays.includes(date.getUTCDay());
  return cron.isEitherDay ? isInMonth || isInWeek : isInMonth && isInWeek;
}

function nextSecondOfDay(cron: Cron, fromSecond: number): number | null {
  for (const hour of cron.hours) {
    const start = hour * 3600;
    const second = start + 3600 > fromSecond ? nextSecondOfHour(cron, fromSecond - start) : null;
    if (second !== null) return start + second;
  }
  return null;
}

function nextSecondOfHour({ minutes, seconds }: Cron, fromSecond: number): number | null {
  for (const minute of minutes) {
    const second = seconds.find((each) => minute * 60 + each >= fromSecond);
    if (second !== undefined) return minute * 60 + second;
  }
  return null;
}
