// How many bytes each account stores, counted in the statement that stores or deletes them. Each session has its own
// rows, so that no transaction waits for the count of another, on any number of nodes. Upkeep folds them into one.

import type { StoredAccount } from '../account-store.ts';
import type { Database } from './database.ts';

/** The rows of sessions are folded into this one. No process has this number. */
const FOLDED = 0;

/** SQL that counts the rows of a query with the columns account_id and bytes. */
export function storedSql(rows: string): string {
  return `INSERT INTO stored AS s (account_id, shard, bytes)
       SELECT account_id, pg_backend_pid(), sum(bytes)::bigint FROM (${rows}) AS changed GROUP BY 1 ORDER BY 1
       ON CONFLICT (account_id, shard) DO UPDATE SET bytes = s.bytes + excluded.bytes`;
}

export async function storedBytes(database: Database, accountId: string): Promise<number> {
  const row = await database.get<{ bytes: number | null }>(
    'SELECT sum(bytes)::bigint AS bytes FROM stored WHERE account_id = $1',
    accountId,
  );
  return row?.bytes ?? 0;
}

/** In the order of their ids. */
export function storedAccounts(database: Database, after: string, limit: number): Promise<StoredAccount[]> {
  return database.all<StoredAccount>(
    `SELECT account_id AS "accountId", sum(bytes)::bigint AS bytes FROM stored WHERE account_id > $1
       GROUP BY account_id ORDER BY account_id LIMIT $2`,
    after,
    limit,
  );
}

/**
 * Counts again, and returns by how much the count was wrong. One statement, so that it sees the messages and the count
 * of the same moment.
 */
export async function recountStored(database: Database, accountId: string): Promise<number> {
  const row = await database.get<{ wrong_by: number }>(
    `WITH wrong AS MATERIALIZED
       (SELECT coalesce((SELECT sum(bytes) FROM stored WHERE account_id = $1), 0)
          - coalesce((SELECT sum(stored_bytes) FROM messages WHERE account_id = $1), 0)
          - coalesce((SELECT sum(octet_length(bytes)) FROM bodies WHERE account_id = $1), 0) AS by),
     corrected AS (${storedSql('SELECT $1::text AS account_id, -by AS bytes FROM wrong WHERE by <> 0')})
     SELECT by::bigint AS wrong_by FROM wrong`,
    accountId,
  );
  return row!.wrong_by;
}

/** Folds rows of sessions. Nodes that do this at once share the work, and lock the folded rows in one order. */
export async function foldStored(database: Database, limit: number): Promise<number> {
  const row = await database.get<{ n: number }>(
    `WITH old AS
       (DELETE FROM stored WHERE ctid IN
          (SELECT ctid FROM stored WHERE shard <> ${FOLDED} ORDER BY account_id, shard LIMIT $1 FOR UPDATE SKIP LOCKED)
          RETURNING account_id, bytes),
     folded AS
       (INSERT INTO stored AS s (account_id, shard, bytes)
          SELECT account_id, ${FOLDED}, sum(bytes)::bigint FROM old GROUP BY 1 ORDER BY 1
          ON CONFLICT (account_id, shard) DO UPDATE SET bytes = s.bytes + excluded.bytes)
     SELECT count(*) AS n FROM old`,
    limit,
  );
  return row!.n;
}
