// The table of budgets: everything that a caller or a receiver can make a node store in memory or do, with its maximum.
// docs/limits.md is made from this table, and /metrics shows the use of every pool. No such limit is defined elsewhere.

import { budgets, KIB, MIB, numericLimits } from './budget.ts';
import { CALLER_BUDGETS, DESTINATION_BUDGETS } from './connection-budgets.ts';

/**
 * A row for how many PostgreSQL connections a node uses at once for one kind of requests. All other connections are
 * reserved for the node's own work, whatever the load of accounts: accept, claim, settle, token look-ups and upkeep.
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
 * Bodies of attempts in flight up to this size do not count towards `inFlightBytes`: they need little memory, and must
 * not wait for large bodies.
 */
export const UNCOUNTED_BODY_BYTES_MAX = 16 * KIB;

/** Bodies of management calls up to this size do not count towards `managementBytes`, so that they never wait. */
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
    beyond: 'the next claim continues with the next host',
  },
  dueMessages: {
    what: 'Due messages that one claim makes ready, the earliest due time first',
    unit: 'messages',
    each: 1_000,
    beyond: 'a few messages of every other account are made ready as well; the next claim continues with the rest',
  },
  flowKeyReady: {
    what: 'Messages that one flow key has admitted and that wait for a slot. When the limits of the key change, all of them are checked again at once',
    unit: 'messages',
    each: 100,
    beyond: 'the message waits under the key until one of them starts',
  },
  flowKeysChecked: {
    what: 'Flow keys whose new limits one transaction applies. For each key, it checks all messages again that the key has admitted',
    unit: 'keys',
    each: 10,
    beyond: 'the new limits of the other keys are stored, and the next claims apply them',
  },
  dueFlowKeys: {
    what: 'Flow keys that admit messages in one claim. Together they admit at most as many messages as one claim makes ready',
    unit: 'keys',
    each: 200,
    beyond: 'accounts take turns, and the next claim continues',
  },
  dueQueues: {
    what: 'Queues whose next messages become ready in one claim. Together these are at most as many messages as one claim makes ready',
    unit: 'queues',
    each: 200,
    beyond: 'accounts take turns, and the next claim continues',
  },
  linesAtOnce: {
    what: 'Queues and flow keys of one request whose messages may start as soon as they are accepted',
    unit: 'queues or keys',
    each: 16,
    beyond: 'messages in other queues and under other keys start with the next claims, in turns of accounts',
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
  bodyPieces: { what: 'Tiny chunks of a request body', unit: 'pieces', each: 2048, beyond: '413 `body_in_pieces`' },
  batchElements: {
    what: 'Elements of batches whose messages are being made and stored',
    unit: 'elements',
    account: 1000,
    beyond: 'the next batch of the account waits; a batch with more elements than the limit is processed alone',
  },
  managementBytes: {
    what: 'Bodies of management calls that are being parsed and carried out. Bodies up to 4 KiB do not count',
    unit: 'bytes',
    account: 128 * KIB,
    beyond: 'the next call of the account waits; a call with a body above the limit is processed alone',
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
    what: 'Bodies and headers of accepted messages that wait for their transaction. A body that several messages share counts once',
    unit: 'bytes',
    account: 'share',
    node: 256 * MIB,
    beyond: '429 `share_used` for the account, 503 `overloaded` when the node is full',
  },
  doubtedLeases: {
    what: 'Leases that PostgreSQL may have written without confirming them. The node remembers them until their database connection has ended',
    unit: 'leases',
    each: 20_000,
    beyond: 'the oldest are forgotten; if PostgreSQL did write them, the periodic search for unknown claims finds them',
  },
  headerBytes: {
    what: 'Content-Type and all forwarded headers of a delivery: names and values together',
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
  topicHeaderBytes: { what: 'Default headers of a topic', unit: 'bytes', each: 64 * KIB, beyond: '400 `bad_header`' },
  scheduleHeaders: { what: 'Headers of a schedule', unit: 'headers', each: 256, beyond: '400 `bad_header`' },
  scheduleHeaderBytes: { what: 'Headers of a schedule', unit: 'bytes', each: 64 * KIB, beyond: '400 `bad_header`' },
  errorLength: { what: 'Text of one error', unit: 'characters', each: 1000, beyond: 'the rest is left out' },
  redactionNames: { what: 'Header names in `Redact-Fields`', unit: 'names', each: 64, beyond: '400 `bad_header`' },
  descendants: {
    what: 'Messages that one message can cause: by deliveries that reach the service again, fan-out, callbacks and their retries. If the message has callbacks, half of the limit is for them',
    unit: 'messages',
    each: 2000,
    beyond:
      'a request of such a delivery to publish, to run a schedule or to retry is refused with 400 `loop_detected`. Callbacks get fewer retries at first; later they are not created, and the log says so',
  },
  messageChanges: {
    what: 'Changes of one message while it waits. The log names each of them',
    unit: 'changes',
    each: 1000,
    beyond: '412 `limit_exceeded`',
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
    what: 'The filter `text` of a search',
    unit: 'characters',
    each: 200,
    beyond: '400 `bad_filter`',
  },
  pageBytes: {
    what: 'One page of a list',
    unit: 'bytes',
    each: 4 * MIB,
    beyond: 'the page ends there, with a cursor for the next page',
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
    beyond: 'the next piece continues; a body above the limit is read alone',
  },
  reads: {
    what: 'Lists, searches and counts that run or wait for their turn',
    unit: 'reads',
    account: 'share',
    node: 64,
    beyond: '429 `share_used` for the account, 503 `overloaded` when the node is full',
  },
  answerBytes: {
    what: 'Responses to lists, searches and counts, until they are written. A caller has 30 s to read each 64 KiB',
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
    what: 'Events that wait in memory for the reader of a live stream. The last one may go beyond the limit',
    unit: 'bytes',
    each: 64 * KIB,
    beyond: 'the stream waits; a reader that reads nothing for 30 seconds is disconnected',
  },
  dueSchedules: {
    what: 'Due schedules that run in one step, equally many of each account',
    unit: 'schedules',
    each: 100,
    beyond: 'the others run in the next step; deliveries do not wait for them',
  },
  dueScheduleBytes: {
    what: 'Bodies, headers and last messages of due schedules that run in one step',
    unit: 'bytes',
    each: 8 * MIB,
    beyond: 'the others run in the next step; a larger schedule runs alone',
  },
  upkeepRows: {
    what: 'Messages that schedules, bulk operations, expiry and retention create, change or delete in one transaction',
    unit: 'messages',
    each: 200,
    beyond: 'the others follow in the next transaction; deliveries do not wait for it',
  },
  upkeepBytes: {
    what: 'Bodies of the messages that retention deletes in one transaction. A larger message is deleted alone',
    unit: 'bytes',
    each: 16 * MIB,
    beyond: 'the others follow in the next transaction; deliveries do not wait for it',
  },
  changedBytes: {
    what: 'Bodies of the messages that one transaction changes or deletes, in a cancel, a bulk operation, a delete of dead letters, or failure callbacks of expired messages. The last message may go beyond the limit',
    unit: 'bytes',
    each: 4 * MIB,
    beyond: 'the rest follows in the next transaction; other accounts have their turn before it',
  },
  hosts: {
    what: 'Hosts whose health is measured. The limit of the node is for those with attempts in the last five seconds',
    unit: 'hosts',
    account: 1000,
    node: 20_000,
    beyond: 'a further host is not measured, until hosts without an attempt for a week are forgotten',
  },
  parkedHosts: {
    what: 'Hosts that messages are parked for, or that open again',
    unit: 'hosts',
    account: 500,
    node: 10_000,
    beyond: 'a further host is not parked: its messages are retried; 412 `limit_exceeded` by hand',
  },
  ackText: {
    what: 'Text of an `error` or a `note` that a receiver gives with an ack. An attempt that awaits its ack keeps the last one',
    unit: 'characters',
    each: 1000,
    beyond: '400 `bad_body`',
  },
  progressEvents: {
    what: 'Events of one attempt for what its receiver has reported before its ack, at most one every 10 s',
    unit: 'events',
    each: 100,
    beyond: 'the message shows what was reported last; no event is written',
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
    what: 'Rows of one kind that are read to evaluate the alerts of one account: the newest failed messages, the newest steps of the journal, or the first queues by name. For schedules, a tenth of this number',
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
    what: 'Stored size of a bulk operation, if the disk is nearly full or the account stores as much as it may: only small ones are accepted then',
    unit: 'bytes',
    each: 4 * KIB,
    beyond: '503 `disk_full` or 412 `storage_exceeded`; use a shorter filter',
  },
  jobsKept: {
    what: 'Bulk operations that are listed',
    unit: 'operations',
    account: 1000,
    beyond: 'of those that have ended, the oldest are no longer listed',
  },
  auditRows: {
    what: 'Rows of the audit for calls that changed something',
    unit: 'rows',
    account: 10_000,
    beyond: 'the oldest are deleted',
  },
  auditFrequent: {
    what: 'Rows of the audit for what is called often: counted calls that were carried out, sign-ins and sign-outs of the console, and what one token changes beyond 30 calls in a minute',
    unit: 'rows',
    account: 5_000,
    beyond: 'the oldest are deleted',
  },
  auditRefusals: {
    what: 'Rows of the audit for refused calls. Those of callers without a token count together, like those of one account',
    unit: 'rows',
    account: 5_000,
    beyond: 'the oldest are deleted',
  },
  auditKinds: {
    what: 'Different calls of a minute that the audit counts in rows of their own: refused calls, and calls for single messages',
    unit: 'rows',
    account: 20,
    node: 500,
    beyond:
      'further ones are counted in one row for the account; beyond the limit of the node, in one row for all accounts',
  },
  auditNetworks: {
    what: 'Networks of a minute whose calls without a valid token, or failed sign-ins, the audit counts in a row for each',
    unit: 'rows',
    node: 100,
    beyond: 'further ones are counted in one row for all networks',
  },
  lookups: {
    what: 'Host names of destinations that are being looked up in DNS',
    unit: 'lookups',
    account: 'share',
    node: 64,
    beyond: 'the message waits; this does not count as an attempt',
  },
  lookupNames: {
    what: 'Host names whose addresses are cached for some seconds',
    unit: 'names',
    node: 4096,
    beyond: 'the oldest is forgotten and looked up again',
  },
  lookupAddresses: {
    what: 'Addresses of one host name that are checked and tried',
    unit: 'addresses',
    each: 32,
    beyond: 'the rest is left out',
  },
  interimAnswers: {
    what: 'Interim (1xx) responses of a receiver in one attempt',
    unit: 'responses',
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
    what: 'Requests that the sink of `dev` keeps and shows',
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

export const { nodeMax, accountMax, eachMax } = numericLimits(BUDGETS);
