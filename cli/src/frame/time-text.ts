// Times and durations for people, and times as people give them.

import { parseDurationMs } from '../../../server/src/rules/time/duration.ts';

/** The time in UTC, to the second: the text is the same on every machine, and can be sorted. */
export function timeText(at: number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? String(at) : `${date.toISOString().slice(0, 19).replace('T', ' ')}Z`;
}

/** The time to the millisecond, for events that follow each other closely. */
export function exactTimeText(at: number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? String(at) : `${date.toISOString().slice(0, 23).replace('T', ' ')}Z`;
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const;

/** A duration in its two largest units: `3d 4h`, `2m 5s`, `40s`, `12ms`. */
export function spanText(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))}ms`;
  const parts: string[] = [];
  let rest = ms;
  for (const [unit, unitMs] of UNITS) {
    const count = Math.floor(rest / unitMs);
    rest -= count * unitMs;
    if (count > 0) parts.push(`${count}${unit}`);
    if (parts.length === 2 || (parts.length === 1 && count === 0)) break;
  }
  return parts.join(' ');
}

/** Whether `readTime` reads the text as a duration that counts back from now. */
export function isDurationAgo(text: string): boolean {
  return !/^\d{9,14}$/.test(text) && parseDurationMs(text) !== null;
}

/** Reads a date, (milli)seconds since 1970, or a duration before now such as `1h`. Null for any other text. */
export function readTime(text: string, now: number): number | null {
  if (/^\d{9,11}$/.test(text)) return Number(text) * 1000;
  if (/^\d{12,14}$/.test(text)) return Number(text);
  const ms = parseDurationMs(text);
  if (ms !== null) return now - ms;
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}
