// Flow control by key: which of its messages may start. Whoever changes what a key has let through locks its row first
// (`lockKeys`), so that its limits hold over all nodes; every change that could free a place ends in `admitWaiting`,
// and nothing else turns a message that waits behind a key into `ready`. The rule is domain/flow-control.ts's.

import { eachMax } from '../../domain/budgets.ts';
import {
  AT_NEXT_START,
  admit,
  type FlowLimits,
  type FlowState,
  letIn,
  nextStartAt,
  started,
} from '../../domain/flow-control.ts';
import { earlier } from '../../domain/instant.ts';
import { inTurns, PROMOTE_KEYS_MAX, PROMOTE_KEYS_SOUGHT_MAX, promotedOfKeyMax } from '../promotion.ts';
import type { Database } from './database.ts';
import { keyOf, Pairs } from './lines.ts';
import { READY_NOW } from './queues.ts';

export interface FlowRow {
  account_id: string;
  key: string;
  parallelism: number | null;
  rate: number | null;
  period_ms: number;
  is_parallelism_pinned: boolean;
  is_rate_pinned: boolean;
  is_paused: boolean;
  window_start_at: number;
  window_count: number;
  next_start_at: number | null;
  /** As JSON: what its newest message says, while that has not taken effect. */
  said_limits: string | null;
  said_at: number | null;
}

/** Keys whose rows this transaction holds, by `keyOf`. */
export type LockedKeys = Map<string, FlowRow>;

/** `SKIP LOCKED` leaves out those that somebody else holds. */
export async function lockKeys(database: Database, pairs: Pairs, how: '' | 'SKIP LOCKED' = ''): Promise<LockedKeys> {
  if (pairs.isEmpty) return new Map();
  const rows = await database.all<FlowRow>(
    `SELECT k.* FROM flow_keys k JOIN unnest($1::text[], $2::text[]) AS g (account_id, key) USING (account_id, key)
       ORDER BY k.account_id, k.key FOR UPDATE OF k ${how}`,
    ...pairs.columns(),
  );
  return new Map(rows.map((row) => [keyOf(row.account_id, row.key), row]));
}

/** Makes those that are missing, with these limits. */
export async function ensureKeys(
  database: Database,
  keys: readonly { readonly accountId: string; readonly key: string; readonly limits: FlowLimits }[],
): Promise<void> {
  await database.run(
    `INSERT INTO flow_keys (account_id, key, parallelism, rate, period_ms, window_start_at, window_count)
       SELECT account_id, key, parallelism, rate, period_ms, 0, 0
         FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
           AS g (account_id, key, parallelism, rate, period_ms)
         ORDER BY account_id, key
       ON CONFLICT DO NOTHING`,
    keys.map(({ accountId }) => accountId),
    keys.map(({ key }) => key),
    keys.map(({ limits }) => limits.parallelism),
    keys.map(({ limits }) => limits.rate),
    keys.map(({ limits }) => limits.periodMs),
  );
}

/** Those that its newest message says, whether they have taken effect or not. */
export function newestLimits(row: FlowRow): FlowLimits {
  return row.said_limits === null ? limitsOf(row) : notPinned(row, JSON.parse(row.said_limits) as FlowLimits);
}

export function notPinned(row: FlowRow, said: FlowLimits): FlowLimits {
  return {
    parallelism: row.is_parallelism_pinned ? row.parallelism : said.parallelism,
    rate: row.is_rate_pinned ? row.rate : said.rate,
    periodMs: row.is_rate_pinned ? row.period_ms : said.periodMs,
  };
}

export function hasLimits(row: FlowRow, { parallelism, rate, periodMs }: FlowLimits): boolean {
  return row.parallelism === parallelism && row.rate === rate && row.period_ms === periodMs;
}

/** What was let in by other limits and has not started is to be judged by these. */
export async function setLimits(database: Database, row: FlowRow, limits: FlowLimits): Promise<void> {
  const isSame = hasLimits(row, limits);
  if (isSame && row.said_at === null) return;
  await database.run(
    `UPDATE flow_keys SET parallelism = $3, rate = $4, period_ms = $5, said_limits = NULL, said_at = NULL
       WHERE account_id = $1 AND key = $2`,
    row.account_id,
    row.key,
    limits.parallelism,
    limits.rate,
    limits.periodMs,
  );
  row.parallelism = limits.parallelism;
  row.rate = limits.rate;
  row.period_ms = limits.periodMs;
  row.said_limits = null;
  row.said_at = null;
  if (!isSame) await takeBack(database, row);
}

/**
 * What is ready but not started waits again, and has not counted. To be followed by `admitWaiting`. One that is being
 * claimed at this moment has started: it is not waited for, because its claim may be waiting for this key.
 */
export async function takeBack(database: Database, row: FlowRow): Promise<void> {
  const count = await database.run(
    `UPDATE messages SET state = 'queued', holds_slot = false WHERE account_id = $1 AND seq IN
       (SELECT seq FROM messages
          WHERE holds_slot AND flow_key IS NOT NULL AND account_id = $1 AND flow_key = $2 AND state = 'ready'
          FOR UPDATE SKIP LOCKED)`,
    row.account_id,
    row.key,
  );
  if (count > 0) await uncount(database, row, count);
}

async function uncount(database: Database, row: FlowRow, count: number): Promise<void> {
  row.window_count = Math.max(0, row.window_count - count);
  await database.run(
    'UPDATE flow_keys SET window_count = $3 WHERE account_id = $1 AND key = $2',
    row.account_id,
    row.key,
    row.window_count,
  );
}

/** Claims were given back before their attempts began: they did not count, if this is still the window they counted in. */
export async function uncountStarts(database: Database, row: FlowRow, claimedAt: readonly number[]): Promise<void> {
  const count = claimedAt.filter((at) => at >= row.window_start_at).length;
  if (count > 0) await uncount(database, row, count);
}

/**
 * Of those that are claimed now. Let in in an earlier window, they count in the window in which they start; and a key that
 * waits for a start lets more in.
 */
export async function noteStarts(database: Database, pairs: Pairs, now: number): Promise<void> {
  if (pairs.isEmpty) return;
  const seen = await database.all<FlowRow>(
    `SELECT k.* FROM flow_keys k JOIN unnest($1::text[], $2::text[]) AS g (account_id, key) USING (account_id, key)`,
    ...pairs.columns(),
  );
  // Looked at before it is locked: mostly there is nothing to write, and nobody has to wait for the key. A key that begins to
  // wait for a start at this very moment misses this one; the next start, or the end of this one, lets more in.
  const isConcerned = (row: FlowRow) => row.next_start_at === AT_NEXT_START || isPast(row, now);
  const concerned = new Pairs(seen.filter(isConcerned).map((row) => [row.account_id, row.key] as const));
  const rows = [...(await lockKeys(database, concerned)).values()].filter(isConcerned);
  if (rows.length === 0) return;
  const windows: { state: FlowWindow; nextAt: number | null }[] = [];
  for (const row of rows) {
    const state = isPast(row, now) ? await windowOfStarts(database, row, now) : windowOf(row);
    windows.push({ state, nextAt: row.next_start_at === AT_NEXT_START ? now : row.next_start_at });
  }
  await writeWindows(database, rows, windows);
}

/** The window that opens with those that are claimed now: they start in it, like those that are still to come. */
async function windowOfStarts(database: Database, row: FlowRow, now: number): Promise<FlowWindow> {
  const { active, unstarted } = (await readCounts(database, [row], (each) => countedBefore(each, now)))[0]!;
  const claimedNow = await database.get<{ n: number }>(
    `SELECT count(*) AS n FROM messages WHERE holds_slot AND flow_key IS NOT NULL AND account_id = $1 AND flow_key = $2
       AND state = 'claimed' AND claimed_at = $3`,
    row.account_id,
    row.key,
    now,
  );
  const before = { ...flowState(row, { active, unstarted }), unstarted: unstarted + claimedNow!.n };
  return admit(before, limitsOf(row), now).state;
}

type FlowWindow = Pick<FlowState, 'windowStartAt' | 'windowCount'>;

function windowOf(row: FlowRow): FlowWindow {
  return { windowStartAt: row.window_start_at, windowCount: row.window_count };
}

function isPast(row: FlowRow, now: number): boolean {
  const { state } = admit({ ...windowOf(row), active: 0, unstarted: 0, isPaused: false }, limitsOf(row), now);
  return state.windowStartAt !== row.window_start_at;
}

/** Makes ready as many as each key lets through, at most `most` of each. Answers the earliest time at which one has something to claim. */
export async function admitWaiting(
  database: Database,
  keys: LockedKeys,
  now: number,
  most = Number.POSITIVE_INFINITY,
): Promise<number | null> {
  if (keys.size === 0) return null;
  const rows = [...keys.values()];
  const max = eachMax('flowKeyReady');
  const counts = await readCounts(database, rows, (row) => countedToAdmit(row, now));
  const verdicts = rows.map((row, index) => admit(flowState(row, counts[index]!), limitsOf(row), now));
  const room = verdicts.map((verdict, index) => {
    const { unstarted, waiting } = counts[index]!;
    return Math.min(letIn(verdict, unstarted, max), waiting, most);
  });
  const admitted = await makeReady(database, rows, room, now);
  let dueAt: number | null = null;
  const windows = rows.map((row, index) => {
    const { unstarted, waiting } = counts[index]!;
    const count = admitted[index]!;
    const state = started(verdicts[index]!.state, count, now);
    const nextAt =
      waiting > count ? nextStartAt(admit(state, limitsOf(row), now), unstarted + count >= max, now) : null;
    dueAt = earlier(dueAt, count > 0 ? now : nextAt === AT_NEXT_START ? null : nextAt);
    return { state, nextAt };
  });
  await writeWindows(database, rows, windows);
  return dueAt;
}

/** Of one that starts at once if its key's limits allow it: whoever waits for a slot does not keep it back. Answers whether it may. */
export async function admitOne(database: Database, row: FlowRow, seq: number, now: number): Promise<boolean> {
  const counts = (await readCounts(database, [row], (each) => countedBefore(each, now)))[0]!;
  const verdict = admit(flowState(row, counts), limitsOf(row), now);
  if (verdict.free === 0) return false;
  await database.run('UPDATE messages SET holds_slot = true WHERE account_id = $1 AND seq = $2', row.account_id, seq);
  await writeWindows(database, [row], [{ state: started(verdict.state, 1, now), nextAt: row.next_start_at }]);
  return true;
}

export function limitsOf(row: FlowRow): FlowLimits {
  return { parallelism: row.parallelism, rate: row.rate, periodMs: row.period_ms };
}

interface FlowCounts {
  /** Let through and not ended. */
  readonly active: number;
  /** Of those, not claimed yet. */
  readonly unstarted: number;
  /** Behind the key. */
  readonly waiting: number;
}

/** How far each is counted; null for to the end. */
type FlowCountLimits = Readonly<Record<keyof FlowCounts, number | null>>;

/**
 * No more than is needed: this is asked at every message of a key. Those that have not started count when the window is past,
 * and to see how many may join them; of those behind the key, one more than can be let through in one go.
 */
function countedToAdmit(row: FlowRow, now: number): FlowCountLimits {
  const max = eachMax('flowKeyReady');
  const { active, unstarted } = countedBefore(row, now);
  return { active, unstarted: unstarted === null ? null : Math.max(unstarted, max), waiting: max + 1 };
}

/** For the window that a start at `now` belongs to. */
function countedBefore(row: FlowRow, now: number): FlowCountLimits {
  return { active: row.parallelism ?? 0, unstarted: isPast(row, now) ? row.rate : 0, waiting: 0 };
}

export async function readCounts(
  database: Database,
  rows: readonly FlowRow[],
  limitsOfCounts: (row: FlowRow) => FlowCountLimits,
): Promise<FlowCounts[]> {
  const limits = rows.map(limitsOfCounts);
  return database.all<FlowCounts>(
    `SELECT
       (SELECT count(*) FROM (SELECT 1 FROM messages m WHERE m.holds_slot AND m.flow_key IS NOT NULL
          AND m.account_id = g.account_id AND m.flow_key = g.key LIMIT g.active) AS few) AS active,
       (SELECT count(*) FROM (SELECT 1 FROM messages m WHERE m.holds_slot AND m.flow_key IS NOT NULL
          AND m.account_id = g.account_id AND m.flow_key = g.key AND m.state = 'ready' LIMIT g.unstarted) AS few)
         AS unstarted,
       (SELECT count(*) FROM (SELECT 1 FROM messages m WHERE m.state = 'queued' AND m.flow_key IS NOT NULL
          AND m.account_id = g.account_id AND m.flow_key = g.key LIMIT g.waiting) AS few) AS waiting
     FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
       WITH ORDINALITY AS g (account_id, key, active, unstarted, waiting, at) ORDER BY g.at`,
    rows.map((row) => row.account_id),
    rows.map((row) => row.key),
    limits.map(({ active }) => active),
    limits.map(({ unstarted }) => unstarted),
    limits.map(({ waiting }) => waiting),
  );
}

function flowState(row: FlowRow, { active, unstarted }: Pick<FlowCounts, 'active' | 'unstarted'>): FlowState {
  return { active, ...windowOf(row), unstarted, isPaused: row.is_paused };
}

async function writeWindows(
  database: Database,
  rows: readonly FlowRow[],
  windows: readonly { readonly state: FlowWindow; readonly nextAt: number | null }[],
): Promise<void> {
  await database.run(
    `UPDATE flow_keys k SET window_start_at = g.window_start_at, window_count = g.window_count,
         next_start_at = g.next_start_at
       FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
         AS g (account_id, key, window_start_at, window_count, next_start_at)
       WHERE k.account_id = g.account_id AND k.key = g.key
         AND (k.window_start_at, k.window_count, k.next_start_at)
           IS DISTINCT FROM (g.window_start_at, g.window_count, g.next_start_at)`,
    rows.map((row) => row.account_id),
    rows.map((row) => row.key),
    windows.map(({ state }) => state.windowStartAt),
    windows.map(({ state }) => state.windowCount),
    windows.map(({ nextAt }) => nextAt),
  );
}

/** The first of each line, as many as it may; answers how many of each. */
async function makeReady(
  database: Database,
  rows: readonly FlowRow[],
  free: readonly number[],
  now: number,
): Promise<number[]> {
  const admitted = rows.map(() => 0);
  if (free.every((count) => count === 0)) return admitted;
  const made = await database.all<{ index: number }>(
    `WITH first AS MATERIALIZED
       (SELECT (g.at - 1)::int AS index, g.account_id, m.seq
          FROM unnest($2::text[], $3::text[], $4::int[]) WITH ORDINALITY AS g (account_id, key, free, at)
          CROSS JOIN LATERAL
            (SELECT seq FROM messages
               WHERE state = 'queued' AND flow_key IS NOT NULL AND account_id = g.account_id AND flow_key = g.key
               ORDER BY due_at, seq LIMIT g.free) AS m)
     UPDATE messages m SET state = 'ready', holds_slot = true, ${READY_NOW} FROM first
       WHERE m.account_id = first.account_id AND m.seq = first.seq AND m.state = 'queued' RETURNING first.index`,
    now,
    rows.map((row) => row.account_id),
    rows.map((row) => row.key),
    free,
  );
  for (const { index } of made) admitted[index]! += 1;
  return admitted;
}

/**
 * Lets through what keys with a new period, or just come due, have waiting; but for those somebody else changes. A key that
 * could not let all through stays due.
 */
export async function admitDueKeys(database: Database, now: number): Promise<void> {
  const due = await database.all<{ account_id: string; key: string }>(
    'SELECT account_id, key FROM flow_keys WHERE next_start_at <= $1 ORDER BY next_start_at LIMIT $2',
    now,
    PROMOTE_KEYS_SOUGHT_MAX,
  );
  const pairs = new Pairs(
    inTurns(due)
      .slice(0, PROMOTE_KEYS_MAX)
      .map((row) => [row.account_id, row.key] as const),
  );
  const locked = await lockKeys(database, pairs, 'SKIP LOCKED');
  await admitWaiting(database, locked, now, promotedOfKeyMax(locked.size));
}
