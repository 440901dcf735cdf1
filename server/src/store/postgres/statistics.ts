// Statistics for people: how many messages are in which state, and which failures are alike. Every query reads a
// bounded number of rows by an index; domain/ decides what the rows mean.

import { type FailureGroup, groupFailures } from '../../domain/failure-group.ts';
import type { AccountStanding } from '../../domain/standing.ts';
import { standingOf } from '../../domain/standing.ts';
import { type FailureRow, type OpenGroupRow, toFailure, toOpenGroup } from '../rows.ts';
import type { Database } from './database.ts';

export async function standing(
  database: Database,
  accountId: string,
  now: number,
  limit: number,
): Promise<AccountStanding> {
  const groups = await database.all<OpenGroupRow>(
    `SELECT queue_name, state = 'claimed' AS is_claimed, held_at IS NOT NULL AS is_held, attempts > 0 AS has_attempts, due_at > $1 AS is_later, holds_slot,
       state = 'queued' AS is_held_back, count(*) AS count, min(greatest(due_at, ready_at)) AS ready_at_min
     FROM (SELECT queue_name, state, held_at, attempts, due_at, ready_at, holds_slot FROM messages
             WHERE account_id = $2 AND ended_at IS NULL ORDER BY seq LIMIT $3) AS open
     GROUP BY 1, 2, 3, 4, 5, 6, 7`,
    now,
    accountId,
    limit,
  );
  const counts = await database.get<{ dead: number; failed: number; cancelled: number; all: number }>(
    `SELECT
       (SELECT count(*) FROM (SELECT 1 FROM messages WHERE account_id = $1 AND state = 'failed' AND retried_at IS NULL
          LIMIT $2) AS m) AS dead,
       (SELECT count(*) FROM (SELECT 1 FROM messages WHERE account_id = $1 AND state = 'failed' LIMIT $2) AS m) AS failed,
       (SELECT count(*) FROM (SELECT 1 FROM messages WHERE account_id = $1 AND state = 'cancelled' LIMIT $2) AS m) AS cancelled,
       (SELECT count(*) FROM (SELECT 1 FROM messages WHERE account_id = $1 LIMIT $2) AS m) AS all`,
    accountId,
    limit,
  );
  const { dead, failed, cancelled, all } = counts!;
  const standing = standingOf(groups.map(toOpenGroup));
  return { ...standing, failed: dead, retried: Math.max(0, failed - dead), cancelled, all, countedMax: limit };
}

export async function failureGroups(database: Database, accountId: string, limit: number): Promise<FailureGroup[]> {
  const rows = await database.all<FailureRow>(
    `SELECT id, url, host, last_status, failure, created_at, ended_at FROM messages
       WHERE account_id = $1 AND state = 'failed' AND retried_at IS NULL ORDER BY seq DESC LIMIT $2`,
    accountId,
    limit,
  );
  return groupFailures(rows.map(toFailure));
}
