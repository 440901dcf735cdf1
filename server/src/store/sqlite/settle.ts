// Writes the end of an attempt: its record, the message's next state and the callbacks, if the lease still stands.

import type { Settlement } from '../../domain/message.ts';
import { accept, earlier } from './accept.ts';
import type { Database } from './database.ts';
import { insertAttempt } from './messages.ts';
import { isPaused, startHeads } from './queues.ts';

export interface SettleReply {
  readonly results: readonly ('settled' | 'lost')[];
  readonly dueAt: number | null;
}

interface Held {
  readonly seq: number;
  readonly account_id: string;
  readonly queue_name: string | null;
}

export function settle(database: Database, settlements: readonly Settlement[], now: number): SettleReply {
  let dueAt: number | null = null;
  const results = settlements.map((settlement) => {
    const held = database.get<Held>(
      `SELECT seq, account_id, queue_name FROM messages
         WHERE id = ? AND account_id = ? AND state = 'claimed' AND lease = ?`,
      settlement.messageId,
      settlement.accountId,
      settlement.lease,
    );
    if (!held) return 'lost';
    insertAttempt(database, held.seq, settlement.attempt);
    dueAt = earlier(dueAt, writeNext(database, held, settlement, now));
    if (settlement.followUps.length > 0) {
      const followUps = { messages: settlement.followUps, leases: [], node: '', now };
      dueAt = earlier(dueAt, accept(database, followUps).dueAt);
    }
    return 'settled';
  });
  return { results, dueAt };
}

function writeNext(database: Database, held: Held, settlement: Settlement, now: number): number | null {
  const { next, retried, interrupted, attempt } = settlement;
  if (next.state === 'pending') {
    const waits = held.queue_name !== null && isPaused(database, held.account_id, held.queue_name);
    database.run(
      `UPDATE messages SET state = ?, lease = NULL, node = NULL, due_at = ?, retried = ?, interrupted = ?, attempts = ?
         WHERE seq = ?`,
      waits ? 'queued' : 'delayed',
      next.dueAt,
      retried,
      interrupted,
      attempt.number,
      held.seq,
    );
    const startAt = held.queue_name === null ? null : startHeads(database, held.account_id, held.queue_name, now);
    return waits ? startAt : earlier(next.dueAt, startAt);
  }
  database.run(
    `UPDATE messages SET state = ?, lease = NULL, node = NULL, holds_slot = 0, retried = ?, interrupted = ?,
       attempts = ?, ended_at = ?, expires_at = ?, failure = ? WHERE seq = ?`,
    next.state,
    retried,
    interrupted,
    attempt.number,
    attempt.endedAt,
    next.expiresAt,
    next.state === 'failed' ? next.failure : null,
    held.seq,
  );
  return held.queue_name === null ? null : startHeads(database, held.account_id, held.queue_name, now);
}

export function cancel(
  database: Database,
  accountId: string,
  messageIds: readonly string[],
  now: number,
  expiresAt: number,
): { cancelled: string[]; dueAt: number | null } {
  let dueAt: number | null = null;
  const cancelled = messageIds.filter((id) => {
    const open = database.get<Held>(
      'SELECT seq, account_id, queue_name FROM messages WHERE id = ? AND account_id = ? AND ended_at IS NULL',
      id,
      accountId,
    );
    if (!open) return false;
    database.run(
      `UPDATE messages SET state = 'cancelled', lease = NULL, node = NULL, holds_slot = 0, ended_at = ?, expires_at = ?
         WHERE seq = ?`,
      now,
      expiresAt,
      open.seq,
    );
    if (open.queue_name !== null) {
      dueAt = earlier(dueAt, startHeads(database, accountId, open.queue_name, now));
    }
    return true;
  });
  return { cancelled, dueAt };
}
