// The journal: what happened, in order, one row for each step. A row is written in the transaction of its step. Its
// position comes from the database clock while that transaction is visible as running, so that a reader knows which
// positions are final.

import type { TierName } from '../../../rules/limits/tier.ts';
import type { JournalDeletion, JournalPart } from '../../ports/upkeep-store.ts';
import type { Database } from '../sessions/database.ts';

/**
 * Positions in each millisecond, about one for each microsecond, so that two steps of a message in quick succession
 * keep their order. The last rows of a large statement continue into the next milliseconds.
 */
const POSITIONS_PER_MS = 1024;

/**
 * The position of a step (SQL): the time at which its statement runs, plus its number among the account's steps in the
 * statement. Two transactions may use the same position. `now()` is not used: it is the time when the transaction was
 * requested, and the transaction becomes visible in `pg_stat_activity` only a moment later.
 */
export function positionSql(accountId: string, order: string): string {
  return `floor(extract(epoch FROM (SELECT clock_timestamp())) * 1000 * ${POSITIONS_PER_MS})::bigint
    + row_number() OVER (PARTITION BY ${accountId} ORDER BY ${order}) - 1`;
}

/** The application name of sessions that write. A reader of the journal checks which of them are in a transaction. */
export const WRITER_NAME = 'postrider writer';

/**
 * The first position that is not final. Read it before the rows, in a separate statement. `now()` is when this
 * statement arrived, which is before it reads the sessions. A transaction with a lower position was visible as running
 * by then. Either the transaction has ended, and the next read sees its rows, or it is found running since before its
 * position. `clock_timestamp()` would be read after the sessions, and would miss a transaction that begins between the
 * two.
 */
export async function firstOpenPosition(database: Database): Promise<number> {
  const row = await database.get<{ at: number }>(
    `SELECT floor(extract(epoch FROM least(min(xact_start), now())) * 1000 * ${POSITIONS_PER_MS})::bigint AS at
       FROM pg_stat_activity
       WHERE application_name = $1 AND datname = current_database() AND pid <> pg_backend_pid()`,
    WRITER_NAME,
  );
  return row!.at;
}

/** How far the clocks of two nodes may differ. */
const SKEW_MS = 600_000;

/**
 * A position such that all rows of this time or later are at or after it. Positions follow the clock of the
 * database, but the times in the rows follow the clocks of the nodes, so one cannot be computed from the other. Both
 * increase, so a binary search finds it.
 */
export async function positionBefore(database: Database, accountId: string, at: number): Promise<number> {
  let low = 0;
  let high = Number.MAX_SAFE_INTEGER;
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2);
    const row = await database.get<{ seq: number; at: number }>(
      'SELECT seq, at FROM journal WHERE account_id = $1 AND seq >= $2 ORDER BY seq LIMIT 1',
      accountId,
      middle,
    );
    if (!row || row.at >= at - SKEW_MS) high = middle;
    else low = row.seq + 1;
  }
  return low;
}

/** Deletes a few rows of usage of days before the given one, in a part of the accounts. */
export function deleteUsage(
  database: Database,
  beforeDay: string,
  { after, accounts, rows }: JournalPart,
): Promise<number> {
  return database.run(
    `DELETE FROM usage WHERE ctid IN
       (SELECT u.row_id FROM (SELECT id FROM accounts WHERE id > $1 ORDER BY id LIMIT $2) AS a
          CROSS JOIN LATERAL
            (SELECT ctid AS row_id FROM usage WHERE account_id = a.id AND day < $3 LIMIT $4 FOR UPDATE SKIP LOCKED) AS u
          LIMIT $4)`,
    after,
    accounts,
    beforeDay,
    rows,
  );
}

/** How many rows of one account are checked. Some of them may not be old, if their transactions overlapped. */
const OLDEST_LOOKED = 100;

/** Deletes a few of the oldest rows before the given times. Rows of a deleted message are deleted with the message. */
export async function deleteJournal(
  database: Database,
  before: Readonly<Record<TierName, number>>,
  { after, accounts, rows }: JournalPart,
): Promise<JournalDeletion> {
  const found = await database.get<{ deleted: number; last_gone: string | null; looked: number; last: string | null }>(
    `WITH chosen AS MATERIALIZED
         (SELECT id, CASE tier WHEN 'free' THEN $3::bigint ELSE $4::bigint END AS before
            FROM accounts WHERE id > $1 ORDER BY id LIMIT $2),
       old AS MATERIALIZED
         (SELECT j.row_id FROM chosen
            CROSS JOIN LATERAL (SELECT at FROM journal WHERE account_id = chosen.id ORDER BY seq LIMIT 1) AS oldest
            CROSS JOIN LATERAL
              (SELECT ctid AS row_id, at FROM journal WHERE account_id = chosen.id AND oldest.at < chosen.before
                 ORDER BY seq LIMIT ${OLDEST_LOOKED} FOR UPDATE SKIP LOCKED) AS j
            WHERE j.at < chosen.before LIMIT $5),
       gone AS (DELETE FROM journal WHERE ctid IN (SELECT row_id FROM old) RETURNING account_id)
     SELECT (SELECT count(*) FROM gone) AS deleted, (SELECT max(account_id) FROM gone) AS last_gone,
       (SELECT count(*) FROM chosen) AS looked, (SELECT max(id) FROM chosen) AS last`,
    after,
    accounts,
    before.free,
    before.paid,
    rows,
  );
  const { deleted, last_gone, looked, last } = found!;
  if (deleted >= rows) return { deleted, after: last_gone };
  return { deleted, after: looked < accounts ? null : last };
}
