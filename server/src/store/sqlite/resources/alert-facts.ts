// The facts for the rules of an account's alerts. Every query uses an index and reads a bounded number of rows; rules/
// decides what the facts mean.

import { usageDay } from '../../../rules/accounts/account.ts';
import { MINUTE_MS } from '../../../rules/accounts/activity.ts';
import { ALERT_LABEL } from '../../../rules/alerts/alert.ts';
import type {
  AlertFacts,
  AttemptFact,
  BoundedList,
  FailedFact,
  MinuteFact,
  NeededAlertFacts,
  NotifiedFact,
  QueueFact,
} from '../../../rules/alerts/alert-facts.ts';
import * as alertRows from '../../rows/alert-rows.ts';
import { activity } from '../messages/activity.ts';
import type { Database } from '../thread/database.ts';

export function alertFacts(
  database: Database,
  accountId: string,
  look: NeededAlertFacts,
  now: number,
  rowsMax: number,
): AlertFacts {
  const schedulesMax = rowsMax / alertRows.ROWS_PER_SCHEDULE;
  const failed = failedMessages(database, accountId, look.failedFromAt, rowsMax);
  const more = look.areFailedSchedulesAsked && failed.isCut ? firstSchedules(database, accountId, schedulesMax) : [];
  const scheduleIds = look.areFailedSchedulesAsked
    ? alertRows.schedulesToRead(look.schedules, failed.rows, more, schedulesMax)
    : look.schedules;
  return {
    failed,
    attempts: endedAttempts(database, accountId, look.attemptsFromAt, rowsMax),
    counted: look.countedFromAt === null ? [] : minutes(database, accountId, look.countedFromAt, now),
    notified: look.countedFromAt === null ? [] : notifiedSince(database, accountId, look.countedFromAt, rowsMax),
    queues: oldestOfQueues(database, accountId, look.queues, rowsMax),
    schedules: scheduleIds.map((id) => alertRows.toScheduleFact(id, runsOf(database, accountId, id))),
    parkedHosts: look.areParkedHostsAsked ? parkedHosts(database, accountId, rowsMax) : [],
    used: look.isUsageAsked ? usedToday(database, accountId, now) : 0,
  };
}

function firstSchedules(database: Database, accountId: string, max: number): string[] {
  const rows = database.all<{ id: string }>(
    'SELECT id FROM schedules WHERE account_id = ? ORDER BY id LIMIT ?',
    accountId,
    max,
  );
  return rows.map(({ id }) => id);
}

/** Returns no runs of a deleted schedule, so that its alert does not wait for a better run. */
function runsOf(database: Database, accountId: string, id: string): alertRows.RunRow[] {
  return database.all<alertRows.RunRow>(
    `SELECT kind, created_at, state, held_at FROM messages INDEXED BY messages_of_schedule
       WHERE account_id = ?1 AND schedule_id = ?2
         AND EXISTS (SELECT 1 FROM schedules s WHERE s.account_id = ?1 AND s.id = ?2)
       ORDER BY seq DESC LIMIT ?3`,
    accountId,
    id,
    alertRows.RUN_ROWS_MAX,
  );
}

function parkedHosts(database: Database, accountId: string, max: number): string[] {
  const rows = database.all<alertRows.ParkedHostRow>(
    'SELECT host, parking FROM hosts WHERE account_id = ? AND parked_at IS NOT NULL ORDER BY host LIMIT ?',
    accountId,
    max,
  );
  return alertRows.toParkedHosts(rows);
}

function failedMessages(
  database: Database,
  accountId: string,
  fromAt: number | null,
  rowsMax: number,
): BoundedList<FailedFact> {
  if (fromAt === null) return { rows: [], isCut: false };
  const rows = database.all<alertRows.FailedMessageRow>(
    `SELECT kind, host, queue_name, labels, ended_at, schedule_id FROM messages INDEXED BY messages_failed
       WHERE account_id = ? AND ended_at >= ? AND state = 'failed' ORDER BY ended_at DESC LIMIT ?`,
    accountId,
    fromAt,
    rowsMax + 1,
  );
  return alertRows.toFailedFact(rows, rowsMax);
}

function endedAttempts(
  database: Database,
  accountId: string,
  fromAt: number | null,
  rowsMax: number,
): BoundedList<AttemptFact> {
  if (fromAt === null) return { rows: [], isCut: false };
  const rows = database.all<alertRows.AttemptStepRow>(
    `SELECT m.kind, m.host, m.queue_name, m.labels, j.at AS ended_at, j.step, a.outcome, a.status, a.next_at,
         m.first_started_at, m.last_status
       FROM journal j CROSS JOIN messages m ON m.seq = j.message_seq
       LEFT JOIN attempts a ON a.message_seq = j.message_seq AND a.number = j.step
       WHERE j.account_id = ? ORDER BY j.seq DESC LIMIT ?`,
    accountId,
    rowsMax,
  );
  return alertRows.toAttempts(rows, fromAt, rowsMax);
}

function minutes(database: Database, accountId: string, fromAt: number, now: number): MinuteFact[] {
  return activity(database, accountId, fromAt, now + MINUTE_MS, MINUTE_MS).map(
    ({ at, activity: { delivered, failed } }) => ({ at, delivered, failed }),
  );
}

function notifiedSince(database: Database, accountId: string, fromAt: number, rowsMax: number): NotifiedFact[] {
  const rows = database.all<alertRows.LabelledRow>(
    `SELECT m.kind, m.state, m.ended_at FROM message_labels l CROSS JOIN messages m ON m.seq = l.message_seq
       WHERE l.account_id = ? AND l.label = ? ORDER BY l.message_seq DESC LIMIT ?`,
    accountId,
    ALERT_LABEL,
    rowsMax,
  );
  return alertRows.toNotifiedFacts(rows, fromAt);
}

const OLDEST = `SELECT m.queue_name AS name, m.first_due_at AS oldest_due_at,
    (SELECT is_paused FROM queues q WHERE q.account_id = m.account_id AND q.name = m.queue_name) AS is_paused
  FROM messages m INDEXED BY messages_open_in_queue WHERE m.account_id = ? AND m.ended_at IS NULL`;

/** The oldest message of each queue: its first row in the index, which is ordered by queue, then by time. */
function oldestOfQueues(
  database: Database,
  accountId: string,
  queues: readonly string[] | 'all',
  rowsMax: number,
): QueueFact[] {
  const order = 'ORDER BY m.queue_name, m.first_due_at LIMIT 1';
  if (queues !== 'all') {
    const rows = queues.map((name) =>
      database.get<alertRows.OldestDueRow>(`${OLDEST} AND m.queue_name = ? ${order}`, accountId, name),
    );
    return rows.filter((row) => row !== undefined).map(alertRows.toQueueFact);
  }
  const found: QueueFact[] = [];
  while (found.length < rowsMax) {
    const after = found.at(-1)?.name ?? '';
    const row = database.get<alertRows.OldestDueRow>(`${OLDEST} AND m.queue_name > ? ${order}`, accountId, after);
    if (!row) break;
    found.push(alertRows.toQueueFact(row));
  }
  return found;
}

function usedToday(database: Database, accountId: string, now: number): number {
  const row = database.get<{ used: number | null }>(
    'SELECT sum(count) AS used FROM usage WHERE account_id = ? AND day = ?',
    accountId,
    usageDay(now),
  );
  return row?.used ?? 0;
}
