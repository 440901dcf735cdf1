// Numbers for people: where messages stand, what happened lately, what failed alike. Every query reads a bounded number
// of rows by an index; what the rows mean is decided in domain/.

import { type Activity, tally } from '../../domain/activity.ts';
import { type FailureGroup, groupFailures } from '../../domain/failure-group.ts';
import { standingOf } from '../../domain/standing.ts';
import {
  BEFORE_STARTS,
  type FailureRow,
  type OpenGroupRow,
  type StepRow,
  toFailure,
  toOpenGroup,
  toStep,
} from '../rows.ts';
import type { AccountStanding } from '../store.ts';
import type { Database } from './database.ts';
import { placeBefore, placeBehind } from './journal.ts';

export async function standing(
  database: Database,
  accountId: string,
  now: number,
  limit: number,
): Promise<AccountStanding> {
  const groups = await database.all<OpenGroupRow>(
    `SELECT queue_name, state = 'claimed' AS is_claimed, held_at IS NOT NULL AS is_held, attempts > 0 AS has_attempts, due_at > $1 AS is_later, holds_slot,
       count(*) AS count, min(due_at) AS due_at_min
     FROM (SELECT queue_name, state, held_at, attempts, due_at, holds_slot FROM messages
             WHERE account_id = $2 AND ended_at IS NULL ORDER BY seq LIMIT $3) AS open
     GROUP BY 1, 2, 3, 4, 5, 6`,
    now,
    accountId,
    limit,
  );
  const counts = await database.get<{ failed: number; cancelled: number; all: number }>(
    `SELECT
       (SELECT count(*) FROM (SELECT 1 FROM messages WHERE account_id = $1 AND state = 'failed' LIMIT $2) AS m) AS failed,
       (SELECT count(*) FROM (SELECT 1 FROM messages WHERE account_id = $1 AND state = 'cancelled' LIMIT $2) AS m) AS cancelled,
       (SELECT count(*) FROM (SELECT 1 FROM messages WHERE account_id = $1 LIMIT $2) AS m) AS all`,
    accountId,
    limit,
  );
  return { ...standingOf(groups.map(toOpenGroup)), ...counts!, countedMax: limit };
}

export async function activity(
  database: Database,
  accountId: string,
  fromAt: number,
  toAt: number,
  limit: number,
): Promise<{ readonly activity: Activity; readonly looked: number }> {
  const rows = await database.all<StepRow>(
    `SELECT j.step, a.outcome, a.status, a.next_at, a.ended_at - m.first_due_at AS lag_ms
       FROM (SELECT account_id, seq, message_seq, step FROM journal
               WHERE account_id = $1 AND seq >= $2 AND seq < $3 AND at >= $4 AND at < $5 AND step > ${BEFORE_STARTS} ORDER BY seq DESC LIMIT $6) AS j
       LEFT JOIN attempts a ON a.account_id = j.account_id AND a.message_seq = j.message_seq AND a.number = j.step
       LEFT JOIN messages m ON m.account_id = a.account_id AND m.seq = a.message_seq`,
    accountId,
    await placeBefore(database, accountId, fromAt),
    await placeBehind(database, accountId, toAt),
    fromAt,
    toAt,
    limit,
  );
  return { activity: tally(rows.map(toStep)), looked: rows.length };
}

export async function failureGroups(database: Database, accountId: string, limit: number): Promise<FailureGroup[]> {
  const rows = await database.all<FailureRow>(
    `SELECT id, url, host, last_status, failure, created_at, ended_at FROM messages
       WHERE account_id = $1 AND state = 'failed' ORDER BY seq DESC LIMIT $2`,
    accountId,
    limit,
  );
  return groupFailures(rows.map(toFailure));
}
