// Heartbeats, the last known time of the nodes, and when schedules run. The wall clock that all nodes share is that of
// the database.

import type { NodeDescription } from '../../../rules/nodes/node.ts';
import type { KeptTime } from '../../../rules/time/clock.ts';
import type { LastKeptTime, StoredTime } from '../../ports/delivery-store.ts';
import type { ScheduleTime } from '../../ports/upkeep-store.ts';
import type { Database } from '../sessions/database.ts';

interface HeardRow {
  readonly wall_at: number;
  /** Null if nothing was stored yet; then `trusted_at` and `order_at` are null too. */
  readonly kept_at: number | null;
  readonly trusted_at: number;
  readonly order_at: number;
  readonly doubted_ms: number;
}

const HEARD = `SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS wall_at, c.wall_at AS kept_at,
    c.trusted_at, c.order_at, c.doubted_ms
  FROM (SELECT 1) AS always LEFT JOIN clock c ON true`;

/** Every node writes the row of the clock, a few bytes every few seconds; the last write wins. */
export async function writeHeartbeat(
  database: Database,
  node: string,
  ttlMs: number,
  { known, ...about }: NodeDescription & { readonly known: number },
  time: KeptTime | null,
): Promise<LastKeptTime> {
  // The SELECT reads the state from before the writes of the same statement.
  const row = await database.get<HeardRow>(
    `WITH node AS (
         INSERT INTO nodes AS n (id, alive_until, about, schema_version)
           VALUES ($1, clock_timestamp() + $2 * interval '1 millisecond', $3, $8)
           ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until),
       kept AS (
         INSERT INTO clock (only_row, wall_at, trusted_at, order_at, doubted_ms)
           SELECT 1, $4::bigint, $5::bigint, $6::bigint, $7::bigint WHERE $4::bigint IS NOT NULL
           ON CONFLICT (only_row) DO UPDATE SET wall_at = excluded.wall_at, trusted_at = excluded.trusted_at,
             order_at = excluded.order_at, doubted_ms = excluded.doubted_ms)
     ${HEARD}`,
    node,
    ttlMs,
    JSON.stringify(about),
    time?.wallAt ?? null,
    time?.trustedAt ?? null,
    time?.orderAt ?? null,
    time?.doubtedMs ?? null,
    known,
  );
  return toHeardTime(row!);
}

export async function storedTime(database: Database): Promise<StoredTime> {
  // Only the newest positions in queues are read, because messages without a queue have no order to keep.
  const newest = await database.get<{ at: number | null }>('SELECT max(line_at) AS at FROM queues');
  const heard = toHeardTime((await database.get<HeardRow>(HEARD))!);
  return { ...heard, newestAt: newest!.at };
}

function toHeardTime({ wall_at: wallAt, kept_at, trusted_at, order_at, doubted_ms }: HeardRow): LastKeptTime {
  if (kept_at === null) return { kept: null, wallAt };
  return { kept: { wallAt: kept_at, trustedAt: trusted_at, orderAt: order_at, doubtedMs: doubted_ms }, wallAt };
}

export function scheduleTimes(
  database: Database,
  after: Pick<ScheduleTime, 'accountId' | 'id'>,
  limit: number,
): Promise<ScheduleTime[]> {
  return database.all<ScheduleTime>(
    `SELECT account_id AS "accountId", id, cron, created_at AS "createdAt", next_at AS "nextAt" FROM schedules
       WHERE (account_id, id) > ($1, $2) AND next_at IS NOT NULL ORDER BY account_id, id LIMIT $3`,
    after.accountId,
    after.id,
    limit,
  );
}

export async function setScheduleTimes(
  database: Database,
  changes: readonly { readonly schedule: ScheduleTime; readonly nextAt: number }[],
): Promise<void> {
  await database.run(
    `UPDATE schedules s SET next_at = g.next_at
       FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])
         AS g (account_id, id, cron, before_at, next_at)
       WHERE s.account_id = g.account_id AND s.id = g.id AND s.cron = g.cron AND s.next_at = g.before_at
         AND NOT s.is_paused`,
    changes.map(({ schedule }) => schedule.accountId),
    changes.map(({ schedule }) => schedule.id),
    changes.map(({ schedule }) => schedule.cron),
    changes.map(({ schedule }) => schedule.nextAt),
    changes.map(({ nextAt }) => nextAt),
  );
}
