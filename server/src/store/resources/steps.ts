// How a verb is written once for every adapter: as a generator that yields steps and gets back their results. SQLite
// runs the steps one after the other on its thread; PostgreSQL awaits each step on its connection. Work that only an
// adapter can do is a step with a name, and a verb cannot catch the error of a step.

import type { DeadLetterRetry } from '../../rules/delivery/message.ts';
import { eachMax } from '../../rules/limits/budgets.ts';
import type { KeyCounts } from '../../rules/lines/admission.ts';
import type { FlowLimits } from '../../rules/lines/flow-control.ts';
import type { QueueRules } from '../../rules/lines/queue.ts';
import type { FlowRow, QueueRow } from '../rows/line-rows.ts';
import type { CancelReply, RetryReply } from '../shared/commands.ts';

/** A parameter. A boolean is stored as the adapter stores flags. A list is for `= ANY (?)`. */
export type Value = string | number | boolean | null | Uint8Array | readonly string[];

/**
 * The tables besides `messages` that have a column for the stored bytes of a row. The value is the column that
 * identifies a row within its account.
 */
export const COUNTED_TABLES = { topics: 'id', schedules: 'id', queues: 'name', flow_keys: 'key', jobs: 'id' };
export type CountedTable = keyof typeof COUNTED_TABLES;

/**
 * What an adapter does for a verb. The SQL is common to both databases, with `?` for a parameter, or `?2` for a
 * parameter that is used twice. It may lock what it selects (`FOR UPDATE`, `FOR NO KEY UPDATE`, `SKIP LOCKED`). SQLite
 * has a single writer, so its adapter leaves these clauses out. A text with U+0000 matches nothing.
 */
export interface AdapterSteps {
  all(sql: string, values: readonly Value[]): unknown[];
  get(sql: string, values: readonly Value[]): unknown;
  /** Returns how many rows the statement changed. */
  run(sql: string, values: readonly Value[]): number;
  /** Counts the stored bytes of a row that is already written. With null, the row counts nothing. */
  countStored(table: CountedTable, accountId: string, key: string, bytes: number | null): void;
  /**
   * Runs a DELETE statement that has no RETURNING clause, and subtracts the stored bytes of its rows. Returns how many
   * rows it deleted.
   */
  deleteCounted(accountId: string, sql: string, values: readonly Value[]): number;
  /**
   * Locks the account until the end of the transaction. Until then, no other call that locks the account counts or
   * changes what belongs to the account.
   */
  lockAccount(accountId: string): void;
  /** Locks all tokens until the transaction ends. A node that starts may wait longer for the lock than a request. */
  lockTokens(asker: 'request' | 'start'): void;
  /** An account is about to change: the adapter must read its cached accounts again. */
  forgetAccounts(): void;
  /**
   * Locks and returns the queue, and creates it if it is missing. Nobody else changes the queue or its line until the
   * end of the transaction.
   */
  lockOrCreateQueue(accountId: string, name: string, now: number): QueueRow;
  /** Sets the heads of the queue to the states that its new rules require, and starts the messages that may start. */
  applyQueueRules(accountId: string, name: string, rules: QueueRules, now: number): void;
  /**
   * Counts the open messages of the first of these queues: of as many queues as one statement counts. Each count stops
   * one above the largest number that is shown.
   */
  queueLags(queues: readonly QueueRow[]): number[];
  /** Applies the limits that messages of this transaction carry for their flow keys. */
  applyRequestedLimits(): void;
  /** Locks the flow key, and creates it with these limits if it is missing. */
  lockOrCreateFlowKey(accountId: string, key: string, limits: FlowLimits): void;
  /**
   * Makes messages of the key that are ready and not started wait again. As `setFlowLimits` and `admitWaiting`, this
   * gets the row that the verb has locked, and may change it in the same way as the table.
   */
  takeBackUnstarted(row: FlowRow): void;
  /** Sets new limits. Messages that were admitted under the old limits and have not started are checked again. */
  setFlowLimits(row: FlowRow, limits: FlowLimits): void;
  /** Makes as many messages ready as the key admits. */
  admitWaiting(row: FlowRow, now: number): void;
  /** Counts the messages of the first of these flow keys, as `queueLags` does for queues. */
  flowKeyCounts(keys: readonly FlowRow[]): KeyCounts[];
  /** Adds a step of a message to the journal. */
  addJournal(accountId: string, seq: number, step: number, at: number): void;
  cancel(accountId: string, messageIds: readonly string[], now: number, expiresAt: number): CancelReply;
  /** Deletes at most `limit` of the oldest messages of an account, whatever their states are, with all that belongs to them. */
  deleteMessagesOf(accountId: string, limit: number): void;
  /** Returns how many dead letters it deleted. */
  deleteDeadLetters(accountId: string, messageIds: readonly string[]): number;
  retryDeadLetters(retries: readonly DeadLetterRetry[], now: number, dayMax: number | null): RetryReply;
}

/** How far the messages of a flow key are counted for a person who reads the key. */
export const SHOWN_COUNTS = { active: eachMax('lineCount'), unstarted: 0, waiting: eachMax('lineCount') + 1 };

export interface Step {
  readonly name: keyof AdapterSteps;
  readonly args: readonly unknown[];
}

/** The steps of a verb that returns R. */
export type Steps<R> = Generator<Step, R, unknown>;

export function* step<N extends keyof AdapterSteps>(
  name: N,
  ...args: Parameters<AdapterSteps[N]>
): Steps<ReturnType<AdapterSteps[N]>> {
  return (yield { name, args }) as ReturnType<AdapterSteps[N]>;
}

export function* all<T>(sql: string, values: readonly Value[]): Steps<T[]> {
  return (yield { name: 'all', args: [sql, values] }) as T[];
}

export function* get<T>(sql: string, values: readonly Value[]): Steps<T | undefined> {
  return (yield { name: 'get', args: [sql, values] }) as T | undefined;
}

export function* run(sql: string, values: readonly Value[]): Steps<number> {
  return (yield { name: 'run', args: [sql, values] }) as number;
}
