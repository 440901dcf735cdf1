// Converts durations as people write them (`90s`, `1d10h30m`, `250ms`, a bare number of seconds) to and from
// milliseconds. This file sets no limits: how long a delay or a timeout may be is decided where it is used.

const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
]);

/**
 * Limit for the text of a duration, far more than any sensible duration needs. It keeps the work for each header small
 * for any input.
 */
const TEXT_LENGTH_MAX = 128;

const BARE_NUMBER = /^\d+(?:\.\d+)?$/;

/**
 * The milliseconds, or null if the text is not a duration. Units may come in any order and more than once (`1s1s` is
 * two seconds). A number without a unit must stand alone, because `1m30` could mean 30 seconds or 30 minutes.
 */
export function parseDurationMs(text: string): number | null {
  const ms = readMs(text);
  return ms === null || Number.isSafeInteger(ms) ? ms : null;
}

/**
 * Like `parseDurationMs`, but a duration that is too long to be exact becomes the longest possible one, so that it
 * exceeds the caller's limit.
 */
export function parseAnyDurationMs(text: string): number | null {
  const ms = readMs(text);
  return ms === null ? null : Math.min(ms, Number.MAX_SAFE_INTEGER);
}

function readMs(text: string): number | null {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.length > TEXT_LENGTH_MAX) return null;
  if (BARE_NUMBER.test(trimmed)) return Math.round(Number(trimmed) * 1_000);

  // The expression is sticky, so that each match starts where the last one ended and nothing is scanned twice.
  const part = /(\d+(?:\.\d+)?)(ms|[smhd])/y;
  let totalMs = 0;
  while (part.lastIndex < trimmed.length) {
    const found = part.exec(trimmed);
    if (found === null) return null;
    totalMs += Number(found[1]) * UNIT_MS.get(found[2]!)!;
  }
  return Math.round(totalMs);
}

/** Formats a whole, non-negative number of milliseconds. `parseDurationMs` reads the result back as the same number. */
export function formatDurationMs(ms: number): string {
  let text = '';
  let restMs = ms;
  for (const [unit, unitMs] of UNIT_MS) {
    const count = Math.floor(restMs / unitMs);
    if (count > 0) text += `${count}${unit}`;
    restMs -= count * unitMs;
  }
  return text === '' ? '0s' : text;
}
