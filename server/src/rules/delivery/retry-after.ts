// Reads from the headers of a failed response when the receiver wants the next attempt, and combines that with the wait
// of the message. Whether there is another attempt is decided elsewhere.

import { parseDurationMs } from '../time/duration.ts';
import { RETRY_WAIT_MS_MAX } from './backoff.ts';
import type { HeaderList } from './message.ts';

const RATE_LIMIT_RESETS: ReadonlySet<string> = new Set([
  'x-ratelimit-reset',
  'x-ratelimit-reset-requests',
  'x-ratelimit-reset-tokens',
]);

/** A larger number in a rate-limit header is a Unix time (1e9 s was in 2001), not a wait of thirty years. */
const INSTANT_SECONDS_MIN = 1e9;
/** From this number on, a Unix time is in milliseconds: in seconds it would be in the year 33658. */
const INSTANT_MS_MIN = 1e12;

/**
 * The wait that the response requests, from 0 to one day. Of several waits, the longest counts. Null when there is none
 * that we can read.
 */
export function retryAfterMs(headers: HeaderList, nowMs: number): number | null {
  let latestMs: number | null = null;
  for (const [name, value] of headers) {
    const lowerName = name.toLowerCase();
    const isRateLimit = RATE_LIMIT_RESETS.has(lowerName);
    if (!isRateLimit && lowerName !== 'retry-after') continue;
    const waitMs = parseWaitMs(value.trim(), isRateLimit, nowMs);
    if (waitMs === null) continue;
    latestMs = Math.max(latestMs ?? 0, Math.ceil(Math.min(RETRY_WAIT_MS_MAX, waitMs)));
  }
  return latestMs;
}

/** A receiver can make the wait longer than `backoffMs`, not shorter. Only a 0, which means at once, replaces it. */
export function nextRetryDelayMs(waits: { readonly backoffMs: number; readonly retryAfterMs: number | null }): number {
  if (waits.retryAfterMs === 0) return 0;
  return Math.max(waits.backoffMs, waits.retryAfterMs ?? 0);
}

function parseWaitMs(text: string, isRateLimit: boolean, nowMs: number): number | null {
  if (/^\d+(?:\.\d+)?$/.test(text)) {
    const number = Number(text);
    if (isRateLimit && number >= INSTANT_MS_MIN) return untilMs(number, nowMs);
    if (isRateLimit && number > INSTANT_SECONDS_MIN) return untilMs(number * 1_000, nowMs);
    return number * 1_000;
  }
  const instantMs = parseHttpDateMs(text, nowMs);
  return instantMs === null ? parseDurationMs(text) : untilMs(instantMs, nowMs);
}

/**
 * Null for a time in the past, which requests no wait. It does not count as 0, because a receiver whose clock is behind
 * would then switch off the backoff.
 */
function untilMs(instantMs: number, nowMs: number): number | null {
  return instantMs > nowMs ? instantMs - nowMs : null;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/**
 * The three formats that every recipient must accept by RFC 9110 (5.6.7). The name of the day is redundant and not
 * checked.
 */
const HTTP_DATES = [
  /^[A-Z][a-z]{2}, (?<day>\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/,
  /^[A-Z][a-z]{5,8}, (?<day>\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\d{2}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/,
  /^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) (?<time>\d{2}:\d{2}:\d{2}) (?<year>\d{4})$/,
];

/** Does not use `Date.parse`, which reads almost anything: "1" as a year, "5 apples" as a month. */
function parseHttpDateMs(text: string, nowMs: number): number | null {
  for (const form of HTTP_DATES) {
    const parts = form.exec(text)?.groups;
    if (parts === undefined) continue;
    const month = MONTHS.indexOf(parts.month!);
    const day = Number(parts.day);
    const [hour, minute, second] = parts.time!.split(':').map(Number) as [number, number, number];
    if (month === -1 || hour > 23 || minute > 59 || second > 60) return null;
    const ms = Date.UTC(fullYear(parts.year!, nowMs), month, day, hour, minute, second);
    const isRealDay = day >= 1 && day <= new Date(Date.UTC(fullYear(parts.year!, nowMs), month + 1, 0)).getUTCDate();
    return isRealDay ? ms : null;
  }
  return null;
}

/** A two-digit year that would be more than 50 years ahead is in the past century (RFC 9110, 5.6.7). */
function fullYear(digits: string, nowMs: number): number {
  if (digits.length === 4) return Number(digits);
  const nowYear = new Date(nowMs).getUTCFullYear();
  const year = nowYear - (nowYear % 100) + Number(digits);
  return year > nowYear + 50 ? year - 100 : year;
}
