// Deletes ended messages past their retention, with all rows that belong to them. The oldest go first. If there are
// more than one transaction deletes, accounts take turns. And deletes messages of an account that is being deleted.

import {
  EXPIRED_ACCOUNTS_MAX,
  EXPIRED_LOOKED_MAX,
  type ExpiredCandidate,
  type ExpiredTurns,
  firstWithinBytes,
  mergeChosen,
} from '../../shared/expired.ts';
import { BODY_BYTES } from '../deliveries/bodies.ts';
import { keysInTurn } from '../deliveries/due-lines.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';
import { deleteMessage } from './messages.ts';

const LOOKED = `SELECT account_id, seq, expires_at, body_id, ${BODY_BYTES} AS bytes FROM messages`;

export function deleteExpired(database: Database, caches: TransactionCaches, now: number, limit: number): number {
  const oldest = database.all<ExpiredCandidate>(
    `${LOOKED} WHERE expires_at <= ? ORDER BY expires_at LIMIT ?`,
    now,
    limit + 1,
  );
  const chosen = oldest.length > limit ? inTurn(database, caches.expiredTurns, oldest[0]!.account_id, now, limit) : [];
  const rows = firstWithinBytes(mergeChosen(chosen, oldest, limit));
  for (const { seq } of rows) deleteMessage(database, caches, seq);
  return rows.length;
}

/** Expired messages of the next accounts. Skips `served`, the account of the oldest: those are deleted anyway. */
function inTurn(
  database: Database,
  turns: ExpiredTurns,
  served: string,
  now: number,
  limit: number,
): ExpiredCandidate[] {
  const chosen: ExpiredCandidate[] = [];
  const accounts = keysInTurn(turns.lastAccount, (after, upTo) =>
    database.get<{ key: string }>(
      `SELECT account_id AS key FROM messages INDEXED BY messages_of_account WHERE account_id > ? AND account_id <= ?
         ORDER BY account_id LIMIT 1`,
      after,
      upTo,
    ),
  );
  for (const accountId of accounts.take(EXPIRED_ACCOUNTS_MAX)) {
    if (accountId === served) continue;
    const looked = database.all<ExpiredCandidate>(
      `${LOOKED} INDEXED BY messages_of_account WHERE account_id = ? AND seq > ? ORDER BY seq LIMIT ?`,
      accountId,
      turns.positionOf(accountId),
      EXPIRED_LOOKED_MAX,
    );
    if (!turns.turn(chosen, accountId, looked, now, Math.floor(limit / 2))) break;
  }
  return chosen;
}

/** Deletes the oldest messages of an account, whatever their states are. */
export function deleteMessagesOf(
  database: Database,
  caches: TransactionCaches,
  accountId: string,
  limit: number,
): void {
  const oldest = database.all<ExpiredCandidate>(
    `${LOOKED} INDEXED BY messages_of_account WHERE account_id = ? ORDER BY seq LIMIT ?`,
    accountId,
    limit,
  );
  for (const { seq } of firstWithinBytes(oldest)) {
    database.run('DELETE FROM acks WHERE account_id = ? AND message_seq = ?', accountId, seq);
    deleteMessage(database, caches, seq);
  }
}
