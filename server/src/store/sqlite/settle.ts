// Writes the end of an attempt: its record, the message's next state and the callbacks, if the lease still stands.
// And the ends that need no attempt: cancelled, and delivered now.

import { COUNTED, countedEnd } from '../../domain/activity.ts';
import type { Claim, Settlement, SettleResult } from '../../domain/message.ts';
import { NEVER_AT } from '../../domain/recovery.ts';
import { afterCancel } from '../../domain/settle.ts';
import { CANCELLED, type MessageRow } from '../rows.ts';
import { earlier } from '../standing-offer.ts';
import type { Estate } from '../succession.ts';
import { accept } from './accept.ts';
import { writeInterruptions } from './alone.ts';
import type { Books } from './books.ts';
import { claimNext } from './claim.ts';
import type { Database } from './database.ts';
import { admitWaiting } from './flow-keys.ts';
import { insertAttempt } from './messages.ts';
import { isPaused, nextStartAt, settleOrderKey, startHeads } from './queues.ts';

export interface SettleReply {
  readonly results: readonly SettleResult[];
  readonly dueAt: number | null;
  /** The next of their queues, leased to the heir. */
  readonly claims: readonly Claim[];
}

interface Held {
  readonly seq: number;
  readonly account_id: string;
  readonly host: string;
  readonly queue_name: string | null;
  readonly order_key: string | null;
  readonly flow_key: string | null;
  readonly deduplication_key: string | null;
  readonly interrupted: number;
}

const HELD = 'seq, account_id, host, queue_name, order_key, flow_key, deduplication_key, interrupted';
const FIND_CLAIMED = `SELECT ${HELD} FROM messages WHERE id = ? AND account_id = ? AND state = 'claimed' AND lease = ?`;

export function settle(
  database: Database,
  books: Books,
  settlements: readonly Settlement[],
  now: number,
  estate: Estate | null = null,
): SettleReply {
  let dueAt: number | null = null;
  const claims: Claim[] = [];
  const results = settlements.map((settlement): SettleResult => {
    const held = database.get<Held>(FIND_CLAIMED, settlement.messageId, settlement.accountId, settlement.lease);
    if (!held) {
      const late = recordLate(database, books, afterCancel(settlement), now);
      dueAt = earlier(dueAt, late?.dueAt ?? null);
      return late ? 'cancelled' : 'lost';
    }
    insertAttempt(database, held.seq, settlement.attempt);
    books.journal.add(held.account_id, held.seq, settlement.attempt.number, settlement.attempt.endedAt);
    const counted = countedEnd(settlement.attempt, settlement.lagMs);
    if (counted !== null) books.activity.add(held.account_id, counted, settlement.attempt.endedAt);
    const nextAt = writeNext(database, held, settlement, now);
    const isPlaceFree = held.queue_name !== null && isEnd(settlement) && nextAt !== null;
    const heir = isPlaceFree && estate?.accounts.includes(held.account_id) ? estate : null;
    const lease = heir && { lease: `${heir.leasePrefix}.${claims.length}`, node: heir.node };
    const claim = lease && claimNext(database, books, held, lease, now);
    if (claim) claims.push(claim);
    dueAt = earlier(dueAt, claim ? nextStartAt(database, held.account_id, held.queue_name!) : nextAt);
    if (settlement.followUps.length > 0) {
      const followUps = { messages: settlement.followUps, leases: [], node: '', now, dayMax: null };
      dueAt = earlier(dueAt, accept(database, books, followUps).dueAt);
    }
    return 'settled';
  });
  return { results, dueAt, claims };
}

/**
 * Of a message that was cancelled while its attempt was under way: null when it is no such attempt. Its number tells,
 * because whoever takes over an attempt records it.
 */
function recordLate(
  database: Database,
  books: Books,
  { accountId, messageId, attempt, interrupted, aloneAtCrash, followUps }: Settlement,
  now: number,
): { readonly dueAt: number | null } | null {
  const row = database.get<{ seq: number }>(
    "SELECT seq FROM messages WHERE id = ? AND account_id = ? AND state = 'cancelled' AND attempts = ?",
    messageId,
    accountId,
    attempt.number - 1,
  );
  if (!row) return null;
  insertAttempt(database, row.seq, attempt);
  books.journal.add(accountId, row.seq, attempt.number, attempt.endedAt);
  database.run(
    'UPDATE messages SET attempts = ?, last_status = ?, interrupted = ?, alone_at_crash = ? WHERE seq = ?',
    attempt.number,
    attempt.status,
    interrupted,
    aloneAtCrash,
    row.seq,
  );
  if (followUps.length === 0) return { dueAt: null };
  return { dueAt: accept(database, books, { messages: followUps, leases: [], node: '', now, dayMax: null }).dueAt };
}

function isEnd({ next }: Settlement): boolean {
  return next.state !== 'pending' && next.state !== 'held';
}

function writeNext(database: Database, held: Held, settlement: Settlement, now: number): number | null {
  const { next, retried, interrupted, attempt } = settlement;
  if (next.state === 'pending' || next.state === 'held') {
    const waits = held.queue_name !== null && isPaused(database, held.account_id, held.queue_name);
    database.run(
      `UPDATE messages SET state = ?, lease = NULL, node = NULL, claimed_at = NULL,
         holds_slot = iif(flow_key IS NULL, holds_slot, 0),
         due_at = ?, retried = ?, interrupted = ?, attempts = ?, last_status = ? WHERE seq = ?`,
      waits ? 'queued' : 'delayed',
      next.state === 'held' ? NEVER_AT : next.dueAt,
      retried,
      interrupted,
      attempt.number,
      attempt.status,
      held.seq,
    );
    if (held.interrupted > 0 || interrupted > 0) writeInterruptions(database, held.seq, settlement);
    const startAt = letOthersStart(database, held, now);
    const isByClock = !waits && next.state === 'pending' && !next.startsAlone;
    return isByClock ? earlier(next.dueAt, startAt) : startAt;
  }
  database.run(
    `UPDATE messages SET state = ?, lease = NULL, node = NULL, claimed_at = NULL, holds_slot = 0, retried = ?,
       interrupted = ?, attempts = ?, last_status = ?, ended_at = ?, expires_at = ?, failure = ? WHERE seq = ?`,
    next.state,
    retried,
    interrupted,
    attempt.number,
    attempt.status,
    attempt.endedAt,
    next.expiresAt,
    next.state === 'failed' ? next.failure : null,
    held.seq,
  );
  if (held.interrupted > 0) writeInterruptions(database, held.seq, settlement);
  // A message that failed must not swallow the one that is sent to make up for it.
  if (next.state === 'failed') forgetDeduplication(database, held, settlement.messageId);
  return letOthersStart(database, held, now);
}

/** Whoever waited for this message's place: in its queue, for its order key, under its flow key. */
function letOthersStart(database: Database, held: Held, now: number): number | null {
  const { account_id: accountId, queue_name: queueName, order_key: orderKey, flow_key: flowKey } = held;
  if (queueName !== null) {
    if (orderKey !== null) settleOrderKey(database, accountId, queueName, orderKey);
    return startHeads(database, accountId, queueName, now);
  }
  return flowKey === null ? null : admitWaiting(database, accountId, flowKey, now);
}

function forgetDeduplication(database: Database, held: Held, messageId: string): void {
  if (held.deduplication_key === null) return;
  database.run(
    'DELETE FROM deduplication WHERE account_id = ? AND key = ? AND message_id = ?',
    held.account_id,
    held.deduplication_key,
    messageId,
  );
}

export function cancel(
  database: Database,
  books: Books,
  accountId: string,
  messageIds: readonly string[],
  now: number,
  expiresAt: number,
): { cancelled: string[]; dueAt: number | null } {
  let dueAt: number | null = null;
  const cancelled = messageIds.filter((id) => {
    const open = database.get<Held>(
      `SELECT ${HELD} FROM messages WHERE id = ? AND account_id = ? AND ended_at IS NULL`,
      id,
      accountId,
    );
    if (!open) return false;
    database.run(
      `UPDATE messages SET state = 'cancelled', lease = NULL, node = NULL, claimed_at = NULL, holds_slot = 0,
         ended_at = ?, expires_at = ?, due_at = ifnull(alone_from_at, due_at), alone_from_at = NULL, held_at = NULL
         WHERE seq = ?`,
      now,
      expiresAt,
      open.seq,
    );
    books.journal.add(accountId, open.seq, CANCELLED, now);
    books.activity.add(accountId, COUNTED.cancelled, now);
    forgetDeduplication(database, open, id);
    dueAt = earlier(dueAt, letOthersStart(database, open, now));
    return true;
  });
  return { cancelled, dueAt };
}

/** Makes a message that waits for the clock due now. `inQueue`: its turn cannot be brought forward. */
export function deliverNow(
  database: Database,
  accountId: string,
  messageId: string,
  now: number,
): 'due' | 'inQueue' | 'held' | 'notWaiting' {
  const row = database.get<Held & Pick<MessageRow, 'state' | 'held_at' | 'alone_from_at'>>(
    `SELECT state, held_at, alone_from_at, ${HELD} FROM messages WHERE id = ? AND account_id = ? AND ended_at IS NULL`,
    messageId,
    accountId,
  );
  if (!row) return 'notWaiting';
  if (row.held_at !== null) return 'held';
  if (row.queue_name !== null) return 'inQueue';
  if (row.state === 'delayed') {
    const column = row.alone_from_at === null ? 'due_at' : 'alone_from_at';
    database.run(`UPDATE messages SET ${column} = ? WHERE seq = ?`, now, row.seq);
  }
  return 'due';
}
