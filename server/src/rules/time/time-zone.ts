// Finds the offset of a time zone from UTC at an instant, and when the offset changes, by the time-zone data of
// Node.js. This file knows nothing of calendars or schedules.

/** One format for each zone: making a format costs far more than using it, and there are only a few hundred zones. */
const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * Whether a text is the name of a zone. An offset such as +02:00 is not a zone, since it does not say when it changes.
 */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    formatOf(name);
    return true;
  } catch {
    return false;
  }
}

/**
 * The offset that is added to an instant to get local time. It is a whole number of seconds, because in the past
 * offsets were not always whole minutes.
 */
export function offsetMsAt(timeZone: string, at: number): number {
  const text = formatOf(timeZone).format(at);
  const [, sign, hours, minutes, seconds] = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(text) ?? [];
  if (sign === undefined) return 0;
  const offsetMs = (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds ?? 0)) * 1_000;
  return sign === '-' ? -offsetMs : offsetMs;
}

/**
 * The first instant after `afterAt`, and not after `untilAt`, with another offset. Null when there is none. The span
 * must be about a day at most: only its two ends are compared, so a change that is reversed in between is not found.
 */
export function offsetChangeAt(timeZone: string, afterAt: number, untilAt: number): number | null {
  const offsetMs = offsetMsAt(timeZone, afterAt);
  if (offsetMsAt(timeZone, untilAt) === offsetMs) return null;
  let before = afterAt;
  let changed = untilAt;
  while (changed - before > 1) {
    const middle = Math.floor((before + changed) / 2);
    if (offsetMsAt(timeZone, middle) === offsetMs) before = middle;
    else changed = middle;
  }
  return changed;
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  // Zone names are accepted in any case. One key for all spellings keeps the map as small as the list of zones.
  const key = timeZone.toLowerCase();
  let format = formats.get(key);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
    formats.set(key, format);
  }
  return format;
}
