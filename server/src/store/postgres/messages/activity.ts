// What happened, counted by account and minute, in the statement that makes it happen. Each session has its own rows,
// so that no transaction waits for the count of another, on any number of nodes.

import { activityOf, HOUR_MS, MINUTE_MS } from '../../../rules/accounts/activity.ts';
import type { ActivityBucket } from '../../ports/account-store.ts';
import type { ActivityRetention } from '../../ports/upkeep-store.ts';
import type { Database } from '../sessions/database.ts';

/** SQL that counts the rows of a query with the columns account_id, at and kind. */
export function activityCountSql(rows: string): string {
  return `INSERT INTO activity_minutes AS c (account_id, at, kind, shard, count)
       SELECT account_id, at - at % ${MINUTE_MS}, kind, pg_backend_pid(), count(*) FROM (${rows}) AS happened GROUP BY 1, 2, 3
       ON CONFLICT (account_id, at, kind, shard) DO UPDATE SET count = c.count + excluded.count`;
}

interface CountRow {
  readonly at: number;
  readonly kind: number;
  readonly count: number;
}

/** What happened, in buckets that begin at multiples of `bucketMs`, oldest first. Empty buckets are left out. */
export async function activity(
  database: Database,
  accountId: string,
  fromAt: number,
  toAt: number,
  bucketMs: number,
): Promise<ActivityBucket[]> {
  const tables = bucketMs < HOUR_MS ? ['activity_minutes'] : ['activity_hours', 'activity_minutes'];
  const part = (table: string) => `SELECT at, kind, count FROM ${table} WHERE account_id = $2 AND at >= $3 AND at < $4`;
  // In one statement, so that a minute that is moved to its hour meanwhile is counted once.
  const rows = await database.all<CountRow>(
    `SELECT at - at % $1::bigint AS at, kind, sum(count)::bigint AS count FROM (${tables.map(part).join(' UNION ALL ')}) AS parts
       GROUP BY 1, 2 ORDER BY 1`,
    bucketMs,
    accountId,
    fromAt,
    toAt,
  );
  const buckets = new Map<number, CountRow[]>();
  for (const row of rows) buckets.set(row.at, [...(buckets.get(row.at) ?? []), row]);
  return [...buckets].map(([at, own]) => ({ at, activity: activityOf(own) }));
}

/** Adds counts of minutes before `minutesFrom` to their hours, and deletes counts of hours before `hoursFrom`. */
export async function foldActivity(
  database: Database,
  { minutesFrom, hoursFrom }: ActivityRetention,
  limit: number,
): Promise<number> {
  const folded = await database.get<{ n: number }>(
    `WITH old AS
       (DELETE FROM activity_minutes WHERE ctid IN
          (SELECT ctid FROM activity_minutes WHERE at < $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED)
          RETURNING account_id, at, kind, count),
     added AS
       (INSERT INTO activity_hours AS h (account_id, at, kind, count)
          SELECT account_id, at - at % ${HOUR_MS}, kind, sum(count)::bigint FROM old GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
          ON CONFLICT (account_id, at, kind) DO UPDATE SET count = h.count + excluded.count)
     SELECT count(*) AS n FROM old`,
    minutesFrom,
    limit,
  );
  const gone = await database.run(
    `DELETE FROM activity_hours WHERE ctid IN
       (SELECT ctid FROM activity_hours WHERE at < $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
    hoursFrom,
    limit,
  );
  return Math.max(folded!.n, gone);
}
