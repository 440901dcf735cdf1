// When a schedule ticks: at the times of a cron expression, or at equal intervals (`@every 10s`). The intervals are
// counted from the creation of the schedule, so that neither a restart, a change nor a late tick shifts them.

import { formatDurationMs, parseAnyDurationMs } from '../time/duration.ts';
import { CRON_LENGTH_MAX, type Cron, nextCronTime, parseCron } from './cron.ts';

export interface Every {
  readonly everyMs: number;
}

export type TickTimes = Cron | Every;

const SECOND_MS = 1000;
const EVERY_MS_MAX = 365 * 86_400_000;
const EVERY = /^(?<zone>(?:CRON_)?TZ=\S*\s+)?@every(?:\s+(?<duration>\S.*))?$/is;

export function parseTickTimes(text: string): TickTimes | { readonly problem: string } {
  const found = text.length > CRON_LENGTH_MAX ? null : EVERY.exec(text.trim());
  if (!found) return parseCron(text);
  const { zone, duration } = found.groups!;
  if (zone !== undefined) return { problem: '@every counts the time that passes, and has no time zone; leave it out' };
  if (duration === undefined) return { problem: '@every needs a duration, such as @every 10s' };
  const everyMs = parseAnyDurationMs(duration);
  const shown = JSON.stringify(duration.slice(0, 40));
  if (everyMs === null) return { problem: `@every ${shown}: must be a duration such as 10s, 5m or 1h30m` };
  // Times between two whole seconds would be as many different times as there are schedules, and due schedules are
  // found by their times.
  if (everyMs < SECOND_MS || everyMs > EVERY_MS_MAX || everyMs % SECOND_MS !== 0) {
    return { problem: `@every ${shown}: must be whole seconds, from 1s to ${formatDurationMs(EVERY_MS_MAX)}` };
  }
  return { everyMs };
}

/** The first tick after `afterAt` of a schedule created at `createdAt`. Null if there is none within 28 years. */
export function nextTickAt(times: TickTimes, createdAt: number, afterAt: number): number | null {
  if (!('everyMs' in times)) return nextCronTime(times, afterAt);
  const fromAt = Math.floor(createdAt / SECOND_MS) * SECOND_MS;
  return fromAt + (Math.floor((afterAt - fromAt) / times.everyMs) + 1) * times.everyMs;
}

/** The first `count` ticks after `afterAt`, or fewer if there are no more. */
export function nextTicks(times: TickTimes, createdAt: number, afterAt: number, count: number): number[] {
  const ticks: number[] = [];
  while (ticks.length < count) {
    const next = nextTickAt(times, createdAt, ticks.at(-1) ?? afterAt);
    if (next === null) break;
    ticks.push(next);
  }
  return ticks;
}

/** The zone in which the times are named. */
export function zoneOf(times: TickTimes): string {
  return 'everyMs' in times ? 'UTC' : times.timeZone;
}
