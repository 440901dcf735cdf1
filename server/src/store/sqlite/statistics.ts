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
import { firstPlaceAt } from './journal.ts';

/** As the index says it: SQLite does not conclude it from the state alone. */
const ENDED_BADLY = "state IN ('failed', 'cancelled')";

export function standing(database: Database, accountId: string, now: number, limit: number): AccountStanding {
  const groups = database.all<OpenGroupRow>(
    `SELECT queue_name, state = 'claimed' AS is_claimed, is_held, attempts > 0 AS has_attempts, due_at > ? AS is_later,
       holds_slot, count(*) AS count, min(due_at) AS due_at_min
     FROM (SELECT queue_name, state, held_at IS NOT NULL AS is_held, attempts, due_at, holds_slot FROM messages INDEXED BY messages_open
             WHERE account_id = ? AND ended_at IS NULL ORDER BY seq LIMIT ?)
     GROUP BY 1, 2, 3, 4, 5, 6`,
    now,
    accountId,
    limit,
  );
  const ended = (state: 'failed' | 'cancelled') =>
    countUpTo(
      database,
      `messages INDEXED BY messages_ended_badly WHERE account_id = ? AND state = '${state}' AND ${ENDED_BADLY}`,
      accountId,
      limit,
    );
  const all = countUpTo(database, 'messages INDEXED BY messages_of_account WHERE account_id = ?', accountId, limit);
  return {
    ...standingOf(groups.map(toOpenGroup)),
    failed: ended('failed'),
    cancelled: ended('cancelled'),
    all,
    countedMax: limit,
  };
}

function countUpTo(database: Database, from: string, accountId: string, limit: number): number {
  return database.get<{ count: number }>(
    `SELECT count(*) AS count FROM (SELECT 1 FROM ${from} LIMIT ?)`,
    accountId,
    limit,
  )!.count;
}

export function activity(
  database: Database,
  accountId: string,
  fromAt: number,
  toAt: number,
  limit: number,
): { readonly activity: Activity; readonly looked: number } {
  // The places of the journal tell the time, so that a stretch of time is a range of its key.
  const rows = database.all<StepRow>(
    `SELECT j.step, a.outcome, a.status, a.next_at, a.ended_at - m.first_due_at AS lag_ms
       FROM journal j
       LEFT JOIN attempts a ON a.message_seq = j.message_seq AND a.number = j.step
       LEFT JOIN messages m ON m.seq = a.message_seq
       WHERE j.account_id = ? AND j.seq >= ? AND j.seq < ? AND j.step > ${BEFORE_STARTS} ORDER BY j.seq DESC LIMIT ?`,
    accountId,
    firstPlaceAt(fromAt),
    firstPlaceAt(toAt),
    limit,
  );
  return { activity: tally(rows.map(toStep)), looked: rows.length };
}

export function failureGroups(database: Database, accountId: string, limit: number): FailureGroup[] {
  const rows = database.all<FailureRow>(
    `SELECT id, url, host, last_status, failure, created_at, ended_at FROM messages INDEXED BY messages_ended_badly
       WHERE account_id = ? AND state = 'failed' AND ${ENDED_BADLY} ORDER BY seq DESC LIMIT ?`,
    accountId,
    limit,
  );
  return groupFailures(rows.map(toFailure));
}
