// Conversions between fields of a message and columns that store them in another form. message-fields.ts names these
// functions. No decisions.

import { DESCENDANTS_MAX } from '../../rules/delivery/descent.ts';
import type { Message, MessageState, NewMessage } from '../../rules/delivery/message.ts';
import type { FlowLimits } from '../../rules/lines/flow-control.ts';

/** SQLite stores flags as 0 and 1, PostgreSQL as booleans. */
export type Flag = 0 | 1 | boolean;

/**
 * In a row, `pending` is split into three states by what the message waits for; see the migrations. A held message is
 * also in one of these states, with a due time that never comes.
 */
export type RowState = 'delayed' | 'queued' | 'ready' | Exclude<MessageState, 'pending' | 'held'>;

export interface StateOfRow {
  state: RowState;
  held_at: number | null;
}

export function toState({ state, held_at: heldAt }: StateOfRow): MessageState {
  if (heldAt !== null) return 'held';
  return state === 'delayed' || state === 'queued' || state === 'ready' ? 'pending' : state;
}

export function parsedOrNull<T>(text: string | null): T | null {
  return text === null ? null : (JSON.parse(text) as T);
}

export function flowKeyColumn({ flow }: NewMessage): string | null {
  return flow ? flow.key : null;
}

export function flowLimitsColumn({ flow }: NewMessage): string | null {
  return flow && JSON.stringify(flow.limits);
}

export function readFlow(row: { flow_key: string | null; flow_limits: string | null }): Message['flow'] {
  return row.flow_key === null ? null : { key: row.flow_key, limits: JSON.parse(row.flow_limits!) as FlowLimits };
}

export function deduplicationColumn({ deduplication }: NewMessage): string | null {
  return deduplication ? deduplication.key : null;
}

/** The deduplication key matters only at accept, so it is not read back. */
export function readDeduplication(_row: object): null {
  return null;
}

/** Null for most messages: a message that no other message led to has the full allowance of descendants. */
export function descendantsColumn({ descendantsLeft }: NewMessage): number | null {
  return descendantsLeft === DESCENDANTS_MAX ? null : descendantsLeft;
}

export function readDescendants(row: { descendants_left: number | null }): number {
  return row.descendants_left ?? DESCENDANTS_MAX;
}

export function readDueAt(row: { alone_from_at: number | null; due_at: number }): number {
  return row.alone_from_at ?? row.due_at;
}

/** Whether the last attempt was the retry that was decided last. This is known only if the query has selected it. */
export function readBegunRetry(row: { has_begun_retry?: Flag | null }): true | undefined {
  return row.has_begun_retry ? true : undefined;
}
