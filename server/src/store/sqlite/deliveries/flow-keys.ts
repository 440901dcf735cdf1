// Flow control by key: which messages of a flow key may start. Every change that could free a place ends in
// `admitWaiting`; no other code makes messages that wait for a key `ready`. rules/lines/admission.ts plans the
// admissions.

import { eachMax } from '../../../rules/limits/budgets.ts';
import {
  type CountLimits,
  countedToAdmit,
  countedToStart,
  type FlowWindow,
  isChangedByStart,
  type KeyCounts,
  planAdmission,
  planOne,
  planStart,
  type StartPlan,
  startsIn,
  withoutStarts,
} from '../../../rules/lines/admission.ts';
import type { FlowLimits } from '../../../rules/lines/flow-control.ts';
import * as flowKey from '../../../rules/lines/flow-key.ts';
import { FLOW_COLUMNS, type FlowRow, toKeyState } from '../../rows/line-rows.ts';
import { PROMOTE_KEYS_MAX, promotedPerKeyMax } from '../../shared/promotion.ts';
import type { Database } from '../thread/database.ts';
import { type DueLines, whileThereIsTime } from './due-lines.ts';
import { READY_NOW } from './message-sql.ts';

export const GET_KEY = `SELECT ${FLOW_COLUMNS} FROM flow_keys WHERE account_id = ? AND key = ?`;

/**
 * Creates the key, or applies the limits of its newest message unless the key's limits are pinned. Returns whether the
 * limits changed.
 */
export function noteFlowKey(database: Database, accountId: string, key: string, said: FlowLimits): boolean {
  const row = database.get<FlowRow>(GET_KEY, accountId, key);
  if (row) return setLimits(database, row, flowKey.requestedLimits(toKeyState(row), said));
  makeKey(database, accountId, key, said);
  return false;
}

/**
 * Notes the limits of the newest message of a key, for a later claim to apply. Until then the old limits stay in force.
 */
export function deferLimits(database: Database, accountId: string, key: string, said: FlowLimits, now: number): void {
  database.run(
    'UPDATE flow_keys SET requested_limits = ?, requested_at = coalesce(requested_at, ?) WHERE account_id = ? AND key = ?',
    JSON.stringify(said),
    now,
    accountId,
    key,
  );
}

/** Applies noted limits to a few keys. Returns whether other keys still have noted limits. */
export function applyDeferredLimits(database: Database, requestedFlowLimits: DueLines, now: number): boolean {
  const { lines, hasMore } = requestedFlowLimits.take(Number.MAX_SAFE_INTEGER, eachMax('flowKeysChecked'));
  for (const { account_id, name } of lines) {
    const row = database.get<FlowRow>(GET_KEY, account_id, name)!;
    setLimits(database, row, flowKey.newestLimits(toKeyState(row)));
    admitWaiting(database, account_id, name, now);
  }
  return hasMore;
}

/**
 * Whether the key already has these limits, apart from pinned ones. Creates the key if it does not exist; then a claim
 * checks the key from `newDueAt` on.
 */
export function areLimitsUnchanged(
  database: Database,
  accountId: string,
  key: string,
  said: FlowLimits,
  newDueAt: number | null,
): boolean {
  const row = database.get<FlowRow>(GET_KEY, accountId, key);
  if (row) return flowKey.areLimitsUnchanged(toKeyState(row), said);
  makeKey(database, accountId, key, said, newDueAt);
  return true;
}

export function makeKey(
  database: Database,
  accountId: string,
  key: string,
  limits: FlowLimits,
  dueAt: number | null = null,
): void {
  database.run(
    `INSERT INTO flow_keys (account_id, key, parallelism, rate, period_ms, window_start_at, window_count, next_start_at)
       VALUES (?, ?, ?, ?, ?, 0, 0, ?) ON CONFLICT DO NOTHING`,
    accountId,
    key,
    limits.parallelism,
    limits.rate,
    limits.periodMs,
    dueAt,
  );
}

/**
 * Sets new limits. Messages that the old limits admitted and that have not started are checked again. Returns whether
 * the limits changed.
 */
export function setLimits(database: Database, row: FlowRow, limits: FlowLimits): boolean {
  const isSame = flowKey.areSameLimits(toKeyState(row).limits, limits);
  if (isSame && row.requested_at === null) return false;
  database.run(
    `UPDATE flow_keys SET parallelism = ?, rate = ?, period_ms = ?, requested_limits = NULL, requested_at = NULL
       WHERE account_id = ? AND key = ?`,
    limits.parallelism,
    limits.rate,
    limits.periodMs,
    row.account_id,
    row.key,
  );
  if (!isSame) takeBack(database, row);
  return !isSame;
}

/** Messages that are ready but not started wait again and do not count as started. Then call `admitWaiting`. */
export function takeBack(database: Database, row: FlowRow): void {
  const count = database.run(
    `UPDATE messages SET state = 'queued', holds_place = 0
       WHERE holds_place = 1 AND account_id = ? AND flow_key = ? AND state = 'ready'`,
    row.account_id,
    row.key,
  );
  uncount(database, row, count);
}

function uncount(database: Database, row: FlowRow, count: number): void {
  if (count > 0)
    writeWindow(database, row, { window: withoutStarts(windowOf(row), count), nextStartAt: row.next_start_at });
}

/** For a claim released before its attempt began: its start no longer counts, if its period is still current. */
export function uncountStart(database: Database, accountId: string, key: string, claimedAt: number): void {
  const row = database.get<FlowRow>(GET_KEY, accountId, key);
  if (row) uncount(database, row, startsIn(windowOf(row), [claimedAt]));
}

/** Counts the start of a message that is claimed now. */
export function countStart(database: Database, accountId: string, key: string, now: number): void {
  const row = database.get<FlowRow>(GET_KEY, accountId, key)!;
  const state = toKeyState(row);
  if (!isChangedByStart(state, now)) return;
  const { unstarted } = count(database, row, countedToStart(state, now));
  writeWindow(database, row, planStart(state, unstarted, 1, now));
}

/**
 * Makes as many messages ready as the key admits, at most `most`. Returns the earliest time at which the key has
 * something to claim.
 */
export function admitWaiting(
  database: Database,
  accountId: string,
  key: string,
  now: number,
  most = Number.POSITIVE_INFINITY,
): number | null {
  const row = database.get<FlowRow>(GET_KEY, accountId, key);
  if (!row) return null;
  const state = toKeyState(row);
  const plan = planAdmission(state, count(database, row, countedToAdmit(state, now)), now, most);
  if (plan.letIn > 0) makeReady(database, accountId, key, plan.letIn, now);
  writeWindow(database, row, plan);
  return plan.dueAt;
}

/** For a new message that waits for its key: a claim will check the key. This function admits no message. */
export function markKeyDue(database: Database, accountId: string, key: string, at: number): void {
  database.run(
    `UPDATE flow_keys SET next_start_at = ?3
       WHERE account_id = ?1 AND key = ?2 AND (next_start_at IS NULL OR next_start_at > ?3)`,
    accountId,
    key,
    at,
  );
}

/** Lets one message start at once if the limits of its key allow that. Returns whether it may start. */
export function admitOne(database: Database, accountId: string, key: string, seq: number, now: number): boolean {
  const row = database.get<FlowRow>(GET_KEY, accountId, key);
  if (!row) return false;
  const state = toKeyState(row);
  const plan = planOne(state, count(database, row, countedToStart(state, now)), now);
  if (!plan) return false;
  database.run('UPDATE messages SET holds_place = 1 WHERE seq = ?', seq);
  writeWindow(database, row, plan);
  return true;
}

function windowOf(row: FlowRow): FlowWindow {
  return { windowStartAt: row.window_start_at, windowCount: row.window_count };
}

const LET_IN = 'SELECT 1 FROM messages WHERE holds_place = 1 AND account_id = ?1 AND flow_key = ?2';
const BEHIND = "SELECT 1 FROM messages WHERE state = 'queued' AND account_id = ?1 AND flow_key = ?2";
const COUNT = `SELECT (SELECT count(*) FROM (${LET_IN} LIMIT ?3)) AS active,
  (SELECT count(*) FROM (${LET_IN} AND state = 'ready' LIMIT ?4)) AS unstarted,
  (SELECT count(*) FROM (${BEHIND} LIMIT ?5)) AS waiting`;
/** With this value, SQLite's LIMIT has no effect. */
const NO_LIMIT = -1;

/** Counts the messages of a key, up to the given limits. */
export function count(database: Database, { account_id, key }: FlowRow, limits: CountLimits): KeyCounts {
  const { active, unstarted, waiting } = limits;
  return database.get<KeyCounts>(
    COUNT,
    account_id,
    key,
    active ?? NO_LIMIT,
    unstarted ?? NO_LIMIT,
    waiting ?? NO_LIMIT,
  )!;
}

function writeWindow(database: Database, row: FlowRow, { window, nextStartAt }: StartPlan): void {
  const { windowStartAt, windowCount } = window;
  const isSame = row.window_start_at === windowStartAt && row.window_count === windowCount;
  if (isSame && row.next_start_at === nextStartAt) return;
  database.run(
    'UPDATE flow_keys SET window_start_at = ?, window_count = ?, next_start_at = ? WHERE account_id = ? AND key = ?',
    windowStartAt,
    windowCount,
    nextStartAt,
    row.account_id,
    row.key,
  );
}

function makeReady(database: Database, accountId: string, key: string, limit: number, now: number): void {
  database.run(
    `UPDATE messages SET state = 'ready', holds_place = 1, ${READY_NOW} WHERE seq IN
       (SELECT seq FROM messages WHERE state = 'queued' AND account_id = ?2 AND flow_key = ?3
          ORDER BY due_at, seq LIMIT ?4)`,
    now,
    accountId,
    key,
    limit,
  );
}

/**
 * Admits messages of keys that have a new period or have just become due. A key stays due if it was not reached, or if
 * not all of its messages could be admitted.
 */
export function admitDueKeys(database: Database, dueKeys: DueLines, now: number, isOver: () => boolean): void {
  const { lines } = dueKeys.take(now, PROMOTE_KEYS_MAX);
  const most = promotedPerKeyMax(lines.length);
  for (const { account_id, name } of whileThereIsTime(lines, isOver))
    admitWaiting(database, account_id, name, now, most);
}
