// Runs schedules. The transaction that accepts the messages of a tick also moves `next_at` of the schedule. If another
// call has already moved it, or has changed the schedule since it was read, the tick creates no messages. A schedule that allows no overlap is looked at in the same
// transaction: whether a message of its last tick is open.

import type { Schedule } from '../../../rules/schedules/schedule.ts';
import { fateOfTick, isTickSkipped } from '../../../rules/schedules/tick.ts';
import { earlier } from '../../../rules/time/instant.ts';
import type { DueLimits, DueSchedule, DueSchedules, Tick, TickResult } from '../../ports/upkeep-store.ts';
import { SCHEDULE_COLUMNS, type ScheduleRow, toSchedule } from '../../rows/rows.ts';
import {
  chooseDue,
  chooseTimes,
  DUE_BYTES,
  type DueKey,
  type DueTime,
  lookedAtTimes,
} from '../../shared/due-schedules.ts';
import { accept } from '../deliveries/accept.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';

export function dueSchedules(database: Database, now: number, limits: DueLimits): DueSchedules {
  const times = chooseTimes(dueTimes(database, now, lookedAtTimes(limits)), limits);
  const part = Math.ceil(limits.schedules / Math.max(1, times.length));
  const keys = times.flatMap((time) =>
    database.all<DueKey>(
      `SELECT account_id, id, ${DUE_BYTES} AS bytes FROM schedules WHERE next_at = ? AND account_id = ?
         ORDER BY id LIMIT ?`,
      time.next_at,
      time.account_id,
      part,
    ),
  );
  const sql = `SELECT ${SCHEDULE_COLUMNS} FROM schedules WHERE account_id = ? AND id = ?`;
  const due = chooseDue(keys, limits).map(({ account_id, id }) => database.get<ScheduleRow>(sql, account_id, id)!);
  return { due: due.map((row) => withSkip(database, toSchedule(row))), nextAt: nextScheduleAt(database) };
}

function withSkip(database: Database, schedule: Schedule): DueSchedule {
  const open = schedule.overlap === 'skip' ? countOpen(database, schedule.lastMessageIds) : 0;
  return isTickSkipped(schedule, open) ? { ...schedule, isSkipped: true } : schedule;
}

/**
 * The pairs of a due time and an account with schedules at that time, earliest first. Steps from pair to pair, so it
 * does not matter how many schedules a pair has.
 */
function dueTimes(database: Database, now: number, limit: number): DueTime[] {
  const times: DueTime[] = [];
  let at: DueTime = { next_at: Number.MIN_SAFE_INTEGER, account_id: '' };
  while (times.length < limit) {
    const next = database.get<DueTime>(
      `SELECT next_at, account_id FROM schedules WHERE next_at <= ? AND (next_at, account_id) > (?, ?)
         ORDER BY next_at, account_id LIMIT 1`,
      now,
      at.next_at,
      at.account_id,
    );
    if (!next) break;
    times.push(next);
    at = next;
  }
  return times;
}

/** The earliest time at which any schedule is due; null if there is none. */
export function nextScheduleAt(database: Database): number | null {
  const row = database.get<{ at: number }>(
    'SELECT next_at AS at FROM schedules WHERE next_at IS NOT NULL ORDER BY next_at LIMIT 1',
  );
  return row?.at ?? null;
}

/** The schedule still has the tick, and is what the messages of the tick were planned from. */
const IS_PLANNED = 'account_id = ? AND id = ? AND next_at = ? AND is_paused = 0 AND created_at = ? AND version = ?';

function plannedKey({ accountId, id, nextAt, createdAt, version }: Schedule) {
  return [accountId, id, nextAt, createdAt, version] as const;
}

/** For each tick that has not run yet: moves its schedule to the next time, and accepts the messages of the tick. */
export function fireSchedules(
  database: Database,
  caches: TransactionCaches,
  ticks: readonly Tick[],
  now: number,
): { made: TickResult[]; dueAt: number | null } {
  let dueAt: number | null = null;
  const made = ticks.map((tick): TickResult => {
    const { schedule, messages, nextAt, isUnplanned = false, dayMax = null } = tick;
    const { accountId, id } = schedule;
    const open = schedule.overlap === 'skip' ? countOpen(database, lastMessageIds(database, accountId, id)) : 0;
    const fate = fateOfTick(schedule, !isUnplanned, open);
    if (fate === 'left') return null;
    if (fate === 'skipped') return skipTick(database, tick, now);
    const taken = database.run(
      `UPDATE schedules SET next_at = ?, last_at = ? WHERE ${IS_PLANNED}`,
      nextAt,
      now,
      ...plannedKey(schedule),
    );
    if (taken === 0) return null;
    const accepted = accept(database, caches, { messages, leases: [], node: '', now, dayMax });
    dueAt = earlier(dueAt, accepted.dueAt);
    database.run(
      'UPDATE schedules SET last_message_ids = ? WHERE account_id = ? AND id = ?',
      JSON.stringify(accepted.duplicates.map((standing, index) => standing ?? messages[index]!.id)),
      accountId,
      id,
    );
    return accepted.isOverQuota ? 'overQuota' : accepted.duplicates.filter((standing) => standing === null).length;
  });
  return { made, dueAt };
}

/** Returns null if another call has taken the tick. */
function skipTick(database: Database, { schedule, nextAt }: Tick, now: number): TickResult {
  const taken = database.run(
    `UPDATE schedules SET next_at = ?, skipped_count = coalesce(skipped_count, 0) + 1, skipped_at = ?
       WHERE ${IS_PLANNED}`,
    nextAt,
    now,
    ...plannedKey(schedule),
  );
  return taken === 0 ? null : 'skipped';
}

function lastMessageIds(database: Database, accountId: string, id: string): string[] {
  const row = database.get<Pick<ScheduleRow, 'last_message_ids'>>(
    'SELECT last_message_ids FROM schedules WHERE account_id = ? AND id = ?',
    accountId,
    id,
  );
  return row ? (JSON.parse(row.last_message_ids) as string[]) : [];
}

/** How many of these messages have not ended: 0, or at least 1. */
function countOpen(database: Database, ids: readonly string[]): number {
  const isOpen = (id: string) =>
    database.get('SELECT 1 FROM messages WHERE id = ? AND ended_at IS NULL', id) !== undefined;
  return ids.some(isOpen) ? 1 : 0;
}
