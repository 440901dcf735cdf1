// The messages and attempts tables: their rows, and the mapping to the domain's types. No decisions.

import type {
  Attempt,
  CallbackTarget,
  HeaderList,
  Message,
  MessageKind,
  MessageState,
  Method,
  NewMessage,
  Outcome,
} from '../../domain/message.ts';
import type { Counts, StoredMessage } from '../store.ts';
import type { Database } from './database.ts';

/** `pending` has three kinds here, told apart by what the message waits for; see the migration. */
export type RowState = 'delayed' | 'queued' | 'ready' | Exclude<MessageState, 'pending'>;

export interface MessageRow {
  seq: number;
  id: string;
  account_id: string;
  kind: MessageKind;
  state: RowState;
  due_at: number;
  first_due_at: number;
  lease: string | null;
  node: string | null;
  holds_slot: 0 | 1;
  url: string;
  host: string;
  method: Method;
  headers: string;
  retries_max: number;
  retry_delay: string | null;
  timeout_ms: number;
  retried: number;
  interrupted: number;
  attempts: number;
  queue_name: string | null;
  topic_name: string | null;
  endpoint_name: string | null;
  callback: string | null;
  failure_callback: string | null;
  source_message_id: string | null;
  caller_ip: string | null;
  hops: number;
  created_at: number;
  ended_at: number | null;
  expires_at: number | null;
  failure: string | null;
  body: Uint8Array;
}

const INSERT_MESSAGE = `INSERT INTO messages
  (id, account_id, kind, state, due_at, first_due_at, lease, node, url, host, method, headers, retries_max,
   retry_delay, timeout_ms, queue_name, topic_name, endpoint_name, callback, failure_callback, source_message_id,
   caller_ip, hops, created_at, body)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export function insertMessage(
  database: Database,
  message: NewMessage,
  state: RowState,
  claim: { lease: string; node: string } | null,
): void {
  database.run(
    INSERT_MESSAGE,
    message.id,
    message.accountId,
    message.kind,
    state,
    message.dueAt,
    message.dueAt,
    claim?.lease ?? null,
    claim?.node ?? null,
    message.url,
    message.host,
    message.method,
    JSON.stringify(message.headers),
    message.retriesMax,
    message.retryDelay,
    message.timeoutMs,
    message.queueName,
    message.topicName,
    message.endpointName,
    message.callback && JSON.stringify(message.callback),
    message.failureCallback && JSON.stringify(message.failureCallback),
    message.sourceMessageId,
    message.callerIp,
    message.hops,
    message.createdAt,
    message.body,
  );
}

export function toMessage(row: MessageRow): Message {
  return {
    id: row.id,
    accountId: row.account_id,
    kind: row.kind,
    url: row.url,
    host: row.host,
    method: row.method,
    headers: JSON.parse(row.headers) as HeaderList,
    body: row.body,
    retriesMax: row.retries_max,
    retryDelay: row.retry_delay,
    timeoutMs: row.timeout_ms,
    queueName: row.queue_name,
    topicName: row.topic_name,
    endpointName: row.endpoint_name,
    callback: parseCallback(row.callback),
    failureCallback: parseCallback(row.failure_callback),
    sourceMessageId: row.source_message_id,
    callerIp: row.caller_ip,
    hops: row.hops,
    createdAt: row.created_at,
    dueAt: row.due_at,
    state: toState(row.state),
    firstDueAt: row.first_due_at,
    retried: row.retried,
    interrupted: row.interrupted,
    attempts: row.attempts,
    endedAt: row.ended_at,
    failure: row.failure,
  };
}

function parseCallback(text: string | null): CallbackTarget | null {
  return text === null ? null : (JSON.parse(text) as CallbackTarget);
}

function toState(state: RowState): MessageState {
  return state === 'delayed' || state === 'queued' || state === 'ready' ? 'pending' : state;
}

export function insertAttempt(database: Database, messageSeq: number, attempt: Attempt): void {
  database.run(
    `INSERT INTO attempts (message_seq, number, started_at, ended_at, outcome, status, error, response_headers,
       is_response_body_cut, response_body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    messageSeq,
    attempt.number,
    attempt.startedAt,
    attempt.endedAt,
    attempt.outcome,
    attempt.status,
    attempt.error,
    JSON.stringify(attempt.responseHeaders),
    attempt.isResponseBodyCut ? 1 : 0,
    attempt.responseBody,
  );
}

interface AttemptRow {
  number: number;
  started_at: number;
  ended_at: number;
  outcome: Outcome['kind'];
  status: number | null;
  error: string | null;
  response_headers: string;
  is_response_body_cut: 0 | 1;
  response_body: Uint8Array;
}

export function getMessage(database: Database, accountId: string, messageId: string): StoredMessage | null {
  const row = database.get<MessageRow>('SELECT * FROM messages WHERE id = ? AND account_id = ?', messageId, accountId);
  if (!row) return null;
  const attempts = database.all<AttemptRow>('SELECT * FROM attempts WHERE message_seq = ? ORDER BY number', row.seq);
  return {
    message: toMessage(row),
    attempts: attempts.map((attempt) => ({
      number: attempt.number,
      startedAt: attempt.started_at,
      endedAt: attempt.ended_at,
      outcome: attempt.outcome,
      status: attempt.status,
      error: attempt.error,
      responseHeaders: JSON.parse(attempt.response_headers) as HeaderList,
      responseBody: attempt.response_body,
      isResponseBodyCut: attempt.is_response_body_cut === 1,
    })),
  };
}

export function countMessages(database: Database): Counts {
  const counts = { pending: 0, claimed: 0, delivered: 0, failed: 0, cancelled: 0 };
  const rows = database.all<{ state: RowState; n: number }>('SELECT state, count(*) AS n FROM messages GROUP BY state');
  for (const row of rows) counts[toState(row.state)] += row.n;
  return counts;
}

/** Ended messages past their retention, oldest first, and their attempts. */
export function deleteExpired(database: Database, now: number, limit: number): number {
  const rows = database.all<{ seq: number }>(
    'SELECT seq FROM messages WHERE expires_at <= ? ORDER BY expires_at LIMIT ?',
    now,
    limit,
  );
  for (const { seq } of rows) {
    database.run('DELETE FROM attempts WHERE message_seq = ?', seq);
    database.run('DELETE FROM messages WHERE seq = ?', seq);
  }
  return rows.length;
}
