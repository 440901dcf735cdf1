// Flow keys for people: read, list, pause, pin, reset. Each adapter decides in its deliveries/flow-keys.ts what a key
// admits.

import { bytesOfLine } from '../../rules/limits/stored-bytes.ts';
import { FLOW_PERIOD_MS_DEFAULT } from '../../rules/lines/flow-control.ts';
import { type FlowKey, type FlowPins, isSetByPerson, withPins } from '../../rules/lines/flow-key.ts';
import { FIRST_PART, type ListPiece, type ListPieceRequest } from '../ports/list-piece.ts';
import { FLOW_COLUMNS, type FlowRow, toFlowKey, toKeyState } from '../rows/line-rows.ts';
import { listCounted } from './list-by-key.ts';
import { all, get, run, type Steps, step } from './steps.ts';

const GET_KEY = `SELECT ${FLOW_COLUMNS} FROM flow_keys WHERE account_id = ? AND key = ?`;

export function* getFlowKey(accountId: string, key: string): Steps<FlowKey | null> {
  yield* step('applyRequestedLimits');
  const row = yield* get<FlowRow>(GET_KEY, [accountId, key]);
  return row ? (yield* withCounts([row]))[0]! : null;
}

export function* listFlowKeys(accountId: string, part: ListPieceRequest = FIRST_PART): Steps<ListPiece<FlowKey>> {
  yield* step('applyRequestedLimits');
  const sql = `SELECT ${FLOW_COLUMNS} FROM flow_keys WHERE account_id = ? AND key > ? ORDER BY key LIMIT ?`;
  const rows = yield* all<FlowRow>(sql, [accountId, part.after ?? '', part.limit + 1]);
  return yield* listCounted(rows, part.limit, withCounts, ({ waiting, active }) => waiting + active);
}

function* withCounts(rows: readonly FlowRow[]): Steps<FlowKey[]> {
  return (yield* step('flowKeyCounts', rows)).map((counts, index) => toFlowKey(rows[index]!, counts));
}

/**
 * Changes a key while nobody else can change it, and admits the messages that the change allows. Returns null if there
 * is no such key.
 */
function* change(
  accountId: string,
  key: string,
  now: number,
  make: (row: FlowRow) => Steps<void>,
): Steps<FlowKey | null> {
  yield* step('applyRequestedLimits');
  const row = yield* get<FlowRow>(`${GET_KEY} FOR UPDATE`, [accountId, key]);
  if (!row) return null;
  yield* make(row);
  yield* step('admitWaiting', row, now);
  const changed = (yield* getFlowKey(accountId, key))!;
  yield* step('countStored', 'flow_keys', accountId, key, isSetByPerson(changed) ? bytesOfLine(key) : null);
  return changed;
}

/** Pauses or resumes a key. When a key is paused, its messages that are ready but not started wait again. */
export function pauseFlowKey(accountId: string, key: string, isPaused: boolean, now: number): Steps<FlowKey | null> {
  return change(accountId, key, now, function* (row) {
    yield* run('UPDATE flow_keys SET is_paused = ? WHERE account_id = ? AND key = ?', [isPaused, accountId, key]);
    row.is_paused = isPaused;
    if (isPaused) yield* step('takeBackUnstarted', row);
  });
}

/** Pins limits, so that messages cannot change them, or unpins them. Creates the key if it does not exist. */
export function* pinFlowKey(accountId: string, key: string, pins: FlowPins, now: number): Steps<FlowKey> {
  const none = { parallelism: null, rate: null, periodMs: FLOW_PERIOD_MS_DEFAULT };
  yield* step('applyRequestedLimits');
  yield* step('lockOrCreateFlowKey', accountId, key, none);
  const pinned = yield* change(accountId, key, now, function* (row) {
    const { isParallelismPinned, isRatePinned, limits } = withPins(toKeyState(row), pins);
    yield* run('UPDATE flow_keys SET is_parallelism_pinned = ?, is_rate_pinned = ? WHERE account_id = ? AND key = ?', [
      isParallelismPinned,
      isRatePinned,
      accountId,
      key,
    ]);
    yield* step('setFlowLimits', row, limits);
  });
  return pinned!;
}

/** Begins a new period of the rate, in which no start is counted yet. */
export function resetFlowRate(accountId: string, key: string, now: number): Steps<FlowKey | null> {
  return change(accountId, key, now, function* (row) {
    yield* step('takeBackUnstarted', row);
    const sql = 'UPDATE flow_keys SET window_count = 0, window_start_at = ? WHERE account_id = ? AND key = ?';
    yield* run(sql, [now, accountId, key]);
    row.window_count = 0;
    row.window_start_at = now;
  });
}
