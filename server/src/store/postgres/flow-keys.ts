// Flow control by key: which of its messages may start. Whoever changes what a key has let through locks its row first
// (`lockKeys`), so that its limits hold over all nodes; every change that could free a place ends in `admitWaiting`,
// and nothing else turns a message that waits behind a key into `ready`. The rule is domain/flow-control.ts's.

import { admit, FLOW_PERIOD_MS_DEFAULT, type FlowLimits, type FlowState, started } from '../../domain/flow-control.ts';
import type { FlowKey, FlowPin } from '../../domain/flow-key.ts';
import { earlier } from '../standing-offer.ts';
import type { Database } from './database.ts';
import { keyOf, Pairs } from './lines.ts';
import { sought } from './sought.ts';

interface FlowRow {
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

/** Takes over the limits of a key's newest message, where they are not pinned. */
export function noteLimits(database: Database, row: FlowRow, said: FlowLimits): Promise<void> {
  return setLimits(database, row, {
    parallelism: row.is_parallelism_pinned ? row.parallelism : said.parallelism,
    rate: row.is_rate_pinned ? row.rate : said.rate,
    periodMs: row.is_rate_pinned ? row.period_ms : said.periodMs,
  });
}

/** What was let in by other limits and has not started is to be judged by these. */
async function setLimits(database: Database, row: FlowRow, { parallelism, rate, periodMs }: FlowLimits): Promise<void> {
  if (row.parallelism === parallelism && row.rate === rate && row.period_ms === periodMs) return;
  await database.run(
    'UPDATE flow_keys SET parallelism = $3, rate = $4, period_ms = $5 WHERE account_id = $1 AND key = $2',
    row.account_id,
    row.key,
    parallelism,
    rate,
    periodMs,
  );
  row.parallelism = parallelism;
  row.rate = rate;
  row.period_ms = periodMs;
  await takeBack(database, row);
}

/**
 * What is ready but not started waits again, and has not counted. To be followed by `admitWaiting`. One that is being
 * claimed at this moment has started: it is not waited for, because its claim may be waiting for this key.
 */
async function takeBack(database: Database, row: FlowRow): Promise<void> {
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

/** Of those that were let in in an earlier window and are claimed now: they count in the window in which they start. */
export async function noteStarts(database: Database, pairs: Pairs, now: number): Promise<void> {
  if (pairs.isEmpty) return;
  const seen = await database.all<FlowRow>(
    `SELECT k.* FROM flow_keys k JOIN unnest($1::text[], $2::text[]) AS g (account_id, key) USING (account_id, key)`,
    ...pairs.columns(),
  );
  // Looked at before it is locked: mostly the window is still the same, and nobody has to wait for the key.
  const stale = new Pairs(seen.filter((row) => isPast(row, now)).map((row) => [row.account_id, row.key] as const));
  for (const row of (await lockKeys(database, stale)).values()) {
    if (!isPast(row, now)) continue;
    const { active, unstarted } = (await readCounts(database, [row]))[0]!;
    // Those just claimed are on their way already, and start in the new window as well.
    const claimedNow = await database.get<{ n: number }>(
      `SELECT count(*) AS n FROM messages WHERE holds_slot AND flow_key IS NOT NULL AND account_id = $1 AND flow_key = $2
         AND state = 'claimed' AND claimed_at = $3`,
      row.account_id,
      row.key,
      now,
    );
    const before = { ...flowState(row, { active, unstarted, waiting: 0 }), unstarted: unstarted + claimedNow!.n };
    await writeWindows(
      database,
      [row],
      [{ state: admit(before, limitsOf(row), now).state, nextStartAt: row.next_start_at }],
    );
  }
}

function isPast(row: FlowRow, now: number): boolean {
  const window = { windowStartAt: row.window_start_at, windowCount: row.window_count };
  const { state } = admit({ ...window, active: 0, unstarted: 0, isPaused: false }, limitsOf(row), now);
  return state.windowStartAt !== row.window_start_at;
}

/** A key without limits must not make a transaction as long as its backlog. */
const ADMIT_MAX = 1000;

/** Makes ready as many as each key lets through. Answers the earliest time at which one has something to claim. */
export async function admitWaiting(database: Database, keys: LockedKeys, now: number): Promise<number | null> {
  if (keys.size === 0) return null;
  const rows = [...keys.values()];
  const counts = await readCounts(database, rows);
  const verdicts = rows.map((row, index) => admit(flowState(row, counts[index]!), limitsOf(row), now));
  const free = verdicts.map((verdict, index) => Math.min(verdict.free, ADMIT_MAX, counts[index]!.waiting));
  const admitted = await makeReady(database, rows, free, now);
  let dueAt: number | null = null;
  const windows = rows.map((row, index) => {
    const limits = limitsOf(row);
    const state = started(verdicts[index]!.state, admitted[index]!, now);
    const again = counts[index]!.waiting > admitted[index]! ? admit(state, limits, now) : null;
    // More may start than were let through in one go: at once again.
    const nextStartAt = again === null ? null : again.free > 0 ? now : again.nextAt;
    dueAt = earlier(dueAt, admitted[index]! > 0 ? now : nextStartAt);
    return { state, nextStartAt };
  });
  await writeWindows(database, rows, windows);
  return dueAt;
}

function limitsOf(row: FlowRow): FlowLimits {
  return { parallelism: row.parallelism, rate: row.rate, periodMs: row.period_ms };
}

interface FlowCounts {
  /** Let through and not ended. */
  readonly active: number;
  /** Of those, not claimed yet. */
  readonly unstarted: number;
  /** Behind the key; counted up to one more than can be let through in one go, and whole for people. */
  readonly waiting: number;
}

async function readCounts(
  database: Database,
  rows: readonly FlowRow[],
  waitingMax = ADMIT_MAX + 1,
): Promise<FlowCounts[]> {
  return database.all<FlowCounts>(
    `SELECT
       (SELECT count(*) FROM messages m WHERE m.holds_slot AND m.flow_key IS NOT NULL
          AND m.account_id = g.account_id AND m.flow_key = g.key) AS active,
       (SELECT count(*) FROM messages m WHERE m.holds_slot AND m.flow_key IS NOT NULL
          AND m.account_id = g.account_id AND m.flow_key = g.key AND m.state = 'ready') AS unstarted,
       (SELECT count(*) FROM (SELECT 1 FROM messages m WHERE m.state = 'queued' AND m.flow_key IS NOT NULL
          AND m.account_id = g.account_id AND m.flow_key = g.key LIMIT $3) AS few) AS waiting
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS g (account_id, key, at) ORDER BY g.at`,
    rows.map((row) => row.account_id),
    rows.map((row) => row.key),
    waitingMax,
  );
}

function flowState(row: FlowRow, { active, unstarted }: FlowCounts): FlowState {
  return {
    active,
    windowStartAt: row.window_start_at,
    windowCount: row.window_count,
    unstarted,
    isPaused: row.is_paused,
  };
}

async function writeWindows(
  database: Database,
  rows: readonly FlowRow[],
  windows: readonly { readonly state: FlowState; readonly nextStartAt: number | null }[],
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
    windows.map(({ nextStartAt }) => nextStartAt),
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
          FROM unnest($1::text[], $2::text[], $3::int[]) WITH ORDINALITY AS g (account_id, key, free, at)
          CROSS JOIN LATERAL
            (SELECT seq FROM messages
               WHERE state = 'queued' AND flow_key IS NOT NULL AND account_id = g.account_id AND flow_key = g.key
               ORDER BY due_at, seq LIMIT g.free) AS m)
     UPDATE messages m SET state = 'ready', holds_slot = true,
         ready_at = CASE m.attempts WHEN 0 THEN $4 ELSE m.ready_at END FROM first
       WHERE m.account_id = first.account_id AND m.seq = first.seq AND m.state = 'queued' RETURNING first.index`,
    rows.map((row) => row.account_id),
    rows.map((row) => row.key),
    free,
    now,
  );
  for (const { index } of made) admitted[index]! += 1;
  return admitted;
}

/** Lets through what keys with a new period, or just come due, have waiting; but for those somebody else changes. */
export async function admitDueKeys(database: Database, now: number, limit: number): Promise<void> {
  const due = await database.all<{ account_id: string; key: string }>(
    'SELECT account_id, key FROM flow_keys WHERE next_start_at <= $1 ORDER BY next_start_at LIMIT $2',
    now,
    limit,
  );
  const pairs = new Pairs(due.map((row) => [row.account_id, row.key] as const));
  await admitWaiting(database, await lockKeys(database, pairs, 'SKIP LOCKED'), now);
}

export async function getFlowKey(database: Database, accountId: string, key: string): Promise<FlowKey | null> {
  const rows = await database.all<FlowRow>(
    'SELECT * FROM flow_keys WHERE account_id = $1 AND key = $2',
    accountId,
    sought(key),
  );
  return (await toFlowKeys(database, rows))[0] ?? null;
}

export async function listFlowKeys(database: Database, accountId: string): Promise<FlowKey[]> {
  const rows = await database.all<FlowRow>(
    'SELECT * FROM flow_keys WHERE account_id = $1 ORDER BY key LIMIT 1000',
    accountId,
  );
  return toFlowKeys(database, rows);
}

/** Locks a key, changes it, and lets through what the change allows; null when there is no such key. */
async function change(
  database: Database,
  accountId: string,
  key: string,
  now: number,
  make: (row: FlowRow) => Promise<void>,
): Promise<FlowKey | null> {
  if (sought(key) === null) return null;
  const locked = await lockKeys(database, new Pairs([[accountId, key]]));
  const row = locked.get(keyOf(accountId, key));
  if (!row) return null;
  await make(row);
  await admitWaiting(database, locked, now);
  return getFlowKey(database, accountId, key);
}

/** Pauses or resumes; what is ready but not started goes back behind a paused key. */
export function pauseFlowKey(
  database: Database,
  accountId: string,
  key: string,
  isPaused: boolean,
  now: number,
): Promise<FlowKey | null> {
  return change(database, accountId, key, now, async (row) => {
    await database.run(
      'UPDATE flow_keys SET is_paused = $3 WHERE account_id = $1 AND key = $2',
      accountId,
      key,
      isPaused,
    );
    row.is_paused = isPaused;
    if (isPaused) await takeBack(database, row);
  });
}

/** Holds limits against what messages say (`pin`), or lets the messages say again (null). Makes the key if need be. */
export async function pinFlowKey(
  database: Database,
  accountId: string,
  key: string,
  pin: { readonly parallelism: FlowPin<number>; readonly rate: FlowPin<{ rate: number; periodMs: number }> },
  now: number,
): Promise<FlowKey> {
  const limits = { parallelism: null, rate: null, periodMs: FLOW_PERIOD_MS_DEFAULT };
  await ensureKeys(database, [{ accountId, key, limits }]);
  const isPinned = (each: FlowPin<unknown>, before: boolean) => (each === 'keep' ? before : each !== 'unpin');
  const flowKey = await change(database, accountId, key, now, async (row) => {
    await database.run(
      'UPDATE flow_keys SET is_parallelism_pinned = $3, is_rate_pinned = $4 WHERE account_id = $1 AND key = $2',
      accountId,
      key,
      isPinned(pin.parallelism, row.is_parallelism_pinned),
      isPinned(pin.rate, row.is_rate_pinned),
    );
    // A limit that is no longer pinned stays until a message says another.
    await setLimits(database, row, {
      ...limitsOf(row),
      ...(typeof pin.parallelism === 'number' ? { parallelism: pin.parallelism } : {}),
      ...(typeof pin.rate === 'object' ? pin.rate : {}),
    });
  });
  return flowKey!;
}

/** Forgets what was started in the current period. */
export function resetFlowRate(
  database: Database,
  accountId: string,
  key: string,
  now: number,
): Promise<FlowKey | null> {
  return change(database, accountId, key, now, async (row) => {
    await takeBack(database, row);
    await database.run(
      'UPDATE flow_keys SET window_count = 0, window_start_at = $3 WHERE account_id = $1 AND key = $2',
      accountId,
      key,
      now,
    );
    row.window_count = 0;
    row.window_start_at = now;
  });
}

async function toFlowKeys(database: Database, rows: readonly FlowRow[]): Promise<FlowKey[]> {
  if (rows.length === 0) return [];
  const counts = await readCounts(database, rows, Number.MAX_SAFE_INTEGER);
  return rows.map((row, index) => ({
    key: row.key,
    limits: limitsOf(row),
    isParallelismPinned: row.is_parallelism_pinned,
    isRatePinned: row.is_rate_pinned,
    isPaused: row.is_paused,
    active: counts[index]!.active,
    waiting: counts[index]!.waiting,
    windowStartAt: row.window_start_at,
    windowCount: row.window_count,
  }));
}
