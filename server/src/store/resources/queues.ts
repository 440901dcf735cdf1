// Queues for people: read, list, change, delete. Each adapter decides in its deliveries/queues.ts which messages start.

import { eachMax } from '../../rules/limits/budgets.ts';
import { bytesOfLine } from '../../rules/limits/stored-bytes.ts';
import { changedRules, type Queue, type QueueChange } from '../../rules/lines/queue.ts';
import type { LinePiece, LinePosition } from '../ports/line-store.ts';
import { FIRST_PART, type ListPiece, type ListPieceRequest } from '../ports/list-piece.ts';
import { QUEUE_COLUMNS, type QueueRow, toQueue, toRules } from '../rows/line-rows.ts';
import { listCounted } from './list-by-key.ts';
import { all, get, run, type Steps, step } from './steps.ts';

const GET_QUEUE = `SELECT ${QUEUE_COLUMNS} FROM queues WHERE account_id = ? AND name = ?`;

export function* saveQueue(accountId: string, name: string, change: QueueChange, now: number): Steps<Queue> {
  const before = yield* step('lockOrCreateQueue', accountId, name, now);
  yield* step('countStored', 'queues', accountId, name, bytesOfLine(name));
  const rules = changedRules(toRules(before), change);
  yield* run(
    `UPDATE queues SET parallelism = ?, is_paused = ?, expires_ms = ?, priority = ?, outage = ?, updated_at = ?
       WHERE account_id = ? AND name = ?`,
    [
      rules.parallelism,
      rules.isPaused,
      change.expiresMs === undefined ? before.expires_ms : change.expiresMs,
      change.priority === undefined ? before.priority : change.priority,
      change.outage === undefined ? before.outage : change.outage,
      now,
      accountId,
      name,
    ],
  );
  yield* step('applyQueueRules', accountId, name, rules, now);
  return (yield* getQueue(accountId, name))!;
}

export function* getQueue(accountId: string, name: string): Steps<Queue | null> {
  const row = yield* get<QueueRow>(GET_QUEUE, [accountId, name]);
  return row ? (yield* withLags([row]))[0]! : null;
}

export function* listQueues(accountId: string, part: ListPieceRequest = FIRST_PART): Steps<ListPiece<Queue>> {
  const sql = `SELECT ${QUEUE_COLUMNS} FROM queues WHERE account_id = ? AND name > ? ORDER BY name LIMIT ?`;
  const rows = yield* all<QueueRow>(sql, [accountId, part.after ?? '', part.limit + 1]);
  return yield* listCounted(rows, part.limit, withLags, ({ lag }) => lag);
}

function* withLags(rows: readonly QueueRow[]): Steps<Queue[]> {
  return (yield* step('queueLags', rows)).map((lag, index) => toQueue(rows[index]!, lag));
}

const OPEN_IN_QUEUE =
  'FROM messages WHERE ended_at IS NULL AND queue_name IS NOT NULL AND account_id = ? AND queue_name = ?';
const LINE = `SELECT first_due_at, seq ${OPEN_IN_QUEUE} AND (first_due_at, seq) > (?, ?) ORDER BY first_due_at, seq`;

export function* countLine(accountId: string, name: string, from: LinePosition | null): Steps<LinePiece> {
  const values = [accountId, name, from?.dueAt ?? Number.MIN_SAFE_INTEGER, from?.seq ?? 0];
  const max = eachMax('lineCount');
  const last = yield* get<{ first_due_at: number; seq: number }>(`${LINE} LIMIT 1 OFFSET ?`, [...values, max - 1]);
  if (last) return { count: max, next: { dueAt: last.first_due_at, seq: last.seq } };
  const row = yield* get<{ n: number }>(`SELECT count(*) AS n FROM (${LINE} LIMIT ?) AS few`, [...values, max]);
  return { count: row!.n, next: null };
}

/**
 * Deletes a queue that has no open messages, and returns the lag of the queue. While the queue is locked, no message
 * can be added to it.
 */
export function* deleteQueue(accountId: string, name: string): Steps<number | null> {
  const key = [accountId, name];
  const row = yield* get<QueueRow>(`${GET_QUEUE} FOR UPDATE`, key);
  if (!row) return null;
  if (yield* get(`SELECT 1 ${OPEN_IN_QUEUE} AND cancel_requested_at IS NULL LIMIT 1`, key)) {
    return (yield* withLags([row]))[0]!.lag;
  }
  yield* run(
    `UPDATE messages SET holds_place = ?, order_key = NULL WHERE ended_at IS NULL AND account_id = ? AND queue_name = ?`,
    [false, ...key],
  );
  yield* step('deleteCounted', accountId, 'DELETE FROM queues WHERE account_id = ? AND name = ?', key);
  return 0;
}
