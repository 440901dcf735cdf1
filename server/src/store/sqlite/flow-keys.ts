// Flow control by key: which of its messages may start. Every change that could free a place ends in `admitWaiting`;
// nothing else turns a message that waits behind a key into `ready`. The rule is domain/flow-control.ts's.

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
import { inTurns, PROMOTE_KEYS_MAX, PROMOTE_KEYS_SOUGHT_MAX, promotedOfKeyMax } from '../promotion.ts';
import type { Database } from './database.ts';
import { READY_NOW } from './queues.ts';

export interface FlowRow {
  account_id: string;
  key: string;
  parallelism: number | null;
  rate: number | null;
  period_ms: number;
  is_parallelism_pinned: 0 | 1;
  is_rate_pinned: 0 | 1;
  is_paused: 0 | 1;
  window_start_at: number;
  window_count: number;
  next_start_at: number | null;
  /** As JSON: what its newest message says, while that has not taken effect. */
  said_limits: string | null;
  said_at: number | null;
}

export const GET_KEY = 'SELECT * FROM flow_keys WHERE account_id = ? AND key = ?';

/** Makes the key or takes over the limits of its newest message, where they are not pinned. Answers whether that changed them. */
export function noteFlowKey(database: Database, accountId: string, key: string, said: FlowLimits): boolean {
  const row = database.get<FlowRow>(GET_KEY, accountId, key);
  if (row) return setLimits(database, row, notPinned(row, said));
  makeKey(database, accountId, key, said);
  return false;
}

/** Notes what the newest message of a key says; a claim makes it take effect. Until then, the limits in force stay. */
export function putOffLimits(database: Database, accountId: string, key: string, said: FlowLimits, now: number): void {
  database.run(
    'UPDATE flow_keys SET said_limits = ?, said_at = coalesce(said_at, ?) WHERE account_id = ? AND key = ?',
    JSON.stringify(said),
    now,
    accountId,
    key,
  );
}

/** Limits that were noted take effect, the oldest first, of a few keys. Answers whether more are noted. */
export function applyPutOffLimits(database: Database, now: number): boolean {
  const max = eachMax('flowKeysJudged');
  const rows = database.all<FlowRow>(
    'SELECT * FROM flow_keys WHERE said_at IS NOT NULL ORDER BY said_at LIMIT ?',
    max + 1,
  );
  for (const row of rows.slice(0, max)) {
    setLimits(database, row, newestLimits(row));
    admitWaiting(database, row.account_id, row.key, now);
  }
  return rows.length > max;
}

/** Whether the key has these limits already, where they are not pinned. Makes the key, if need be. */
export function isSaidAlready(database: Database, accountId: string, key: string, said: FlowLimits): boolean {
  const row = database.get<FlowRow>(GET_KEY, accountId, key);
  if (row) return row.said_at === null && hasLimits(row, notPinned(row, said));
  makeKey(database, accountId, key, said);
  return true;
}

function notPinned(row: FlowRow, said: FlowLimits): FlowLimits {
  return {
    parallelism: row.is_parallelism_pinned ? row.parallelism : said.parallelism,
    rate: row.is_rate_pinned ? row.rate : said.rate,
    periodMs: row.is_rate_pinned ? row.period_ms : said.periodMs,
  };
}

/** Those that its newest message says, whether they have taken effect or not. */
export function newestLimits(row: FlowRow): FlowLimits {
  return row.said_limits === null ? limitsOf(row) : notPinned(row, JSON.parse(row.said_limits) as FlowLimits);
}

function hasLimits(row: FlowRow, { parallelism, rate, periodMs }: FlowLimits): boolean {
  return row.parallelism === parallelism && row.rate === rate && row.period_ms === periodMs;
}

export function makeKey(database: Database, accountId: string, key: string, limits: FlowLimits): void {
  database.run(
    `INSERT INTO flow_keys (account_id, key, parallelism, rate, period_ms, window_start_at, window_count)
       VALUES (?, ?, ?, ?, ?, 0, 0) ON CONFLICT DO NOTHING`,
    accountId,
    key,
    limits.parallelism,
    limits.rate,
    limits.periodMs,
  );
}

/** What was let in by other limits and has not started is to be judged by these. Answers whether they are others. */
export function setLimits(database: Database, row: FlowRow, limits: FlowLimits): boolean {
  const isSame = hasLimits(row, limits);
  if (isSame && row.said_at === null) return false;
  database.run(
    `UPDATE flow_keys SET parallelism = ?, rate = ?, period_ms = ?, said_limits = NULL, said_at = NULL
       WHERE account_id = ? AND key = ?`,
    limits.parallelism,
    limits.rate,
    limits.periodMs,
    row.account_id,
    row.key,
  );
  if (!isSame) takeBack(database, row.account_id, row.key);
  return !isSame;
}

/** What is ready but not started waits again, and has not counted. To be followed by `admitWaiting`. */
export function takeBack(database: Database, accountId: string, key: string): void {
  const count = database.run(
    `UPDATE messages SET state = 'queued', holds_slot = 0
       WHERE holds_slot = 1 AND account_id = ? AND flow_key = ? AND state = 'ready'`,
    accountId,
    key,
  );
  if (count > 0) uncount(database, accountId, key, count);
}

function uncount(database: Database, accountId: string, key: string, count: number): void {
  database.run(
    'UPDATE flow_keys SET window_count = max(0, window_count - ?) WHERE account_id = ? AND key = ?',
    count,
    accountId,
    key,
  );
}

/** A claim was given back before its attempt began: it did not count, if this is still the window it counted in. */
export function uncountStart(database: Database, accountId: string, key: string, claimedAt: number): void {
  const row = database.get<FlowRow>(GET_KEY, accountId, key);
  if (row && claimedAt >= row.window_start_at) uncount(database, accountId, key, 1);
}

/**
 * Of one that is claimed now. Let in in an earlier window, it counts in the window in which it starts; and a key that waits
 * for a start lets more in.
 */
export function noteStart(database: Database, accountId: string, key: string, now: number): void {
  const row = database.get<FlowRow>(GET_KEY, accountId, key)!;
  const nextAt = row.next_start_at === AT_NEXT_START ? now : row.next_start_at;
  if (!isPast(row, now)) {
    if (nextAt !== row.next_start_at) writeWindow(database, row, windowOf(row), nextAt);
    return;
  }
  const before = flowState(database, row, now);
  const { state } = admit({ ...before, unstarted: before.unstarted + 1 }, limitsOf(row), now);
  writeWindow(database, row, state, nextAt);
}

/** Makes ready as many as the key lets through, at most `most`. Answers the earliest time at which it has something to claim. */
export function admitWaiting(
  database: Database,
  accountId: string,
  key: string,
  now: number,
  most = Number.POSITIVE_INFINITY,
): number | null {
  const row = database.get<FlowRow>(GET_KEY, accountId, key);
  if (!row) return null;
  const limits = limitsOf(row);
  const verdict = admit(flowState(database, row, now), limits, now);
  const max = eachMax('flowKeyReady');
  const { unstarted, waiting } = lineCounts(database, row, letIn(verdict, 0, max), max);
  const room = Math.min(letIn(verdict, unstarted, max), most);
  const admitted = room === 0 || waiting === 0 ? 0 : makeReady(database, accountId, key, room, now);
  const state = started(verdict.state, admitted, now);
  const nextAt = waiting > admitted ? nextStartAt(admit(state, limits, now), unstarted + admitted >= max, now) : null;
  writeWindow(database, row, state, nextAt);
  return admitted > 0 ? now : nextAt === AT_NEXT_START ? null : nextAt;
}

/** Of one that starts at once if its key's limits allow it: whoever waits for a slot does not keep it back. Answers whether it may. */
export function admitOne(database: Database, accountId: string, key: string, seq: number, now: number): boolean {
  const row = database.get<FlowRow>(GET_KEY, accountId, key);
  if (!row) return false;
  const verdict = admit(flowState(database, row, now), limitsOf(row), now);
  if (verdict.free === 0) return false;
  database.run('UPDATE messages SET holds_slot = 1 WHERE seq = ?', seq);
  writeWindow(database, row, started(verdict.state, 1, now), row.next_start_at);
  return true;
}

/** What stands in the line of a key, counted as far as is needed to let up to `wanted` in. */
function lineCounts(database: Database, row: FlowRow, wanted: number, unstartedMax: number) {
  return database.get<{ unstarted: number; waiting: number }>(
    `SELECT (SELECT count(*) FROM (${UNSTARTED})) AS unstarted, (SELECT count(*) FROM (${WAITING})) AS waiting`,
    row.account_id,
    row.key,
    wanted === 0 ? 0 : unstartedMax,
    row.account_id,
    row.key,
    wanted + 1,
  )!;
}

export function limitsOf(row: FlowRow): FlowLimits {
  return { parallelism: row.parallelism, rate: row.rate, periodMs: row.period_ms };
}

function windowOf(row: FlowRow): Pick<FlowState, 'windowStartAt' | 'windowCount'> {
  return { windowStartAt: row.window_start_at, windowCount: row.window_count };
}

/** Whether its window is over, so that the next start opens another. */
function isPast(row: FlowRow, now: number): boolean {
  const { state } = admit({ ...windowOf(row), active: 0, unstarted: 0, isPaused: false }, limitsOf(row), now);
  return state.windowStartAt !== row.window_start_at;
}

/**
 * Counts no more than the limits ask for: a key that limits the rate only may have let through very many, and this is
 * asked at every message of it.
 */
function flowState(database: Database, row: FlowRow, now: number): FlowState {
  const { account_id, key, parallelism, rate } = row;
  return {
    active: parallelism === null ? 0 : activeCount(database, account_id, key, parallelism),
    ...windowOf(row),
    unstarted: isPast(row, now) ? unstartedCount(database, account_id, key, rate ?? NO_LIMIT) : 0,
    isPaused: row.is_paused === 1,
  };
}

/** As SQLite says it. */
const NO_LIMIT = -1;

function writeWindow(
  database: Database,
  row: FlowRow,
  { windowStartAt, windowCount }: ReturnType<typeof windowOf>,
  nextAt: number | null,
): void {
  const isSame = row.window_start_at === windowStartAt && row.window_count === windowCount;
  if (isSame && row.next_start_at === nextAt) return;
  database.run(
    'UPDATE flow_keys SET window_start_at = ?, window_count = ?, next_start_at = ? WHERE account_id = ? AND key = ?',
    windowStartAt,
    windowCount,
    nextAt,
    row.account_id,
    row.key,
  );
}

function makeReady(database: Database, accountId: string, key: string, limit: number, now: number): number {
  return database.run(
    `UPDATE messages SET state = 'ready', holds_slot = 1, ${READY_NOW} WHERE seq IN
       (SELECT seq FROM messages WHERE state = 'queued' AND account_id = ? AND flow_key = ?
          ORDER BY due_at, seq LIMIT ?)`,
    now,
    accountId,
    key,
    limit,
  );
}

/** Lets through what keys with a new period, or just come due, have waiting. A key that could not let all through stays due. */
export function admitDueKeys(database: Database, now: number): void {
  const due = database.all<{ account_id: string; key: string }>(
    'SELECT account_id, key FROM flow_keys WHERE next_start_at <= ? ORDER BY next_start_at LIMIT ?',
    now,
    PROMOTE_KEYS_SOUGHT_MAX,
  );
  const some = inTurns(due).slice(0, PROMOTE_KEYS_MAX);
  const most = promotedOfKeyMax(some.length);
  for (const row of some) admitWaiting(database, row.account_id, row.key, now, most);
}

/** Let through and not ended; counted up to `max`. */
export function activeCount(database: Database, accountId: string, key: string, max: number): number {
  return database.get<{ n: number }>(
    'SELECT count(*) AS n FROM (SELECT 1 FROM messages WHERE holds_slot = 1 AND account_id = ? AND flow_key = ? LIMIT ?)',
    accountId,
    key,
    max,
  )!.n;
}

const UNSTARTED =
  "SELECT 1 FROM messages WHERE holds_slot = 1 AND account_id = ? AND flow_key = ? AND state = 'ready' LIMIT ?";
export const WAITING = "SELECT 1 FROM messages WHERE state = 'queued' AND account_id = ? AND flow_key = ? LIMIT ?";

/** Of those, not claimed yet; counted up to `max`. */
function unstartedCount(database: Database, accountId: string, key: string, max: number): number {
  return database.get<{ n: number }>(`SELECT count(*) AS n FROM (${UNSTARTED})`, accountId, key, max)!.n;
}
