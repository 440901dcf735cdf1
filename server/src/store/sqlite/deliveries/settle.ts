// Writes the end of an attempt, if its lease is still valid: the record of the attempt, the next state of the message
// and the callbacks. Also contains `deliverNow`.

import { countKindOfEnd } from '../../../rules/accounts/activity.ts';
import type { Claim, NewMessage, Settlement, SettleResult } from '../../../rules/delivery/message.ts';
import { afterCancel } from '../../../rules/delivery/settle.ts';
import { bytesOfAttempt } from '../../../rules/limits/stored-bytes.ts';
import {
  afterAttempt,
  type DeliverNowResult,
  planDeliverNow,
  type UnclaimedMessage,
} from '../../../rules/lines/line.ts';
import { earlier } from '../../../rules/time/instant.ts';
import { ONE_MORE_CHANGE } from '../../shared/changed-message.ts';
import type { SettleReply } from '../../shared/commands.ts';
import type { SuccessorLeases } from '../../shared/succession.ts';
import { settleAck } from '../messages/acks.ts';
import { attemptForMessageRow, insertAttempt } from '../messages/messages.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';
import { accept } from './accept.ts';
import { writeInterruptions } from './alone.ts';
import { claimSuccessor } from './claim.ts';
import {
  endCancelledClaim,
  forgetDeduplication,
  OPEN_MESSAGE_COLUMNS,
  type OpenMessage,
  startWaitingMessages,
} from './open-message.ts';
import { isPaused, nextStartAt, releasePlaceIfOvertaken } from './queues.ts';

const FIND_CLAIMED = `SELECT ${OPEN_MESSAGE_COLUMNS} FROM messages WHERE id = ? AND account_id = ? AND state = 'claimed' AND lease = ?`;

export function settle(
  database: Database,
  caches: TransactionCaches,
  settlements: readonly Settlement[],
  now: number,
  successors: SuccessorLeases | null = null,
): SettleReply {
  let dueAt: number | null = null;
  const claims: Claim[] = [];
  const results = settlements.map((settlement): SettleResult => {
    if (endPlain(database, caches, settlement)) {
      dueAt = earlier(dueAt, acceptFollowUps(database, caches, settlement.followUps, now));
      return 'settled';
    }
    const held = database.get<OpenMessage>(FIND_CLAIMED, settlement.messageId, settlement.accountId, settlement.lease);
    if (!held) return 'lost';
    const ofAck = settleAck(database, caches, held, settlement);
    if (ofAck !== null) return ofAck;
    if (held.cancel_requested_at !== null) {
      dueAt = earlier(dueAt, endCancelled(database, caches, held, afterCancel(settlement), now));
      return 'cancelled';
    }
    insertAttempt(database, held.seq, settlement.attempt);
    record(caches, held.seq, settlement);
    const nextAt = writeNext(database, held, settlement, now);
    const isPlaceFree = held.queue_name !== null && isEnd(settlement) && nextAt !== null;
    const holder = isPlaceFree && successors?.accounts.includes(held.account_id) ? successors : null;
    const lease = holder && { lease: `${holder.leasePrefix}.${claims.length}`, node: holder.node };
    const claim = lease && claimSuccessor(database, caches, held, lease, now);
    if (claim) claims.push(claim);
    dueAt = earlier(dueAt, claim ? nextStartAt(database, held.account_id, held.queue_name!) : nextAt);
    dueAt = earlier(dueAt, acceptFollowUps(database, caches, settlement.followUps, now));
    return 'settled';
  });
  return { results, dueAt, claims };
}

/**
 * Settles the common case with one statement: the row is known, this was the last attempt, and no queue or key depends
 * on the message. In any other case, or if the lease is no longer valid, changes nothing and returns false.
 */
function endPlain(database: Database, caches: TransactionCaches, settlement: Settlement): boolean {
  const { row, messageId, accountId, lease, isPlain, retried, interrupted, attempt } = settlement;
  if (row === null || !isPlain || interrupted > 0) return false;
  const { state, endedAt, expiresAt, failure, failureCode } = afterAttempt(settlement, false);
  if (endedAt === null || failureCode !== null) return false;
  const first = attemptForMessageRow(settlement);
  // No group holds the row of this message unwritten: a lease is handed out only after the commit of its message.
  const changes = database.runWithoutGroups(
    `UPDATE messages SET state = ?, lease = NULL, node = NULL, claimed_at = NULL, retried = ?, attempts = ?,
       last_status = ?, ended_at = ?, expires_at = ?, failure = ?, first_started_at = ?, first_response_headers = ?,
       first_response_body = ?, stored_bytes = ifnull(stored_bytes, 0) + ?
       WHERE seq = ? AND id = ? AND account_id = ? AND lease = ? AND cancel_requested_at IS NULL AND interrupted = 0`,
    state,
    retried,
    attempt.number,
    attempt.status,
    endedAt,
    expiresAt,
    failure,
    first && attempt.startedAt,
    first?.headers ?? null,
    first?.body ?? null,
    bytesOfAttempt(attempt),
    row,
    messageId,
    accountId,
    lease,
  );
  if (changes === 0) return false;
  if (!first) insertAttempt(database, row, attempt);
  record(caches, row, settlement);
  return true;
}

/** Writes the journal row and the counts of an attempt, whatever its outcome. */
function record(caches: TransactionCaches, seq: number, { accountId, attempt, lagMs, next }: Settlement): void {
  caches.journal.add(accountId, seq, attempt.number, attempt.endedAt);
  caches.stored.add(accountId, bytesOfAttempt(attempt));
  const counted = countKindOfEnd(attempt, lagMs, next.state === 'failed');
  if (counted !== null) caches.activity.add(accountId, counted, attempt.endedAt);
}

function acceptFollowUps(
  database: Database,
  caches: TransactionCaches,
  messages: readonly NewMessage[],
  now: number,
): number | null {
  if (messages.length === 0) return null;
  return accept(database, caches, { messages, leases: [], node: '', now, dayMax: null }).dueAt;
}

/** A message whose cancel was requested during its attempt ends as cancelled, whatever the outcome of the attempt. */
function endCancelled(
  database: Database,
  caches: TransactionCaches,
  held: OpenMessage,
  { attempt, interrupted, aloneAtCrash, followUps }: Settlement,
  now: number,
): number | null {
  insertAttempt(database, held.seq, attempt);
  caches.journal.add(held.account_id, held.seq, attempt.number, attempt.endedAt);
  caches.stored.add(held.account_id, bytesOfAttempt(attempt));
  database.run(
    `UPDATE messages SET attempts = ?, last_status = ?, interrupted = ?, alone_at_crash = ?,
       stored_bytes = ifnull(stored_bytes, 0) + ? WHERE seq = ?`,
    attempt.number,
    attempt.status,
    interrupted,
    aloneAtCrash,
    bytesOfAttempt(attempt),
    held.seq,
  );
  endCancelledClaim(database, caches, held, attempt.endedAt);
  const startAt = startWaitingMessages(database, held, now);
  return earlier(startAt, acceptFollowUps(database, caches, followUps, now));
}

function isEnd({ next }: Settlement): boolean {
  return next.state !== 'pending' && next.state !== 'held';
}

function writeNext(database: Database, held: OpenMessage, settlement: Settlement, now: number): number | null {
  const { retried, interrupted, attempt } = settlement;
  const isQueuePaused =
    !isEnd(settlement) && held.queue_name !== null && isPaused(database, held.account_id, held.queue_name);
  const after = afterAttempt(settlement, isQueuePaused);
  if (after.endedAt === null) {
    database.run(
      `UPDATE messages SET state = ?, lease = NULL, node = NULL, claimed_at = NULL,
         holds_place = iif(flow_key IS NULL, holds_place, 0),
         due_at = ?, retried = ?, interrupted = ?, attempts = ?, last_status = ?,
         stored_bytes = ifnull(stored_bytes, 0) + ? WHERE seq = ?`,
      after.state,
      after.dueAt,
      retried,
      interrupted,
      attempt.number,
      attempt.status,
      bytesOfAttempt(attempt),
      held.seq,
    );
    if (held.queue_name !== null) releasePlaceIfOvertaken(database, held.account_id, held.queue_name, held.seq);
  } else {
    database.run(
      `UPDATE messages SET state = ?, lease = NULL, node = NULL, claimed_at = NULL, holds_place = 0, retried = ?,
         interrupted = ?, attempts = ?, last_status = ?, ended_at = ?, expires_at = ?, failure = ?,
         stored_bytes = ifnull(stored_bytes, 0) + ? WHERE seq = ?`,
      after.state,
      retried,
      interrupted,
      attempt.number,
      attempt.status,
      after.endedAt,
      after.expiresAt,
      after.failure,
      bytesOfAttempt(attempt),
      held.seq,
    );
  }
  if (held.interrupted > 0 || interrupted > 0) writeInterruptions(database, held.seq, settlement.aloneAtCrash, after);
  if (after.failureCode !== null) {
    database.run('UPDATE messages SET failure_code = ? WHERE seq = ?', after.failureCode, held.seq);
  }
  // A failed message releases its deduplication key, so that a later message sent to replace it is no duplicate.
  if (after.state === 'failed') forgetDeduplication(database, held, settlement.messageId);
  return earlier(after.startAt, startWaitingMessages(database, held, now));
}

/** Makes a message due now, if it waits for its due time. */
export function deliverNow(database: Database, accountId: string, messageId: string, now: number): DeliverNowResult {
  const row = database.get<UnclaimedMessage & { seq: number }>(
    `SELECT seq, state, queue_name, held_at, alone_from_at FROM messages
       WHERE id = ? AND account_id = ? AND ended_at IS NULL`,
    messageId,
    accountId,
  );
  const { answer, column } = planDeliverNow(row);
  if (row && column) database.run(`UPDATE messages SET ${column} = ?, ${ONE_MORE_CHANGE} WHERE seq = ?`, now, row.seq);
  return answer;
}
