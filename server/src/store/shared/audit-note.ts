// The row of the audit for the call that is carried out. The first verb of the call that changes something, and that its
// table marks with `audits`, takes the row and writes it in its own transaction. So neither is there without the other.

import { AsyncLocalStorage } from 'node:async_hooks';
import { type AuditRow, auditTarget } from '../../rules/accounts/audit.ts';
import type { MessageStore } from '../ports/message-store.ts';
import { StoreUnavailable } from '../ports/store.ts';

/** The row of a call that may change something. */
export class AuditNote {
  row: AuditRow;
  /** Whether verbs write the row. */
  readonly isKept: boolean;
  /** Whether a verb has changed something, or is about to. */
  isTaken = false;
  /** Whether a verb has written the row. */
  isStored = false;
  /** Whether a change was made that no verb writes the row of. */
  hasChanged = false;
  /** The call has changed nothing, so it has no row. */
  isDropped = false;

  constructor(row: AuditRow, isKept = true) {
    this.row = row;
    this.isKept = isKept;
  }

  /** Names what the call is about. Call it before the change. */
  about(target: string): void {
    this.row = { ...this.row, target: auditTarget(target) };
  }

  drop(): void {
    this.isDropped = true;
  }
}

const noting = new AsyncLocalStorage<AuditNote | undefined>();

/** Carries out a call whose change the note is about. */
export function runWithNote<T>(note: AuditNote, call: () => Promise<T>): Promise<T> {
  return noting.run(note, call);
}

/** Keeps the note of the current call, or that it has none, for work that starts later, after that of other calls. */
export function keepNote<T>(work: () => T): () => T {
  const note = noting.getStore();
  return () => noting.run(note, work);
}

type ChangesInPieces = Pick<MessageStore, 'cancel' | 'deleteDeadLetters' | 'retryDeadLetters'>;

/**
 * The verbs of calls that take several transactions, and whose row comes after the last one. If a call fails after one of
 * them has changed something, it has a row all the same.
 */
export function notingChanges(store: ChangesInPieces): ChangesInPieces {
  return {
    cancel: async (...rest) => {
      const reply = await store.cancel(...rest);
      if (reply.cancelled.length + reply.requested.length + reply.awaited.length > 0) noteChange();
      return reply;
    },
    deleteDeadLetters: async (...rest) => {
      const deleted = await store.deleteDeadLetters(...rest);
      if (deleted > 0) noteChange();
      return deleted;
    },
    retryDeadLetters: async (...rest) => {
      const isRetried = await store.retryDeadLetters(...rest);
      if (isRetried !== 'overQuota' && isRetried.includes(true)) noteChange();
      return isRetried;
    },
  };
}

function noteChange(): void {
  const note = noting.getStore();
  if (note) note.hasChanged = true;
}

/**
 * Calls a verb with the row that it must write if it changes something, or with null. A disk that is full takes changes
 * that free space, or that need hardly any. None of them is refused because its row finds no space: it is made without.
 */
export async function withNote<R>(
  hasChanged: (reply: R) => boolean,
  call: (row: AuditRow | null) => Promise<R>,
): Promise<R> {
  const note = noting.getStore();
  if (note === undefined || note.isTaken) return call(null);
  note.isTaken = true;
  let hasRow = note.isKept;
  try {
    const reply = await call(hasRow ? note.row : null).catch((error: unknown) => {
      if (!hasRow || !(error instanceof StoreUnavailable) || error.reason !== 'full') throw error;
      hasRow = false;
      return call(null);
    });
    note.isTaken = hasChanged(reply);
    note.isStored = note.isTaken && hasRow;
    return reply;
  } catch (error) {
    note.isTaken = false;
    throw error;
  }
}
