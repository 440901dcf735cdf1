// Made from server/src/store/rows/message-fields.ts by "npm run docs". Change that file, not this one.
// A new message on its way to the writer's thread, and into its row.

import type { NewMessage } from '../../../rules/delivery/message.ts';
import type { RowState } from '../../rows/message-columns.ts';
import {
  aheadColumn,
  debounceCountColumn,
  debounceKeyColumn,
  debounceLatestColumn,
  deduplicationColumn,
  descendantsColumn,
  flowKeyColumn,
  flowLimitsColumn,
} from '../../rows/message-columns.ts';
import { ACCEPTED_COLUMNS } from '../../rows/message-fields.ts';
import type { RowGroup } from '../deliveries/row-group.ts';
import {
  type Packing,
  putEach,
  putHeaders,
  putValue,
  takeEach,
  takeHeaders,
  takeValue,
  type Unpacking,
} from './packing.ts';

export function putMessage(to: Packing, message: NewMessage): void {
  to.put(message.id);
  to.put(message.accountId);
  to.put(message.kind);
  to.put(message.url);
  to.put(message.host);
  to.put(message.method);
  putHeaders(to, message.headers);
  to.putBody(message.body);
  to.put(message.retriesMax);
  to.put(message.retryDelay);
  to.put(message.retryJitter);
  to.put(message.timeoutMs);
  to.put(message.queueName);
  to.put(message.orderKey);
  to.put(message.priority);
  to.put(message.outage);
  to.put(message.awaitAckMs);
  to.put(message.flow);
  to.put(message.scheduleId);
  putEach(to, message.labels, putValue);
  to.put(message.redaction);
  to.put(message.deduplication);
  to.put(message.debounce);
  to.put(message.topicName);
  to.put(message.endpointName);
  to.put(message.callback);
  to.put(message.failureCallback);
  to.put(message.sourceMessageId);
  to.put(message.callerIp);
  to.put(message.hops);
  to.put(message.descendantsLeft);
  to.put(message.createdAt);
  to.put(message.dueAt);
  to.put(message.mustStartBefore);
}

/** The properties of an object literal are taken in the order in which they are written. */
export function takeMessage(from: Unpacking): NewMessage {
  return {
    id: from.take(),
    accountId: from.take(),
    kind: from.take(),
    url: from.take(),
    host: from.take(),
    method: from.take(),
    headers: takeHeaders(from),
    body: from.takeBody(),
    retriesMax: from.take(),
    retryDelay: from.take(),
    retryJitter: from.take(),
    timeoutMs: from.take(),
    queueName: from.take(),
    orderKey: from.take(),
    priority: from.take(),
    outage: from.take(),
    awaitAckMs: from.take(),
    flow: from.take(),
    scheduleId: from.take(),
    labels: takeEach(from, takeValue<string>),
    redaction: from.take(),
    deduplication: from.take(),
    debounce: from.take(),
    topicName: from.take(),
    endpointName: from.take(),
    callback: from.take(),
    failureCallback: from.take(),
    sourceMessageId: from.take(),
    callerIp: from.take(),
    hops: from.take(),
    descendantsLeft: from.take(),
    createdAt: from.take(),
    dueAt: from.take(),
    mustStartBefore: from.take(),
  };
}

/** What the store gives a new row. */
export interface RowStart {
  readonly seq: number;
  readonly state: RowState;
  readonly firstDueAt: number;
  readonly claim: { readonly lease: string; readonly node: string; readonly at: number } | null;
  readonly body: Uint8Array;
  readonly bodyId: number | null;
  readonly storedBytes: number;
}

export const INSERTED_COLUMNS: readonly string[] = [
  'seq',
  ...ACCEPTED_COLUMNS.map(({ name }) => name),
  'state',
  'first_due_at',
  'lease',
  'node',
  'claimed_at',
  'body',
  'body_id',
  'stored_bytes',
];

export function addRow(to: RowGroup, message: NewMessage, start: RowStart): void {
  const { claim } = start;
  to.add(
    start.seq,
    message.id,
    message.accountId,
    message.kind,
    message.url,
    message.host,
    message.method,
    JSON.stringify(message.headers),
    message.retriesMax,
    message.retryDelay,
    message.retryJitter,
    message.timeoutMs,
    message.queueName,
    message.orderKey,
    aheadColumn(message),
    message.outage,
    message.awaitAckMs,
    flowKeyColumn(message),
    flowLimitsColumn(message),
    message.scheduleId,
    message.labels.length > 0 ? JSON.stringify(message.labels) : null,
    message.redaction && JSON.stringify(message.redaction),
    deduplicationColumn(message),
    debounceKeyColumn(message),
    debounceLatestColumn(message),
    debounceCountColumn(message),
    message.topicName,
    message.endpointName,
    message.callback && JSON.stringify(message.callback),
    message.failureCallback && JSON.stringify(message.failureCallback),
    message.sourceMessageId,
    message.callerIp,
    message.hops,
    descendantsColumn(message),
    message.createdAt,
    message.dueAt,
    message.mustStartBefore,
    start.state,
    start.firstDueAt,
    claim?.lease ?? null,
    claim?.node ?? null,
    claim?.at ?? null,
    start.body,
    start.bodyId,
    start.storedBytes,
  );
}
