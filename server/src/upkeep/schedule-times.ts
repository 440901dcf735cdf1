// Corrects the next times of schedules after the wall clock was set back: times computed by a clock that was ahead are
// too far in the future. One pass over all schedules runs at the start and after each time the clock was set back.

import { eachMax } from '../rules/limits/budgets.ts';
import { nextTickAt, parseTickTimes } from '../rules/schedules/tick-times.ts';
import { CLOCK_STEP_MS_MAX } from '../rules/time/clock.ts';
import type { ScheduleTime, UpkeepStore } from '../store/ports/upkeep-store.ts';
import type { NodeClock } from './node-clock.ts';

const EVERY_MS = 5000;
/** The pause between two pieces of a pass, for other work. */
const PIECE_EVERY_MS = 20;

export function scheduleTimeCorrector(
  store: Pick<UpkeepStore, 'scheduleTimes' | 'setScheduleTimes'>,
  clock: Pick<NodeClock, 'timesSetBack' | 'wallNow'>,
) {
  const limit = eachMax('upkeepRows');
  const first = { accountId: '', id: '' };
  let after = first;
  /** The value of `timesSetBack` at the current or last pass. -1 before the first. */
  let seen = -1;
  let isUnderWay = false;
  return {
    name: 'times of schedules',
    async run(): Promise<number> {
      if (seen !== clock.timesSetBack) {
        seen = clock.timesSetBack;
        after = first;
        isUnderWay = true;
      }
      if (!isUnderWay) return EVERY_MS;
      const schedules = await store.scheduleTimes(after, limit);
      const changes = schedules.flatMap((schedule) => earlierTime(schedule, clock.wallNow()));
      if (changes.length > 0) await store.setScheduleTimes(changes);
      after = schedules.at(-1) ?? first;
      isUnderWay = schedules.length >= limit;
      return isUnderWay ? PIECE_EVERY_MS : EVERY_MS;
    },
  };
}

/** The next time, if it is earlier than the stored one. A margin ensures that a small step back repeats no tick. */
function earlierTime(schedule: ScheduleTime, wallNow: number): { schedule: ScheduleTime; nextAt: number }[] {
  const times = parseTickTimes(schedule.cron);
  const nextAt = 'problem' in times ? null : nextTickAt(times, schedule.createdAt, wallNow + CLOCK_STEP_MS_MAX);
  return nextAt !== null && nextAt < schedule.nextAt ? [{ schedule, nextAt }] : [];
}
