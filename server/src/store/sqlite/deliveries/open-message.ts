// A message that has not ended, with its queue and its keys: how others follow when it ends, and the release of a claim.

import { isSuspect, NEVER_AT } from '../../../rules/delivery/recovery.ts';
import { stateAfterRelease } from '../../../rules/lines/line.ts';
import type { MessageRow } from '../../rows/message-row.ts';
import { CANCELLED } from '../../rows/rows.ts';
import type { ReleaseReply } from '../../shared/commands.ts';
import { endOvertaken } from '../messages/overtaken.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';
import { admitWaiting, uncountStart } from './flow-keys.ts';
import { correctOrderKey, isPaused, releasePlaceIfOvertaken, startHeads } from './queues.ts';

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

export const OPEN_MESSAGE_COLUMNS =
  'seq, account_id, host, queue_name, order_key, flow_key, deduplication_key, interrupted, cancel_requested_at';

/** Starts messages that waited for this one, in its queue or under its flow key. Returns when one can be claimed. */
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

type Released = OpenMessage & Pick<MessageRow, 'id' | 'claimed_at' | 'debounce_key' | 'attempts'>;

/**
 * Releases claims whose attempt never started. A message whose cancel was requested ends as cancelled instead, and so
 * does one under whose debounce key a newer message waits.
 */
export function release(
  database: Database,
  caches: TransactionCaches,
  leases: readonly string[],
  node: string,
  now: number,
): ReleaseReply {
  const cancelled: string[] = [];
  const keys = new Map<string, readonly [string, string]>();
  const debounced = new Map<string, readonly [string, string]>();
  let dueAt: number | null = null;
  for (const lease of leases) {
    const row = database.get<Released>(
      `SELECT ${OPEN_MESSAGE_COLUMNS}, id, claimed_at, debounce_key, attempts
         FROM messages WHERE state = 'claimed' AND node = ? AND lease = ?`,
      node,
      lease,
    );
    if (!row) continue;
    const { account_id: accountId, flow_key: flowKey, debounce_key: debounceKey } = row;
    if (row.cancel_requested_at !== null) {
      endCancelledClaim(database, caches, row, now);
      cancelled.push(row.id);
      if (flowKey === null) startWaitingMessages(database, row, now);
    } else {
      putBack(database, row, now);
      if (debounceKey !== null && row.attempts === 0) {
        debounced.set(JSON.stringify([accountId, debounceKey]), [accountId, debounceKey]);
      }
    }
    if (flowKey !== null) {
      uncountStart(database, accountId, flowKey, row.claimed_at!);
      keys.set(JSON.stringify([accountId, flowKey]), [accountId, flowKey]);
    }
    dueAt = now;
  }
  const overtaken = [...debounced.values()].flatMap(([accountId, key]) =>
    endOvertaken(database, caches, accountId, key, now),
  );
  for (const row of overtaken) {
    const { account_id: accountId, flow_key: flowKey } = row;
    if (flowKey === null) startWaitingMessages(database, row, now);
    else keys.set(JSON.stringify([accountId, flowKey]), [accountId, flowKey]);
  }
  // Only now, when all claims are released, because the released messages go before messages that came later.
  for (const [accountId, key] of keys.values()) admitWaiting(database, accountId, key, now);
  return { dueAt, cancelled, overtaken: overtaken.map(({ id }) => id) };
}

/**
 * Makes the message pending again. `claimed_at` stays set, which tells the next claim that the journal already has the
 * start of this attempt.
 */
function putBack(database: Database, row: Released, now: number): void {
  const { account_id: accountId, queue_name: queueName, flow_key: flowKey } = row;
  const isQueuePaused = queueName !== null && isPaused(database, accountId, queueName);
  const startsAlone = isSuspect(row);
  database.run(
    `UPDATE messages SET state = ?, lease = NULL, node = NULL,
         holds_place = iif(flow_key IS NULL, holds_place, 0) WHERE seq = ?`,
    stateAfterRelease({ isQueuePaused, startsAlone, hasFlowKey: flowKey !== null }),
    row.seq,
  );
  if (startsAlone) {
    database.run('UPDATE messages SET due_at = ?, alone_from_at = ? WHERE seq = ?', NEVER_AT, now, row.seq);
  }
  if (queueName === null) return;
  releasePlaceIfOvertaken(database, accountId, queueName, row.seq);
  startHeads(database, accountId, queueName, now);
}
