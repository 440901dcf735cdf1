// The schedules table. A tick is taken by moving `next_at` in the transaction that accepts its messages: whoever finds
// it moved already makes nothing. Of nodes that take it at once, one moves it and the others wait, to find it moved.

import type { NewMessage } from '../../domain/message.ts';
import type { Schedule } from '../../domain/schedule.ts';
import { type ScheduleRow, toSchedule } from '../rows.ts';
import { accept } from './accept.ts';
import type { Database } from './database.ts';
import { sought } from './sought.ts';

const COLUMNS = `id, account_id, cron, destination, queue_name, headers, caller_ip, is_paused, next_at, last_at,
  last_message_ids, created_at, body`;

/** Whole: what was there under the same id is replaced. */
export async function saveSchedule(database: Database, schedule: Schedule): Promise<void> {
  await database.run(
    `INSERT INTO schedules (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
       ON CONFLICT (account_id, id) DO UPDATE SET cron = excluded.cron, destination = excluded.destination,
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
    schedule.isPaused,
    schedule.nextAt,
    schedule.lastAt,
    JSON.stringify(schedule.lastMessageIds),
    schedule.createdAt,
    schedule.body,
  );
}

export async function getSchedule(database: Database, accountId: string, id: string): Promise<Schedule | null> {
  const row = await database.get<ScheduleRow>(
    `SELECT ${COLUMNS} FROM schedules WHERE account_id = $1 AND id = $2`,
    accountId,
    sought(id),
  );
  return row ? toSchedule(row) : null;
}

export async function listSchedules(database: Database, accountId: string): Promise<Schedule[]> {
  const rows = await database.all<ScheduleRow>(
    `SELECT ${COLUMNS} FROM schedules WHERE account_id = $1 ORDER BY id LIMIT 10000`,
    accountId,
  );
  return rows.map(toSchedule);
}

export async function countSchedules(database: Database, accountId: string): Promise<number> {
  const row = await database.get<{ n: number }>('SELECT count(*) AS n FROM schedules WHERE account_id = $1', accountId);
  return row!.n;
}

export async function deleteSchedule(database: Database, accountId: string, id: string): Promise<boolean> {
  return (await database.run('DELETE FROM schedules WHERE account_id = $1 AND id = $2', accountId, sought(id))) > 0;
}

/** Pauses (null) or sets the next tick; answers false when there is none of that id. */
export async function setScheduleNext(
  database: Database,
  accountId: string,
  id: string,
  nextAt: number | null,
  isPaused: boolean,
): Promise<boolean> {
  const changes = await database.run(
    'UPDATE schedules SET is_paused = $1, next_at = $2 WHERE account_id = $3 AND id = $4',
    isPaused,
    nextAt,
    accountId,
    sought(id),
  );
  return changes > 0;
}

/** With it when the next is due, one of these or a later one. */
export async function dueSchedules(
  database: Database,
  now: number,
  limit: number,
): Promise<{ due: Schedule[]; nextAt: number | null }> {
  const rows = await database.all<ScheduleRow>(
    `SELECT ${COLUMNS} FROM schedules WHERE next_at <= $1 ORDER BY next_at LIMIT $2`,
    now,
    limit,
  );
  return { due: rows.map(toSchedule), nextAt: await nextScheduleAt(database) };
}

/** When the next schedule is due; null if none is. */
export async function nextScheduleAt(database: Database): Promise<number | null> {
  const row = await database.get<{ at: number }>(
    'SELECT next_at AS at FROM schedules WHERE next_at IS NOT NULL ORDER BY next_at LIMIT 1',
  );
  return row?.at ?? null;
}

export interface Tick {
  readonly schedule: Schedule;
  readonly messages: readonly NewMessage[];
  readonly nextAt: number | null;
  readonly now: number;
}

/** Takes the tick and accepts its messages, or neither. */
export async function fireSchedule(
  database: Database,
  tick: Tick,
): Promise<{ isFired: boolean; dueAt: number | null }> {
  const { schedule, messages, nextAt, now } = tick;
  const taken = await database.run(
    `UPDATE schedules SET next_at = $1, last_at = $2
       WHERE account_id = $3 AND id = $4 AND next_at = $5 AND NOT is_paused`,
    nextAt,
    now,
    schedule.accountId,
    schedule.id,
    schedule.nextAt,
  );
  if (taken === 0) return { isFired: false, dueAt: null };
  const { duplicates, dueAt } = await accept(database, {
    messages,
    leases: [],
    node: '',
    now,
    dayMax: null,
    shard: 0,
  });
  await database.run(
    'UPDATE schedules SET last_message_ids = $1 WHERE account_id = $2 AND id = $3',
    JSON.stringify(messages.map(({ id }, index) => duplicates[index] ?? id)),
    schedule.accountId,
    schedule.id,
  );
  return { isFired: true, dueAt };
}
