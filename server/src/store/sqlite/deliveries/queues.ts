// FIFO queues: which messages of a queue may start. Every change that could free or fill a place ends in `startHeads`;
// no other code of this adapter makes a `queued` message of a queue `ready`. Of the messages with one order key
// (`orderKey`), only the first can be a head.

import type { NewMessage } from '../../../rules/delivery/message.ts';
import { eachMax } from '../../../rules/limits/budgets.ts';
import {
  freeHeads,
  planHeads,
  QUEUE_PARALLELISM_DEFAULT,
  type QueuedMessage,
  type QueueRules,
  stateChangeInPause,
  wrongFirstMarks,
} from '../../../rules/lines/queue.ts';
import { QUEUE_COLUMNS, type QueueRow, toRules } from '../../rows/line-rows.ts';
import { PROMOTE_QUEUES_MAX, promotedPerQueueMax } from '../../shared/promotion.ts';
import type { Database } from '../thread/database.ts';
import { type DueLines, whileThereIsTime } from './due-lines.ts';
import { SET_READY_AT } from './message-sql.ts';

const GET_QUEUE = `SELECT ${QUEUE_COLUMNS} FROM queues WHERE account_id = ? AND name = ?`;

export function ensureQueue(database: Database, accountId: string, name: string, now: number): void {
  database.run(
    `INSERT INTO queues (account_id, name, parallelism, is_paused, created_at, updated_at) VALUES (?, ?, ?, 0, ?, ?)
       ON CONFLICT DO NOTHING`,
    accountId,
    name,
    QUEUE_PARALLELISM_DEFAULT,
    now,
    now,
  );
}

export function readQueue(database: Database, accountId: string, name: string): QueueRow | undefined {
  return database.get<QueueRow>(GET_QUEUE, accountId, name);
}

export function isPaused(database: Database, accountId: string, name: string): boolean {
  return database.get<QueueRow>(GET_QUEUE, accountId, name)!.is_paused === 1;
}

/** For a new message: creates the queue if it is missing, and lets a claim after `at` check it. Starts no message. */
export function markQueueDue(database: Database, accountId: string, name: string, at: number, now: number): void {
  database.run(
    `INSERT INTO queues (account_id, name, parallelism, is_paused, created_at, updated_at, next_start_at)
       VALUES (?, ?, ?, 0, ?, ?, ?)
       ON CONFLICT DO UPDATE SET next_start_at = excluded.next_start_at
         WHERE next_start_at IS NULL OR next_start_at > excluded.next_start_at`,
    accountId,
    name,
    QUEUE_PARALLELISM_DEFAULT,
    now,
    now,
    at,
  );
}

/**
 * Gives the free places of the queue to its next messages in order, to at most `most`. Stores when the next message may
 * start. Returns the earliest time at which this queue has a message to claim, or null.
 */
export function startHeads(
  database: Database,
  accountId: string,
  name: string,
  now: number,
  most = Number.POSITIVE_INFINITY,
  queue = readQueue(database, accountId, name),
): number | null {
  if (!queue) return null;
  const { started } = database.get<{ started: number }>(
    'SELECT count(*) AS started FROM messages INDEXED BY messages_holding WHERE holds_place = 1 AND account_id = ? AND queue_name = ?',
    accountId,
    name,
  )!;
  const line = readLine(database, queue, Math.min(freeHeads(toRules(queue), started), most), now);
  const plan = planHeads(toRules(queue), started, line, now, most);
  if (plan.giveBack > 0) giveBackPlaces(database, accountId, name, plan.giveBack);
  for (const { head, state } of plan.start) {
    database.run(
      `UPDATE messages SET state = ?2, holds_place = 1, ${SET_READY_AT} WHERE seq = ?3`,
      now,
      state,
      head.seq,
    );
  }
  if (plan.nextStartAt !== queue.next_start_at) {
    database.run(
      'UPDATE queues SET next_start_at = ? WHERE account_id = ? AND name = ?',
      plan.nextStartAt,
      accountId,
      name,
    );
  }
  return plan.dueAt;
}

/** Up to `free` due messages that wait for a place. If there are fewer, also the next one that is not due yet. */
function readLine(database: Database, { account_id, name }: QueueRow, free: number, now: number) {
  if (free === 0) return [];
  const line = database.all<QueuedMessage & { seq: number }>(`${LINE} <= ? ${IN_ORDER}`, account_id, name, now, free);
  if (line.length === free) return line;
  return [
    ...line,
    ...database.all<QueuedMessage & { seq: number }>(`${LINE} > ? ${IN_ORDER}`, account_id, name, now, 1),
  ];
}

const LINE = `SELECT seq, first_due_at AS firstDueAt, due_at AS dueAt FROM messages
  WHERE state = 'queued' AND holds_place = 0 AND is_first_of_key = 1 AND account_id = ? AND queue_name = ?
    AND first_due_at`;
const IN_ORDER = 'ORDER BY first_due_at, seq LIMIT ?';

/** The time at which the next message of the queue may start; null if no message waits for a time. */
export function nextStartAt(database: Database, accountId: string, name: string): number | null {
  return database.get<QueueRow>(GET_QUEUE, accountId, name)?.next_start_at ?? null;
}

/** For a queue whose parallelism was lowered: its last heads without a running attempt wait in the queue again. */
function giveBackPlaces(database: Database, accountId: string, name: string, count: number): void {
  database.run(
    `UPDATE messages SET state = 'queued', holds_place = 0 WHERE seq IN
       (SELECT seq FROM messages INDEXED BY messages_holding WHERE holds_place = 1 AND account_id = ? AND queue_name = ? AND state <> 'claimed'
          ORDER BY first_due_at DESC, seq DESC LIMIT ?)`,
    accountId,
    name,
    count,
  );
}

/**
 * Call this when an attempt has ended but its message has not. If a message before it lost its place because the
 * parallelism was lowered, this message releases its own place, and `startHeads` gives it to the earlier message. An
 * earlier message without `ready_at` never had a place and does not count: a node whose clock is behind accepted it.
 */
export function releasePlaceIfOvertaken(database: Database, accountId: string, name: string, seq: number): void {
  database.run(
    `UPDATE messages SET state = 'queued', holds_place = 0 WHERE seq = ?1 AND holds_place = 1 AND EXISTS
       (SELECT 1 FROM messages m INDEXED BY messages_queued
          WHERE m.state = 'queued' AND m.holds_place = 0 AND m.is_first_of_key = 1 AND m.account_id = ?2 AND m.queue_name = ?3
            AND m.ready_at IS NOT NULL AND (m.first_due_at, m.seq) < (messages.first_due_at, messages.seq))`,
    seq,
    accountId,
    name,
  );
}

/** Whether the queue has a message with this order key that has not ended. */
export function isOrderKeyInQueue(
  database: Database,
  { accountId, queueName, orderKey }: Pick<NewMessage, 'accountId' | 'queueName' | 'orderKey'>,
): boolean {
  const sql = `SELECT 1 FROM messages
    WHERE ended_at IS NULL AND account_id = ? AND queue_name = ? AND order_key = ? LIMIT 1`;
  return database.get(sql, accountId, queueName, orderKey) !== undefined;
}

/**
 * Marks only the first open message with this order key as first, which lets it become a head. Call this after each
 * message that came or ended: then the message with the old mark is among the first two.
 */
export function correctOrderKey(database: Database, accountId: string, queueName: string, orderKey: string): void {
  const holder = database.get(
    'SELECT 1 FROM messages INDEXED BY messages_holding WHERE holds_place = 1 AND account_id = ? AND queue_name = ? AND order_key = ?',
    accountId,
    queueName,
    orderKey,
  );
  if (holder) return;
  const line = database.all<{ seq: number; is_first_of_key: 0 | 1 }>(
    `SELECT seq, is_first_of_key FROM messages
       WHERE ended_at IS NULL AND account_id = ? AND queue_name = ? AND order_key = ?
       ORDER BY first_due_at, seq LIMIT 2`,
    accountId,
    queueName,
    orderKey,
  );
  const marks = line.map(({ seq, is_first_of_key }) => ({ seq, isFirstOfKey: is_first_of_key === 1 }));
  for (const { message, isFirst } of wrongFirstMarks(marks)) {
    database.run('UPDATE messages SET is_first_of_key = ? WHERE seq = ?', isFirst ? 1 : 0, message.seq);
  }
}

/** Starts heads of due queues, until `isOver`. A queue that was not reached or could start more heads stays due. */
export function startDueQueues(database: Database, dueQueues: DueLines, now: number, isOver: () => boolean): void {
  const { lines } = dueQueues.take(now, PROMOTE_QUEUES_MAX);
  const most = promotedPerQueueMax(lines.length);
  for (const { account_id, name } of whileThereIsTime(lines, isOver)) startHeads(database, account_id, name, now, most);
}

/** Returns the queue, and creates it if it is missing. SQLite has only one writer, so the queue needs no lock. */
export function lockOrCreateQueue(database: Database, accountId: string, name: string, now: number): QueueRow {
  ensureQueue(database, accountId, name, now);
  return database.get<QueueRow>(GET_QUEUE, accountId, name)!;
}

/**
 * Call this after the rules of a queue have changed. Messages that hold a place wait while the queue is paused, and
 * continue when it is resumed. Then starts the heads that may start.
 */
export function applyQueueRules(
  database: Database,
  accountId: string,
  name: string,
  { isPaused }: QueueRules,
  now: number,
): void {
  const { from, to } = stateChangeInPause(isPaused);
  database.run(
    `UPDATE messages INDEXED BY messages_holding SET state = ?2, ${SET_READY_AT}
       WHERE holds_place = 1 AND account_id = ?3 AND queue_name = ?4 AND state IN (?5, ?6)`,
    now,
    to,
    accountId,
    name,
    from[0]!,
    from.at(-1)!,
  );
  startHeads(database, accountId, name, now);
}

/** How many messages of the queue have not ended. The count stops one above the largest number that is shown. */
export function queueLag(database: Database, { account_id, name }: QueueRow): number {
  return database.get<{ lag: number }>(
    `SELECT count(*) AS lag FROM
       (SELECT 1 FROM messages WHERE ended_at IS NULL AND account_id = ? AND queue_name = ? LIMIT ?)`,
    account_id,
    name,
    eachMax('lineCount') + 1,
  )!.lag;
}
