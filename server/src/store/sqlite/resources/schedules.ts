// The schedules table. A tick is taken by moving `next_at` in the transaction that accepts its messages. If `next_at`
// was already moved, nothing is created.

import { eachMax } from '../../../rules/limits/budgets.ts';
import { bytesOfSchedule } from '../../../rules/limits/stored-bytes.ts';
import type { Schedule } from '../../../rules/schedules/schedule.ts';
import { earlier } from '../../../rules/time/instant.ts';
import { FIRST_PART, fitting, type ListPart, type ListPiece, type WeighedKey } from '../../ports/list-piece.ts';
import type { ListedSchedule } from '../../ports/resource-store.ts';
import type { DueLimits, DueSchedules, Tick, TickMade } from '../../ports/upkeep-store.ts';
import { SCHEDULE_COLUMNS, type ScheduleRow, toListedSchedule, toSchedule } from '../../rows/rows.ts';
import { chooseDue, type DueKey } from '../../shared/due-schedules.ts';
import { accept } from '../deliveries/accept.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';

/** Replaces the whole schedule with the same id, if there is one. */
export function saveSchedule(
  database: Database,
  { stored }: Pick<TransactionCaches, 'stored'>,
  schedule: Schedule,
): void {
  database.run(
    `INSERT INTO schedules (${SCHEDULE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET cron = excluded.cron, destination = excluded.destination,
         queue_name = excluded.queue_name, headers = excluded.headers, caller_ip = excluded.caller_ip,
         is_paused = excluded.is_paused, next_at = excluded.next_at, last_at = excluded.last_at,
         last_message_ids = excluded.last_message_ids, created_at = excluded.created_at, body = excluded.body`,
    schedule.id,
    schedule.accountId,
    schedule.cron,
    schedule.destination,
    schedule.queueName,
    JSON.stringify(schedule.headers),
    schedule.callerIp,
    schedule.isPaused ? 1 : 0,
    schedule.nextAt,
    schedule.lastAt,
    JSON.stringify(schedule.lastMessageIds),
    schedule.createdAt,
    schedule.body,
  );
  stored.weigh('schedules', schedule.accountId, schedule.id, bytesOfSchedule(schedule));
}

export function getSchedule(database: Database, accountId: string, id: string): Schedule | null {
  const row = database.get<ScheduleRow>(
    `SELECT ${SCHEDULE_COLUMNS} FROM schedules WHERE account_id = ? AND id = ?`,
    accountId,
    id,
  );
  return row ? toSchedule(row) : null;
}

export function listSchedules(
  database: Database,
  accountId: string,
  part: ListPart = FIRST_PART,
): ListPiece<ListedSchedule> {
  const bodyMax = eachMax('listedBodyBytes');
  const keys = database.all<WeighedKey>(
    `SELECT id AS key, octet_length(headers) + octet_length(last_message_ids) + ? AS bytes FROM schedules
       WHERE account_id = ? AND id > ? ORDER BY id LIMIT ?`,
    bodyMax,
    accountId,
    part.after ?? '',
    part.limit + 1,
  );
  const { last, count } = fitting(keys, part);
  const rows = database.all<ScheduleRow & { is_body_left_out: 0 | 1 }>(
    `SELECT id, account_id, cron, destination, queue_name, headers, caller_ip, is_paused, next_at, last_at,
         last_message_ids, created_at, iif(length(body) > ?1, x'', body) AS body, length(body) > ?1 AS is_body_left_out
       FROM schedules WHERE account_id = ?2 AND id > ?3 AND id <= ?4 ORDER BY id`,
    bodyMax,
    accountId,
    part.after ?? '',
    last,
  );
  return { entries: rows.map(toListedSchedule), hasMore: keys.length > count };
}

export function deleteSchedule(
  _database: Database,
  { stored }: Pick<TransactionCaches, 'stored'>,
  accountId: string,
  id: string,
): boolean {
  return stored.delete(accountId, 'DELETE FROM schedules WHERE account_id = ? AND id = ?', accountId, id) > 0;
}

/** Pauses (null) or sets the next tick. Returns false if there is no such schedule. */
export function setScheduleNext(
  database: Database,
  accountId: string,
  id: string,
  nextAt: number | null,
  isPaused: boolean,
) {
  return (
    database.run(
      'UPDATE schedules SET is_paused = ?, next_at = ? WHERE account_id = ? AND id = ?',
      isPaused ? 1 : 0,
      nextAt,
      accountId,
      id,
    ) > 0
  );
}

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
  const due = chooseDue(keys, limits).map(({ account_id, id }) => getSchedule(database, account_id, id)!);
  return { due, nextAt: nextScheduleAt(database) };
}

/**
 * The times at which accounts have due schedules, earliest first. Steps from one to the next, however many
 * schedules each has.
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

/** When the next schedule is due; null if none is. */
export function nextScheduleAt(database: Database): number | null {
  const row = database.get<{ at: number }>(
    'SELECT next_at AS at FROM schedules WHERE next_at IS NOT NULL ORDER BY next_at LIMIT 1',
  );
  return row?.at ?? null;
}

/** Takes each tick and accepts its messages, or does neither. */
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
