// The table of budgets: everything that a caller or a receiver can make a node hold or do, and the most there may be of
// it. docs/limits.md is made from it, and /metrics shows the use of every pool. Limits are read from here only.

import { budgets, KIB, MIB } from './budget.ts';

/** Bodies of attempts under way up to this size are not counted: they come to little, and never wait for large ones. */
export const UNCOUNTED_BODY_BYTES_MAX = 16 * KIB;

export const BUDGETS = budgets({
  slots: {
    what: 'Attempts under way',
    unit: 'attempts',
    account: 'share',
    node: '--concurrency',
    beyond: 'the message waits; messages of other accounts start',
  },
  hostSlots: {
    what: 'Attempts under way to one destination host',
    unit: 'attempts',
    account: 'share',
    node: '--host-concurrency',
    beyond: 'the message waits; messages of other accounts, and to other hosts, start',
  },
  claimHosts: {
    what: 'Hosts of one account that one claim looks at',
    unit: 'hosts',
    each: 128,
    beyond: 'the next claim goes on from there',
  },
  dueMessages: {
    what: 'Delayed messages that one claim makes ready when they are due, the longest due first',
    unit: 'messages',
    each: 1_000,
    beyond: 'a few of every other account are made ready beside them; the next claim goes on from there',
  },
  flowKeyReady: {
    what: 'Messages of one flow key that it has let through and that wait for a slot: a change of its limits judges them again',
    unit: 'messages',
    each: 100,
    beyond: 'the message waits behind the key, and is let through when one of them starts',
  },
  flowKeysJudged: {
    what: 'Flow keys whose limits one transaction changes: what each has let through is judged again',
    unit: 'keys',
    each: 10,
    beyond: 'the new limits of the other keys are noted, and take effect piece by piece with the next claims',
  },
  dueFlowKeys: {
    what: 'Flow keys that one claim makes let messages through; they share as many messages as one claim makes ready',
    unit: 'keys',
    each: 200,
    beyond: 'accounts take turns, and the next claim goes on',
  },
  inFlightBytes: {
    what: 'Message bodies of attempts under way, until they are written to the socket, or until the attempt ends when a callback will report them; bodies up to 16 KiB are not counted',
    unit: 'bytes',
    account: 'share',
    node: 96 * MIB,
    beyond:
      'the message waits; messages of other accounts start. One that is larger than its share goes alone, beside the pool',
  },
  uploads: {
    what: 'Request bodies that are being received or processed',
    unit: 'bytes',
    account: 'share',
    node: 208 * MIB,
    beyond:
      '429 `share_used` for the account, 503 `overloaded` when the node is full; a body that brings less than 16 KiB in 10 seconds is cut off with 408 `body_too_slow`',
  },
  plannedMessages: {
    what: 'Messages that one request makes: elements of a batch, one for each endpoint of a topic',
    unit: 'messages',
    each: 5000,
    beyond: '413 `request_too_large`, before anything is planned',
  },
  plannedBytes: {
    what: 'Bytes that one request stores: each body once, and the headers of every message',
    unit: 'bytes',
    each: 128 * MIB,
    beyond: '413 `request_too_large`, before anything is planned',
  },
  inboxMessages: {
    what: 'Accepted messages that wait for their transaction',
    unit: 'messages',
    account: 'share',
    node: 20_000,
    beyond: '429 `share_used` for the account, 503 `overloaded` when the node is full',
  },
  inboxBytes: {
    what: 'Their bodies and headers; a body that is shared by a fan-out counts once',
    unit: 'bytes',
    account: 'share',
    node: 256 * MIB,
    beyond: '429 `share_used` for the account, 503 `overloaded` when the node is full',
  },
  headerBytes: {
    what: 'Headers of a delivery, names and values together, whichever way they came',
    unit: 'bytes',
    each: 16 * KIB,
    beyond: '400 `bad_forward_header`',
  },
  settingLength: {
    what: 'Value of one header that steers a delivery',
    unit: 'characters',
    each: 16 * KIB,
    beyond: '400 `bad_header`',
  },
  redactionNames: { what: 'Header names in `Redact-Fields`', unit: 'names', each: 64, beyond: '400 `bad_header`' },
  descendants: {
    what: 'Messages that descend from one message: by deliveries that reach the service again, fan-out, callbacks and their retries; half of it for callbacks, if it has any',
    unit: 'messages',
    each: 2000,
    beyond:
      'the publish, run or retry that comes back is refused with 400 `loop_detected`; callbacks get fewer retries, then are not made, and the log says so',
  },
  filterValues: {
    what: 'Values that are given for one name of a filter, such as `label`, in a list or a bulk call',
    unit: 'values',
    each: 100,
    beyond: '400 `bad_filter`',
  },
  filterIds: {
    what: 'Ids in `messageIds` or `dlqIds`',
    unit: 'ids',
    each: 5000,
    beyond: '400 `bad_filter`; ask in several calls',
  },
  filterCharacters: {
    what: 'All values of a filter together',
    unit: 'characters',
    each: 256 * KIB,
    beyond: '400 `bad_filter`',
  },
  searchCharacters: {
    what: 'The `text` that is searched for',
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
    beyond: 'it is left out there, with `isBodyLeftOut`; the schedule itself shows it',
  },
  lagCount: {
    what: 'Messages counted for the `lag` of queues, in one call',
    unit: 'messages',
    each: 1_000_000,
    beyond: 'counting ends there, with `isLagCut`',
  },
  lineCount: {
    what: 'Messages counted for `waitListSize` and `parallelismCount` of a flow key, for `aheadCount` of a message, and for one piece of a `lag`',
    unit: 'messages',
    each: 10_000,
    beyond: 'counting ends there, with `isWaitListSizeCut` or `isAheadCountCut`',
  },
  matchedCount: {
    what: 'Messages counted for `matched` of a bulk operation; at most 200,000 are looked at for it',
    unit: 'messages',
    each: 100_000,
    beyond: 'counting ends there, with `isMatchedCut`; the operation does all of them',
  },
  reads: {
    what: 'Lists, searches and counts that run or wait for their turn',
    unit: 'reads',
    account: 'share',
    node: 64,
    beyond: '429 `share_used` for the account, 503 `overloaded` when the node is full',
  },
  answerBytes: {
    what: 'Answers of lists, searches and counts, until they are written; a caller has 30 s for each 64 KiB of them',
    unit: 'bytes',
    account: 'share',
    node: 64 * MIB,
    beyond: 'the read waits; a caller that does not read is disconnected',
  },
  logBytes: {
    what: 'Write-ahead log of SQLite: a read under way keeps it from being emptied, so that it grows with what is written meanwhile',
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
    what: 'Reads of the journal for live streams, at once',
    unit: 'reads',
    account: 1,
    node: 2,
    beyond: 'the stream waits; accounts take turns',
  },
  streamBytes: {
    what: 'Events that wait in memory for the reader of a live stream, besides the last one',
    unit: 'bytes',
    each: 64 * KIB,
    beyond: 'the stream waits; a reader that takes nothing for 30 seconds is disconnected',
  },
  dueSchedules: {
    what: 'Schedules whose messages are made in one go, an equal part for each account',
    unit: 'schedules',
    each: 100,
    beyond: 'they follow in the next go; deliveries do not wait for it',
  },
  dueScheduleBytes: {
    what: 'Bodies of schedules whose messages are made in one go',
    unit: 'bytes',
    each: 8 * MIB,
    beyond: 'they follow in the next go; one that is larger goes alone',
  },
  upkeepRows: {
    what: 'Messages that schedules, bulk operations and retention make, change or delete in one transaction',
    unit: 'messages',
    each: 200,
    beyond: 'they follow in the next transaction; deliveries do not wait for it',
  },
  upkeepBytes: {
    what: 'Bodies of the messages that retention deletes in one transaction, beside the first of them',
    unit: 'bytes',
    each: 16 * MIB,
    beyond: 'they follow in the next transaction; deliveries do not wait for it',
  },
  sessions: { what: 'Console sessions of one token', unit: 'sessions', each: 100, beyond: 'the oldest one ends' },
  runningJobs: {
    what: 'Bulk operations that run',
    unit: 'operations',
    account: 10,
    beyond: '429 `share_used`; those of an account take turns',
  },
  lookups: {
    what: 'Names of destinations that are being looked up',
    unit: 'lookups',
    account: 'share',
    node: 64,
    beyond: 'the message waits and no attempt is counted',
  },
  lookupNames: {
    what: 'Names whose addresses are kept for some seconds',
    unit: 'names',
    node: 4096,
    beyond: 'the oldest is forgotten and looked up again',
  },
  lookupAddresses: {
    what: 'Addresses of one name that are judged and tried',
    unit: 'addresses',
    each: 32,
    beyond: 'the rest is left out',
  },
  interimAnswers: {
    what: 'Interim (1xx) answers of a receiver in one attempt',
    unit: 'answers',
    each: 32,
    beyond: 'the attempt fails',
  },
  answerHeadBytes: {
    what: 'Status line and headers of an answer, with the interim answers before it',
    unit: 'bytes',
    each: 64 * KIB,
    beyond: 'the attempt fails',
  },
  answerHeaders: { what: 'Headers of an answer', unit: 'headers', each: 1000, beyond: 'the attempt fails' },
  keptHeaders: {
    what: 'Headers of an answer that are kept',
    unit: 'headers',
    each: 128,
    beyond: 'the rest is left out',
  },
  answerHeaderBytes: {
    what: 'Headers of an answer that are kept, in bytes',
    unit: 'bytes',
    each: 16 * KIB,
    beyond: 'those that do not fit are left out',
  },
  answerFramingBytes: {
    what: 'Chunk extensions and trailers of an answer, which are thrown away',
    unit: 'bytes',
    each: 16 * KIB,
    beyond: 'the answer ends there, with its body cut',
  },
  answerBodyBytes: { what: 'Body of an answer', unit: 'bytes', each: 64 * KIB, beyond: 'the rest is not read' },
  answers: {
    what: 'Answers that are coming in: bodies, and heads that are not whole yet',
    unit: 'bytes',
    account: 'share',
    node: 64 * MIB,
    beyond: 'the body is cut there; an attempt without a whole head fails',
  },
  acceptedAtOnce: {
    what: 'New connections that are taken in one turn of the loop, where the system lets sockets share a port',
    unit: 'connections',
    each: 16,
    beyond: 'the others follow in the next turn',
  },
  connections: {
    what: 'Connections of callers',
    unit: 'connections',
    node: 4096,
    beyond:
      'the one that has waited longest without a request is closed, first those that never had one; if all have requests under way, the new one is closed',
  },
  requests: {
    what: 'Requests under way, live streams among them',
    unit: 'requests',
    account: 'share',
    node: 3072,
    beyond: '429 `share_used` for the account, 503 `overloaded` when the node is full',
  },
  pipelined: {
    what: 'Requests of one connection that wait for their answers',
    unit: 'requests',
    each: 64,
    beyond: 'the connection is closed',
  },
  headBytes: {
    what: 'Request line and headers of a request',
    unit: 'bytes',
    each: 64 * KIB,
    beyond: '431 `headers_too_large`',
  },
  headSeconds: {
    what: 'Time for the head of a request',
    unit: 'seconds',
    each: 20,
    beyond: '408 `request_timeout`; a connection that has brought nothing is closed without a word',
  },
  requestSeconds: { what: 'Time for a whole request', unit: 'seconds', each: 300, beyond: '408 `request_timeout`' },
  idleSeconds: {
    what: 'Time between two requests of a connection',
    unit: 'seconds',
    each: 65,
    beyond: 'the connection is closed',
  },
  refusedBytes: {
    what: 'Bytes of a refused request that are read on, so that its caller sees the refusal',
    unit: 'bytes',
    each: 64 * MIB,
    beyond: 'the connection is closed',
  },
  refusedSeconds: { what: 'Time for which they are', unit: 'seconds', each: 15, beyond: 'the connection is closed' },
  endedSeconds: {
    what: 'Time for a caller to end a connection that the server has ended',
    unit: 'seconds',
    each: 5,
    beyond: 'the connection is destroyed',
  },
  unreadSeconds: {
    what: 'Time in which a caller takes nothing of its answer',
    unit: 'seconds',
    each: 30,
    beyond: 'the connection is destroyed',
  },
  unreadAnswers: {
    what: 'Answers that are written and that callers have not taken',
    unit: 'bytes',
    node: 64 * MIB,
    beyond: 'the connection for which most is held is destroyed, first those that take nothing',
  },
  sinkRequests: {
    what: 'Requests that the sink of `dev` keeps to be looked at',
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
    what: 'Messages whose tries `/dev/sink/fail` counts',
    unit: 'messages',
    node: 1000,
    beyond: 'the oldest is forgotten',
  },
  idleConnections: {
    what: 'Connections to destinations that wait a few seconds for the next message',
    unit: 'connections',
    node: 1024,
    beyond: 'the one that has waited longest is closed',
  },
});

function numberOf(key: keyof typeof BUDGETS, whose: 'node' | 'account' | 'each'): number {
  const value = BUDGETS[key][whose];
  if (typeof value !== 'number') throw new Error(`the budget "${key}" has no number under "${whose}"`);
  return value;
}

/** The size of a pool that the table gives as a number. */
export const nodeMax = (key: keyof typeof BUDGETS) => numberOf(key, 'node');
/** The limit for one account that the table gives as a number. */
export const accountMax = (key: keyof typeof BUDGETS) => numberOf(key, 'account');
/** The limit for one request, message, answer or attempt. */
export const eachMax = (key: keyof typeof BUDGETS) => numberOf(key, 'each');
