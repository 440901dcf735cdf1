// Statistics for people: how many messages are in which state, and which failures are alike. Every query reads a
// bounded number of rows by an index; rules/ decides what the rows mean.

import type { EndedCounts } from '../../../rules/accounts/overview.ts';
import { type FailureGroup, groupFailures } from '../../../rules/delivery/failure-group.ts';
import { pieceReadMax } from '../../../rules/reads/read-amount.ts';
import type { OpenPiece } from '../../ports/message-store.ts';
import { type FailureRow, type OpenGroupRow, toFailure, toOpenGroup } from '../../rows/rows.ts';
import type { Database } from '../sessions/database.ts';

export async function openMessagesPiece(
  database: Database,
  accountId: string,
  now: number,
  limit: number,
  cursor: number | null,
): Promise<OpenPiece> {
  const rowsMax = Math.min(limit, pieceReadMax().rows);
  const groups = await database.all<OpenGroupRow & { readonly last_seq: number }>(
    `SELECT queue_name, state = 'claimed' AS is_claimed, held_at IS NOT NULL AS is_held, attempts > 0 AS has_attempts, due_at > $1 AS is_later, holds_place,
       state = 'queued' AS is_held_back, count(*) AS count, min(greatest(due_at, ready_at)) AS ready_at_min,
       max(seq) AS last_seq
     FROM (SELECT seq, queue_name, state, held_at, attempts, due_at, ready_at, holds_place FROM messages
             WHERE account_id = $2 AND ended_at IS NULL AND seq > $3 ORDER BY seq LIMIT $4) AS open
     GROUP BY 1, 2, 3, 4, 5, 6, 7`,
    now,
    accountId,
    cursor ?? 0,
    rowsMax,
  );
  const count = groups.reduce((sum, group) => sum + group.count, 0);
  const last = groups.reduce((most, { last_seq }) => Math.max(most, last_seq), 0);
  return { groups: groups.map(toOpenGroup), cursor: count < rowsMax ? null : last };
}

export async function endedCounts(database: Database, accountId: string, limit: number): Promise<EndedCounts> {
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
  return { failed: dead, retried: Math.max(0, failed - dead), cancelled, all };
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
