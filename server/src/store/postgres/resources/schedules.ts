// Runs schedules. The transaction that accepts the messages of a tick also moves `next_at` to the next tick. If several
// nodes run the same tick at once, one of them moves `next_at`, and the others create nothing. The same transaction
// looks whether a message of the tick before is open, for schedules that allow no overlap.

import type { Schedule } from '../../../rules/schedules/schedule.ts';
import { fateOfTick, isTickSkipped } from '../../../rules/schedules/tick.ts';
import { earlier } from '../../../rules/time/instant.ts';
import type { DueLimits, DueSchedules, Tick, TickResult } from '../../ports/upkeep-store.ts';
import { SCHEDULE_COLUMNS, type ScheduleRow, toSchedule } from '../../rows/rows.ts';
import {
  chooseDue,
  chooseTimes,
  DUE_BYTES,
  type DueKey,
  type DueTime,
  lookedAtTimes,
} from '../../shared/due-schedules.ts';
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

/** $3 schedules of each account and time, after the first $4. */
const DUE_KEYS = `SELECT g.next_at, s.account_id, s.id, s.bytes
  FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS g (next_at, account_id, at)
  CROSS JOIN LATERAL
    (SELECT account_id, id, ${DUE_BYTES} AS bytes FROM schedules
       WHERE next_at = g.next_at AND account_id = g.account_id ORDER BY id LIMIT $3 OFFSET $4) AS s
  ORDER BY g.at, s.id`;

/** `start` differs between nodes: if many schedules are due at one time, each node begins with different ones. */
export async function dueSchedules(
  database: Database,
  now: number,
  limits: DueLimits,
  start: number,
): Promise<DueSchedules> {
  const times = chooseTimes(await database.all<DueTime>(DUE_TIMES, now, lookedAtTimes(limits)), limits);
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
  const open = await countOpen(
    database,
    [...due.entries()].map(([index, schedule]) => ({ schedule, index })).filter(({ schedule }) => maySkip(schedule)),
  );
  return {
    due: due.map((each, index) => (isTickSkipped(each, open.get(index) ?? 0) ? { ...each, isSkipped: true } : each)),
    nextAt: await nextScheduleAt(database),
  };
}

/** When the next schedule is due; null if none is. */
export async function nextScheduleAt(database: Database): Promise<number | null> {
  const row = await database.get<{ at: number }>(
    'SELECT next_at AS at FROM schedules WHERE next_at IS NOT NULL ORDER BY next_at LIMIT 1',
  );
  return row?.at ?? null;
}

/** A tick that is taken: its row is locked until the end of the transaction. */
interface TakenTick {
  readonly tick: Tick;
  readonly index: number;
}

/** Takes each tick and accepts its messages, or does neither. Skips ticks that another node is taking. */
export async function fireSchedules(
  database: Database,
  ticks: readonly Tick[],
  now: number,
): Promise<{ made: TickResult[]; dueAt: number | null }> {
  const all = await take(database, ticks);
  const open = await countOpen(
    database,
    all.map(({ tick: { schedule }, index }) => ({ schedule, index })).filter(({ schedule }) => maySkip(schedule)),
  );
  const { skipped = [], made: taken = [] } = Object.groupBy(all, ({ tick: { schedule, isUnplanned = false }, index }) =>
    fateOfTick(schedule, !isUnplanned, open.get(index) ?? 0),
  );
  if (skipped.length > 0) await skipTicks(database, skipped, now);
  const replies = await acceptAll(
    database,
    taken.map(({ tick: { messages, dayMax = null } }) => ({ messages, leases: [], node: '', now, dayMax })),
  );
  await database.run(
    `UPDATE schedules s SET next_at = g.next_at, last_at = $5, last_message_ids = g.last_message_ids
       FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) AS g (account_id, id, next_at, last_message_ids)
       WHERE s.account_id = g.account_id AND s.id = g.id`,
    taken.map(({ tick }) => tick.schedule.accountId),
    taken.map(({ tick }) => tick.schedule.id),
    taken.map(({ tick }) => tick.nextAt),
    taken.map(({ tick: { messages } }, index) =>
      JSON.stringify(replies[index]!.duplicates.map((standing, at) => standing ?? messages[at]!.id)),
    ),
    now,
  );
  const made: TickResult[] = ticks.map(() => null);
  for (const { index } of skipped) made[index] = 'skipped';
  for (const [at, { index }] of taken.entries()) {
    const { duplicates, isOverQuota } = replies[at]!;
    made[index] = isOverQuota ? 'overQuota' : duplicates.filter((id) => id === null).length;
  }
  return {
    made,
    dueAt: replies.reduce<number | null>((at, reply) => earlier(at, reply.dueAt), null),
  };
}

const maySkip = ({ overlap }: Schedule) => overlap === 'skip';

/** Locks the schedules that still have their ticks, and are what the messages of the ticks were planned from. */
async function take(database: Database, ticks: readonly Tick[]): Promise<TakenTick[]> {
  const rows = await database.all<{ index: number }>(
    `SELECT (g.at - 1)::int AS index
       FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::int[])
           WITH ORDINALITY AS g (account_id, id, next_at, created_at, version, at)
       JOIN schedules s ON s.account_id = g.account_id AND s.id = g.id AND s.next_at = g.next_at AND NOT s.is_paused
         AND s.created_at = g.created_at AND s.version = g.version
       ORDER BY g.at FOR UPDATE OF s SKIP LOCKED`,
    ticks.map(({ schedule }) => schedule.accountId),
    ticks.map(({ schedule }) => schedule.id),
    ticks.map(({ schedule }) => schedule.nextAt),
    ticks.map(({ schedule }) => schedule.createdAt),
    ticks.map(({ schedule }) => schedule.version),
  );
  return rows.map(({ index }) => ({ tick: ticks[index]!, index }));
}

/** Those of these schedules, by their index, of whose last tick a message has not ended. Each is found by its id. */
async function countOpen(
  database: Database,
  skipping: readonly { readonly schedule: Schedule; readonly index: number }[],
): Promise<ReadonlyMap<number, number>> {
  if (skipping.length === 0) return new Map();
  const rows = await database.all<{ index: number; n: number }>(
    `SELECT g.index, open.n FROM unnest($1::text[], $2::text[], $3::int[]) AS g (account_id, id, index)
       JOIN schedules s ON s.account_id = g.account_id AND s.id = g.id
       CROSS JOIN LATERAL
         (SELECT 1 AS n FROM json_array_elements_text(s.last_message_ids::json) AS made (id)
            CROSS JOIN LATERAL
              (SELECT ended_at FROM messages m WHERE m.account_id = g.account_id AND m.id = made.id LIMIT 1) AS found
            WHERE found.ended_at IS NULL LIMIT 1) AS open`,
    skipping.map(({ schedule }) => schedule.accountId),
    skipping.map(({ schedule }) => schedule.id),
    skipping.map(({ index }) => index),
  );
  return new Map(rows.map(({ index, n }) => [index, n]));
}

async function skipTicks(database: Database, skipped: readonly TakenTick[], now: number): Promise<void> {
  await database.run(
    `UPDATE schedules s SET next_at = g.next_at, skipped_count = coalesce(s.skipped_count, 0) + 1, skipped_at = $4
       FROM unnest($1::text[], $2::text[], $3::bigint[]) AS g (account_id, id, next_at)
       WHERE s.account_id = g.account_id AND s.id = g.id`,
    skipped.map(({ tick }) => tick.schedule.accountId),
    skipped.map(({ tick }) => tick.schedule.id),
    skipped.map(({ tick }) => tick.nextAt),
    now,
  );
}
