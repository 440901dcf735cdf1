// The verbs of schedules, as the store has them: what reads, what writes, and who is told that a schedule runs sooner.

import type { StandingOffer } from '../standing-offer.ts';
import type { Store } from '../store.ts';
import type { Over } from './account-verbs.ts';
import type { Hints } from './hints.ts';
import * as schedules from './schedules.ts';
import * as time from './time.ts';

export interface ScheduleVerbsOptions {
  readonly reading: Over;
  readonly writing: Over;
  readonly offer: StandingOffer;
  readonly hints: Hints;
  readonly shard: number;
  readonly noteDue: (dueAt: number | null, now: number) => void;
  readonly noteJournal: () => void;
}

export function scheduleVerbs(options: ScheduleVerbsOptions) {
  const { reading, writing, offer, hints, shard, noteDue, noteJournal } = options;
  return {
    async saveSchedule(schedule) {
      await writing(schedules.saveSchedule)(schedule);
      offer.noteSchedule(schedule.nextAt);
      hints.work();
    },
    getSchedule: reading(schedules.getSchedule),
    deleteSchedule: writing(schedules.deleteSchedule),
    async setScheduleNext(accountId, id, nextAt, isPaused) {
      const isKnown = await writing(schedules.setScheduleNext)(accountId, id, nextAt, isPaused);
      offer.noteSchedule(nextAt);
      hints.work();
      return isKnown;
    },
    async dueSchedules(now, limits) {
      const answer = await reading(schedules.dueSchedules)(now, limits, shard);
      offer.setSchedule(answer.nextAt);
      return answer;
    },
    async fireSchedules(ticks, now) {
      const { made, dueAt } = await writing(schedules.fireSchedules)(ticks, now);
      noteDue(dueAt, now);
      noteJournal();
      return made;
    },
    scheduleTimes: reading(time.scheduleTimes),
    async moveSchedules(moves) {
      await writing(time.moveSchedules)(moves);
      for (const { nextAt } of moves) offer.noteSchedule(nextAt);
      hints.work();
    },
  } satisfies Partial<Store>;
}
