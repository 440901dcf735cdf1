// Deletes messages of an account that is being deleted, whatever their states are, the oldest first.

import { type ExpiredCandidate, firstWithinBytes } from '../../shared/expired.ts';
import { BODY_BYTES } from '../deliveries/bodies.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';
import { deleteMessage } from './messages.ts';

export function deleteMessagesOf(
  database: Database,
  caches: TransactionCaches,
  accountId: string,
  limit: number,
): void {
  const oldest = database.all<ExpiredCandidate>(
    `SELECT account_id, seq, expires_at, body_id, ${BODY_BYTES} AS bytes FROM messages INDEXED BY messages_of_account
       WHERE account_id = ? ORDER BY seq LIMIT ?`,
    accountId,
    limit,
  );
  for (const { seq } of firstWithinBytes(oldest)) {
    database.run('DELETE FROM acks WHERE account_id = ? AND message_seq = ?', accountId, seq);
    deleteMessage(database, caches, seq);
  }
}
