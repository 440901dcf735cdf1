// Reads messages and attempts, and deletes messages with all rows that belong to them. Columns are named one by one: a
// prepared statement that reads `*` breaks when a newer node adds a column.

import type { Attempt } from '../../../rules/delivery/message.ts';
import type { MessageDetail, MessageIdAndState, StoredMessage } from '../../ports/message-store.ts';
import { type StateOfRow, toState } from '../../rows/message-columns.ts';
import { READ_COLUMNS } from '../../rows/message-fields.ts';
import { type MessageRow, toMessage } from '../../rows/message-row.ts';
import { type AttemptRow, toAttempt } from '../../rows/rows.ts';
import { deleteUnusedBodies, JOIN_BODY, JOINED_BODY, lockBodies } from '../deliveries/bodies.ts';
import type { Database } from '../sessions/database.ts';
import { nullEachUnstorable, nullIfUnstorable } from './storable.ts';
import { storedBytesSql } from './stored.ts';

/** The columns of `messages m` except the body, which may be large; it reads as empty. */
export const ALL_BUT_BODY = `${READ_COLUMNS}, ''::bytea AS body`;

/**
 * Whether the last attempt was already the retry that was decided last. Only computed if there are more attempts than
 * retries explain, because some were interrupted.
 */
const HAS_BEGUN_RETRY = `CASE WHEN m.retried > 0 AND m.attempts > m.retried AND m.lease IS NULL THEN
  (SELECT b.outcome = 'interrupted' OR b.next_at IS NULL FROM attempts b
     WHERE b.account_id = m.account_id AND b.message_seq = m.seq AND b.number = m.attempts) END AS has_begun_retry`;

/** The columns for reads by people: all but the body, and whether the last decided retry has begun. */
export const SHOWN_COLUMNS = `${ALL_BUT_BODY}, ${HAS_BEGUN_RETRY}`;

/** All columns of `messages m`, which must be joined by JOIN_BODY. */
export const WHOLE_COLUMNS = `${READ_COLUMNS}, ${JOINED_BODY}`;

const ATTEMPT = `a.number, a.started_at, a.ended_at, a.outcome, a.status, a.error, a.next_at, a.response_headers,
  a.is_response_body_cut, a.response_body`;

/** Limit for all responses of the attempts of one message. Beyond it, responses of earlier attempts are left out. */
const RESPONSES_BYTES_MAX = 2 * 1024 * 1024;

export async function getMessage(
  database: Database,
  accountId: string,
  messageId: string,
  detail: MessageDetail = 'whole',
): Promise<StoredMessage | null> {
  const isOutline = detail === 'outline';
  const row = await (isOutline
    ? database.get<MessageRow>(
        `SELECT ${SHOWN_COLUMNS} FROM messages m WHERE m.account_id = $1 AND m.id = $2`,
        accountId,
        nullIfUnstorable(messageId),
      )
    : getMessageRow(database, accountId, messageId));
  if (!row) return null;
  const from = isOutline ? OUTLINE_FROM : await answersFrom(database, accountId, row.seq);
  // An attempt that ended after the message was read is not part of it yet.
  const attempts = await database.all<AttemptRow>(
    `SELECT a.number, a.started_at, a.ended_at, a.outcome, a.status, a.error, a.next_at, a.is_response_body_cut,
         CASE WHEN a.number >= $4 THEN a.response_headers ELSE '[]' END AS response_headers,
         CASE WHEN a.number >= $4 THEN a.response_body ELSE ''::bytea END AS response_body,
         a.number < $4 AS is_answer_left_out
       FROM attempts a WHERE a.account_id = $1 AND a.message_seq = $2 AND a.number <= $3 ORDER BY a.number`,
    accountId,
    row.seq,
    row.attempts,
    from,
  );
  return { message: toMessage(row), attempts: attempts.map(toAttempt) };
}

/** Above the number of any attempt: no response is read. */
const OUTLINE_FROM = 2 ** 31 - 1;

/** The first attempt whose response is read. */
async function answersFrom(database: Database, accountId: string, seq: number): Promise<number> {
  const sizes = await database.all<{ number: number; bytes: number }>(
    `SELECT number, octet_length(response_body) + octet_length(response_headers) AS bytes FROM attempts
       WHERE account_id = $1 AND message_seq = $2 ORDER BY number DESC`,
    accountId,
    seq,
  );
  let bytes = 0;
  const over = sizes.find((each) => {
    bytes += each.bytes;
    return bytes > RESPONSES_BYTES_MAX;
  });
  return over ? over.number + 1 : 0;
}

/** The row of a message, with its body. */
export function getMessageRow(
  database: Database,
  accountId: string,
  messageId: string,
): Promise<MessageRow | undefined> {
  return database.get<MessageRow>(
    `SELECT ${WHOLE_COLUMNS}, ${HAS_BEGUN_RETRY} FROM messages m ${JOIN_BODY} WHERE m.account_id = $1 AND m.id = $2`,
    accountId,
    nullIfUnstorable(messageId),
  );
}

export async function getAttempt(
  database: Database,
  accountId: string,
  messageSeq: number,
  number: number,
): Promise<Attempt | null> {
  const row = await database.get<AttemptRow>(
    `SELECT ${ATTEMPT} FROM attempts a WHERE a.account_id = $1 AND a.message_seq = $2 AND a.number = $3`,
    accountId,
    messageSeq,
    number,
  );
  return row ? toAttempt(row) : null;
}

/** Parallel to the given pairs: the attempt, or null if there is none. */
export async function readAttempts(
  database: Database,
  accountId: string,
  pairs: readonly { readonly seq: number; readonly number: number }[],
): Promise<(Attempt | null)[]> {
  if (pairs.length === 0) return [];
  const rows = await database.all<AttemptRow & { nth: number }>(
    `SELECT k.nth, ${ATTEMPT} FROM unnest($2::bigint[], $3::integer[]) WITH ORDINALITY AS k (seq, number, nth)
       JOIN attempts a ON a.account_id = $1 AND a.message_seq = k.seq AND a.number = k.number`,
    accountId,
    pairs.map(({ seq }) => seq),
    pairs.map(({ number }) => number),
  );
  const found: (Attempt | null)[] = pairs.map(() => null);
  for (const row of rows) found[row.nth - 1] = toAttempt(row);
  return found;
}

/** Deletes expired deduplication keys. */
export function deleteDeduplication(database: Database, now: number, limit: number): Promise<number> {
  return database.run(
    `DELETE FROM deduplication WHERE ctid IN
       (SELECT ctid FROM deduplication WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
    now,
    limit,
  );
}

/** A message that this transaction has locked to delete it. */
export type LockedRow = Pick<MessageRow, 'account_id' | 'seq' | 'labels' | 'body_id'>;

/** Deletes messages that this transaction has locked, and the rows that belong to them. */
export async function deleteLocked(database: Database, held: readonly LockedRow[]): Promise<number> {
  if (held.length === 0) return 0;
  const accountIds = held.map(({ account_id }) => account_id);
  const seqs = held.map(({ seq }) => seq);
  const named = held.flatMap(({ account_id, seq, labels }) =>
    labels === null ? [] : (JSON.parse(labels) as string[]).map((label) => ({ account_id, seq, label })),
  );
  if (named.length > 0) {
    await database.run(
      `DELETE FROM message_labels l USING unnest($1::text[], $2::bigint[], $3::text[]) AS k (account_id, seq, label)
         WHERE l.account_id = k.account_id AND l.label = k.label AND l.message_seq = k.seq`,
      named.map(({ account_id }) => account_id),
      named.map(({ seq }) => seq),
      named.map(({ label }) => label),
    );
  }
  await lockBodies(database, held);
  for (const table of ['attempts', 'journal']) {
    await database.run(
      `DELETE FROM ${table} t USING unnest($1::text[], $2::bigint[]) AS k (account_id, seq)
         WHERE t.account_id = k.account_id AND t.message_seq = k.seq`,
      accountIds,
      seqs,
    );
  }
  const row = await database.get<{ n: number }>(
    `WITH gone AS
       (DELETE FROM messages m USING unnest($1::text[], $2::bigint[]) AS k (account_id, seq)
          WHERE m.account_id = k.account_id AND m.seq = k.seq RETURNING m.account_id, m.stored_bytes),
     weighed AS (${storedBytesSql('SELECT account_id, -coalesce(stored_bytes, 0) AS bytes FROM gone')})
     SELECT count(*) AS n FROM gone`,
    accountIds,
    seqs,
  );
  await deleteUnusedBodies(database, held);
  return row!.n;
}

export async function messageStates(
  database: Database,
  accountId: string,
  ids: readonly string[],
): Promise<MessageIdAndState[]> {
  const rows = await database.all<StateOfRow & { readonly id: string }>(
    'SELECT id, state, held_at FROM messages WHERE account_id = $1 AND id = ANY ($2::text[])',
    accountId,
    nullEachUnstorable(ids),
  );
  return rows.map((row) => ({ id: row.id, state: toState(row) }));
}
