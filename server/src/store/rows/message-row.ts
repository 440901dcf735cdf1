// Made from server/src/store/rows/message-fields.ts by "npm run docs". Change that file, not this one.
// The row of a message, and its conversion to a message.

import type { Message } from '../../rules/delivery/message.ts';
import type { Flag, RowState } from './message-columns.ts';
import {
  parsedOrNull,
  readBegunRetry,
  readDebounce,
  readDeduplication,
  readDescendants,
  readDueAt,
  readFailureCode,
  readFlow,
  readOutage,
  readPriority,
  toState,
} from './message-columns.ts';

export interface MessageRow {
  id: Message['id'];
  account_id: Message['accountId'];
  kind: Message['kind'];
  url: Message['url'];
  host: Message['host'];
  method: Message['method'];
  headers: string;
  body: Uint8Array;
  retries_max: number;
  retry_delay: string | null;
  retry_jitter: number | null;
  timeout_ms: number;
  queue_name: string | null;
  order_key: string | null;
  ahead_ms: number | null;
  outage: string | null;
  await_ack_ms: number | null;
  flow_key: string | null;
  flow_limits: string | null;
  schedule_id: string | null;
  labels: string | null;
  redaction: string | null;
  debounce_key: string | null;
  debounce_latest_at: number | null;
  debounced: number | null;
  topic_name: string | null;
  endpoint_name: string | null;
  callback: string | null;
  failure_callback: string | null;
  source_message_id: string | null;
  caller_ip: string | null;
  hops: number;
  descendants_left: number | null;
  created_at: number;
  due_at: number;
  must_start_before: number | null;
  state: RowState;
  first_due_at: number;
  ready_at: number | null;
  retried: number;
  interrupted: number;
  alone_at_crash: number;
  attempts: number;
  ended_at: number | null;
  held_at: number | null;
  claimed_at: number | null;
  cancel_requested_at: number | null;
  failure: string | null;
  failure_code: string | null;
  last_status: number | null;
  retried_as: string | null;
  retried_at: number | null;
  changes: number | null;
  seq: number;
  lease: string | null;
  node: string | null;
  holds_place: Flag;
  is_first_of_key: Flag;
  expires_at: number | null;
  body_id: number | null;
  alone_from_at: number | null;
  has_begun_retry?: Flag | null;
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

export function toMessage(row: MessageRow): Message {
  const message: Writable<Message> = {
    id: row.id,
    accountId: row.account_id,
    kind: row.kind,
    url: row.url,
    host: row.host,
    method: row.method,
    headers: JSON.parse(row.headers) as Message['headers'],
    body: row.body,
    retriesMax: row.retries_max,
    retryDelay: row.retry_delay,
    retryJitter: row.retry_jitter,
    timeoutMs: row.timeout_ms,
    queueName: row.queue_name,
    orderKey: row.order_key,
    priority: readPriority(row),
    outage: readOutage(row),
    awaitAckMs: row.await_ack_ms,
    flow: readFlow(row),
    scheduleId: row.schedule_id,
    labels: row.labels === null ? [] : (JSON.parse(row.labels) as string[]),
    redaction: parsedOrNull(row.redaction),
    deduplication: readDeduplication(row),
    debounce: readDebounce(row),
    topicName: row.topic_name,
    endpointName: row.endpoint_name,
    callback: parsedOrNull(row.callback),
    failureCallback: parsedOrNull(row.failure_callback),
    sourceMessageId: row.source_message_id,
    callerIp: row.caller_ip,
    hops: row.hops,
    descendantsLeft: readDescendants(row),
    createdAt: row.created_at,
    dueAt: readDueAt(row),
    mustStartBefore: row.must_start_before,
    state: toState(row),
    firstDueAt: row.first_due_at,
    readyAt: row.ready_at,
    retried: row.retried,
    interrupted: row.interrupted,
    aloneAtCrash: row.alone_at_crash,
    attempts: row.attempts,
    endedAt: row.ended_at,
    heldAt: row.held_at,
    claimedAt: row.claimed_at,
    failure: row.failure,
    lastStatus: row.last_status,
  };
  const hasBegunRetry = readBegunRetry(row);
  if (hasBegunRetry !== undefined) message.hasBegunRetry = hasBegunRetry;
  if (row.cancel_requested_at !== null) message.cancelRequestedAt = row.cancel_requested_at;
  const failureCode = readFailureCode(row);
  if (failureCode !== undefined) message.failureCode = failureCode;
  if (row.retried_as !== null) message.retriedAs = row.retried_as;
  if (row.retried_at !== null) message.retriedAt = row.retried_at;
  if (row.changes !== null) message.changes = row.changes;
  return message;
}
