// Flow control by key: which messages of a flow key may start. Every change that could free a place ends in
// `admitWaiting`; no other code makes messages that wait for a key `ready`. rules/lines/admission.ts plans admissions.

import { eachMax } from '../../../rules/limits/budgets.ts';
import {
  type CountLimits,
  countLimitsToAdmit,
  countLimitsToStart,
  type FlowWindow,
  isChangedByStart,
  type KeyCounts,
  planAdmission,
  planOneStart,
  planStart,
  type StartPlan,
  startsInWindow,
  windowWithoutStarts,
} from '../../../rules/lines/admission.ts';
import type { FlowLimits } from '../../../rules/lines/flow-control.ts';
import * as flowKey from '../../../rules/lines/flow-key.ts';
import { FLOW_COLUMNS, type FlowRow, toKeyState } from '../../rows/line-rows.ts';
import { PROMOTE_KEYS_MAX, promotedPerKeyMax } from '../../shared/promotion.ts';
import type { Database } from '../thread/database.ts';
import { type DueLines, whileThereIsTime } from './due-lines.ts';
import { SET_READY_AT } from './message-sql.ts';

const GET_FLOW_KEY = `SELECT ${FLOW_COLUMNS} FROM flow_keys WHERE account_id = ? AND key = ?`;

/** Creates the key with these limits. If it exists, sets its unpinned limits, and returns whether they changed. */
export function setRequestedLimits(database: Database, accountId: string, key: string, requested: FlowLimits): boolean {
  const row = database.get<FlowRow>(GET_FLOW_KEY, accountId, key);
  if (row) return setLimits(database, row, flowKey.requestedLimits(toKeyState(row), requested));
  createFlowKey(database, accountId, key, requested);
  return false;
}

/** Stores limits that the newest message of a key requests. Until a later claim applies them, the old limits hold. */
export function deferLimits(database: Database, accountId: string, key: string, limits: FlowLimits, now: number): void {
  database.run(
    'UPDATE flow_keys SET requested_limits = ?, requested_at = coalesce(requested_at, ?) WHERE account_id = ? AND key = ?',
    JSON.stringify(limits),
    now,
    accountId,
    key,
  );
}

/** Applies the limits that `deferLimits` stored, for a few keys. Returns whether more keys have such limits. */
export function applyDeferredLimits(database: Database, requestedFlowLimits: DueLines, now: number): boolean {
  const { lines, hasMore } = requestedFlowLimits.take(Number.MAX_SAFE_INTEGER, eachMax('flowKeysChecked'));
  for (const { account_id, name } of lines) {
    const row = database.get<FlowRow>(GET_FLOW_KEY, account_id, name)!;
    setLimits(database, row, flowKey.newestLimits(toKeyState(row)));
    admitWaiting(database, account_id, name, now);
  }
  return hasMore;
}

/**
 * Whether the key already has these limits, apart from pinned ones. If the key does not exist, creates it with these
 * limits and returns true. `newDueAt`: from when on claims check a new key; null: not at all.
 */
export function areLimitsUnchanged(
  database: Database,
  accountId: string,
  key: string,
  requested: FlowLimits,
  newDueAt: number | null,
): boolean {
  const row = database.get<FlowRow>(GET_FLOW_KEY, accountId, key);
  if (row) return flowKey.areLimitsUnchanged(toKeyState(row), requested);
  createFlowKey(database, accountId, key, requested, newDueAt);
  return true;
}

export function createFlowKey(
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
 * Sets new limits, and returns whether they changed. Messages that the old limits admitted and that have not started
 * then wait again: call `admitWaiting`.
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
  if (!isSame) takeBackUnstarted(database, row);
  return !isSame;
}

/** Makes admitted, unstarted messages wait again, and no longer counts their starts. Then call `admitWaiting`. */
export function takeBackUnstarted(database: Database, row: FlowRow): void {
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
    writeWindow(database, row, { window: windowWithoutStarts(windowOf(row), count), nextStartAt: row.next_start_at });
}

/** For a message that was admitted and leaves the key without having started: its start no longer counts. */
export function uncountAdmitted(database: Database, accountId: string, key: string): void {
  const row = database.get<FlowRow>(GET_FLOW_KEY, accountId, key);
  if (row) uncount(database, row, 1);
}

/** For a claim that was released before its attempt began: subtracts its start, if it counts in the current period. */
export function uncountStart(database: Database, accountId: string, key: string, claimedAt: number): void {
  const row = database.get<FlowRow>(GET_FLOW_KEY, accountId, key);
  if (row) uncount(database, row, startsInWindow(windowOf(row), [claimedAt]));
}

/** Updates the key when a message is claimed. Most claims change nothing: the start was counted at admission. */
export function updateKeyAtStart(database: Database, accountId: string, key: string, now: number): void {
  const row = database.get<FlowRow>(GET_FLOW_KEY, accountId, key)!;
  const state = toKeyState(row);
  if (!isChangedByStart(state, now)) return;
  const { unstarted } = countKey(database, row, countLimitsToStart(state, now));
  writeWindow(database, row, planStart(state, unstarted, 1, now));
}

/**
 * Makes as many messages ready as the key admits, at most `most`. Returns the earliest time at which the key has a
 * message to claim, or null.
 */
export function admitWaiting(
  database: Database,
  accountId: string,
  key: string,
  now: number,
  most = Number.POSITIVE_INFINITY,
): number | null {
  const row = database.get<FlowRow>(GET_FLOW_KEY, accountId, key);
  if (!row) return null;
  const state = toKeyState(row);
  const plan = planAdmission(state, countKey(database, row, countLimitsToAdmit(state, now)), now, most);
  if (plan.admitted > 0) makeReady(database, accountId, key, plan.admitted, now);
  writeWindow(database, row, plan);
  return plan.dueAt;
}

/** Lets claims check the key from `at` on, because a message waits for it. This function admits no message. */
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
  const row = database.get<FlowRow>(GET_FLOW_KEY, accountId, key);
  if (!row) return false;
  const state = toKeyState(row);
  const plan = planOneStart(state, countKey(database, row, countLimitsToStart(state, now)), now);
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

/** Counts the messages of a key, each count up to its limit. Null: no limit. */
export function countKey(database: Database, { account_id, key }: FlowRow, limits: CountLimits): KeyCounts {
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
    `UPDATE messages SET state = 'ready', holds_place = 1, ${SET_READY_AT} WHERE seq IN
       (SELECT seq FROM messages WHERE state = 'queued' AND account_id = ?2 AND flow_key = ?3
          ORDER BY due_at, seq LIMIT ?4)`,
    now,
    accountId,
    key,
    limit,
  );
}

/**
 * Admits messages of due keys, until `isOver` returns true. A key stays due if it was not reached, or if it could admit
 * more messages.
 */
export function admitDueKeys(database: Database, dueKeys: DueLines, now: number, isOver: () => boolean): void {
  const { lines } = dueKeys.take(now, PROMOTE_KEYS_MAX);
  const most = promotedPerKeyMax(lines.length);
  for (const { account_id, name } of whileThereIsTime(lines, isOver))
    admitWaiting(database, account_id, name, now, most);
}
