// Makes the messages of schedules that are due. A tick that was missed, because nothing ran, is made once; the next one
// is reckoned from now. However many nodes try, the store lets one of them take a tick.

import type { Account } from '../domain/account.ts';
import { nextCronTime, parseCron } from '../domain/cron.ts';
import type { NewMessage } from '../domain/message.ts';
import type { Problem } from '../domain/problem.ts';
import type { Schedule } from '../domain/schedule.ts';
import type { Store } from '../store/store.ts';

const SCHEDULES_PER_RUN = 100;

export type PlanTick = (
  schedule: Schedule,
  account: Account,
) => Promise<{ readonly messages: readonly NewMessage[] } | { readonly problem: Problem }>;

/** Runs until nothing is due. A tick whose publish can no longer be planned (its topic is gone) makes no message. */
export async function fireSchedules(
  store: Store,
  plan: PlanTick,
  now: number,
  onSkipped: (schedule: Schedule, why: string) => void,
): Promise<void> {
  for (;;) {
    const due = await store.dueSchedules(now, SCHEDULES_PER_RUN);
    for (const schedule of due) {
      const account = await store.getAccount(schedule.accountId);
      const planned = account ? await plan(schedule, account) : null;
      const messages = planned && 'messages' in planned ? planned.messages : [];
      if (planned && 'problem' in planned) onSkipped(schedule, planned.problem.message);
      const cron = parseCron(schedule.cron);
      const nextAt = 'problem' in cron ? null : nextCronTime(cron, now);
      await store.fireSchedule({ schedule, messages, nextAt, now });
    }
    if (due.length < SCHEDULES_PER_RUN) return;
  }
}
