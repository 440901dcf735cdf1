// Runs schedules. A tick is taken by moving `next_at` in the transaction that accepts its messages; if `next_at`
// was already moved, nothing is created. If several nodes take a tick at once, one moves it and the others skip it.

import { earlier } from '../../../rules/time/instant.ts';
import type { DueLimits, DueSchedules, Tick, TickMade } from '../../ports/upkeep-store.ts';
import { SCHEDULE_COLUMNS, type ScheduleRow, toSchedule } from '../../rows/rows.ts';
import { chooseDue, type DueKey } from '../../shared/due-schedules.ts';
import { acceptAll } from '../deliveries/accept.ts';
import type { Database } from '../sessions/database.ts';

/**
 * The times at which accounts have due schedules, earliest first, at most $2. Steps from one time to the next in the
 * order of the index.
 */
const DUE_TIMES = `WITH RECURSIVE due_time (next_at, account_id) AS (
    (SELECT next_at, account_id FROM schedules WHERE next_at <= $1 ORDER BY next_at, account_id, id LIMIT 1)
    UNION ALL
    SELECT s.next_at, s.account_id FROM due_time CROSS JOIN LATERAL
      (SELECT next_at, account_id FROM schedules
         WHERE next_at <= $1 AND (next_at, account_id) > (due_time.next_at, due_time.account_id)
         ORDER BY next_at, account_id, id LIMIT 1) AS s)
  SELECT next_at, account_id FROM due_time LIMIT $2`;

interface DueTime {
  readonly next_at: number;
  readonly account_id: string;
}

/** $3 schedules of each account and time, after the first $4. */
const DUE_KEYS = `SELECT g.next_at, s.account_id, s.id, s.bytes
  FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS g (next_at, account_id, at)
  CROSS JOIN LATERAL
    (SELECT account_id, id, octet_length(body) AS bytes FROM schedules
       WHERE next_at = g.next_at AND account_id = g.account_id ORDER BY id LIMIT $3 OFFSET $4) AS s
  ORDER BY g.at, s.id`;

/** `start` differs between nodes: if many schedules are due at one time, each node begins with different ones. */
export async function dueSchedules(
  database: Database,
  now: number,
  limits: DueLimits,
  start: number,
): Promise<DueSchedules> {
  const times = await database.all<DueTime>(DUE_TIMES, now, limits.schedules);
  const part = Math.ceil(limits.schedules / Math.max(1, times.length));
  const keyOf = ({ next_at, account_id }: DueTime) => `${next_at} ${account_id}`;
  const readKeys = async (some: readonly DueTime[], offset: number) =>
    Map.groupBy(
      await database.all<DueKey & DueTime>(
        DUE_KEYS,
        some.map(({ next_at }) => next_at),
        some.map(({ account_id }) => account_id),
        part,
        offset,
      ),
      keyOf,
    );
  const first = await readKeys(times, 0);
  const long = start > 0 ? times.filter((time) => first.get(keyOf(time))?.length === part) : [];
  const others = await readKeys(long, start * part);
  const keys = [...first].flatMap(([time, own]) => others.get(time) ?? own);
  const chosen = chooseDue(keys, limits);
  const rows = await database.all<ScheduleRow>(
    `SELECT ${SCHEDULE_COLUMNS} FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS g (account_id, id, at)
       JOIN schedules USING (account_id, id) ORDER BY g.at`,
    chosen.map(({ account_id }) => account_id),
    chosen.map(({ id }) => id),
  );
  // A schedule that was taken or paused since it was found is no longer due.
  const due = rows.map(toSchedule).filter(({ nextAt }) => nextAt !== null && nextAt <= now);
  return { due, nextAt: await nextScheduleAt(database) };
}

/** When the next schedule is due; null if none is. */
export async function nextScheduleAt(database: Database): Promise<number | null> {
  const row = await database.get<{ at: number }>(
    'SELECT next_at AS at FROM schedules WHERE next_at IS NOT NULL ORDER BY next_at LIMIT 1',
  );
  return row?.at ?? null;
}

/** Takes each tick and accepts its messages, or does neither. Skips ticks that another node is taking. */
export async function fireSchedules(
  database: Database,
  ticks: readonly Tick[],
  now: number,
): Promise<{ made: TickMade[]; dueAt: number | null }> {
  const rows = await database.all<{ index: number }>(
    `SELECT (g.at - 1)::int AS index
       FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY AS g (account_id, id, next_at, at)
       JOIN schedules s ON s.account_id = g.account_id AND s.id = g.id AND s.next_at = g.next_at AND NOT s.is_paused
       ORDER BY g.at FOR UPDATE OF s SKIP LOCKED`,
    ticks.map(({ schedule }) => schedule.accountId),
    ticks.map(({ schedule }) => schedule.id),
    ticks.map(({ schedule }) => schedule.nextAt),
  );
  const taken = rows.map(({ index }) => ticks[index]!);
  const replies = await acceptAll(
    database,
    taken.map(({ messages, dayMax = null }) => ({ messages, leases: [], node: '', now, dayMax })),
  );
  await database.run(
    `UPDATE schedules s SET next_at = g.next_at, last_at = $5, last_message_ids = g.last_message_ids
       FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) AS g (account_id, id, next_at, last_message_ids)
       WHERE s.account_id = g.account_id AND s.id = g.id`,
    taken.map(({ schedule }) => schedule.accountId),
    taken.map(({ schedule }) => schedule.id),
    taken.map(({ nextAt }) => nextAt),
    taken.map(({ messages }, index) =>
      JSON.stringify(replies[index]!.duplicates.map((standing, at) => standing ?? messages[at]!.id)),
    ),
    now,
  );
  const made: TickMade[] = ticks.map(() => null);
  rows.forEach(({ index }, at) => {
    const { duplicates, isOverQuota } = replies[at]!;
    made[index] = isOverQuota ? 'overQuota' : duplicates.filter((id) => id === null).length;
  });
  return {
    made,
    dueAt: replies.reduce<number | null>((at, reply) => earlier(at, reply.dueAt), null),
  };
}
