// The schedules table. A tick is taken by moving `next_at` in the transaction that accepts its messages: whoever finds
// it moved already makes nothing.

import type { NewMessage } from '../../domain/message.ts';
import type { Schedule } from '../../domain/schedule.ts';
import { type ScheduleRow, toSchedule } from '../rows.ts';
import { accept } from './accept.ts';
import type { Books } from './books.ts';
import type { Database } from './database.ts';

/** Whole: what was there under the same id is replaced. */
export function saveSchedule(database: Database, schedule: Schedule): void {
  database.run(
    `INSERT OR REPLACE INTO schedules (id, account_id, cron, destination, queue_name, headers, caller_ip, is_paused,
       next_at, last_at, last_message_ids, created_at, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
}

export function getSchedule(database: Database, accountId: string, id: string): Schedule | null {
  const row = database.get<ScheduleRow>('SELECT * FROM schedules WHERE account_id = ? AND id = ?', accountId, id);
  return row ? toSchedule(row) : null;
}

export function listSchedules(database: Database, accountId: string): Schedule[] {
  return database
    .all<ScheduleRow>('SELECT * FROM schedules WHERE account_id = ? ORDER BY id LIMIT 10000', accountId)
    .map(toSchedule);
}

export function countSchedules(database: Database, accountId: string): number {
  return database.get<{ n: number }>('SELECT count(*) AS n FROM schedules WHERE account_id = ?', accountId)!.n;
}

export function deleteSchedule(database: Database, accountId: string, id: string): boolean {
  return database.run('DELETE FROM schedules WHERE account_id = ? AND id = ?', accountId, id) > 0;
}

/** Pauses (null) or sets the next tick; answers false when there is none of that id. */
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

/** With it when the next is due, one of these or a later one. */
export function dueSchedules(
  database: Database,
  now: number,
  limit: number,
): { due: Schedule[]; nextAt: number | null } {
  const due = database
    .all<ScheduleRow>('SELECT * FROM schedules WHERE next_at <= ? ORDER BY next_at LIMIT ?', now, limit)
    .map(toSchedule);
  return { due, nextAt: nextScheduleAt(database) };
}

/** When the next schedule is due; null if none is. */
export function nextScheduleAt(database: Database): number | null {
  const row = database.get<{ at: number }>(
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
export function fireSchedule(database: Database, books: Books, tick: Tick): { isFired: boolean; dueAt: number | null } {
  const { schedule, messages, nextAt, now } = tick;
  const taken = database.run(
    `UPDATE schedules SET next_at = ?, last_at = ?
       WHERE account_id = ? AND id = ? AND next_at = ? AND is_paused = 0`,
    nextAt,
    now,
    schedule.accountId,
    schedule.id,
    schedule.nextAt,
  );
  if (taken === 0) return { isFired: false, dueAt: null };
  const { duplicates, dueAt } = accept(database, books, { messages, leases: [], node: '', now, dayMax: null });
  database.run(
    'UPDATE schedules SET last_message_ids = ? WHERE account_id = ? AND id = ?',
    JSON.stringify(messages.map(({ id }, index) => duplicates[index] ?? id)),
    schedule.accountId,
    schedule.id,
  );
  return { isFired: true, dueAt };
}
