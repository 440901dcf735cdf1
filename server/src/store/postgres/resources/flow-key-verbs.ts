// Flow keys for people: read, list, pause, pin, reset. flow-keys.ts decides what a key lets through.

import { eachMax } from '../../../rules/limits/budgets.ts';
import { bytesOfLine } from '../../../rules/limits/stored-bytes.ts';
import { FLOW_PERIOD_MS_DEFAULT } from '../../../rules/lines/flow-control.ts';
import { type FlowKey, type FlowPins, isSetByPerson, withPins } from '../../../rules/lines/flow-key.ts';
import { FIRST_PART, type ListPart, type ListPiece } from '../../ports/list-piece.ts';
import { FLOW_COLUMNS, type FlowRow, toFlowKey, toKeyState } from '../../rows/line-rows.ts';
import { admitWaiting, lockKeys, lockOrCreateKeys, readCounts, setLimits, takeBack } from '../deliveries/flow-keys.ts';
import { keyOf, Pairs } from '../groups/lines.ts';
import { nullIfUnstorable } from '../messages/null-if-unstorable.ts';
import { weigh } from '../messages/stored.ts';
import type { Database } from '../sessions/database.ts';

export async function getFlowKey(database: Database, accountId: string, key: string): Promise<FlowKey | null> {
  const rows = await database.all<FlowRow>(
    `SELECT ${FLOW_COLUMNS} FROM flow_keys WHERE account_id = $1 AND key = $2`,
    accountId,
    nullIfUnstorable(key),
  );
  return (await toFlowKeys(database, rows))[0] ?? null;
}

/** How many keys one statement counts messages for. */
const COUNTED_TOGETHER = 20;

/** Returns fewer keys when it has counted enough messages: the next call continues with the remaining keys. */
export async function listFlowKeys(
  database: Database,
  accountId: string,
  part: ListPart = FIRST_PART,
): Promise<ListPiece<FlowKey>> {
  const rows = await database.all<FlowRow>(
    `SELECT ${FLOW_COLUMNS} FROM flow_keys WHERE account_id = $1 AND key > $2 ORDER BY key LIMIT $3`,
    accountId,
    part.after ?? '',
    part.limit + 1,
  );
  const entries: FlowKey[] = [];
  let counted = 0;
  while (entries.length < Math.min(rows.length, part.limit) && counted <= eachMax('lineCount')) {
    const some = rows.slice(entries.length, Math.min(entries.length + COUNTED_TOGETHER, part.limit));
    const keys = await toFlowKeys(database, some);
    entries.push(...keys);
    counted += keys.reduce((sum, { waiting, active }) => sum + waiting + active, 0);
  }
  return { entries, hasMore: rows.length > entries.length };
}

/** Locks a key, changes it, and lets through what the change allows; null if there is no such key. */
async function change(
  database: Database,
  accountId: string,
  key: string,
  now: number,
  make: (row: FlowRow) => Promise<void>,
): Promise<FlowKey | null> {
  if (nullIfUnstorable(key) === null) return null;
  const locked = await lockKeys(database, new Pairs([[accountId, key]]));
  const row = locked.get(keyOf(accountId, key));
  if (!row) return null;
  await make(row);
  await admitWaiting(database, locked, now);
  const changed = await getFlowKey(database, accountId, key);
  await weigh(database, 'flow_keys', accountId, key, isSetByPerson(changed!) ? bytesOfLine(key) : null);
  return changed;
}

/** Pauses or resumes. Under a paused key, messages that are ready but not started wait again. */
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

/** Pins limits against those that messages carry, or removes the pins. Creates the key if it does not exist. */
export async function pinFlowKey(
  database: Database,
  accountId: string,
  key: string,
  pins: FlowPins,
  now: number,
): Promise<FlowKey> {
  const none = { parallelism: null, rate: null, periodMs: FLOW_PERIOD_MS_DEFAULT };
  await lockOrCreateKeys(database, [{ accountId, key, limits: none }]);
  const pinned = await change(database, accountId, key, now, async (row) => {
    const { isParallelismPinned, isRatePinned, limits } = withPins(toKeyState(row), pins);
    await database.run(
      'UPDATE flow_keys SET is_parallelism_pinned = $3, is_rate_pinned = $4 WHERE account_id = $1 AND key = $2',
      accountId,
      key,
      isParallelismPinned,
      isRatePinned,
    );
    await setLimits(database, row, limits);
  });
  return pinned!;
}

/** Forgets the starts counted in the current period. */
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
  const max = eachMax('lineCount');
  const counts = await readCounts(database, rows, () => ({ active: max, unstarted: 0, waiting: max + 1 }));
  return rows.map((row, index) => toFlowKey(row, counts[index]!));
}
