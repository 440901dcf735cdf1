// Cancels messages. A message that is not claimed ends at once. A claimed message is marked and ends with its claim.

import { COUNT_KINDS } from '../../../rules/accounts/activity.ts';
import { earlier } from '../../../rules/time/instant.ts';
import { CANCEL_REQUESTED, CANCELLED, NODE_AWAITING } from '../../rows/rows.ts';
import type { CancelReply } from '../../shared/commands.ts';
import { endAwaiting } from '../messages/acks.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';
import { deleteUnusedBody } from './bodies.ts';
import { forgetDeduplication, OPEN_MESSAGE_COLUMNS, type OpenMessage, startWaitingMessages } from './open-message.ts';
import { isDead, type LifeCheck } from './orphans.ts';

const ENDED = `state = 'cancelled', holds_place = 0, ended_at = ?, expires_at = ?,
  due_at = ifnull(alone_from_at, due_at), alone_from_at = NULL, held_at = NULL`;
const END = `UPDATE messages SET ${ENDED} WHERE seq = ?`;
/**
 * For messages that are not kept after their end. SQLite rewrites a changed row with its body, and a full disk may have
 * no space for that. This statement removes the body, which frees space at once.
 */
const END_WITHOUT_BODY = `UPDATE messages SET ${ENDED}, body = x'', body_id = NULL WHERE seq = ?`;

type ToCancel = OpenMessage & {
  readonly lease: string | null;
  readonly node: string | null;
  readonly body_id: number | null;
};

export function cancel(
  database: Database,
  caches: TransactionCaches,
  accountId: string,
  messageIds: readonly string[],
  now: number,
  expiresAt: number,
): CancelReply {
  const [cancelled, requested, awaited]: [string[], string[], string[]] = [[], [], []];
  let dueAt: number | null = null;
  for (const id of new Set(messageIds)) {
    const open = database.get<ToCancel>(
      `SELECT lease, node, body_id, ${OPEN_MESSAGE_COLUMNS} FROM messages WHERE id = ? AND account_id = ? AND ended_at IS NULL`,
      id,
      accountId,
    );
    if (!open) continue;
    if (open.cancel_requested_at !== null) {
      awaited.push(id);
      continue;
    }
    forgetDeduplication(database, open, id);
    caches.activity.add(accountId, COUNT_KINDS.cancelled, now);
    if (open.lease !== null) {
      requested.push(id);
      requestEnd(database, caches, open, now, expiresAt);
    } else {
      cancelled.push(id);
      end(database, caches, open, now, expiresAt);
      dueAt = earlier(dueAt, startWaitingMessages(database, open, now));
    }
  }
  return { cancelled, requested, awaited, dueAt };
}

function requestEnd(database: Database, caches: TransactionCaches, open: ToCancel, now: number, expiresAt: number) {
  caches.journal.add(open.account_id, open.seq, CANCEL_REQUESTED, now);
  if (open.node === NODE_AWAITING) endAwaiting(database, open);
  database.run(
    'UPDATE messages SET cancel_requested_at = ?, cancel_expires_at = ? WHERE seq = ?',
    now,
    expiresAt,
    open.seq,
  );
}

function end(database: Database, caches: TransactionCaches, open: ToCancel, now: number, expiresAt: number): void {
  caches.journal.add(open.account_id, open.seq, CANCELLED, now);
  const isKept = expiresAt > now;
  database.run(isKept ? END : END_WITHOUT_BODY, now, expiresAt, open.seq);
  if (!isKept && open.body_id !== null) deleteUnusedBody(database, caches, open.body_id);
}

/** The leases of a node for messages whose cancel was requested. */
export function cancelledClaims(database: Database, node: string): string[] {
  const rows = database.all<{ lease: string }>(
    "SELECT lease FROM messages WHERE state = 'claimed' AND node = ? AND cancel_requested_at IS NOT NULL",
    node,
  );
  return rows.map(({ lease }) => lease);
}

/** Those messages whose cancel was requested and whose claim belongs to a node that may be alive, with this node. */
export function nodesHoldingCancelled(
  database: Database,
  accountId: string,
  messageIds: readonly string[],
  look: LifeCheck,
): { id: string; node: string }[] {
  const claimed = messageIds.flatMap((id) =>
    database.all<{ id: string; node: string }>(
      `SELECT id, node FROM messages
         WHERE id = ? AND account_id = ? AND cancel_requested_at IS NOT NULL AND ended_at IS NULL AND node IS NOT NULL`,
      id,
      accountId,
    ),
  );
  return claimed.filter(({ node }) => !isDead(database, node, look));
}
