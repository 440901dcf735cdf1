// The rows of attempts that await their acks: written when a 202 is settled, deleted when the attempt ends.

import type { Settlement, SettleResult } from '../../../rules/delivery/message.ts';
import { bytesOfAttempt } from '../../../rules/limits/stored-bytes.ts';
import { AWAITING_ACK, LEASE_AWAITING, NODE_AWAITING } from '../../rows/rows.ts';
import type { OpenMessage } from '../deliveries/open-message.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';

type Key = Pick<OpenMessage, 'account_id' | 'seq'>;
type AwaitingSettlement = Settlement & { readonly next: { readonly state: 'awaiting' } };

function isAwaiting(settlement: Settlement): settlement is AwaitingSettlement {
  return settlement.next.state === 'awaiting';
}

/** What a settlement does to the ack of its attempt. Null if the attempt then ends, as that of any message. */
export function settleAck(
  database: Database,
  caches: TransactionCaches,
  held: OpenMessage,
  settlement: Settlement,
): SettleResult | null {
  if (!settlement.ack) return null;
  if (isAckLater(database, held, settlement.ack)) return 'lost';
  if (isAwaiting(settlement) && held.cancel_requested_at === null) return awaitAck(database, caches, held, settlement);
  forgetAck(database, caches, held);
  return null;
}

/** The attempt stays open: its message keeps its place and its flow key, and no node holds it. */
function awaitAck(
  database: Database,
  { journal, stored }: TransactionCaches,
  { account_id: accountId, seq }: Key,
  { attempt, next: { deadlineAt, latestAt } }: AwaitingSettlement,
): SettleResult {
  const bytes = bytesOfAttempt(attempt);
  database.run(
    'UPDATE messages SET node = ?, lease = lease || ?, stored_bytes = ifnull(stored_bytes, 0) + ? WHERE seq = ?',
    NODE_AWAITING,
    LEASE_AWAITING,
    bytes,
    seq,
  );
  database.run(
    `INSERT INTO acks (account_id, message_seq, attempt, is_awaiting, started_at, deadline_at, latest_at, events,
       status, response_headers, response_body, is_response_body_cut, stored_bytes)
       VALUES (?, ?, ?, 1, ?, ?, ?, 0, ?, ?, ?, ?, ?)
       -- The receiver has reported progress before its response.
       ON CONFLICT DO UPDATE SET attempt = excluded.attempt, is_awaiting = 1, started_at = excluded.started_at, latest_at = excluded.latest_at,
         deadline_at = max(excluded.deadline_at, min(deadline_at, excluded.latest_at)), status = excluded.status,
         response_headers = excluded.response_headers, response_body = excluded.response_body,
         is_response_body_cut = excluded.is_response_body_cut, stored_bytes = excluded.stored_bytes`,
    accountId,
    seq,
    attempt.number,
    attempt.startedAt,
    deadlineAt,
    latestAt,
    attempt.status,
    JSON.stringify(attempt.responseHeaders),
    attempt.responseBody,
    attempt.isResponseBodyCut ? 1 : 0,
    bytes,
  );
  journal.add(accountId, seq, AWAITING_ACK, attempt.endedAt);
  stored.add(accountId, bytes);
  return 'settled';
}

/** Whether the attempt was to end because its ack was due, and is not: it was extended meanwhile. */
function isAckLater(
  database: Database,
  { account_id: accountId, seq }: Key,
  { dueBy }: NonNullable<Settlement['ack']>,
): boolean {
  if (dueBy === null) return false;
  const sql = 'SELECT 1 FROM acks WHERE account_id = ? AND message_seq = ? AND is_awaiting = 1 AND deadline_at <= ?';
  return database.get(sql, accountId, seq, dueBy) === undefined;
}

/** The record of the attempt takes the place of what was kept until its end. */
function forgetAck(database: Database, { stored }: TransactionCaches, { account_id: accountId, seq }: Key): void {
  const sql = 'DELETE FROM acks WHERE account_id = ? AND message_seq = ? RETURNING stored_bytes AS bytes';
  for (const { bytes } of database.all<{ bytes: number }>(sql, accountId, seq)) {
    if (bytes === 0) continue;
    stored.add(accountId, -bytes);
    database.run('UPDATE messages SET stored_bytes = stored_bytes - ? WHERE seq = ?', bytes, seq);
  }
}

/** A cancelled message ends with its attempt, so the ack is due now. */
export function endAwaiting(database: Database, { account_id: accountId, seq }: Key): void {
  database.run(
    'UPDATE acks SET deadline_at = 0 WHERE account_id = ? AND message_seq = ? AND is_awaiting = 1',
    accountId,
    seq,
  );
}
