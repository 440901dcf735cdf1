// The fields of a message, each listed once with its column and kind. "npm run docs" generates from here the code that
// reads a row, writes a new one, and sends a message between threads. The lists of columns are built at start.

import type { HeaderList, Message, NewMessage } from '../../rules/delivery/message.ts';

/** `headers`, `texts` and `json` are stored as JSON in a text column. An empty list of texts is stored as null. */
export type Kind = 'text' | 'integer' | 'bigint' | 'flag' | 'bytes' | 'headers' | 'texts' | 'json';

type KindOf<T> = [T] extends [string]
  ? 'text'
  : [T] extends [number]
    ? 'integer' | 'bigint'
    : [T] extends [boolean]
      ? 'flag'
      : [T] extends [Uint8Array]
        ? 'bytes'
        : [T] extends [HeaderList]
          ? 'headers'
          : [T] extends [readonly string[]]
            ? 'texts'
            : 'json';

/** One column that stores the value unchanged. */
interface PlainField {
  readonly column: string;
  readonly kind: Kind;
  /** `null`: the field may be null. `absent`: if the column is null, the message does not have the field. */
  readonly or?: 'null' | 'absent';
}

interface OwnColumn {
  readonly column: string;
  readonly kind: Kind;
  readonly isNullable?: boolean;
  /** False if the column is not read with the message. */
  readonly isRead?: boolean;
  /** Only the table of this store has the column. */
  readonly onlyIn?: 'sqlite';
  /** The function in message-columns.ts that makes the value from the message. Without one, the field is stored. */
  readonly write?: string;
}

/** A field that functions in message-columns.ts write to its columns and read from them. */
interface OwnField {
  readonly columns: readonly OwnColumn[];
  /** The function that makes the field from the row. */
  readonly read: string;
  readonly or?: 'absent';
}

export type Field = PlainField | OwnField;

/** `or` is required if the type of the field allows null or undefined, and forbidden otherwise. */
type FieldOf<T> =
  | (OwnField & (undefined extends T ? { readonly or: 'absent' } : { readonly or?: never }))
  | (PlainField & { readonly kind: KindOf<NonNullable<T>> } & (null extends T
        ? { readonly or: 'null' }
        : undefined extends T
          ? { readonly or: 'absent' }
          : { readonly or?: never }));

/** Fields that are known when a message is accepted, and are written then. */
export const ACCEPTED_FIELDS = {
  id: { column: 'id', kind: 'text' },
  accountId: { column: 'account_id', kind: 'text' },
  kind: { column: 'kind', kind: 'text' },
  url: { column: 'url', kind: 'text' },
  host: { column: 'host', kind: 'text' },
  method: { column: 'method', kind: 'text' },
  headers: { column: 'headers', kind: 'headers' },
  // A body that several messages share is stored in a table of its own; the adapters write it.
  body: { column: 'body', kind: 'bytes' },
  retriesMax: { column: 'retries_max', kind: 'integer' },
  retryDelay: { column: 'retry_delay', kind: 'text', or: 'null' },
  retryJitter: { column: 'retry_jitter', kind: 'integer', or: 'null' },
  timeoutMs: { column: 'timeout_ms', kind: 'bigint' },
  queueName: { column: 'queue_name', kind: 'text', or: 'null' },
  orderKey: { column: 'order_key', kind: 'text', or: 'null' },
  priority: {
    columns: [{ column: 'ahead_ms', kind: 'integer', isNullable: true, write: 'aheadColumn' }],
    read: 'readPriority',
  },
  outage: { columns: [{ column: 'outage', kind: 'text', isNullable: true }], read: 'readOutage' },
  awaitAckMs: { column: 'await_ack_ms', kind: 'bigint', or: 'null' },
  flow: {
    columns: [
      { column: 'flow_key', kind: 'text', isNullable: true, write: 'flowKeyColumn' },
      { column: 'flow_limits', kind: 'text', isNullable: true, write: 'flowLimitsColumn' },
    ],
    read: 'readFlow',
  },
  scheduleId: { column: 'schedule_id', kind: 'text', or: 'null' },
  labels: { column: 'labels', kind: 'texts' },
  redaction: { column: 'redaction', kind: 'json', or: 'null' },
  deduplication: {
    columns: [
      { column: 'deduplication_key', kind: 'text', isNullable: true, isRead: false, write: 'deduplicationColumn' },
    ],
    read: 'readDeduplication',
  },
  debounce: {
    columns: [
      { column: 'debounce_key', kind: 'text', isNullable: true, write: 'debounceKeyColumn' },
      { column: 'debounce_latest_at', kind: 'bigint', isNullable: true, write: 'debounceLatestColumn' },
      { column: 'debounced', kind: 'integer', isNullable: true, write: 'debounceCountColumn' },
    ],
    read: 'readDebounce',
  },
  topicName: { column: 'topic_name', kind: 'text', or: 'null' },
  endpointName: { column: 'endpoint_name', kind: 'text', or: 'null' },
  callback: { column: 'callback', kind: 'json', or: 'null' },
  failureCallback: { column: 'failure_callback', kind: 'json', or: 'null' },
  sourceMessageId: { column: 'source_message_id', kind: 'text', or: 'null' },
  callerIp: { column: 'caller_ip', kind: 'text', or: 'null' },
  hops: { column: 'hops', kind: 'integer' },
  descendantsLeft: {
    columns: [{ column: 'descendants_left', kind: 'integer', isNullable: true, write: 'descendantsColumn' }],
    read: 'readDescendants',
  },
  createdAt: { column: 'created_at', kind: 'bigint' },
  dueAt: { columns: [{ column: 'due_at', kind: 'bigint' }], read: 'readDueAt' },
  mustStartBefore: { column: 'must_start_before', kind: 'bigint', or: 'null' },
} as const satisfies { readonly [Name in keyof Required<NewMessage>]: FieldOf<NewMessage[Name]> };

/** Fields that the store writes when the message gets its position, and on every later change. */
export const LATER_FIELDS = {
  state: { columns: [{ column: 'state', kind: 'text' }], read: 'toState' },
  firstDueAt: { column: 'first_due_at', kind: 'bigint' },
  readyAt: { column: 'ready_at', kind: 'bigint', or: 'null' },
  retried: { column: 'retried', kind: 'integer' },
  interrupted: { column: 'interrupted', kind: 'integer' },
  aloneAtCrash: { column: 'alone_at_crash', kind: 'integer' },
  attempts: { column: 'attempts', kind: 'integer' },
  // This field has no column. It is computed when people read a message.
  hasBegunRetry: { columns: [], read: 'readBegunRetry', or: 'absent' },
  endedAt: { column: 'ended_at', kind: 'bigint', or: 'null' },
  heldAt: { column: 'held_at', kind: 'bigint', or: 'null' },
  claimedAt: { column: 'claimed_at', kind: 'bigint', or: 'null' },
  cancelRequestedAt: { column: 'cancel_requested_at', kind: 'bigint', or: 'absent' },
  failure: { column: 'failure', kind: 'text', or: 'null' },
  failureCode: {
    columns: [{ column: 'failure_code', kind: 'text', isNullable: true }],
    read: 'readFailureCode',
    or: 'absent',
  },
  lastStatus: { column: 'last_status', kind: 'integer', or: 'null' },
  retriedAs: { column: 'retried_as', kind: 'text', or: 'absent' },
  retriedAt: { column: 'retried_at', kind: 'bigint', or: 'absent' },
  changes: { column: 'changes', kind: 'integer', or: 'absent' },
} as const satisfies {
  readonly [Name in Exclude<keyof Required<Message>, keyof NewMessage>]: FieldOf<Message[Name]>;
};

/** Columns that are not part of a message. */
const STORE_COLUMNS: readonly OwnColumn[] = [
  { column: 'seq', kind: 'bigint' },
  { column: 'lease', kind: 'text', isNullable: true },
  { column: 'node', kind: 'text', isNullable: true },
  { column: 'holds_place', kind: 'flag' },
  { column: 'is_first_of_key', kind: 'flag' },
  { column: 'expires_at', kind: 'bigint', isNullable: true },
  { column: 'body_id', kind: 'bigint', isNullable: true },
  { column: 'alone_from_at', kind: 'bigint', isNullable: true },
  { column: 'cancel_expires_at', kind: 'bigint', isNullable: true, isRead: false },
  // The counted bytes of the message and its attempts.
  { column: 'stored_bytes', kind: 'bigint', isNullable: true, isRead: false },
  // The attempt of a message that was delivered by its first attempt.
  { column: 'first_started_at', kind: 'bigint', isNullable: true, isRead: false, onlyIn: 'sqlite' },
  { column: 'first_response_headers', kind: 'headers', isNullable: true, isRead: false, onlyIn: 'sqlite' },
  { column: 'first_response_body', kind: 'bytes', isNullable: true, isRead: false, onlyIn: 'sqlite' },
];

export interface Column {
  readonly name: string;
  readonly kind: Kind;
  readonly isNullable: boolean;
  readonly isRead: boolean;
  readonly onlyIn: 'sqlite' | null;
}

function columnsOf(fields: readonly Field[]): Column[] {
  return fields.flatMap((field) =>
    'columns' in field
      ? field.columns.map(toColumn)
      : [
          {
            name: field.column,
            kind: field.kind,
            isNullable: field.or !== undefined || field.kind === 'texts',
            isRead: true,
            onlyIn: null,
          },
        ],
  );
}

function toColumn({ column, kind, isNullable = false, isRead = true, onlyIn }: OwnColumn): Column {
  return { name: column, kind, isNullable, isRead, onlyIn: onlyIn ?? null };
}

/** All columns of the table of messages. */
export const MESSAGE_COLUMNS: readonly Column[] = [
  ...columnsOf(Object.values(ACCEPTED_FIELDS)),
  ...columnsOf(Object.values(LATER_FIELDS)),
  ...STORE_COLUMNS.map(toColumn),
];

/** The columns that the table of PostgreSQL has. */
export const POSTGRES_COLUMNS: string = MESSAGE_COLUMNS.filter(({ onlyIn }) => onlyIn === null)
  .map(({ name }) => name)
  .join(', ');

const isBody = ({ name }: Column) => name === ACCEPTED_FIELDS.body.column;

/** The columns of a new row that come from the message, except the body. */
export const ACCEPTED_COLUMNS: readonly Column[] = columnsOf(Object.values(ACCEPTED_FIELDS)).filter(
  (column) => !isBody(column),
);

/** The columns that are read with a message, except the body. The query must call the table of messages `m`. */
export const READ_COLUMNS: string = MESSAGE_COLUMNS.filter((column) => column.isRead && !isBody(column))
  .map(({ name }) => `m.${name}`)
  .join(', ');
