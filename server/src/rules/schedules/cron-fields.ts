// Parses one field of a cron expression into its numbers. cron.ts combines the fields and applies the time zone.

export interface CronField {
  /** The values in ascending order, without duplicates. Sunday is 0. */
  readonly values: readonly number[];
  /** Whether the field has a `*`, with or without a step. Then it stands for an interval, not for particular values. */
  readonly isWildcard: boolean;
  /** False if a part of the field is a plain `*`. The text decides: `1-31` counts as restricted, as in other crons. */
  readonly isRestricted: boolean;
}

interface CronFieldKind {
  /** The name of the field in error messages. */
  readonly name: string;
  readonly min: number;
  /** The largest number that may be written. For weekdays it is 7, which means Sunday like 0. */
  readonly max: number;
  /** The number of different values, counted from `min`. */
  readonly size: number;
  /** Three-letter names of the values, the first for `min`. */
  readonly names: readonly string[];
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const DAY_OF_WEEK: CronFieldKind = { name: 'day-of-week', min: 0, max: 7, size: 7, names: WEEKDAYS };

/** The field that may be written before the others. */
export const SECOND_FIELD_KIND: CronFieldKind = { name: 'second', min: 0, max: 59, size: 60, names: [] };

/** The fields in the order in which they are written. */
export const CRON_FIELD_KINDS: readonly CronFieldKind[] = [
  { name: 'minute', min: 0, max: 59, size: 60, names: [] },
  { name: 'hour', min: 0, max: 23, size: 24, names: [] },
  { name: 'day-of-month', min: 1, max: 31, size: 31, names: [] },
  { name: 'month', min: 1, max: 12, size: 12, names: MONTHS },
  DAY_OF_WEEK,
];

/** A part of a field: `*`, `5` or `mon-fri`, each with a step or without. */
const PART = /^(?:(?<star>\*)|(?<first>\w+)(?:-(?<last>\w+))?)(?:\/(?<step>\w+))?$/;

export function parseCronField(kind: CronFieldKind, text: string): CronField | { readonly problem: string } {
  const values = new Set<number>();
  let isWildcard = false;
  let isRestricted = true;
  for (const part of text.split(',')) {
    const range = parsePart(kind, part);
    if ('problem' in range) return { problem: `${kind.name} ${JSON.stringify(part.slice(0, 40))}: ${range.problem}` };
    const isStar = part.startsWith('*');
    isWildcard ||= isStar;
    isRestricted &&= !isStar || range.step !== 1;
    for (const value of valuesOf(range)) values.add(value >= kind.min + kind.size ? value - kind.size : value);
  }
  return { values: [...values].sort((a, b) => a - b), isWildcard, isRestricted };
}

interface Range {
  readonly first: number;
  readonly last: number;
  readonly step: number;
}

function valuesOf({ first, last, step }: Range): number[] {
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, index) => first + index * step);
}

function parsePart(kind: CronFieldKind, part: string): Range | { readonly problem: string } {
  const found = PART.exec(part)?.groups;
  if (found === undefined) return { problem: 'must be "*", a value or a range such as 1-5, with or without a /step' };
  const step = found.step === undefined ? 1 : wholeNumber(found.step);
  // A larger step would not do what it says: `*/90` for minutes would run every hour.
  if (step === null || step < 1 || step > kind.size) return { problem: `the step must be 1 to ${kind.size}` };

  const largest = kind.min + kind.size - 1;
  if (found.star !== undefined) return { first: kind.min, last: largest, step };
  const first = parseValue(kind, found.first!);
  if (first === null) return { problem: `must be ${allowed(kind)}` };
  if (found.last !== undefined) return parseRange(kind, first, found.last, step);
  // A value with a step (`5/15`) continues to the largest value of the field. The original cron does not know this, but
  // current ones do.
  return { first, last: found.step === undefined ? first : Math.max(first, largest), step };
}

function parseRange(
  kind: CronFieldKind,
  first: number,
  lastText: string,
  step: number,
): Range | { readonly problem: string } {
  const written = parseValue(kind, lastText);
  if (written === null) return { problem: `must be ${allowed(kind)}` };
  const isSundayLast = kind === DAY_OF_WEEK && written === 0 && first > 0;
  const last = isSundayLast ? 7 : written;
  if (last < first) return { problem: 'the range runs backwards; write two ranges, separated by a comma' };
  return { first, last, step };
}

function parseValue(kind: CronFieldKind, text: string): number | null {
  const named = kind.names.indexOf(text.toLowerCase());
  const value = named === -1 ? wholeNumber(text) : kind.min + named;
  return value !== null && value >= kind.min && value <= kind.max ? value : null;
}

function wholeNumber(text: string): number | null {
  return /^\d+$/.test(text) ? Number(text) : null;
}

function allowed({ min, max, names }: CronFieldKind): string {
  const numbers = `${min} to ${max}`;
  return names.length === 0 ? numbers : `${numbers} or ${names[0]} to ${names.at(-1)}`;
}
