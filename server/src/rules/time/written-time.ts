// Parses times as callers write them: seconds or milliseconds since 1970, or a date. Seconds that are taken for
// milliseconds would give a day in January 1970, and milliseconds that are taken for seconds a year in the far future.
// Both mistakes are refused with a hint.

/** A number in this range is probably a time in seconds (in the years from 2001 to 5138), not in milliseconds. */
const LIKE_SECONDS_MIN = 1e9;
const LIKE_SECONDS_MAX = 1e11;
/** Limit for a time in seconds: a larger number is probably in milliseconds. */
const SECONDS_MAX = Date.UTC(5000, 0) / 1000;

const DATE = /^(\d{4})-(\d{2})-(\d{2})(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/i;

/** Parses milliseconds since 1970, or an ISO date. */
export function parseInstant(text: string): number | { readonly problem: string } {
  if (/^\d{1,16}(\.\d+)?$/.test(text)) {
    const at = Number(text);
    if (at < LIKE_SECONDS_MIN || at >= LIKE_SECONDS_MAX) return at;
    return { problem: `${text} looks like seconds; it must be milliseconds since 1970, such as ${Math.trunc(at)}000` };
  }
  const [whole, year, month, day] = DATE.exec(text) ?? [];
  const at = whole === undefined ? Number.NaN : Date.parse(whole);
  if (Number.isNaN(at)) {
    return { problem: 'must be milliseconds since 1970, or a date such as 2026-01-31T12:00:00Z' };
  }
  // `Date.parse` takes February 30 for March 2.
  const isDay = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
  return isDay ? at : { problem: `there is no day ${year}-${month}-${day}` };
}

/** Parses seconds since 1970, with or without a fraction, and returns milliseconds. */
export function parseSeconds(text: string): { readonly value: number } | { readonly problem: string } {
  if (!/^\d+(\.\d+)?$/.test(text)) return { problem: 'must be a time in seconds since 1970' };
  const seconds = Number(text);
  if (seconds < SECONDS_MAX) return { value: Math.ceil(seconds * 1000) };
  return { problem: 'must be a time in seconds since 1970, before the year 5000; this looks like milliseconds' };
}
