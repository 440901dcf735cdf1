// Deletes messages of an account that is being deleted, whatever their states are, the oldest first. Skips those that
// another transaction has locked: the next piece finds them.

import { type ExpiredCandidate, firstWithinBytes } from '../../shared/expired.ts';
import { bodyBytesSql } from '../deliveries/bodies.ts';
import type { Database } from '../sessions/database.ts';
import { deleteLocked, type LockedRow } from './messages.ts';

export async function deleteMessagesOf(database: Database, accountId: string, limit: number): Promise<void> {
  const oldest = await database.all<ExpiredCandidate & LockedRow>(
    `SELECT account_id, seq, expires_at, labels, body_id, ${bodyBytesSql('m')} AS bytes FROM messages m
       WHERE account_id = $1 ORDER BY account_id, seq LIMIT $2 FOR UPDATE SKIP LOCKED`,
    accountId,
    limit,
  );
  const rows = firstWithinBytes(oldest);
  await database.run(
    'DELETE FROM acks WHERE account_id = $1 AND message_seq = ANY ($2::bigint[])',
    accountId,
    rows.map(({ seq }) => seq),
  );
  await deleteLocked(database, rows);
}
