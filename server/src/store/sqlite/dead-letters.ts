// Dead letters are failed messages. Retrying one accepts a new message and marks the old with it, in one transaction: it
// stays to be read until its retention.

import type { NewMessage } from '../../domain/message.ts';
import { accept } from './accept.ts';
import type { Books } from './books.ts';
import type { Database } from './database.ts';
import { deleteMessage } from './messages.ts';

function failedSeq(database: Database, accountId: string, messageId: string, isDead = ''): number | null {
  const row = database.get<{ seq: number }>(
    `SELECT seq FROM messages WHERE id = ? AND account_id = ? AND state = 'failed' ${isDead}`,
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

/** Beside each pair whether it was done. */
export function retryDeadLetters(
  database: Database,
  books: Books,
  retries: readonly { readonly messageId: string; readonly message: NewMessage }[],
  now: number,
  dayMax: number | null,
): { isRetried: boolean[]; isOverQuota: boolean; dueAt: number | null } {
  const seqs = new Map<NewMessage, number>();
  // Named twice, it is retried once.
  const named = new Set<number>();
  for (const { messageId, message } of retries) {
    const seq = failedSeq(database, message.accountId, messageId, 'AND retried_at IS NULL');
    if (seq === null || named.has(seq)) continue;
    named.add(seq);
    seqs.set(message, seq);
  }
  const messages = [...seqs.keys()];
  const command = { messages, leases: [], node: '', now, dayMax };
  const { duplicates, isOverQuota, dueAt } = accept(database, books, command);
  messages.forEach((message, index) => {
    // Over its quota, none was accepted.
    if (duplicates[index] !== null) seqs.delete(message);
    else {
      database.run(
        'UPDATE messages SET retried_at = ?, retried_as = ? WHERE seq = ?',
        now,
        message.id,
        seqs.get(message)!,
      );
    }
  });
  return { isRetried: retries.map(({ message }) => seqs.has(message)), isOverQuota, dueAt };
}
