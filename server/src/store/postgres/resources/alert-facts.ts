// The facts for the rules of an account's alerts. Every query reads a bounded number of rows by an index; rules/
// decides what they mean.

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
  ScheduleFact,
} from '../../../rules/alerts/alert-facts.ts';
import * as alertRows from '../../rows/alert-rows.ts';
import { activity } from '../messages/activity.ts';
import { joinMessage } from '../messages/search.ts';
import { nullEachUnstorable } from '../messages/storable.ts';
import type { Database } from '../sessions/database.ts';

export async function alertFacts(
  database: Database,
  accountId: string,
  look: NeededAlertFacts,
  now: number,
  rowsMax: number,
): Promise<AlertFacts> {
  const schedulesMax = rowsMax / alertRows.ROWS_PER_SCHEDULE;
  const failed = await failedMessages(database, accountId, look.failedFromAt, rowsMax);
  const more =
    look.areFailedSchedulesAsked && failed.isCut ? await firstSchedules(database, accountId, schedulesMax) : [];
  const scheduleIds = look.areFailedSchedulesAsked
    ? alertRows.schedulesToRead(look.schedules, failed.rows, more, schedulesMax)
    : look.schedules;
  return {
    failed,
    attempts: await endedAttempts(database, accountId, look.attemptsFromAt, rowsMax),
    counted: look.countedFromAt === null ? [] : await minutes(database, accountId, look.countedFromAt, now),
    notified: look.countedFromAt === null ? [] : await notifiedSince(database, accountId, look.countedFromAt, rowsMax),
    queues: await oldestOfQueues(database, accountId, look.queues, rowsMax),
    schedules: await runsOf(database, accountId, scheduleIds),
    parkedHosts: look.areParkedHostsAsked ? await parkedHosts(database, accountId, rowsMax) : [],
    used: look.isUsageAsked ? await usedToday(database, accountId, now) : 0,
  };
}

async function firstSchedules(database: Database, accountId: string, max: number): Promise<string[]> {
  const rows = await database.all<{ id: string }>(
    'SELECT id FROM schedules WHERE account_id = $1 ORDER BY id LIMIT $2',
    accountId,
    max,
  );
  return rows.map(({ id }) => id);
}

async function parkedHosts(database: Database, accountId: string, max: number): Promise<string[]> {
  const rows = await database.all<alertRows.ParkedHostRow>(
    'SELECT host, parking FROM hosts WHERE account_id = $1 AND parked_at IS NOT NULL ORDER BY host LIMIT $2',
    accountId,
    max,
  );
  return alertRows.toParkedHosts(rows);
}

async function failedMessages(
  database: Database,
  accountId: string,
  fromAt: number | null,
  rowsMax: number,
): Promise<BoundedList<FailedFact>> {
  if (fromAt === null) return { rows: [], isCut: false };
  const rows = await database.all<alertRows.FailedMessageRow>(
    `SELECT kind, host, queue_name, labels, ended_at, schedule_id FROM messages
       WHERE account_id = $1 AND ended_at >= $2 AND state = 'failed' ORDER BY ended_at DESC LIMIT $3`,
    accountId,
    fromAt,
    rowsMax + 1,
  );
  return alertRows.toFailedFact(rows, rowsMax);
}

async function endedAttempts(
  database: Database,
  accountId: string,
  fromAt: number | null,
  rowsMax: number,
): Promise<BoundedList<AttemptFact>> {
  if (fromAt === null) return { rows: [], isCut: false };
  const rows = await database.all<alertRows.AttemptStepRow>(
    `SELECT m.kind, m.host, m.queue_name, m.labels, j.at AS ended_at, j.step, a.outcome, a.status, a.next_at
       FROM (SELECT account_id, seq, at, message_seq, step FROM journal WHERE account_id = $1
               ORDER BY seq DESC LIMIT $2) AS j
       ${joinMessage('j')}
       LEFT JOIN attempts a ON a.account_id = j.account_id AND a.message_seq = j.message_seq AND a.number = j.step
       ORDER BY j.seq DESC`,
    accountId,
    rowsMax,
  );
  return alertRows.toAttempts(rows, fromAt, rowsMax);
}

async function minutes(database: Database, accountId: string, fromAt: number, now: number): Promise<MinuteFact[]> {
  const buckets = await activity(database, accountId, fromAt, now + MINUTE_MS, MINUTE_MS);
  return buckets.map(({ at, activity: { delivered, failed } }) => ({ at, delivered, failed }));
}

async function notifiedSince(
  database: Database,
  accountId: string,
  fromAt: number,
  rowsMax: number,
): Promise<NotifiedFact[]> {
  const rows = await database.all<alertRows.LabelledRow>(
    `SELECT m.kind, m.state, m.ended_at
       FROM (SELECT account_id, message_seq FROM message_labels WHERE account_id = $1 AND label = $2
               ORDER BY message_seq DESC LIMIT $3) AS l
       ${joinMessage('l')}
       ORDER BY l.message_seq DESC`,
    accountId,
    ALERT_LABEL,
    rowsMax,
  );
  return alertRows.toNotifiedFacts(rows, fromAt);
}

const PAUSED = `(SELECT q.is_paused FROM queues q WHERE q.account_id = $1 AND q.name = o.name) AS is_paused`;

const IN_QUEUE = `SELECT queue_name AS name, first_due_at AS oldest_due_at FROM messages
  WHERE account_id = $1 AND ended_at IS NULL AND queue_name IS NOT NULL`;

const ORDER = 'ORDER BY account_id, queue_name, first_due_at, seq LIMIT 1';

const OLDEST_NAMED = `SELECT o.name, o.oldest_due_at, ${PAUSED} FROM unnest($2::text[]) AS g (queue_name)
  CROSS JOIN LATERAL (${IN_QUEUE} AND messages.queue_name = g.queue_name ${ORDER}) AS o`;

/** The oldest open message of each queue: steps from one queue to the next in the order of the index. */
const OLDEST_OF_ALL = `WITH RECURSIVE o (name, oldest_due_at) AS (
    (${IN_QUEUE} ${ORDER})
    UNION ALL
    SELECT n.name, n.oldest_due_at FROM o CROSS JOIN LATERAL (${IN_QUEUE} AND queue_name > o.name ${ORDER}) AS n)
  SELECT o.name, o.oldest_due_at, ${PAUSED} FROM (SELECT name, oldest_due_at FROM o LIMIT $2) AS o`;

async function oldestOfQueues(
  database: Database,
  accountId: string,
  queues: readonly string[] | 'all',
  rowsMax: number,
): Promise<QueueFact[]> {
  if (queues !== 'all' && queues.length === 0) return [];
  const rows = await (queues === 'all'
    ? database.all<alertRows.OldestDueRow>(OLDEST_OF_ALL, accountId, rowsMax)
    : database.all<alertRows.OldestDueRow>(OLDEST_NAMED, accountId, nullEachUnstorable(queues)));
  return rows.map(alertRows.toQueueFact);
}

/** Returns no runs for a deleted schedule: its alert would otherwise wait forever for a run that succeeds. */
async function runsOf(database: Database, accountId: string, ids: readonly string[]): Promise<ScheduleFact[]> {
  if (ids.length === 0) return [];
  const rows = await database.all<alertRows.RunRow & { schedule_id: string }>(
    `SELECT m.schedule_id, m.kind, m.created_at, m.state, m.held_at FROM unnest($2::text[]) AS g (schedule_id)
       CROSS JOIN LATERAL (SELECT schedule_id, kind, created_at, state, held_at, seq FROM messages
         WHERE account_id = $1 AND schedule_id = g.schedule_id ORDER BY seq DESC LIMIT $3) AS m
       WHERE EXISTS (SELECT 1 FROM schedules s WHERE s.account_id = $1 AND s.id = g.schedule_id)
       ORDER BY m.seq DESC`,
    accountId,
    nullEachUnstorable(ids),
    alertRows.RUN_ROWS_MAX,
  );
  const byId = Map.groupBy(rows, ({ schedule_id }) => schedule_id);
  return ids.map((id) => alertRows.toScheduleFact(id, byId.get(id) ?? []));
}

async function usedToday(database: Database, accountId: string, now: number): Promise<number> {
  const row = await database.get<{ used: number | null }>(
    'SELECT sum(count)::bigint AS used FROM usage WHERE account_id = $1 AND day = $2',
    accountId,
    usageDay(now),
  );
  return row?.used ?? 0;
}
