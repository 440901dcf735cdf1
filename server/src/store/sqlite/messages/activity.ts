// Counts of what happened, by account and minute. They are kept in memory during a transaction and written at its end,
// so that many messages of an account in one transaction change one row for each kind of event.

import { activityOf, HOUR_MS, MINUTE_MS, startOfSpan } from '../../../rules/accounts/activity.ts';
import type { ActivityBucket } from '../../ports/account-store.ts';
import type { ActivityRetention } from '../../ports/upkeep-store.ts';
import type { Database } from '../thread/database.ts';

export class ActivityCounts {
  readonly #database: Database;
  /** Counts of the running transaction, by account and minute. The index in the innermost list is the kind. */
  readonly #unwritten = new Map<string, Map<number, number[]>>();

  constructor(database: Database) {
    this.#database = database;
    database.onTransaction({ beforeCommit: () => this.#write(), onRollback: () => this.#unwritten.clear() });
  }

  add(accountId: string, kind: number, at: number): void {
    let minutes = this.#unwritten.get(accountId);
    if (!minutes) {
      minutes = new Map();
      this.#unwritten.set(accountId, minutes);
    }
    const minute = startOfSpan(at, MINUTE_MS);
    let counts = minutes.get(minute);
    if (!counts) {
      counts = [];
      minutes.set(minute, counts);
    }
    counts[kind] = (counts[kind] ?? 0) + 1;
  }

  #write(): void {
    if (this.#unwritten.size === 0) return;
    for (const [accountId, minutes] of this.#unwritten) {
      for (const [at, counts] of minutes) {
        // `forEach` skips the indexes that were never set.
        counts.forEach((count, kind) => {
          addTo(this.#database, 'activity_minutes', { account_id: accountId, at, kind, count });
        });
      }
    }
    this.#unwritten.clear();
  }
}

interface CountRow {
  readonly account_id: string;
  readonly at: number;
  readonly kind: number;
  readonly count: number;
}

function addTo(database: Database, table: 'activity_minutes' | 'activity_hours', row: CountRow): void {
  database.run(
    `INSERT INTO ${table} (account_id, at, kind, count) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET count = count + excluded.count`,
    row.account_id,
    row.at,
    row.kind,
    row.count,
  );
}

/** The counts in buckets that begin at multiples of `bucketMs`, oldest first. Empty buckets are left out. */
export function activity(
  database: Database,
  accountId: string,
  fromAt: number,
  toAt: number,
  bucketMs: number,
): ActivityBucket[] {
  const tables = bucketMs < HOUR_MS ? ['activity_minutes'] : ['activity_hours', 'activity_minutes'];
  const buckets = new Map<number, Omit<CountRow, 'account_id'>[]>();
  for (const table of tables) {
    const rows = database.all<Omit<CountRow, 'account_id'>>(
      `SELECT at, kind, count FROM ${table} WHERE account_id = ? AND at >= ? AND at < ?`,
      accountId,
      fromAt,
      toAt,
    );
    for (const row of rows) {
      const start = startOfSpan(row.at, bucketMs);
      const bucket = buckets.get(start);
      if (bucket) bucket.push(row);
      else buckets.set(start, [row]);
    }
  }
  return [...buckets].sort(([a], [b]) => a - b).map(([at, rows]) => ({ at, activity: activityOf(rows) }));
}

/** Adds the minutes before `minutesFrom` to the counts of their hours, and deletes the hours before `hoursFrom`. */
export function foldActivity(database: Database, { minutesFrom, hoursFrom }: ActivityRetention, limit: number): number {
  const old = database.all<CountRow>(
    `DELETE FROM activity_minutes WHERE (account_id, at, kind) IN
       (SELECT account_id, at, kind FROM activity_minutes WHERE at < ? ORDER BY at LIMIT ?)
       RETURNING account_id, at, kind, count`,
    minutesFrom,
    limit,
  );
  for (const row of old) addTo(database, 'activity_hours', { ...row, at: startOfSpan(row.at, HOUR_MS) });
  const gone = database.run(
    `DELETE FROM activity_hours WHERE (account_id, at, kind) IN
       (SELECT account_id, at, kind FROM activity_hours WHERE at < ? ORDER BY at LIMIT ?)`,
    hoursFrom,
    limit,
  );
  return Math.max(old.length, gone);
}
