// Runs schedules. The transaction that accepts the messages of a tick also moves `next_at`. If `next_at` was already
// moved, it creates nothing.

import { earlier } from '../../../rules/time/instant.ts';
import type { DueLimits, DueSchedules, Tick, TickMade } from '../../ports/upkeep-store.ts';
import { SCHEDULE_COLUMNS, type ScheduleRow, toSchedule } from '../../rows/rows.ts';
import { chooseDue, type DueKey } from '../../shared/due-schedules.ts';
import { accept } from '../deliveries/accept.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';

export function dueSchedules(database: Database, now: number, limits: DueLimits): DueSchedules {
  const times = dueTimes(database, now, limits.schedules);
  const part = Math.ceil(limits.schedules / Math.max(1, times.length));
  const keys = times.flatMap((time) =>
    database.all<DueKey>(
      `SELECT account_id, id, length(body) AS bytes FROM schedules WHERE next_at = ? AND account_id = ?
         ORDER BY id LIMIT ?`,
      time.next_at,
      time.account_id,
      part,
    ),
  );
  const sql = `SELECT ${SCHEDULE_COLUMNS} FROM schedules WHERE account_id = ? AND id = ?`;
  const due = chooseDue(keys, limits).map(({ account_id, id }) => database.get<ScheduleRow>(sql, account_id, id)!);
  return { due: due.map(toSchedule), nextAt: nextScheduleAt(database) };
}

/**
 * The times at which accounts have due schedules, earliest first. Steps from one account to the next, so the number of
 * schedules of an account does not matter.
 */
function dueTimes(database: Database, now: number, limit: number): { next_at: number; account_id: string }[] {
  const times: { next_at: number; account_id: string }[] = [];
  let at = { next_at: Number.MIN_SAFE_INTEGER, account_id: '' };
  while (times.length < limit) {
    const next = database.get<{ next_at: number; account_id: string }>(
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

/** Takes a tick and accepts its messages in one transaction. */
export function fireSchedules(
  database: Database,
  caches: TransactionCaches,
  ticks: readonly Tick[],
  now: number,
): { made: TickMade[]; dueAt: number | null } {
  let dueAt: number | null = null;
  const made = ticks.map(({ schedule, messages, nextAt, dayMax = null }): TickMade => {
    const taken = database.run(
      `UPDATE schedules SET next_at = ?, last_at = ?
         WHERE account_id = ? AND id = ? AND next_at = ? AND is_paused = 0`,
      nextAt,
      now,
      schedule.accountId,
      schedule.id,
      schedule.nextAt,
    );
    if (taken === 0) return null;
    const accepted = accept(database, caches, { messages, leases: [], node: '', now, dayMax });
    dueAt = earlier(dueAt, accepted.dueAt);
    database.run(
      'UPDATE schedules SET last_message_ids = ? WHERE account_id = ? AND id = ?',
      JSON.stringify(accepted.duplicates.map((standing, index) => standing ?? messages[index]!.id)),
      schedule.accountId,
      schedule.id,
    );
    return accepted.isOverQuota ? 'overQuota' : accepted.duplicates.filter((id) => id === null).length;
  });
  return { made, dueAt };
}
