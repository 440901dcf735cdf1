// What a tick of a schedule does: whether it is skipped, by how much its messages are due later, and what becomes of
// the next tick when the schedule is changed.

import { shareOf } from '../requests/id.ts';
import type { Schedule } from './schedule.ts';
import { nextTickAt, parseTickTimes } from './tick-times.ts';

/** Whether a tick is skipped. `open` are the messages of the last tick that have not ended. */
export function isTickSkipped({ overlap }: Pick<Schedule, 'overlap'>, open: number): boolean {
  return overlap === 'skip' && open > 0;
}

/**
 * What becomes of a tick in the transaction that takes it. `left`: nothing, because its messages were not planned, as
 * one of the last tick was open, and by now that one has ended. It is planned again.
 */
export function fateOfTick(
  schedule: Pick<Schedule, 'overlap'>,
  isPlanned: boolean,
  open: number,
): 'made' | 'skipped' | 'left' {
  if (isTickSkipped(schedule, open)) return 'skipped';
  return isPlanned ? 'made' : 'left';
}

/**
 * By how much the messages of the tick at `tickAt` are due later. Any node computes the same for the same tick, and
 * schedules with the same times get different values.
 */
export function jitterOf({ accountId, id, jitterMs }: Schedule, tickAt: number): number {
  return jitterMs === 0 ? 0 : Math.floor(shareOf(`${accountId} ${id} ${tickAt}`) * (jitterMs + 1));
}

/**
 * The next tick after a change. With the same times it stays as it is stored: a tick that is due, or that was missed
 * while no node ran, is not lost, and one that has run since the change began does not run again.
 */
export function nextAfterChange(
  before: Pick<Schedule, 'cron' | 'isPaused' | 'nextAt'>,
  changed: Pick<Schedule, 'cron' | 'isPaused' | 'nextAt'>,
): number | null {
  if (changed.isPaused) return null;
  return before.isPaused || before.cron !== changed.cron ? changed.nextAt : before.nextAt;
}

/** The next tick of a schedule that runs from `now` on. Null if there is none. */
export function nextFrom({ cron, createdAt }: Pick<Schedule, 'cron' | 'createdAt'>, now: number): number | null {
  const times = parseTickTimes(cron);
  return 'problem' in times ? null : nextTickAt(times, createdAt, now);
}

/** Why ticks were skipped, and whether the next one would be, as a sentence. Null if there is nothing to say. */
export function skippedText(
  { overlap, skippedCount, skippedAt }: Pick<Schedule, 'overlap' | 'skippedCount' | 'skippedAt'>,
  openIds: readonly string[],
): string | null {
  const past =
    skippedAt === null
      ? []
      : [
          `${skippedCount === 1 ? '1 tick was' : `${skippedCount} ticks were`} skipped, the last at ${new Date(skippedAt).toISOString()}, because a message of the tick before had not ended.`,
        ];
  const others = openIds.length > 1 ? ` and ${openIds.length - 1} more` : '';
  const now =
    overlap === 'skip' && openIds.length > 0
      ? [`Ticks are skipped until ${openIds[0]}${others} ${openIds.length > 1 ? 'have' : 'has'} ended.`]
      : [];
  return past.length + now.length === 0 ? null : [...past, ...now].join(' ');
}
