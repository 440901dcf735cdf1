// Publishes the messages of due schedules, some of them in each run. A tick that was missed while no node ran is made
// up for once, and the next tick is computed from now. However many nodes try, the store gives each tick to only one.

import type { Account } from '../rules/accounts/account.ts';
import type { NewMessage } from '../rules/delivery/message.ts';
import { eachMax } from '../rules/limits/budgets.ts';
import type { Tiers } from '../rules/limits/tier.ts';
import type { Problem } from '../rules/requests/problem.ts';
import type { Schedule } from '../rules/schedules/schedule.ts';
import { jitterOf } from '../rules/schedules/tick.ts';
import { nextTickAt, parseTickTimes } from '../rules/schedules/tick-times.ts';
import type { AccountStore } from '../store/ports/account-store.ts';
import { StoreUnavailable } from '../store/ports/store.ts';
import type { DueSchedule, Tick, UpkeepStore } from '../store/ports/upkeep-store.ts';
import { type OnSkipped, SkippedTicks } from './skipped-ticks.ts';

const OVER_QUOTA = { code: 'over_quota', text: 'the daily quota of the account is used up' };
/** The pause after other nodes have taken all schedules that were due. */
const LEFT_MS = 20;
/** The pause after all schedules that were due had times that this program cannot read. */
const UNREADABLE_MS = 1000;

/**
 * After this time of planning, a step ends: its ticks run, and what is due by then is looked at again, beginning with
 * the next account. So does a step that has planned as many messages as fit into a transaction.
 */
const STEP_MS = 5;

/** Plans the messages of a tick. Work that takes time, without what it waits for, is done by `timed`. */
export type PlanTick = (
  schedule: Schedule,
  account: Account,
  timed: <T>(work: () => T) => T,
) => Promise<{ readonly messages: readonly NewMessage[] } | { readonly problem: Problem }>;

export interface ScheduleRunnerOptions {
  readonly store: UpkeepStore & Pick<AccountStore, 'getAccount'>;
  /** The time at which the messages of a tick are accepted. */
  readonly now: () => number;
  readonly plan: PlanTick;
  /** The time of the event loop: planning is charged to the account. */
  readonly turns: {
    nowMs(): number;
    charge(user: { readonly key: string; readonly isKnown: boolean }, sinceMs: number): void;
  };
  readonly tiers: Tiers;
  /**
   * Called when ticks made no message: their publish cannot be planned (for example, its topic is gone) or written, or
   * the quota is used up. Not for every tick: see SkippedTicks.
   */
  readonly onSkipped: OnSkipped<Schedule>;
}

interface Runner extends Omit<ScheduleRunnerOptions, 'onSkipped'> {
  readonly skipped: SkippedTicks<Schedule>;
}

/**
 * Returns the function that does one run. It runs some of the schedules that are due by `wallNow`, the trusted wall
 * clock, and returns when to run again, or null when there is no schedule.
 */
export function scheduleRunner(options: ScheduleRunnerOptions): (wallNow: number) => Promise<number | null> {
  const { store } = options;
  const runner: Runner = { ...options, skipped: new SkippedTicks(options.onSkipped) };
  const limits = { schedules: eachMax('dueSchedules'), bytes: eachMax('dueScheduleBytes') };
  let after = '';
  return async (wallNow) => {
    const { due, nextAt } = await store.dueSchedules(wallNow, { ...limits, after });
    if (due.length === 0) return nextAt;
    const accounts = new Map<string, Account | null>();
    const work = { ms: 0 };
    const ticks: Tick[] = [];
    let rows = 0;
    for (const schedule of due) {
      const { accountId } = schedule;
      after = accountId;
      if (!accounts.has(accountId)) accounts.set(accountId, await store.getAccount(accountId));
      const tick = await planTick(runner, schedule, accounts.get(accountId)!, wallNow, work);
      if (tick === null) continue;
      ticks.push(tick);
      rows += tick.messages.length;
      if (rows >= eachMax('upkeepRows') || work.ms >= STEP_MS) break;
    }
    if (ticks.length === 0) return wallNow + UNREADABLE_MS;
    const fired = await fire(runner, ticks);
    return fired > 0 ? wallNow : wallNow + LEFT_MS;
  };
}

/**
 * Null if this program cannot read when the schedule ticks: a newer one made it. The tick is left to nodes that can, as
 * its next time is not known here.
 */
async function planTick(
  { plan, tiers, turns, skipped }: Runner,
  schedule: DueSchedule,
  account: Account | null,
  wallNow: number,
  work: { ms: number },
): Promise<Tick | null> {
  const times = parseTickTimes(schedule.cron);
  if ('problem' in times) {
    skipped.note(schedule, { code: 'unreadable', text: `${schedule.cron}: ${times.problem}` }, wallNow);
    return null;
  }
  const nextAt = nextTickAt(times, schedule.createdAt, wallNow);
  if (schedule.isSkipped) return { schedule, messages: [], isUnplanned: true, nextAt };
  const timed = <T>(plans: () => T): T => {
    const sinceMs = turns.nowMs();
    const result = plans();
    turns.charge({ key: schedule.accountId, isKnown: true }, sinceMs);
    work.ms += turns.nowMs() - sinceMs;
    return result;
  };
  const planned = account ? await plan(schedule, account, timed) : null;
  if (planned && 'problem' in planned) {
    const { code, message } = planned.problem;
    skipped.note(schedule, { code, text: message }, wallNow);
  }
  return {
    schedule,
    messages: planned && 'messages' in planned ? later(planned.messages, schedule) : [],
    nextAt,
    dayMax: account ? tiers[account.tier].messagesPerDayMax : null,
  };
}

/** The messages of the tick at `schedule.nextAt`, due later by its jitter, but before they expire. */
function later(messages: readonly NewMessage[], schedule: Schedule): readonly NewMessage[] {
  const laterMs = jitterOf(schedule, schedule.nextAt ?? 0);
  if (laterMs === 0) return messages;
  return messages.map((message) => {
    const { dueAt, mustStartBefore } = message;
    const latestAt = mustStartBefore === null ? Number.POSITIVE_INFINITY : Math.max(dueAt, mustStartBefore - 1);
    return { ...message, dueAt: Math.min(dueAt + laterMs, latestAt) };
  });
}

/**
 * Runs the ticks. Returns how many of them ran here, and not on another node. If writing all ticks together fails, each
 * is tried alone, so that a bad one does not block the others.
 */
async function fire(runner: Runner, ticks: readonly Tick[]): Promise<number> {
  if (ticks.length === 0) return 0;
  try {
    return await fireTogether(runner, ticks);
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    if (ticks.length === 1) return skip(runner, ticks[0]!, error);
  }
  let fired = 0;
  for (const tick of ticks) fired += await fire(runner, [tick]);
  return fired;
}

async function fireTogether({ store, now, skipped }: Runner, ticks: readonly Tick[]): Promise<number> {
  const made = await store.fireSchedules(ticks, now());
  for (const [index, each] of made.entries()) {
    const { schedule, messages } = ticks[index]!;
    if (each === 'overQuota') skipped.note(schedule, OVER_QUOTA, now());
    else if (typeof each === 'number' && messages.length > 0) skipped.forget(schedule);
  }
  return made.filter((each) => each !== null).length;
}

/** Runs a tick without its messages, because they cannot be written. */
function skip(runner: Runner, tick: Tick, error: unknown): Promise<number> {
  if (tick.messages.length === 0) throw error;
  const text = error instanceof Error ? error.message : String(error);
  runner.skipped.note(tick.schedule, { code: 'unwritten', text }, runner.now());
  return fire(runner, [{ ...tick, messages: [] }]);
}
