// The schedules that people set up. Which schedules are due, and how their ticks run, is in each adapter.

import { eachMax } from '../../rules/limits/budgets.ts';
import { bytesOfSchedule } from '../../rules/limits/stored-bytes.ts';
import type { Schedule, ScheduleVersion } from '../../rules/schedules/schedule.ts';
import { nextAfterChange, nextFrom } from '../../rules/schedules/tick.ts';
import type { ListedSchedule } from '../ports/resource-store.ts';
import {
  type ListedScheduleRow,
  SCHEDULE_COLUMNS,
  SCHEDULE_COLUMNS_BESIDE_BODY,
  type ScheduleRow,
  toListedSchedule,
  toSchedule,
} from '../rows/rows.ts';
import { listByKey } from './list-by-key.ts';
import { get, run, type Steps, step } from './steps.ts';

type BeforeRow = Pick<ScheduleRow, 'cron' | 'is_paused' | 'next_at' | 'created_at' | 'version'>;

/** Locks the schedule until the end of the transaction: no tick is taken and nothing is changed meanwhile. */
function lock(accountId: string, id: string): Steps<BeforeRow | undefined> {
  const sql = `SELECT cron, is_paused, next_at, created_at, version FROM schedules
      WHERE account_id = ? AND id = ? FOR UPDATE`;
  return get<BeforeRow>(sql, [accountId, id]);
}

/**
 * Creates the schedule, or changes the one with the same id, which keeps its history: when it was created, its last
 * tick and the ticks it skipped. With `expected`, only if that version of the schedule is there. Returns whether it was
 * saved.
 */
export function* saveSchedule(schedule: Schedule, expected?: ScheduleVersion): Steps<boolean> {
  const row = yield* lock(schedule.accountId, schedule.id);
  const isExpected = row?.created_at === expected?.createdAt && row?.version === expected?.version;
  if (expected && !isExpected) return false;
  const before = row && { cron: row.cron, isPaused: Boolean(row.is_paused), nextAt: row.next_at };
  const nextAt = before ? nextAfterChange(before, schedule) : schedule.nextAt;
  yield* run(
    `INSERT INTO schedules (${SCHEDULE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)
       ON CONFLICT (account_id, id) DO UPDATE SET cron = excluded.cron, destination = excluded.destination,
         queue_name = excluded.queue_name, headers = excluded.headers, caller_ip = excluded.caller_ip,
         is_paused = excluded.is_paused, next_at = excluded.next_at, overlap = excluded.overlap,
         jitter_ms = excluded.jitter_ms, version = schedules.version + 1, body = excluded.body`,
    [
      schedule.id,
      schedule.accountId,
      schedule.cron,
      schedule.destination,
      schedule.queueName,
      JSON.stringify(schedule.headers),
      schedule.callerIp,
      schedule.isPaused,
      nextAt,
      schedule.lastAt,
      JSON.stringify(schedule.lastMessageIds),
      schedule.createdAt,
      schedule.overlap === 'allow' ? null : schedule.overlap,
      schedule.jitterMs === 0 ? null : schedule.jitterMs,
      schedule.skippedCount === 0 ? null : schedule.skippedCount,
      schedule.skippedAt,
      schedule.body,
    ],
  );
  yield* step('countStored', 'schedules', schedule.accountId, schedule.id, bytesOfSchedule(schedule));
  return true;
}

export function* getSchedule(accountId: string, id: string): Steps<Schedule | null> {
  const sql = `SELECT ${SCHEDULE_COLUMNS} FROM schedules WHERE account_id = ? AND id = ?`;
  const row = yield* get<ScheduleRow>(sql, [accountId, id]);
  return row ? toSchedule(row) : null;
}

const LISTED_BODY_MAX = eachMax('listedBodyBytes');

/** A body that is too large for a list is not read. */
export const listSchedules = listByKey<ListedScheduleRow, ListedSchedule>(
  {
    table: 'schedules',
    key: 'id',
    columns: `${SCHEDULE_COLUMNS_BESIDE_BODY}, CASE WHEN octet_length(body) <= ${LISTED_BODY_MAX} THEN body END AS body`,
    bytes: `octet_length(headers) + octet_length(last_message_ids) + ${LISTED_BODY_MAX}`,
  },
  toListedSchedule,
);

export function* deleteSchedule(accountId: string, id: string): Steps<boolean> {
  const sql = 'DELETE FROM schedules WHERE account_id = ? AND id = ?';
  return (yield* step('deleteCounted', accountId, sql, [accountId, id])) > 0;
}

/** Pauses or resumes the schedule, unless it already is. Returns its next tick. */
export function* pauseSchedule(
  accountId: string,
  id: string,
  isPaused: boolean,
  wallNow: number,
): Steps<{ readonly nextAt: number | null } | null> {
  const row = yield* lock(accountId, id);
  if (!row) return null;
  if (Boolean(row.is_paused) === isPaused) return { nextAt: row.next_at };
  const nextAt = isPaused ? null : nextFrom({ cron: row.cron, createdAt: row.created_at }, wallNow);
  const sql = `UPDATE schedules SET is_paused = ?, next_at = ?, version = version + 1 WHERE account_id = ? AND id = ?`;
  yield* run(sql, [isPaused, nextAt, accountId, id]);
  return { nextAt };
}
