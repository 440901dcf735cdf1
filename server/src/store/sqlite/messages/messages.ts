// The tables of messages and attempts, and all rows that belong to a message. The code here makes no decisions.

import type { Attempt, Settlement } from '../../../rules/delivery/message.ts';
import type { MessageDetail, MessageIdAndState, StoredMessage } from '../../ports/message-store.ts';
import { type StateOfRow, toState } from '../../rows/message-columns.ts';
import { READ_COLUMNS } from '../../rows/message-fields.ts';
import { type MessageRow, toMessage } from '../../rows/message-row.ts';
import { ATTEMPT_COLUMNS, type AttemptRow, toAttempt } from '../../rows/rows.ts';
import { Bodies, deleteUnusedBody } from '../deliveries/bodies.ts';
import { deleteLabels } from '../deliveries/new-messages.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';

/**
 * Whether the retry that was decided last has begun: if the last attempt was interrupted, or no retry followed it.
 * Computed only for a message without a claim that has more attempts than retries.
 */
const HAS_BEGUN_RETRY = `CASE WHEN m.retried > 0 AND m.attempts > m.retried AND m.lease IS NULL THEN
  (SELECT b.outcome = 'interrupted' OR b.next_at IS NULL FROM attempts b
     WHERE b.message_seq = m.seq AND b.number = m.attempts) END AS has_begun_retry`;

/** The columns of `messages m` without the body, which may be large. The column `body` is empty. */
export const ALL_BUT_BODY = `${READ_COLUMNS}, x'' AS body, ${HAS_BEGUN_RETRY}`;

const EMPTY = new Uint8Array(0);

export function insertAttempt(database: Database, messageSeq: number, attempt: Attempt): void {
  database.run(
    `INSERT INTO attempts (message_seq, number, started_at, ended_at, outcome, status, error, next_at,
       response_headers, is_response_body_cut, response_body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    messageSeq,
    attempt.number,
    attempt.startedAt,
    attempt.endedAt,
    attempt.outcome,
    attempt.status,
    attempt.error,
    attempt.nextAt,
    JSON.stringify(attempt.responseHeaders),
    attempt.isResponseBodyCut ? 1 : 0,
    attempt.responseBody,
  );
}

/**
 * Limit for a response in the row of its message. A longer response does not fit into the space that the end of the
 * claim frees in the row, and SQLite would split the page. So it gets its own row.
 */
const FIRST_RESPONSE_BYTES_MAX = 256;

/**
 * The part of the attempt that the row of a message stores, if the first attempt delivered the message. The other
 * fields of the attempt are already in the row. Null if the attempt needs its own row.
 */
export function attemptForMessageRow({
  attempt,
  next,
}: Settlement): { readonly headers: string | null; readonly body: Uint8Array | null } | null {
  const { number, outcome, error, nextAt, responseHeaders, responseBody, isResponseBodyCut } = attempt;
  if (number !== 1 || next.state !== 'delivered' || isResponseBodyCut) return null;
  if (outcome !== 'answered' || error !== null || nextAt !== null) return null;
  const headers = responseHeaders.length === 0 ? null : JSON.stringify(responseHeaders);
  if ((headers?.length ?? 0) + responseBody.length > FIRST_RESPONSE_BYTES_MAX) return null;
  return { headers, body: responseBody.length === 0 ? null : responseBody };
}

/** SQL that reads the first attempt from the row of its message `m`, with the columns of a row of `attempts`. */
export const FIRST_ATTEMPT_COLUMNS = `1 AS number, m.first_started_at AS started_at, m.ended_at, 'answered' AS outcome,
  m.last_status AS status, NULL AS error, NULL AS next_at, ifnull(m.first_response_headers, '[]') AS response_headers,
  0 AS is_response_body_cut, ifnull(m.first_response_body, x'') AS response_body`;

/**
 * Limit for all responses of the attempts of one message together. If they are larger, the responses of the earlier
 * attempts are left out.
 */
export const RESPONSES_BYTES_MAX = 2 * 1024 * 1024;

export function getMessage(
  database: Database,
  accountId: string,
  messageId: string,
  detail: MessageDetail = 'whole',
): StoredMessage | null {
  if (detail === 'outline') return getOutline(database, accountId, messageId);
  const row = database.get<MessageRow>(
    `SELECT ${READ_COLUMNS}, m.body, ${HAS_BEGUN_RETRY} FROM messages m WHERE m.id = ? AND m.account_id = ?`,
    messageId,
    accountId,
  );
  if (!row) return null;
  const attempts = readAttempts(database, row.seq, answersFrom(database, row.seq));
  return { message: toMessage(new Bodies(database).fill(row)), attempts };
}

const ATTEMPTS_FROM = `SELECT number, started_at, ended_at, outcome, status, error, next_at, is_response_body_cut,
    iif(number >= ?1, response_headers, '[]') AS response_headers, iif(number >= ?1, response_body, x'') AS response_body,
    number < ?1 AS is_answer_left_out
  FROM attempts WHERE message_seq = ?2 ORDER BY number`;

/** Reads all attempts, but without the responses of the attempts before `from`. */
function readAttempts(database: Database, seq: number, from: number): Attempt[] {
  const rows = database.all<AttemptRow>(ATTEMPTS_FROM, from, seq);
  if (rows.length > 0) return rows.map(toAttempt);
  const first = getFirst(database, seq);
  if (!first || from <= 1) return first ? [first] : [];
  return [
    { ...first, responseHeaders: [], responseBody: EMPTY, ...(first.status !== null && { isAnswerLeftOut: true }) },
  ];
}

function getFirst(database: Database, seq: number): Attempt | null {
  const row = database.get<AttemptRow>(
    `SELECT ${FIRST_ATTEMPT_COLUMNS} FROM messages m WHERE m.seq = ? AND m.first_started_at IS NOT NULL`,
    seq,
  );
  return row ? toAttempt(row) : null;
}

/** The number of the first attempt whose response is read; 0 if all responses together are small enough. */
function answersFrom(database: Database, seq: number): number {
  const sizes = database.all<{ number: number; bytes: number }>(
    `SELECT number, length(response_body) + length(response_headers) AS bytes FROM attempts WHERE message_seq = ?
       ORDER BY number DESC`,
    seq,
  );
  let bytes = 0;
  const over = sizes.find((each) => {
    bytes += each.bytes;
    return bytes > RESPONSES_BYTES_MAX;
  });
  return over ? over.number + 1 : 0;
}

function getOutline(database: Database, accountId: string, messageId: string): StoredMessage | null {
  const row = database.get<MessageRow>(
    `SELECT ${ALL_BUT_BODY} FROM messages m WHERE m.id = ? AND m.account_id = ?`,
    messageId,
    accountId,
  );
  if (!row) return null;
  return { message: toMessage(row), attempts: readAttempts(database, row.seq, Number.MAX_SAFE_INTEGER) };
}

export function getAttempt(database: Database, messageSeq: number, number: number): Attempt | null {
  const row = database.get<AttemptRow>(
    `SELECT ${ATTEMPT_COLUMNS} FROM attempts WHERE message_seq = ? AND number = ?`,
    messageSeq,
    number,
  );
  if (row) return toAttempt(row);
  return number === 1 ? getFirst(database, messageSeq) : null;
}

export function messageStates(database: Database, accountId: string, ids: readonly string[]): MessageIdAndState[] {
  return ids.flatMap((id) => {
    const row = database.get<StateOfRow>(
      // Whether the message is held is read from the index, because the column `held_at` is stored after the body.
      `SELECT state, (SELECT 1 FROM messages h INDEXED BY messages_held
           WHERE h.account_id = m.account_id AND h.seq = m.seq AND h.held_at IS NOT NULL) AS held_at
         FROM messages m WHERE id = ? AND account_id = ?`,
      id,
      accountId,
    );
    return row ? [{ id, state: toState(row) }] : [];
  });
}

export function deleteMessage(database: Database, caches: Pick<TransactionCaches, 'stored'>, seq: number): void {
  const {
    account_id: accountId,
    labels,
    body_id: bodyId,
    stored_bytes: storedBytes,
  } = database.get<Pick<MessageRow, 'account_id' | 'labels' | 'body_id'> & { stored_bytes: number | null }>(
    'SELECT account_id, labels, body_id, stored_bytes FROM messages WHERE seq = ?',
    seq,
  )!;
  caches.stored.add(accountId, -(storedBytes ?? 0));
  if (labels !== null) deleteLabels(database, accountId, seq, JSON.parse(labels) as string[]);
  database.run('DELETE FROM attempts WHERE message_seq = ?', seq);
  // A later message may get the same number, and must not get these steps of the journal.
  database.run('DELETE FROM journal WHERE message_seq = ?', seq);
  database.run('DELETE FROM messages WHERE seq = ?', seq);
  if (bodyId !== null) deleteUnusedBody(database, caches, bodyId);
}

export function deleteDeduplication(database: Database, now: number, limit: number): number {
  return database.run(
    `DELETE FROM deduplication WHERE (account_id, key) IN
       (SELECT account_id, key FROM deduplication WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
    now,
    limit,
  );
}
