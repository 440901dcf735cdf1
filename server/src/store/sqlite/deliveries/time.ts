// Heartbeats of nodes, the last known time, and when schedules run.

import { ENDED_LANE } from '../../../rules/limits/lanes.ts';
import type { KeptTime } from '../../../rules/time/clock.ts';
import type { StoredTime } from '../../ports/delivery-store.ts';
import type { ScheduleTime } from '../../ports/upkeep-store.ts';
import type { Database } from '../thread/database.ts';

/** How many messages are read to find the newest time. The last one may be earlier, if its request took longer. */
const NEWEST_ROWS = 100;

/** `aliveUntilMs` is on the machine's monotonic clock. A late heartbeat does not revive a lane that has ended. */
export function heartbeat(
  database: Database,
  node: string,
  aliveUntilMs: number,
  time: KeptTime | null,
): KeptTime | null {
  database.run(
    `INSERT INTO nodes (id, alive_until) VALUES (?1, ?2)
       ON CONFLICT DO UPDATE SET alive_until = excluded.alive_until WHERE alive_until <> ?3`,
    node,
    aliveUntilMs,
    ENDED_LANE,
  );
  const before = keptTime(database);
  if (!time) return before;
  database.run(
    'INSERT OR REPLACE INTO clock (only_row, wall_at, trusted_at, order_at, doubted_ms) VALUES (1, ?, ?, ?, ?)',
    time.wallAt,
    time.trustedAt,
    time.orderAt,
    time.doubtedMs,
  );
  return before;
}

function keptTime(database: Database): KeptTime | null {
  const kept = database.get<KeptTime>(
    'SELECT wall_at AS wallAt, trusted_at AS trustedAt, order_at AS orderAt, doubted_ms AS doubtedMs FROM clock',
  );
  return kept ? { ...kept } : null;
}

export function storedTime(database: Database): StoredTime {
  const newest = database.get<{ at: number | null }>(
    'SELECT max(created_at) AS at FROM (SELECT created_at FROM messages ORDER BY seq DESC LIMIT ?)',
    NEWEST_ROWS,
  )!;
  return { kept: keptTime(database), newestAt: newest.at, wallAt: null };
}

export function scheduleTimes(
  database: Database,
  after: Pick<ScheduleTime, 'accountId' | 'id'>,
  limit: number,
): ScheduleTime[] {
  const rows = database.all<ScheduleTime>(
    `SELECT account_id AS accountId, id, cron, created_at AS createdAt, next_at AS nextAt FROM schedules
       WHERE (account_id, id) > (?, ?) AND next_at IS NOT NULL ORDER BY account_id, id LIMIT ?`,
    after.accountId,
    after.id,
    limit,
  );
  return rows.map((row) => ({ ...row }));
}

export function setScheduleTimes(
  database: Database,
  changes: readonly { readonly schedule: ScheduleTime; readonly nextAt: number }[],
): void {
  for (const { schedule, nextAt } of changes) {
    database.run(
      'UPDATE schedules SET next_at = ? WHERE account_id = ? AND id = ? AND cron = ? AND next_at = ? AND is_paused = 0',
      nextAt,
      schedule.accountId,
      schedule.id,
      schedule.cron,
      schedule.nextAt,
    );
  }
}
