// Dead letters are failed messages. Retrying one accepts a new message and deletes the old, in one transaction.

import type { NewMessage } from '../../domain/message.ts';
import { accept } from './accept.ts';
import type { Books } from './books.ts';
import type { Database } from './database.ts';
import { deleteMessage } from './messages.ts';

function failedSeq(database: Database, accountId: string, messageId: string): number | null {
  const row = database.get<{ seq: number }>(
    "SELECT seq FROM messages WHERE id = ? AND account_id = ? AND state = 'failed'",
    messageId,
    accountId,
  );
  return row?.seq ?? null;
}

export function deleteDeadLetters(database: Database, accountId: string, messageIds: readonly string[]): number {
  let deleted = 0;
  for (const id of messageIds) {
    const seq = failedSeq(database, accountId, id);
    if (seq === null) continue;
    deleteMessage(database, seq);
    deleted += 1;
  }
  return deleted;
}

/** Beside each pair whether the dead letter was still there. */
export function retryDeadLetters(
  database: Database,
  books: Books,
  retries: readonly { readonly messageId: string; readonly message: NewMessage }[],
  now: number,
): { isRetried: boolean[]; dueAt: number | null } {
  const messages: NewMessage[] = [];
  const isRetried = retries.map(({ messageId, message }) => {
    const seq = failedSeq(database, message.accountId, messageId);
    if (seq === null) return false;
    deleteMessage(database, seq);
    messages.push(message);
    return true;
  });
  return { isRetried, dueAt: accept(database, books, { messages, leases: [], node: '', now, dayMax: null }).dueAt };
}
