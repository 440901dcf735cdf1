// Dead letters are failed messages. A retry accepts a new message and marks the old one with its id, in one
// transaction. The old one can still be read until its retention ends.

import type { DeadLetterRetry, NewMessage } from '../../../rules/delivery/message.ts';
import type { RetryReply } from '../../shared/commands.ts';
import { accept } from '../deliveries/accept.ts';
import type { Database } from '../sessions/database.ts';
import { deleteLocked, type LockedRow } from './messages.ts';
import { nullIfUnstorable } from './storable.ts';

type DeadLetter = LockedRow & { id: string };

/**
 * Locks those of the named messages that are failed, each once, until the transaction ends. Waits if another
 * transaction has locked one of them, because that transaction may leave it unchanged. All lock in one order, so that
 * no deadlock can occur.
 */
function holdFailed(
  database: Database,
  named: readonly { readonly accountId: string; readonly messageId: string }[],
  isDead = '',
): Promise<DeadLetter[]> {
  return database.all<DeadLetter>(
    `SELECT m.account_id, m.seq, m.labels, m.body_id, m.id FROM messages m
       WHERE (m.account_id, m.id) IN (SELECT k.account_id, k.id FROM unnest($1::text[], $2::text[]) AS k (account_id, id))
         AND m.state = 'failed' ${isDead}
       ORDER BY m.account_id, m.seq FOR UPDATE OF m`,
    named.map(({ accountId }) => accountId),
    named.map(({ messageId }) => nullIfUnstorable(messageId)),
  );
}

export async function deleteDeadLetters(
  database: Database,
  accountId: string,
  messageIds: readonly string[],
): Promise<number> {
  if (messageIds.length === 0) return 0;
  const named = messageIds.map((messageId) => ({ accountId, messageId }));
  return deleteLocked(database, await holdFailed(database, named));
}

/** Parallel to `retries`: whether each was done. */
export async function retryDeadLetters(
  database: Database,
  retries: readonly DeadLetterRetry[],
  now: number,
  dayMax: number | null,
): Promise<RetryReply> {
  if (retries.length === 0) return { isRetried: [], isOverQuota: false, dueAt: null };
  const named = retries.map(({ messageId, message: { accountId } }) => ({ accountId, messageId }));
  const held = await holdFailed(database, named, 'AND m.retried_at IS NULL');
  const left = new Map(held.map((dead) => [JSON.stringify([dead.account_id, dead.id]), dead]));
  const dead = new Map<NewMessage, DeadLetter>();
  for (const { messageId, message } of retries) {
    const key = JSON.stringify([message.accountId, messageId]);
    const found = left.get(key);
    if (found) dead.set(message, found);
    // A message that is named twice is retried once.
    left.delete(key);
  }
  const messages = [...dead.keys()];
  if (messages.length === 0) return { isRetried: retries.map(() => false), isOverQuota: false, dueAt: null };
  const command = { messages, leases: [], node: '', now, dayMax };
  const { duplicates, isOverQuota, dueAt } = await accept(database, command);
  messages.forEach((message, index) => {
    if (duplicates[index] !== null) dead.delete(message);
  });
  const marked = [...dead];
  await database.run(
    `UPDATE messages m SET retried_at = $4, retried_as = g.retried_as
       FROM unnest($1::text[], $2::bigint[], $3::text[]) AS g (account_id, seq, retried_as)
       WHERE m.account_id = g.account_id AND m.seq = g.seq`,
    marked.map(([, { account_id }]) => account_id),
    marked.map(([, { seq }]) => seq),
    marked.map(([{ id }]) => id),
    now,
  );
  return { isRetried: retries.map(({ message }) => dead.has(message)), isOverQuota, dueAt };
}
