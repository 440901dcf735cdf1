// The schedules that people set up. Which schedules are due, and how their ticks run, is in each adapter.

import { eachMax } from '../../rules/limits/budgets.ts';
import { bytesOfSchedule } from '../../rules/limits/stored-bytes.ts';
import type { Schedule } from '../../rules/schedules/schedule.ts';
import type { ListedSchedule } from '../ports/resource-store.ts';
import {
  type ListedScheduleRow,
  SCHEDULE_COLUMNS,
  type ScheduleRow,
  toListedSchedule,
  toSchedule,
} from '../rows/rows.ts';
import { listByKey } from './list-by-key.ts';
import { get, run, type Steps, step } from './steps.ts';

/** Replaces the whole schedule with the same id, if there is one. */
export function* saveSchedule(schedule: Schedule): Steps<void> {
  yield* run(
    `INSERT INTO schedules (${SCHEDULE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (account_id, id) DO UPDATE SET cron = excluded.cron, destination = excluded.destination,
         queue_name = excluded.queue_name, headers = excluded.headers, caller_ip = excluded.caller_ip,
         is_paused = excluded.is_paused, next_at = excluded.next_at, last_at = excluded.last_at,
         last_message_ids = excluded.last_message_ids, created_at = excluded.created_at, body = excluded.body`,
    [
      schedule.id,
      schedule.accountId,
      schedule.cron,
      schedule.destination,
      schedule.queueName,
      JSON.stringify(schedule.headers),
      schedule.callerIp,
      schedule.isPaused,
      schedule.nextAt,
      schedule.lastAt,
      JSON.stringify(schedule.lastMessageIds),
      schedule.createdAt,
      schedule.body,
    ],
  );
  yield* step('countStored', 'schedules', schedule.accountId, schedule.id, bytesOfSchedule(schedule));
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
    columns: `id, account_id, cron, destination, queue_name, headers, caller_ip, is_paused, next_at, last_at,
      last_message_ids, created_at, CASE WHEN octet_length(body) <= ${LISTED_BODY_MAX} THEN body END AS body`,
    bytes: `octet_length(headers) + octet_length(last_message_ids) + ${LISTED_BODY_MAX}`,
  },
  toListedSchedule,
);

export function* deleteSchedule(accountId: string, id: string): Steps<boolean> {
  const sql = 'DELETE FROM schedules WHERE account_id = ? AND id = ?';
  return (yield* step('deleteCounted', accountId, sql, [accountId, id])) > 0;
}

/** Sets the next tick, or pauses the schedule with null. Returns false if there is no such schedule. */
export function* setScheduleNext(
  accountId: string,
  id: string,
  nextAt: number | null,
  isPaused: boolean,
): Steps<boolean> {
  const sql = 'UPDATE schedules SET is_paused = ?, next_at = ? WHERE account_id = ? AND id = ?';
  return (yield* run(sql, [isPaused, nextAt, accountId, id])) > 0;
}
