// Dead letters are failed messages. A retry accepts a new message and marks the dead letter with the id of that
// message, in one transaction. The dead letter can still be read until its retention ends.

import type { DeadLetterRetry, NewMessage } from '../../../rules/delivery/message.ts';
import type { RetryReply } from '../../shared/commands.ts';
import { accept } from '../deliveries/accept.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';
import { deleteMessage } from './messages.ts';

function failedSeq(database: Database, accountId: string, messageId: string, isDead = ''): number | null {
  const row = database.get<{ seq: number }>(
    `SELECT seq FROM messages WHERE id = ? AND account_id = ? AND state = 'failed' ${isDead}`,
    messageId,
    accountId,
  );
  return row?.seq ?? null;
}

export function deleteDeadLetters(
  database: Database,
  caches: TransactionCaches,
  accountId: string,
  messageIds: readonly string[],
): number {
  let deleted = 0;
  for (const id of messageIds) {
    const seq = failedSeq(database, accountId, id);
    if (seq === null) continue;
    deleteMessage(database, caches, seq);
    deleted += 1;
  }
  return deleted;
}

/** The result is parallel to `retries`: whether each retry was done. */
export function retryDeadLetters(
  database: Database,
  caches: TransactionCaches,
  retries: readonly DeadLetterRetry[],
  now: number,
  dayMax: number | null,
): RetryReply {
  const seqs = new Map<NewMessage, number>();
  // A dead letter that the call names twice is retried once.
  const named = new Set<number>();
  for (const { messageId, message } of retries) {
    const seq = failedSeq(database, message.accountId, messageId, 'AND retried_at IS NULL');
    if (seq === null || named.has(seq)) continue;
    named.add(seq);
    seqs.set(message, seq);
  }
  const messages = [...seqs.keys()];
  const command = { messages, leases: [], node: '', now, dayMax };
  const { duplicates, isOverQuota, dueAt } = accept(database, caches, command);
  messages.forEach((message, index) => {
    // If the account is over its quota, `duplicates` is empty, and no retry is done.
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
