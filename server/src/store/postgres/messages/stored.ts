// How many bytes each account stores, counted in the statement that stores or deletes them. Each session has its own
// rows, so that no transaction waits for the count of another, on any number of nodes. Upkeep folds them into one.

import type { AccountBytes } from '../../ports/account-store.ts';
import { COUNTED_TABLES, type CountedTable } from '../../resources/steps.ts';
import type { Database, Value } from '../sessions/database.ts';

/** The shard to which the rows of sessions are added. No process has this number. */
const FOLDED = 0;

/** SQL that counts the rows of a query with the columns account_id and bytes. */
export function storedBytesSql(rows: string): string {
  return `INSERT INTO stored AS s (account_id, shard, bytes)
       SELECT account_id, pg_backend_pid(), sum(bytes)::bigint FROM (${rows}) AS changed GROUP BY 1 ORDER BY 1
       ON CONFLICT (account_id, shard) DO UPDATE SET bytes = s.bytes + excluded.bytes`;
}

/** Counts the stored bytes of a row that this transaction has locked. `bytes` is null if the row no longer counts. */
export async function countStored(
  database: Database,
  table: CountedTable,
  accountId: string,
  key: string,
  bytes: number | null,
): Promise<void> {
  await database.run(
    `WITH before AS MATERIALIZED
       (SELECT account_id, stored_bytes FROM ${table} WHERE account_id = $1 AND ${COUNTED_TABLES[table]} = $2 FOR UPDATE),
     weighed AS (UPDATE ${table} SET stored_bytes = $3::bigint WHERE account_id = $1 AND ${COUNTED_TABLES[table]} = $2)
     ${storedBytesSql('SELECT account_id, coalesce($3::bigint, 0) - coalesce(stored_bytes, 0) AS bytes FROM before')}`,
    accountId,
    key,
    bytes,
  );
}

/**
 * Runs a DELETE statement that has no RETURNING clause, and subtracts the stored bytes of its rows. Returns how many
 * rows it deleted.
 */
export async function deleteCounted(database: Database, sql: string, ...values: Value[]): Promise<number> {
  const row = await database.get<{ n: number }>(
    `WITH gone AS (${sql} RETURNING account_id, stored_bytes),
     taken AS (${storedBytesSql('SELECT account_id, -coalesce(stored_bytes, 0) AS bytes FROM gone')})
     SELECT count(*) AS n FROM gone`,
    ...values,
  );
  return row!.n;
}

export async function storedBytes(database: Database, accountId: string): Promise<number> {
  const row = await database.get<{ bytes: number | null }>(
    'SELECT sum(bytes)::bigint AS bytes FROM stored WHERE account_id = $1',
    accountId,
  );
  return row?.bytes ?? 0;
}

/** Accounts in the order of their ids. */
export function storedAccounts(database: Database, after: string, limit: number): Promise<AccountBytes[]> {
  return database.all<AccountBytes>(
    `SELECT account_id AS "accountId", sum(bytes)::bigint AS bytes FROM stored WHERE account_id > $1
       GROUP BY account_id ORDER BY account_id LIMIT $2`,
    after,
    limit,
  );
}

const RESOURCE_SUMS = Object.keys(COUNTED_TABLES)
  .map((table) => ` - coalesce((SELECT sum(stored_bytes) FROM ${table} WHERE account_id = $1), 0)`)
  .join('');

/**
 * Corrects the count of an account, and returns by how much it was too high. One statement, so that it sees the
 * messages and the count at the same moment.
 */
export async function recountStored(database: Database, accountId: string): Promise<number> {
  const row = await database.get<{ wrong_by: number }>(
    `WITH wrong AS MATERIALIZED
       (SELECT coalesce((SELECT sum(bytes) FROM stored WHERE account_id = $1), 0)
          - coalesce((SELECT sum(stored_bytes) FROM messages WHERE account_id = $1), 0)
          - coalesce((SELECT sum(octet_length(bytes)) FROM bodies WHERE account_id = $1), 0)${RESOURCE_SUMS} AS by),
     corrected AS (${storedBytesSql('SELECT $1::text AS account_id, -by AS bytes FROM wrong WHERE by <> 0')})
     SELECT by::bigint AS wrong_by FROM wrong`,
    accountId,
  );
  return row!.wrong_by;
}

/** Adds up the rows of sessions. Nodes that do this at once share the work, and lock the sums in one order. */
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
