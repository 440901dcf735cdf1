// Ends messages that wait under a debounce key beside a newer one, which then stands for them too. Several wait only after
// claims were given back: a message under way does not wait, so a new one with its key waits itself.

import { COUNT_KINDS } from '../../../rules/accounts/activity.ts';
import { hasEvent, OVERTAKEN_KEPT_MS, standingForAll } from '../../../rules/publish/debounce.ts';
import { CANCELLED, updatedStep } from '../../rows/rows.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';

interface Waiting {
  readonly id: string;
  readonly account_id: string;
  readonly seq: number;
  readonly queue_name: string | null;
  readonly order_key: string | null;
  readonly flow_key: string | null;
  readonly debounced: number;
}

/** What has expired ends by that. */
const WAITING = `SELECT id, account_id, seq, queue_name, order_key, flow_key, debounced FROM messages
  WHERE account_id = ? AND debounce_key = ? AND debounce_key IS NOT NULL AND ended_at IS NULL AND lease IS NULL AND attempts = 0
    AND (must_start_before IS NULL OR must_start_before > ?)`;

/** Returns those that have ended. The caller then starts the messages that wait for their places. */
export function endOvertaken(
  database: Database,
  { journal, activity }: TransactionCaches,
  accountId: string,
  key: string,
  now: number,
): readonly Waiting[] {
  const plan = standingForAll(database.all<Waiting>(WAITING, accountId, key, now));
  if (!plan) return [];
  const { newest, overtaken, count } = plan;
  for (const { seq } of overtaken) {
    const sql = "UPDATE messages SET state = 'cancelled', holds_place = 0, ended_at = ?, expires_at = ? WHERE seq = ?";
    database.run(sql, now, now + OVERTAKEN_KEPT_MS, seq);
    journal.add(accountId, seq, CANCELLED, now);
    activity.add(accountId, COUNT_KINDS.cancelled, now);
  }
  database.run('UPDATE messages SET debounced = ? WHERE seq = ?', count, newest.seq);
  if (hasEvent({ debounce: { count } })) journal.add(accountId, newest.seq, updatedStep(['debounced'], 0), now);
  return overtaken;
}
