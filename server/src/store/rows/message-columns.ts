// Conversions between fields of a message and columns that store them in another form. message-fields.ts names these
// functions. No decisions.

import { DESCENDANTS_MAX } from '../../rules/delivery/descent.ts';
import type { FailureCode, Message, MessageState, NewMessage } from '../../rules/delivery/message.ts';
import { aheadMs, priorityOf } from '../../rules/delivery/priority.ts';
import type { Outage } from '../../rules/hosts/parking.ts';
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

/** The order of ready messages, as in the index `messages_ranked`. The database computes it, because `due_at` changes. */
export const RANK = '(due_at - coalesce(ahead_ms, 0))';

/**
 * The backlog of a message: its host, with a mark if the message parks (rules/delivery/share-slots.ts). So a claim passes
 * over all parked messages of a host in one step. As in the index `messages_ranked`.
 */
export const BACKLOG = "(CASE WHEN outage IS NULL OR outage = 'retry' THEN host ELSE host || ' parks' END)";

export function aheadColumn({ priority }: Pick<NewMessage, 'priority'>): number | null {
  return priority === null ? null : aheadMs(priority);
}

export function readPriority(row: { ahead_ms: number | null }): number | null {
  return row.ahead_ms === null ? null : priorityOf(row.ahead_ms);
}

export function readOutage(row: { outage: string | null }): Outage | null {
  return row.outage as Outage | null;
}

export function deduplicationColumn({ deduplication }: NewMessage): string | null {
  return deduplication ? deduplication.key : null;
}

/** The deduplication key matters only at accept, so it is not read back. */
export function readDeduplication(_row: object): null {
  return null;
}

export function debounceKeyColumn({ debounce }: NewMessage): string | null {
  return debounce === null ? null : debounce.key;
}

export function debounceLatestColumn({ debounce }: NewMessage): number | null {
  return debounce === null ? null : debounce.latestAt;
}

export function debounceCountColumn({ debounce }: NewMessage): number | null {
  return debounce === null ? null : debounce.count;
}

export function readDebounce(row: {
  debounce_key: string | null;
  debounce_latest_at: number | null;
  debounced: number | null;
}): Message['debounce'] {
  if (row.debounce_key === null) return null;
  return { key: row.debounce_key, latestAt: row.debounce_latest_at!, count: row.debounced! };
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

export function readFailureCode(row: { failure_code: string | null }): FailureCode | undefined {
  return (row.failure_code as FailureCode | null) ?? undefined;
}

/** Whether the last attempt was the retry that was decided last. This is known only if the query has computed it. */
export function readBegunRetry(row: { has_begun_retry?: Flag | null }): true | undefined {
  return row.has_begun_retry ? true : undefined;
}
