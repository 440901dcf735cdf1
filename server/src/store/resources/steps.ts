// How a verb is written once for every adapter: as a generator that yields steps and gets back their results. SQLite
// runs the steps one after the other on its thread, PostgreSQL awaits each on its connection. What only an adapter can
// do is a step with a name. When a step fails, the verb fails: it cannot catch the error.

import type { DeadLetterRetry } from '../../rules/delivery/message.ts';
import { eachMax } from '../../rules/limits/budgets.ts';
import type { KeyCounts } from '../../rules/lines/admission.ts';
import type { FlowLimits } from '../../rules/lines/flow-control.ts';
import type { QueueRules } from '../../rules/lines/queue.ts';
import type { FlowRow, QueueRow } from '../rows/line-rows.ts';
import type { CancelReply, RetryReply } from '../shared/commands.ts';

/** A parameter. A boolean is stored as the adapter stores flags. A list is for `= ANY (?)`. */
export type Value = string | number | boolean | null | Uint8Array | readonly string[];

/** The tables beside the messages whose rows store their counted bytes, and the name of each row in its account. */
export const COUNTED_TABLES = { topics: 'id', schedules: 'id', queues: 'name', flow_keys: 'key', jobs: 'id' };
export type CountedTable = keyof typeof COUNTED_TABLES;

/**
 * What an adapter does for a verb. The SQL is common to both databases, with `?` for a parameter, or `?2` for one that
 * is used twice. It may lock what it selects (`FOR UPDATE`, `FOR NO KEY UPDATE`, `SKIP LOCKED`): SQLite has one writer
 * and leaves that out. A text with U+0000 matches nothing.
 */
export interface AdapterSteps {
  all(sql: string, values: readonly Value[]): unknown[];
  get(sql: string, values: readonly Value[]): unknown;
  /** How many rows it changed. */
  run(sql: string, values: readonly Value[]): number;
  /** Counts the stored bytes of a row that is already written. Null: it counts nothing. */
  countStored(table: CountedTable, accountId: string, key: string, bytes: number | null): void;
  /**
   * Runs a DELETE statement that has no RETURNING clause, and subtracts the stored bytes of its rows. Returns how many
   * rows it deleted.
   */
  deleteCounted(accountId: string, sql: string, values: readonly Value[]): number;
  /**
   * Locks the account until the end of the transaction: no other call that locks the account counts or changes what
   * belongs to it.
   */
  lockAccount(accountId: string): void;
  /**
   * Locks all tokens until the end of the transaction. A node that starts may wait longer for the lock than a request.
   */
  lockTokens(asker: 'request' | 'start'): void;
  /** An account is about to change: the adapter must read its cached accounts again. */
  forgetAccounts(): void;
  /** The queue, created if it is missing. Nobody else changes it or its line until the end of the transaction. */
  lockOrCreateQueue(accountId: string, name: string, now: number): QueueRow;
  /** Sets the heads of the queue to the states of its changed rules, and starts those that may start. */
  applyQueueRules(accountId: string, name: string, rules: QueueRules, now: number): void;
  /**
   * How many open messages the first of these queues have, for as many queues as one statement counts. Counted up to one more
   * than is reported.
   */
  queueLags(queues: readonly QueueRow[]): number[];
  /** Applies the limits that messages of this transaction carry for their flow keys. */
  applyRequestedLimits(): void;
  /** The flow key, made with these limits if it is missing. */
  lockOrCreateFlowKey(accountId: string, key: string, limits: FlowLimits): void;
  /**
   * Messages of the key that are ready and not started wait again. This step and the next two get the row that the verb
   * has locked, and may change it as they change the table.
   */
  takeBack(row: FlowRow): void;
  /** Sets new limits. Messages that the old limits admitted and that have not started are checked again. */
  setFlowLimits(row: FlowRow, limits: FlowLimits): void;
  /** Makes as many messages ready as the key admits. */
  admitWaiting(row: FlowRow, now: number): void;
  /** Counts the messages of the first of these flow keys, as `queueLags` does for queues. */
  flowKeyCounts(keys: readonly FlowRow[]): KeyCounts[];
  cancel(accountId: string, messageIds: readonly string[], now: number, expiresAt: number): CancelReply;
  /** Returns how many it deleted. */
  deleteDeadLetters(accountId: string, messageIds: readonly string[]): number;
  retryDeadLetters(retries: readonly DeadLetterRetry[], now: number, dayMax: number | null): RetryReply;
}

/** How far the messages of a flow key are counted for people. */
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
