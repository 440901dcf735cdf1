// A message that has not ended, with its queue and its keys. For code that ends or releases such a message.

import { CANCELLED } from '../../rows/rows.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';
import { admitWaiting } from './flow-keys.ts';
import { correctOrderKey, startHeads } from './queues.ts';

/** A message that has not ended, and the lines in which other messages wait for its end. */
export interface OpenMessage {
  readonly seq: number;
  readonly account_id: string;
  readonly host: string;
  readonly queue_name: string | null;
  readonly order_key: string | null;
  readonly flow_key: string | null;
  readonly deduplication_key: string | null;
  readonly interrupted: number;
  readonly cancel_requested_at: number | null;
}

export const OPEN_MESSAGE =
  'seq, account_id, host, queue_name, order_key, flow_key, deduplication_key, interrupted, cancel_requested_at';

/** Starts the messages that waited for a place of this message: in its queue, for its order key, under its flow key. */
export function startWaitingMessages(
  database: Database,
  held: Pick<OpenMessage, 'account_id' | 'queue_name' | 'order_key' | 'flow_key'>,
  now: number,
): number | null {
  const { account_id: accountId, queue_name: queueName, order_key: orderKey, flow_key: flowKey } = held;
  if (queueName !== null) {
    if (orderKey !== null) correctOrderKey(database, accountId, queueName, orderKey);
    return startHeads(database, accountId, queueName, now);
  }
  return flowKey === null ? null : admitWaiting(database, accountId, flowKey, now);
}

export function forgetDeduplication(database: Database, held: OpenMessage, messageId: string): void {
  if (held.deduplication_key === null) return;
  database.run(
    'DELETE FROM deduplication WHERE account_id = ? AND key = ? AND message_id = ?',
    held.account_id,
    held.deduplication_key,
    messageId,
  );
}

/** Ends a claimed message whose cancel was requested. The caller then starts the messages that wait for its place. */
export function endCancelledClaim(
  database: Database,
  { journal }: Pick<TransactionCaches, 'journal'>,
  { account_id: accountId, seq }: Pick<OpenMessage, 'account_id' | 'seq'>,
  at: number,
): void {
  database.run(
    `UPDATE messages SET state = 'cancelled', lease = NULL, node = NULL, claimed_at = NULL, holds_place = 0,
       ended_at = max(?, cancel_requested_at), expires_at = cancel_expires_at, cancel_expires_at = NULL WHERE seq = ?`,
    at,
    seq,
  );
  journal.add(accountId, seq, CANCELLED, at);
}
