// Flow keys for people: read, listed, paused, pinned, reset. What a key lets through is decided in flow-keys.ts.

import { eachMax } from '../../domain/budgets.ts';
import { FLOW_PERIOD_MS_DEFAULT } from '../../domain/flow-control.ts';
import type { FlowKey, FlowPin } from '../../domain/flow-key.ts';
import { FIRST_PART, type ListPart, type ListPiece } from '../list-piece.ts';
import type { Database } from './database.ts';
import {
  activeCount,
  admitWaiting,
  type FlowRow,
  GET_KEY,
  makeKey,
  newestLimits,
  setLimits,
  takeBack,
  WAITING,
} from './flow-keys.ts';

export function getFlowKey(database: Database, accountId: string, key: string): FlowKey | null {
  const row = database.get<FlowRow>(GET_KEY, accountId, key);
  return row ? toFlowKey(database, row) : null;
}

/** Ends early when it has counted enough: the keys behind are another piece of work. */
export function listFlowKeys(database: Database, accountId: string, part: ListPart = FIRST_PART): ListPiece<FlowKey> {
  const rows = database.all<FlowRow>(
    'SELECT * FROM flow_keys WHERE account_id = ? AND key > ? ORDER BY key LIMIT ?',
    accountId,
    part.after ?? '',
    part.limit + 1,
  );
  const entries: FlowKey[] = [];
  let counted = 0;
  for (const row of rows.slice(0, part.limit)) {
    if (counted > eachMax('lineCount')) break;
    const key = toFlowKey(database, row);
    entries.push(key);
    counted += key.waiting + key.active;
  }
  return { entries, hasMore: rows.length > entries.length };
}

/** Pauses or resumes; what is ready but not started goes back behind a paused key. */
export function pauseFlowKey(
  database: Database,
  accountId: string,
  key: string,
  isPaused: boolean,
  now: number,
): FlowKey | null {
  const changes = database.run(
    'UPDATE flow_keys SET is_paused = ? WHERE account_id = ? AND key = ?',
    isPaused ? 1 : 0,
    accountId,
    key,
  );
  if (changes === 0) return null;
  if (isPaused) takeBack(database, accountId, key);
  admitWaiting(database, accountId, key, now);
  return getFlowKey(database, accountId, key);
}

/** Holds limits against what messages say (`pin`), or lets the messages say again (null). Makes the key if need be. */
export function pinFlowKey(
  database: Database,
  accountId: string,
  key: string,
  pin: { readonly parallelism: FlowPin<number>; readonly rate: FlowPin<{ rate: number; periodMs: number }> },
  now: number,
): FlowKey {
  makeKey(database, accountId, key, { parallelism: null, rate: null, periodMs: FLOW_PERIOD_MS_DEFAULT });
  const row = database.get<FlowRow>(GET_KEY, accountId, key)!;
  const isPinned = (each: FlowPin<unknown>, before: 0 | 1) => (each === 'keep' ? before : each === 'unpin' ? 0 : 1);
  database.run(
    'UPDATE flow_keys SET is_parallelism_pinned = ?, is_rate_pinned = ? WHERE account_id = ? AND key = ?',
    isPinned(pin.parallelism, row.is_parallelism_pinned),
    isPinned(pin.rate, row.is_rate_pinned),
    accountId,
    key,
  );
  // A limit that is no longer pinned stays until a message says another.
  setLimits(database, row, {
    ...newestLimits(row),
    ...(typeof pin.parallelism === 'number' ? { parallelism: pin.parallelism } : {}),
    ...(typeof pin.rate === 'object' ? pin.rate : {}),
  });
  admitWaiting(database, accountId, key, now);
  return getFlowKey(database, accountId, key)!;
}

/** Forgets what was started in the current period. */
export function resetFlowRate(database: Database, accountId: string, key: string, now: number): FlowKey | null {
  takeBack(database, accountId, key);
  const changes = database.run(
    'UPDATE flow_keys SET window_count = 0, window_start_at = ? WHERE account_id = ? AND key = ?',
    now,
    accountId,
    key,
  );
  if (changes === 0) return null;
  admitWaiting(database, accountId, key, now);
  return getFlowKey(database, accountId, key);
}

function toFlowKey(database: Database, row: FlowRow): FlowKey {
  const max = eachMax('lineCount');
  const { waiting } = database.get<{ waiting: number }>(
    `SELECT count(*) AS waiting FROM (${WAITING})`,
    row.account_id,
    row.key,
    max + 1,
  )!;
  return {
    key: row.key,
    limits: newestLimits(row),
    isParallelismPinned: row.is_parallelism_pinned === 1,
    isRatePinned: row.is_rate_pinned === 1,
    isPaused: row.is_paused === 1,
    active: activeCount(database, row.account_id, row.key, max),
    waiting: Math.min(waiting, max),
    ...(waiting > max && { isWaitingCut: true }),
    windowStartAt: row.window_start_at,
    windowCount: row.window_count,
  };
}
