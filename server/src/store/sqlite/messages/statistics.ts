// Statistics for people: how many messages are in which state, and which failures are alike. Every query uses an index
// and reads a bounded number of rows; rules/ decides what the rows mean.

import type { EndedCounts } from '../../../rules/accounts/overview.ts';
import { type FailureGroup, groupFailures } from '../../../rules/delivery/failure-group.ts';
import { pieceReadMax, ReadCounter } from '../../../rules/reads/read-amount.ts';
import type { OpenPiece } from '../../ports/message-store.ts';
import { type FailureRow, type OpenGroupRow, toFailure, toOpenGroup } from '../../rows/rows.ts';
import type { Database } from '../thread/database.ts';

/** The condition of the index. SQLite uses the index only for a query that repeats the whole condition. */
const ENDED_BADLY = "state IN ('failed', 'cancelled')";

const DEAD = "state = 'failed' AND retried_at IS NULL";

export function openMessagesPiece(
  database: Database,
  accountId: string,
  now: number,
  limit: number,
  cursor: number | null,
): OpenPiece {
  // Some columns are stored after the body, so SQLite passes over the body to read them. The sizes of the bodies are
  // therefore checked first.
  const piece = pieceReadMax();
  const after = cursor ?? 0;
  const sizes = database.all<{ seq: number; bytes: number }>(
    `SELECT seq, length(body) AS bytes FROM messages INDEXED BY messages_open
       WHERE account_id = ? AND ended_at IS NULL AND seq > ? ORDER BY seq LIMIT ?`,
    accountId,
    after,
    Math.min(limit, piece.rows),
  );
  const looking = new ReadCounter(piece);
  let count = 0;
  for (const { bytes } of sizes) {
    if (looking.isEnough || !looking.hasRoomFor(bytes)) break;
    looking.add(bytes);
    count += 1;
  }
  const last = sizes[count - 1]?.seq;
  if (last === undefined) return { groups: [], cursor: null };
  const groups = database.all<OpenGroupRow>(
    `SELECT queue_name, state = 'claimed' AS is_claimed, is_held, attempts > 0 AS has_attempts, due_at > ? AS is_later,
       holds_place, state = 'queued' AS is_held_back, count(*) AS count, min(max(due_at, ifnull(ready_at, due_at))) AS ready_at_min
     FROM (SELECT queue_name, state, held_at IS NOT NULL AS is_held, attempts, due_at, ready_at, holds_place
             FROM messages INDEXED BY messages_open
             WHERE account_id = ? AND ended_at IS NULL AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?)
     GROUP BY 1, 2, 3, 4, 5, 6, 7`,
    now,
    accountId,
    after,
    last,
    count,
  );
  const isLast = count === sizes.length && sizes.length < Math.min(limit, piece.rows);
  return { groups: groups.map(toOpenGroup), cursor: isLast ? null : last };
}

export function endedCounts(database: Database, accountId: string, limit: number): EndedCounts {
  const dead = countUpTo(
    database,
    `messages INDEXED BY messages_dead WHERE account_id = ? AND ${DEAD}`,
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
  return { failed: dead, retried: Math.max(0, ended('failed') - dead), cancelled: ended('cancelled'), all };
}

function countUpTo(database: Database, from: string, accountId: string, limit: number): number {
  return database.get<{ count: number }>(
    `SELECT count(*) AS count FROM (SELECT 1 FROM ${from} LIMIT ?)`,
    accountId,
    limit,
  )!.count;
}

export function failureGroups(database: Database, accountId: string, limit: number): FailureGroup[] {
  const rows = database.all<FailureRow>(
    `SELECT id, url, host, last_status, failure, created_at, ended_at FROM messages INDEXED BY messages_dead
       WHERE account_id = ? AND ${DEAD} ORDER BY seq DESC LIMIT ?`,
    accountId,
    limit,
  );
  return groupFailures(rows.map(toFailure));
}
