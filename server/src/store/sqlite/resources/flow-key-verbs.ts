// Flow keys for people: read, list, pause, pin, reset. flow-keys.ts decides what a key lets through.

import { eachMax } from '../../../rules/limits/budgets.ts';
import { bytesOfLine } from '../../../rules/limits/stored-bytes.ts';
import { FLOW_PERIOD_MS_DEFAULT } from '../../../rules/lines/flow-control.ts';
import { type FlowKey, type FlowPins, isSetByPerson, withPins } from '../../../rules/lines/flow-key.ts';
import { FIRST_PART, type ListPart, type ListPiece } from '../../ports/list-piece.ts';
import { FLOW_COLUMNS, type FlowRow, toFlowKey, toKeyState } from '../../rows/line-rows.ts';
import { admitWaiting, count, GET_KEY, makeKey, setLimits, takeBack } from '../deliveries/flow-keys.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';

export function getFlowKey(database: Database, accountId: string, key: string): FlowKey | null {
  const row = database.get<FlowRow>(GET_KEY, accountId, key);
  return row ? withCounts(database, row) : null;
}

/** Returns fewer keys when it has counted enough messages: the next call continues with the remaining keys. */
export function listFlowKeys(database: Database, accountId: string, part: ListPart = FIRST_PART): ListPiece<FlowKey> {
  const rows = database.all<FlowRow>(
    `SELECT ${FLOW_COLUMNS} FROM flow_keys WHERE account_id = ? AND key > ? ORDER BY key LIMIT ?`,
    accountId,
    part.after ?? '',
    part.limit + 1,
  );
  const entries: FlowKey[] = [];
  let counted = 0;
  for (const row of rows.slice(0, part.limit)) {
    if (counted > eachMax('lineCount')) break;
    const key = withCounts(database, row);
    entries.push(key);
    counted += key.waiting + key.active;
  }
  return { entries, hasMore: rows.length > entries.length };
}

/** Changes a key, and lets through what the change allows; null if there is no such key. */
function change(
  database: Database,
  { stored }: Pick<TransactionCaches, 'stored'>,
  accountId: string,
  key: string,
  now: number,
  make: (row: FlowRow) => void,
): FlowKey | null {
  const row = database.get<FlowRow>(GET_KEY, accountId, key);
  if (!row) return null;
  make(row);
  admitWaiting(database, accountId, key, now);
  const changed = getFlowKey(database, accountId, key)!;
  stored.weigh('flow_keys', accountId, key, isSetByPerson(changed) ? bytesOfLine(key) : null);
  return changed;
}

/** Pauses or resumes. Under a paused key, messages that are ready but not started wait again. */
export function pauseFlowKey(
  database: Database,
  caches: Pick<TransactionCaches, 'stored'>,
  accountId: string,
  key: string,
  isPaused: boolean,
  now: number,
): FlowKey | null {
  return change(database, caches, accountId, key, now, (row) => {
    database.run(
      'UPDATE flow_keys SET is_paused = ? WHERE account_id = ? AND key = ?',
      isPaused ? 1 : 0,
      accountId,
      key,
    );
    if (isPaused) takeBack(database, row);
  });
}

/** Pins limits against those that messages carry, or removes the pins. Creates the key if it does not exist. */
export function pinFlowKey(
  database: Database,
  caches: Pick<TransactionCaches, 'stored'>,
  accountId: string,
  key: string,
  pins: FlowPins,
  now: number,
): FlowKey {
  makeKey(database, accountId, key, { parallelism: null, rate: null, periodMs: FLOW_PERIOD_MS_DEFAULT });
  const pinned = change(database, caches, accountId, key, now, (row) => {
    const { isParallelismPinned, isRatePinned, limits } = withPins(toKeyState(row), pins);
    database.run(
      'UPDATE flow_keys SET is_parallelism_pinned = ?, is_rate_pinned = ? WHERE account_id = ? AND key = ?',
      isParallelismPinned ? 1 : 0,
      isRatePinned ? 1 : 0,
      accountId,
      key,
    );
    setLimits(database, row, limits);
  });
  return pinned!;
}

/** Forgets the starts counted in the current period. */
export function resetFlowRate(
  database: Database,
  caches: Pick<TransactionCaches, 'stored'>,
  accountId: string,
  key: string,
  now: number,
): FlowKey | null {
  return change(database, caches, accountId, key, now, (row) => {
    takeBack(database, row);
    database.run(
      'UPDATE flow_keys SET window_count = 0, window_start_at = ? WHERE account_id = ? AND key = ?',
      now,
      accountId,
      key,
    );
  });
}

function withCounts(database: Database, row: FlowRow): FlowKey {
  const max = eachMax('lineCount');
  return toFlowKey(row, count(database, row, { active: max, unstarted: 0, waiting: max + 1 }));
}
