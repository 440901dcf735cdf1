// Cancels messages. A message that is not claimed ends at once. A claimed message is marked and ends with its claim.

import { COUNT_KINDS } from '../../../rules/accounts/activity.ts';
import { CANCEL_REQUESTED, CANCELLED, NODE_AWAITING } from '../../rows/rows.ts';
import type { CancelReply } from '../../shared/commands.ts';
import { endAwaiting } from '../messages/acks.ts';
import { activityCountSql } from '../messages/activity.ts';
import { nullEachUnstorable } from '../messages/storable.ts';
import type { Database } from '../sessions/database.ts';
import { positionSql } from './journal.ts';
import { forgetDeduplication, LockedLines, OPEN_MESSAGE_COLUMNS, type OpenMessage } from './open-message.ts';

export interface CancelStep extends CancelReply {
  /** Open messages that were left unchanged, because another transaction was changing them. */
  readonly busy: readonly string[];
}

/** Cancels in one transaction. In a deadlock with a claim, PostgreSQL aborts one of the two, which runs again. */
export function cancel(
  database: Database,
  accountId: string,
  messageIds: readonly string[],
  now: number,
  expiresAt: number,
): Promise<CancelReply> {
  return cancelOpen(database, accountId, messageIds, now, expiresAt, null);
}

/**
 * Cancels without waiting: leaves out messages that another transaction is changing. A claim locks its messages before
 * their flow keys, and a cancel locks the keys before it changes the messages. So a cancel that waited for a message
 * could deadlock with a claim that waits for the key, and block everyone else who needs the key, until the server
 * notices after a second.
 */
export async function cancelFree(
  database: Database,
  accountId: string,
  messageIds: readonly string[],
  now: number,
  expiresAt: number,
): Promise<CancelStep> {
  const busy: string[] = [];
  return { ...(await cancelOpen(database, accountId, messageIds, now, expiresAt, busy)), busy };
}

/** Waits until no other transaction is changing the first of these messages. The caller must hold no lock meanwhile. */
export async function waitForFirst(
  database: Database,
  accountId: string,
  messageIds: readonly string[],
): Promise<void> {
  await database.run('SELECT 1 FROM messages WHERE account_id = $1 AND id = $2 FOR SHARE', accountId, messageIds[0]!);
}

/**
 * Ends messages that are not claimed. A claimed message keeps its claim and its place and is marked: it ends with the
 * claim. The update checks the lease again, because the message may be claimed or settled meanwhile. Messages that
 * another transaction is changing are skipped and added to `busy`. If `busy` is null, this waits for them.
 */
async function cancelOpen(
  database: Database,
  accountId: string,
  messageIds: readonly string[],
  now: number,
  expiresAt: number,
  busy: string[] | null,
): Promise<CancelReply> {
  const found = await database.all<OpenMessage & { cancel_requested_at: number | null }>(
    `SELECT ${OPEN_MESSAGE_COLUMNS}, m.cancel_requested_at FROM messages m
       WHERE m.account_id = $1 AND m.id = ANY($2::text[]) AND m.ended_at IS NULL`,
    accountId,
    nullEachUnstorable(messageIds),
  );
  if (found.length === 0) return { cancelled: [], requested: [], awaited: [], dueAt: null };
  const lines = await LockedLines.lock(database, found);
  const open = busy === null ? found : await lockFree(database, accountId, found, busy);
  if (open.length === 0) return { cancelled: [], requested: [], awaited: [], dueAt: null };
  const rows = await database.all<{ id: string; seq: number; is_claimed: boolean; is_awaiting: boolean }>(
    `WITH gone AS
       (UPDATE messages m SET state = CASE WHEN m.lease IS NULL THEN 'cancelled' ELSE m.state END,
          holds_place = m.holds_place AND m.lease IS NOT NULL,
          ended_at = CASE WHEN m.lease IS NULL THEN $3::bigint END,
          expires_at = CASE WHEN m.lease IS NULL THEN $4::bigint END,
          cancel_requested_at = CASE WHEN m.lease IS NOT NULL THEN $3::bigint END,
          cancel_expires_at = CASE WHEN m.lease IS NOT NULL THEN $4::bigint END,
          due_at = coalesce(m.alone_from_at, m.due_at), alone_from_at = NULL, held_at = NULL
        WHERE m.account_id = $1 AND m.id = ANY($2::text[]) AND m.ended_at IS NULL AND m.cancel_requested_at IS NULL
        RETURNING m.account_id, m.seq, m.id, m.lease IS NOT NULL AS is_claimed, coalesce(m.node = '${NODE_AWAITING}', false) AS is_awaiting),
     journalled AS
       (INSERT INTO journal (account_id, seq, at, message_seq, step)
        SELECT account_id, ${positionSql('account_id', 'array_position($2::text[], id)')}, $3, seq,
            CASE WHEN is_claimed THEN ${CANCEL_REQUESTED} ELSE ${CANCELLED} END
          FROM gone),
     happened AS (${activityCountSql(`SELECT account_id, $3::bigint AS at, ${COUNT_KINDS.cancelled}::smallint AS kind FROM gone`)})
     SELECT id, seq, is_claimed, is_awaiting FROM gone`,
    accountId,
    open.map(({ id }) => id),
    now,
    expiresAt,
  );
  const awaiting = rows.filter(({ is_awaiting }) => is_awaiting);
  if (awaiting.length > 0)
    await endAwaiting(
      database,
      accountId,
      awaiting.map(({ seq }) => seq),
    );
  const isClaimed = new Map(rows.map(({ id, is_claimed }) => [id, is_claimed]));
  await forgetDeduplication(
    database,
    open.filter(({ id }) => isClaimed.has(id)),
  );
  const ended = open.filter(({ id }) => isClaimed.get(id) === false);
  const { dueAt } = await lines.startWaitingMessages(database, ended, now);
  const before = new Set(open.flatMap(({ id, cancel_requested_at }) => (cancel_requested_at === null ? [] : [id])));
  const named = [...new Set(messageIds)];
  return {
    cancelled: named.filter((id) => isClaimed.get(id) === false),
    requested: named.filter((id) => isClaimed.get(id)),
    awaited: named.filter((id) => before.has(id)),
    dueAt,
  };
}

/** Locks those messages that can be locked without waiting. */
async function lockFree<T extends { readonly id: string }>(
  database: Database,
  accountId: string,
  found: readonly T[],
  busy: string[],
): Promise<T[]> {
  const free = await database.all<{ id: string }>(
    'SELECT id FROM messages WHERE account_id = $1 AND id = ANY($2::text[]) FOR UPDATE SKIP LOCKED',
    accountId,
    found.map(({ id }) => id),
  );
  const isFree = new Set(free.map(({ id }) => id));
  for (const { id } of found) if (!isFree.has(id)) busy.push(id);
  return found.filter(({ id }) => isFree.has(id));
}

/** The leases of a node whose messages are to be cancelled. */
export async function cancelledClaims(database: Database, node: string): Promise<string[]> {
  const rows = await database.all<{ lease: string }>(
    `SELECT lease FROM messages WHERE state = 'claimed' AND node = $1 AND cancel_requested_at IS NOT NULL`,
    node,
  );
  return rows.map(({ lease }) => lease);
}

/** The given messages whose cancel was requested and whose node may still be alive, by the clock of the database. */
export function nodesHoldingCancelled(
  database: Database,
  accountId: string,
  messageIds: readonly string[],
): Promise<{ id: string; node: string }[]> {
  return database.all<{ id: string; node: string }>(
    `SELECT m.id, m.node FROM messages m JOIN nodes n ON n.id = m.node AND n.alive_until > clock_timestamp()
       WHERE m.account_id = $1 AND m.id = ANY($2::text[]) AND m.cancel_requested_at IS NOT NULL AND m.ended_at IS NULL`,
    accountId,
    nullEachUnstorable(messageIds),
  );
}
