// Messages that expire while they wait, in whatever state: which have expired, and their end. A claimed message is not
// among them: its attempt has started, or is released before it starts.

import { COUNT_KINDS } from '../../../rules/accounts/activity.ts';
import { EXPIRED as EXPIRED_CODE } from '../../../rules/delivery/expiry.ts';
import type { Expiration, ExpiredMessage } from '../../../rules/delivery/settle.ts';
import { earlier } from '../../../rules/time/instant.ts';
import type { DueExpiries, ExpiryLimits } from '../../ports/upkeep-store.ts';
import { READ_COLUMNS } from '../../rows/message-fields.ts';
import { type MessageRow, toMessage } from '../../rows/message-row.ts';
import { EXPIRED } from '../../rows/rows.ts';
import {
  chooseExpired,
  EXPIRY_ACCOUNTS_MAX,
  EXPIRY_OF_ACCOUNT_MAX,
  type ExpiredRow,
  expiredInTurnMax,
  type ReadInTurn,
} from '../../shared/expiries.ts';
import { accept } from '../deliveries/accept.ts';
import { BODY_BYTES, Bodies } from '../deliveries/bodies.ts';
import { keysInTurn } from '../deliveries/due-lines.ts';
import {
  forgetDeduplication,
  OPEN_MESSAGE_COLUMNS,
  type OpenMessage,
  startWaitingMessages,
} from '../deliveries/open-message.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';
import { getAttempt } from './messages.ts';

/** The condition of the indexes. */
const WAITS = 'must_start_before IS NOT NULL AND ended_at IS NULL AND lease IS NULL';
const FOUND = `SELECT account_id, seq, failure_callback IS NOT NULL AS is_reported, body_id, ${BODY_BYTES} AS bytes
  FROM messages WHERE ${WAITS} AND must_start_before <= ?`;

export function dueExpiries(database: Database, now: number, { messages, after }: ExpiryLimits): DueExpiries {
  const oldest = database.all<ExpiredRow>(`${FOUND} ORDER BY must_start_before LIMIT ?`, now, messages + 1);
  const inTurn = oldest.length > messages ? expiredInTurn(database, now, after, expiredInTurnMax(messages)) : null;
  const { chosen, lastInTurn } = chooseExpired(inTurn, oldest, messages);
  const bodies = new Bodies(database);
  const expired = chosen.map((row) => read(database, bodies, row));
  return { expired, nextAt: nextExpiryAt(database), lastInTurn };
}

/** A few expired messages of each of the next accounts. */
function expiredInTurn(database: Database, now: number, after: string, most: number): ReadInTurn<ExpiredRow> {
  const accounts = keysInTurn(after, (from, upTo) =>
    database.get<{ key: string }>(
      `SELECT account_id AS key FROM messages INDEXED BY messages_must_start_of_account
         WHERE ${WAITS} AND account_id > ? AND account_id <= ? ORDER BY account_id LIMIT 1`,
      from,
      upTo,
    ),
  );
  const rows: ExpiredRow[] = [];
  let lastLooked = '';
  for (const accountId of accounts.take(EXPIRY_ACCOUNTS_MAX)) {
    const sql = `${FOUND} AND account_id = ? ORDER BY must_start_before LIMIT ?`;
    rows.push(...database.all<ExpiredRow>(sql, now, accountId, EXPIRY_OF_ACCOUNT_MAX));
    lastLooked = accountId;
    if (rows.length >= most) break;
  }
  return { rows, lastLooked };
}

function read(database: Database, bodies: Bodies, { seq, is_reported }: ExpiredRow): ExpiredMessage {
  const row = database.get<MessageRow>(`SELECT ${READ_COLUMNS}, x'' AS body FROM messages m WHERE m.seq = ?`, seq)!;
  const message = toMessage(row);
  if (!is_reported) return { message, lastAttempt: null };
  const lastAttempt = row.attempts === 0 ? null : getAttempt(database, seq, row.attempts);
  return { message: { ...message, body: bodies.read(row) }, lastAttempt };
}

/** When the next message that waits expires; null if none does. */
function nextExpiryAt(database: Database): number | null {
  const sql = `SELECT must_start_before AS at FROM messages WHERE ${WAITS} ORDER BY must_start_before LIMIT 1`;
  return database.get<{ at: number }>(sql)?.at ?? null;
}

export interface ExpireReply {
  readonly expired: readonly string[];
  readonly dueAt: number | null;
}

/** Ends those of the messages that still wait, with all that follows from the end of a failed message. */
export function expireMessages(
  database: Database,
  caches: TransactionCaches,
  expirations: readonly Expiration[],
  now: number,
): ExpireReply {
  const expired: string[] = [];
  let dueAt: number | null = null;
  for (const expiration of expirations) {
    const { accountId, messageId, followUps } = expiration;
    const open = database.get<OpenMessage>(
      `SELECT ${OPEN_MESSAGE_COLUMNS} FROM messages
         WHERE id = ? AND account_id = ? AND ended_at IS NULL AND lease IS NULL AND must_start_before <= ?`,
      messageId,
      accountId,
      now,
    );
    if (!open) continue;
    expired.push(messageId);
    end(database, caches, open, expiration, now);
    forgetDeduplication(database, open, messageId);
    // Messages behind this one may be claimed now.
    dueAt = earlier(now, startWaitingMessages(database, open, now));
    if (followUps.length > 0)
      accept(database, caches, { messages: followUps, leases: [], node: '', now, dayMax: null });
  }
  return { expired, dueAt };
}

function end(
  database: Database,
  { journal, activity }: TransactionCaches,
  { seq, account_id: accountId }: OpenMessage,
  { expiresAt, failure }: Expiration,
  now: number,
): void {
  database.run(
    `UPDATE messages SET state = 'failed', holds_place = 0, ended_at = ?, expires_at = ?, failure = ?, failure_code = ?,
       due_at = ifnull(alone_from_at, due_at), alone_from_at = NULL, held_at = NULL WHERE seq = ?`,
    now,
    expiresAt,
    failure,
    EXPIRED_CODE,
    seq,
  );
  journal.add(accountId, seq, EXPIRED, now);
  activity.add(accountId, COUNT_KINDS.failed, now);
}
