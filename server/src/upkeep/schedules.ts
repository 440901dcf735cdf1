// Publishes the messages of due schedules, some of them in each run. A tick that was missed while no node ran is made
// up for once, and the next tick is computed from now. However many nodes try, the store gives each tick to only one.

import type { Account } from '../rules/accounts/account.ts';
import type { NewMessage } from '../rules/delivery/message.ts';
import { eachMax } from '../rules/limits/budgets.ts';
import type { Tiers } from '../rules/limits/tier.ts';
import type { Problem } from '../rules/requests/problem.ts';
import { nextCronTime, parseCron } from '../rules/schedules/cron.ts';
import type { Schedule } from '../rules/schedules/schedule.ts';
import type { AccountStore } from '../store/ports/account-store.ts';
import { StoreUnavailable } from '../store/ports/store.ts';
import type { Tick, UpkeepStore } from '../store/ports/upkeep-store.ts';

/** The pause after other nodes have taken all schedules that were due. */
const LEFT_MS = 20;

export type PlanTick = (
  schedule: Schedule,
  account: Account,
) => Promise<{ readonly messages: readonly NewMessage[] } | { readonly problem: Problem }>;

export interface ScheduleRunnerOptions {
  readonly store: UpkeepStore & Pick<AccountStore, 'getAccount'>;
  /** The time at which the messages of a tick are accepted. */
  readonly now: () => number;
  readonly plan: PlanTick;
  readonly tiers: Tiers;
  /**
   * Called when a tick made no message: its publish cannot be planned (for example, its topic is gone) or written, or
   * the quota is used up.
   */
  readonly onSkipped: (schedule: Schedule, why: string) => void;
}

/**
 * Returns one run: it takes some of the schedules that are due by the trusted wall clock, and returns when to run
 * again, or null when there is no schedule.
 */
export function scheduleRunner(options: ScheduleRunnerOptions): (wallNow: number) => Promise<number | null> {
  const { store } = options;
  const limits = { schedules: eachMax('dueSchedules'), bytes: eachMax('dueScheduleBytes') };
  let after = '';
  return async (wallNow) => {
    const { due, nextAt } = await store.dueSchedules(wallNow, { ...limits, after });
    if (due.length === 0) return nextAt;
    after = due.at(-1)!.accountId;
    const accounts = new Map<string, Account | null>();
    let fired = 0;
    let ticks: Tick[] = [];
    let rows = 0;
    for (const schedule of due) {
      const { accountId } = schedule;
      if (!accounts.has(accountId)) accounts.set(accountId, await store.getAccount(accountId));
      const tick = await planTick(options, schedule, accounts.get(accountId)!, wallNow);
      ticks.push(tick);
      rows += tick.messages.length;
      if (rows < eachMax('upkeepRows')) continue;
      fired += await fire(options, ticks);
      ticks = [];
      rows = 0;
    }
    fired += await fire(options, ticks);
    return fired > 0 ? wallNow : wallNow + LEFT_MS;
  };
}

async function planTick(
  { plan, tiers, onSkipped }: ScheduleRunnerOptions,
  schedule: Schedule,
  account: Account | null,
  wallNow: number,
): Promise<Tick> {
  const planned = account ? await plan(schedule, account) : null;
  if (planned && 'problem' in planned) onSkipped(schedule, planned.problem.message);
  const cron = parseCron(schedule.cron);
  return {
    schedule,
    messages: planned && 'messages' in planned ? planned.messages : [],
    nextAt: 'problem' in cron ? null : nextCronTime(cron, wallNow),
    dayMax: account ? tiers[account.tier].messagesPerDayMax : null,
  };
}

/**
 * Returns how many ticks were taken. If writing all ticks together fails, each is tried alone, so that a bad one does
 * not block the others.
 */
async function fire(options: ScheduleRunnerOptions, ticks: readonly Tick[]): Promise<number> {
  if (ticks.length === 0) return 0;
  try {
    return await fireTogether(options, ticks);
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    if (ticks.length === 1) return skip(options, ticks[0]!, error);
  }
  let fired = 0;
  for (const tick of ticks) fired += await fire(options, [tick]);
  return fired;
}

async function fireTogether(options: ScheduleRunnerOptions, ticks: readonly Tick[]): Promise<number> {
  const made = await options.store.fireSchedules(ticks, options.now());
  made.forEach((each, index) => {
    if (each === 'overQuota') options.onSkipped(ticks[index]!.schedule, 'the daily quota of its account is used up');
  });
  return made.filter((each) => each !== null).length;
}

/** Takes a tick without its messages, because they cannot be written. */
function skip(options: ScheduleRunnerOptions, tick: Tick, error: unknown): Promise<number> {
  if (tick.messages.length === 0) throw error;
  options.onSkipped(tick.schedule, error instanceof Error ? error.message : String(error));
  return fire(options, [{ ...tick, messages: [] }]);
}
