// The table of budgets: everything that a caller or a receiver can make a node hold or do, with its maximum.
// docs/limits.md is made from it, and /metrics shows the use of every pool. Limits are read only from here.

import { budgets, KIB, MIB, numbersOf } from './budget.ts';
import { CALLER_BUDGETS, DESTINATION_BUDGETS } from './connection-budgets.ts';

/**
 * How many PostgreSQL connections a node uses at once for requests of accounts. The others are reserved for the node's
 * own work: accept, claim, settle, token look-ups and upkeep, whatever the load of accounts.
 */
function databaseWork(what: string, node: number) {
  return {
    what: `${what}, on PostgreSQL`,
    unit: 'connections',
    node,
    beyond: 'the next one waits; accounts take turns',
  };
}

/**
 * Bodies of attempts in flight up to this size are not counted: they need little memory, and must not wait for large
 * bodies.
 */
export const UNCOUNTED_BODY_BYTES_MAX = 16 * KIB;

/** Bodies of management calls up to this size are not counted, so they never wait for large ones. */
export const UNCOUNTED_MANAGEMENT_BYTES_MAX = 4 * KIB;

export const BUDGETS = budgets({
  slots: {
    what: 'Attempts in flight',
    unit: 'attempts',
    account: 'share',
    node: '--concurrency',
    beyond: 'the message waits; messages of other accounts start',
  },
  hostSlots: {
    what: 'Attempts in flight to one destination host',
    unit: 'attempts',
    account: 'share',
    node: '--host-concurrency',
    beyond: 'the message waits; messages of other accounts, and to other hosts, start',
  },
  claimHosts: {
    what: 'Hosts of one account that one claim examines',
    unit: 'hosts',
    each: 128,
    beyond: 'the next claim continues from there',
  },
  dueMessages: {
    what: 'Due messages that one claim makes ready, the earliest due time first',
    unit: 'messages',
    each: 1_000,
    beyond: 'a few of every other account are made ready as well; the next claim continues from there',
  },
  flowKeyReady: {
    what: 'Messages that one flow key has admitted and that wait for a slot. A change of its limits decides about them again',
    unit: 'messages',
    each: 100,
    beyond: 'the message waits under the key until one of them starts',
  },
  flowKeysChecked: {
    what: 'Flow keys whose limits one transaction changes. It decides again about the messages that each key has admitted',
    unit: 'keys',
    each: 10,
    beyond: 'the new limits of the other keys are stored and take effect step by step, with the next claims',
  },
  dueFlowKeys: {
    what: 'Flow keys that admit messages in one claim; together they admit at most as many messages as one claim makes ready',
    unit: 'keys',
    each: 200,
    beyond: 'accounts take turns, and the next claim continues',
  },
  dueQueues: {
    what: 'Queues whose next messages become ready in one claim; together at most as many messages as one claim makes ready',
    unit: 'queues',
    each: 200,
    beyond: 'accounts take turns, and the next claim continues',
  },
  linesAtOnce: {
    what: 'Queues and flow keys of one request whose messages may start at once',
    unit: 'queues or keys',
    each: 16,
    beyond: 'the messages in the others start with the next claims, in turns of accounts',
  },
  inFlightBytes: {
    what: 'Message bodies of attempts in flight. A body counts until it is written to the socket, or until the attempt ends if a callback reports it. Bodies up to 16 KiB do not count',
    unit: 'bytes',
    account: 'share',
    node: 96 * MIB,
    beyond:
      'the message waits; messages of other accounts start. A body larger than the share is sent alone, outside the pool',
  },
  uploads: {
    what: 'Request bodies that are being received or processed',
    unit: 'bytes',
    account: 'share',
    node: 208 * MIB,
    beyond: '429 `share_used` for the account, 503 `overloaded` when the node is full',
  },
  bodyPieces: { what: 'Very small chunks of a body', unit: 'pieces', each: 2048, beyond: '413 `body_in_pieces`' },
  batchElements: {
    what: 'Elements of batches whose messages are being made and stored',
    unit: 'elements',
    account: 1000,
    beyond: 'the next batch of the account waits; a larger one is processed alone',
  },
  managementBytes: {
    what: 'Bodies of management calls that are being parsed and carried out. Bodies up to 4 KiB do not count',
    unit: 'bytes',
    account: 128 * KIB,
    beyond: 'the next call of the account waits; a larger one is processed alone',
  },
  plannedMessages: {
    what: 'Messages that one request creates: one for each element of a batch and each endpoint of a topic',
    unit: 'messages',
    each: 5000,
    beyond: '413 `request_too_large`, before any message is created',
  },
  plannedBytes: {
    what: 'Bytes that one request stores: each body once, and the headers of every message',
    unit: 'bytes',
    each: 128 * MIB,
    beyond: '413 `request_too_large`, before any message is created',
  },
  inboxMessages: {
    what: 'Accepted messages that wait for their transaction',
    unit: 'messages',
    account: 'share',
    node: 20_000,
    beyond: '429 `share_used` for the account, 503 `overloaded` when the node is full',
  },
  inboxBytes: {
    what: 'Bodies and headers of accepted messages that wait for their transaction; a body that a fan-out shares counts once',
    unit: 'bytes',
    account: 'share',
    node: 256 * MIB,
    beyond: '429 `share_used` for the account, 503 `overloaded` when the node is full',
  },
  doubtedLeases: {
    what: 'Leases that PostgreSQL may have written without confirming them. The node remembers them until their connection has ended',
    unit: 'leases',
    each: 20_000,
    beyond: 'the oldest are forgotten; if PostgreSQL did write them, the periodic search for unknown claims finds them',
  },
  headerBytes: {
    what: 'All headers of a delivery: names and values together, from all sources',
    unit: 'bytes',
    each: 16 * KIB,
    beyond: '400 `bad_forward_header`',
  },
  settingLength: {
    what: 'Value of one header that controls a delivery',
    unit: 'characters',
    each: 16 * KIB,
    beyond: '400 `bad_header`',
  },
  topicHeaders: { what: 'Default headers of a topic', unit: 'headers', each: 256, beyond: '400 `bad_header`' },
  topicHeaderBytes: { what: 'Size of these headers', unit: 'bytes', each: 64 * KIB, beyond: '400 `bad_header`' },
  errorLength: { what: 'Text of one error', unit: 'characters', each: 1000, beyond: 'the rest is left out' },
  redactionNames: { what: 'Header names in `Redact-Fields`', unit: 'names', each: 64, beyond: '400 `bad_header`' },
  descendants: {
    what: 'Messages that one message can cause: by deliveries that reach the service again, fan-out, callbacks and their retries. If the message has callbacks, half is for them',
    unit: 'messages',
    each: 2000,
    beyond:
      'a publish, run or retry that comes back is refused with 400 `loop_detected`; callbacks first get fewer retries, then they are not created, and the log says so',
  },
  filterValues: {
    what: 'Values of one filter, such as `label`, in a list or a bulk call',
    unit: 'values',
    each: 100,
    beyond: '400 `bad_filter`',
  },
  filterIds: {
    what: 'Ids in `messageIds` or `dlqIds`',
    unit: 'ids',
    each: 5000,
    beyond: '400 `bad_filter`; use several calls',
  },
  filterCharacters: {
    what: 'All values of a filter together',
    unit: 'characters',
    each: 256 * KIB,
    beyond: '400 `bad_filter`',
  },
  searchCharacters: {
    what: 'The `text` to search for',
    unit: 'characters',
    each: 200,
    beyond: '400 `bad_filter`',
  },
  pageBytes: {
    what: 'One page of a list',
    unit: 'bytes',
    each: 4 * MIB,
    beyond: 'the page ends there, with a cursor',
  },
  listedBodyBytes: {
    what: 'Body of a schedule in a list',
    unit: 'bytes',
    each: KIB,
    beyond: 'the list leaves it out, with `isBodyLeftOut`; the schedule itself has it',
  },
  lagCount: {
    what: 'Messages counted for the `lag` of queues, in one call',
    unit: 'messages',
    each: 1_000_000,
    beyond: 'counting stops there, with `isLagCut`',
  },
  lineCount: {
    what: 'Messages counted for `waitListSize` and `parallelismCount` of a flow key, for `aheadCount` of a message, and for one part of a `lag`',
    unit: 'messages',
    each: 10_000,
    beyond: 'counting stops there, with `isWaitListSizeCut` or `isAheadCountCut`',
  },
  matchedCount: {
    what: 'Messages counted for `matched` of a bulk operation; at most 200,000 are examined for it',
    unit: 'messages',
    each: 100_000,
    beyond: 'counting stops there, with `isMatchedCut`; the operation still processes all of them',
  },
  pieceRows: {
    what: 'Messages or events that one piece of a list, search or count examines',
    unit: 'rows',
    each: 500,
    beyond:
      'other accounts have their turn; then the next piece continues, unless the caller has closed its connection',
  },
  pieceBytes: {
    what: 'Bodies that one piece of a list, search or count reads',
    unit: 'bytes',
    each: 2 * MIB,
    beyond: 'the next piece continues, as above; a larger body is read alone',
  },
  reads: {
    what: 'Lists, searches and counts that run or wait for their turn',
    unit: 'reads',
    account: 'share',
    node: 64,
    beyond: '429 `share_used` for the account, 503 `overloaded` when the node is full',
  },
  answerBytes: {
    what: 'Responses of lists, searches and counts, until they are written; a caller has 30 s to read each 64 KiB',
    unit: 'bytes',
    account: 'share',
    node: 64 * MIB,
    beyond: 'the read waits; a caller that does not read is disconnected',
  },
  databaseLists: databaseWork('Lists, searches and counts', 2),
  databaseLookUps: databaseWork(
    'Single messages, queues, topics, schedules, bulk operations and stream positions that requests look up',
    2,
  ),
  databaseChanges: databaseWork('Changes through the API, except publishing', 3),
  logBytes: {
    what: 'Write-ahead log of SQLite. It cannot be emptied during a read, so it grows with each write',
    unit: 'bytes',
    node: 32 * MIB,
    beyond: 'the next list, search or count waits until it is emptied',
  },
  streams: {
    what: 'Live event streams',
    unit: 'streams',
    account: 'share',
    node: 1000,
    beyond: '429 `share_used` for the account, 503 `overloaded` when the node is full',
  },
  streamReads: {
    what: 'Concurrent reads of the journal for live streams',
    unit: 'reads',
    account: 1,
    node: 2,
    beyond: 'the stream waits; accounts take turns',
  },
  streamBytes: {
    what: 'Events that wait in memory for the reader of a live stream, without the last one',
    unit: 'bytes',
    each: 64 * KIB,
    beyond: 'the stream waits; a reader that reads nothing for 30 seconds is disconnected',
  },
  dueSchedules: {
    what: 'Schedules that run in one step, an equal part for each account',
    unit: 'schedules',
    each: 100,
    beyond: 'the others run in the next step; deliveries do not wait for them',
  },
  dueScheduleBytes: {
    what: 'Bodies of schedules that run in one step',
    unit: 'bytes',
    each: 8 * MIB,
    beyond: 'the others run in the next step; a schedule with a larger body runs alone',
  },
  upkeepRows: {
    what: 'Messages that schedules, bulk operations and retention create, change or delete in one transaction',
    unit: 'messages',
    each: 200,
    beyond: 'the others follow in the next transaction; deliveries do not wait for it',
  },
  upkeepBytes: {
    what: 'Bodies of the messages that retention deletes in one transaction, without the first one',
    unit: 'bytes',
    each: 16 * MIB,
    beyond: 'the others follow in the next transaction; deliveries do not wait for it',
  },
  changedBytes: {
    what: 'Bodies of the messages that a cancel, a bulk operation or a delete of dead letters changes or deletes in one transaction, without the last one',
    unit: 'bytes',
    each: 4 * MIB,
    beyond: 'the others follow in the next transaction; others have their turn before it',
  },
  alerts: {
    what: 'Alerts',
    unit: 'alerts',
    account: 50,
    beyond: '412 `limit_exceeded`',
  },
  dueAlerts: {
    what: 'Alerts that are evaluated in one step, those that have waited longest first',
    unit: 'alerts',
    each: 100,
    beyond: 'the others are evaluated in the next step; deliveries do not wait for them',
  },
  alertRows: {
    what: 'Failed messages, steps of the journal (both the newest ones), or queues (the first by name) that are read to evaluate the alerts of one account; for schedules, a tenth of it',
    unit: 'rows',
    each: 2000,
    beyond: 'the rest is not read; for messages and steps, the message of the alert says so with `isCut`',
  },
  sessions: { what: 'Console sessions of one token', unit: 'sessions', each: 100, beyond: 'the oldest one ends' },
  runningJobs: {
    what: 'Running bulk operations',
    unit: 'operations',
    account: 10,
    beyond: '429 `share_used`; the operations of an account take turns',
  },
  smallJobBytes: {
    what: 'A bulk operation that is accepted although the disk is nearly full, or the account stores as much as it may',
    unit: 'bytes',
    each: 4 * KIB,
    beyond: '503 `disk_full` or 412 `storage_exceeded` then; use a shorter filter',
  },
  jobsKept: {
    what: 'Bulk operations that are listed',
    unit: 'operations',
    account: 1000,
    beyond: 'those that ended and were created first are no longer listed',
  },
  lookups: {
    what: 'Names of destinations that are being looked up',
    unit: 'lookups',
    account: 'share',
    node: 64,
    beyond: 'the message waits; this does not count as an attempt',
  },
  lookupNames: {
    what: 'Names whose addresses are cached for some seconds',
    unit: 'names',
    node: 4096,
    beyond: 'the oldest is forgotten and looked up again',
  },
  lookupAddresses: {
    what: 'Addresses of one name that are checked and tried',
    unit: 'addresses',
    each: 32,
    beyond: 'the rest is left out',
  },
  interimAnswers: {
    what: 'Interim (1xx) responses of a receiver in one attempt',
    unit: 'answers',
    each: 32,
    beyond: 'the attempt fails',
  },
  answerHeadBytes: {
    what: 'Status line and headers of a response, together with the interim responses before it',
    unit: 'bytes',
    each: 64 * KIB,
    beyond: 'the attempt fails',
  },
  answerHeaders: { what: 'Headers of a response', unit: 'headers', each: 1000, beyond: 'the attempt fails' },
  keptHeaders: {
    what: 'Headers of a response that are stored',
    unit: 'headers',
    each: 128,
    beyond: 'the rest is left out',
  },
  answerHeaderBytes: {
    what: 'Headers of a response that are stored, in bytes',
    unit: 'bytes',
    each: 16 * KIB,
    beyond: 'headers that do not fit are left out',
  },
  answerFramingBytes: {
    what: 'Chunk extensions and trailers of a response (they are not stored)',
    unit: 'bytes',
    each: 16 * KIB,
    beyond: 'the response ends there, with its body cut',
  },
  answerChunks: { what: 'Chunks of a response', unit: 'chunks', each: 2048, beyond: 'the response is cut there' },
  answerBodyBytes: { what: 'Body of a response', unit: 'bytes', each: 64 * KIB, beyond: 'the rest is not read' },
  answers: {
    what: 'Responses that are being received: bodies, and incomplete headers',
    unit: 'bytes',
    account: 'share',
    node: 64 * MIB,
    beyond: 'the body is cut there; an attempt without complete headers fails',
  },
  ...CALLER_BUDGETS,
  sinkRequests: {
    what: 'Requests that the sink of `dev` keeps to show them',
    unit: 'requests',
    node: 200,
    beyond: 'the oldest is forgotten',
  },
  sinkBodyBytes: {
    what: 'Body of a request that the sink keeps',
    unit: 'bytes',
    each: 64 * KIB,
    beyond: 'the rest is not kept',
  },
  sinkCounts: {
    what: 'Messages whose attempts `/dev/sink/fail` counts',
    unit: 'messages',
    node: 1000,
    beyond: 'the oldest is forgotten',
  },
  ...DESTINATION_BUDGETS,
});

export const { nodeMax, accountMax, eachMax } = numbersOf(BUDGETS);
