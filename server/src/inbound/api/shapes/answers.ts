// The schemas of API responses. The OpenAPI document shows them, and the tests check every response against them.

import { SCOPES } from '../../../rules/accounts/account.ts';
import { CHANGEABLE } from '../../../rules/delivery/change.ts';
import { EVENT_STATES } from '../../../rules/delivery/event.ts';
import { SHOWN_STATES } from '../../../rules/reads/message-filter.ts';
import { callbackFields, expiresAt, failureCode, Headers } from './part-answers.ts';
import { QSTASH_STATES } from './qstash-view.ts';
import Type, { type TSchema } from './schema.ts';

export { Headers };

const Ms = Type.Integer({ description: 'Milliseconds since 1970.' });
const optional = <T extends TSchema>(schema: T) => Type.Optional(schema);
const closedObject = (properties: Record<string, TSchema>) => Type.Object(properties, { additionalProperties: false });

/** A field beside a count. It is present when counting stopped at a limit. */
const cut = optional(Type.Boolean({ description: 'The real number is larger: counting stopped at a limit.' }));

export const Cursor = Type.Optional(Type.String({ description: 'Cursor of the next page; absent on the last page.' }));

export const ErrorAnswer = closedObject({ error: Type.String(), code: Type.String() });

const debounced = optional(
  Type.Integer({ description: 'With a `Debounce-Key`: for how many messages it stands, itself included.' }),
);
export const PublishResult = closedObject({
  messageId: Type.String(),
  url: Type.String(),
  deduplicated: optional(Type.Boolean()),
  debounced,
});
export const PublishAnswer = Type.Union([PublishResult, Type.Array(PublishResult)]);
export const BatchResult = Type.Union([
  closedObject({ messageId: Type.String(), deduplicated: optional(Type.Boolean()), debounced }),
  Type.Array(PublishResult),
  ErrorAnswer,
]);
export const BatchAnswer = Type.Array(BatchResult);

export const MessageState = Type.String({ enum: [...SHOWN_STATES] });
export const EventState = Type.String({ enum: [...EVENT_STATES] });
export const ChangedName = Type.String({ enum: [...CHANGEABLE] });
export const ScopeName = Type.String({ enum: [...SCOPES] });
export const JobAction = Type.String({ enum: ['cancel', 'retry', 'delete'] });

const Version = Type.String({
  description: 'Differs after every change of the message and every attempt that has ended. For `If-Match`.',
});

const messageFields = {
  messageId: Type.String(),
  version: Version,
  url: Type.String(),
  topicName: optional(Type.String()),
  endpointName: optional(Type.String()),
  queueName: optional(Type.String()),
  orderKey: optional(Type.String()),
  priority: optional(Type.Integer()),
  outage: optional(
    Type.String({
      enum: ['retry', 'park'],
      description: 'What it does while its host is down: it said so, or its queue or account did.',
    }),
  ),
  awaitAck: optional(
    Type.String({ description: 'How long a receiver that returns 202 has for its ack, such as `30m`.' }),
  ),
  ack: optional(
    closedObject({
      attempt: Type.Integer(),
      deadline: Type.Integer({ description: 'Until when the ack of the attempt is awaited.' }),
      progress: optional(Type.Number({ description: 'From 0 to 1, as its receiver reported it last.' })),
      note: optional(Type.String()),
    }),
  ),
  scheduleId: optional(Type.String()),
  method: Type.String(),
  header: Headers,
  body: optional(Type.String()),
  bodyBase64: optional(Type.String()),
  maxRetries: Type.Integer(),
  retryDelayExpression: optional(Type.String()),
  retryJitter: optional(Type.String()),
  timeoutMs: Type.Integer(),
  notBefore: Ms,
  expiresAt,
  debounceKey: optional(Type.String()),
  debounced,
  debounceUntil: optional(
    Type.Integer({
      description: 'Of a message with a `Debounce-Key`: it is due then at the latest. Milliseconds since 1970.',
    }),
  ),
  createdAt: Ms,
  state: MessageState,
  retried: Type.Integer(),
  nextDeliveryTime: optional(Ms),
  endedAt: optional(Ms),
  interrupted: optional(
    Type.Integer({ description: 'How many crashes interrupted the message since its last known result.' }),
  ),
  heldAt: optional(Ms),
  heldReason: optional(Type.String()),
  responseStatus: optional(Type.Integer()),
  failure: optional(Type.String()),
  failureCode,
  retriedAs: optional(Type.String({ description: 'If this dead letter was sent again: the id of the new message.' })),
  retriedAt: optional(Ms),
  ...callbackFields,
  sourceMessageId: optional(Type.String()),
  callerIP: optional(Type.String()),
  callerIp: optional(Type.String()),
  label: optional(Type.String()),
  labels: optional(Type.Array(Type.String())),
  flowControlKey: optional(Type.String()),
  parallelism: optional(Type.Integer()),
  rate: optional(Type.Integer()),
  period: optional(Type.Number()),
  redactFields: optional(
    Type.Array(Type.String(), { description: 'What is shown as `REDACTED:<sha256>`: body, headers, header[name].' }),
  ),
};
const answerFields = {
  responseStatus: optional(Type.Integer()),
  responseHeader: optional(Headers),
  responseBody: optional(Type.String()),
  responseBodyBase64: optional(Type.String()),
  isResponseBodyCut: optional(Type.Boolean()),
};

export const StateCountsAnswer = closedObject({
  states: closedObject(Object.fromEntries(SHOWN_STATES.map((state) => [state, Type.Integer({ minimum: 0 })]))),
  isCut: optional(Type.Boolean({ description: 'The real number is larger: counting stopped at a limit.' })),
});

export const AttemptAnswer = closedObject({
  number: Type.Integer(),
  startedAt: Ms,
  endedAt: Ms,
  outcome: Type.String({
    enum: ['answered', 'rejected', 'noAck', 'unreachable', 'timedOut', 'refusedByPolicy', 'interrupted'],
  }),
  error: optional(Type.String()),
  nextDeliveryTime: optional(Ms),
  ...answerFields,
  isAnswerLeftOut: optional(
    Type.Boolean({
      description:
        'The response of this attempt is left out, because the responses of later attempts have reached the limit.',
    }),
  ),
});
export const MessageSummary = closedObject(messageFields);
export const MessageAnswer = closedObject({ ...messageFields, attempts: Type.Array(AttemptAnswer) });
/** A token without the scope `read` learns only that the message was changed. */
export const UpdatedMessage = closedObject({ messageId: Type.String(), version: Version });
export const ChangedMessageAnswer = Type.Union([MessageAnswer, UpdatedMessage]);
export const MessagesAnswer = closedObject({ messages: Type.Array(MessageSummary), cursor: Cursor });
export const DeadLetterAnswer = closedObject({
  ...messageFields,
  ...answerFields,
  dlqId: Type.String(),
  error: optional(Type.String()),
});
export const DeadLettersAnswer = closedObject({ messages: Type.Array(DeadLetterAnswer), cursor: Cursor });
export const DeletedAnswer = closedObject({ deleted: Type.Integer(), cursor: Cursor });
/** Fields of a response with status 202: a node that has claimed some of the messages has not confirmed in time. */
const unconfirmedFields = {
  requested: optional(
    Type.Integer({ description: 'How many of the messages are claimed by a node that has not confirmed the cancel.' }),
  ),
  state: optional(Type.Literal('CANCEL_REQUESTED')),
  detail: optional(Type.String({ description: 'What happens to the messages whose cancel is not confirmed.' })),
};
export const CancelledAnswer = closedObject({
  cancelled: Type.Integer({ description: 'Number of messages that are cancelled, or whose cancel was requested.' }),
  ...unconfirmedFields,
});
export const QueueDeletedAnswer = closedObject(unconfirmedFields);
export const ReleasedAnswer = closedObject({ released: Type.Integer() });
export const MessageIdAnswer = closedObject({ messageId: Type.String() });
export const RetriedAnswer = closedObject({ responses: Type.Array(MessageIdAnswer), cursor: Cursor });
export const RunAnswer = Type.Array(closedObject({ messageId: Type.String(), url: Type.String() }));
export const NothingAnswer = closedObject({});
export const StatusAnswer = closedObject({
  status: Type.String(),
  /** If the node is not ready: an error code, and in `error` its text. */
  code: optional(Type.String()),
  error: optional(Type.String()),
});

export const AckAnswer = closedObject({
  messageId: Type.String(),
  attempt: Type.Integer(),
  ok: optional(Type.Boolean({ description: 'How the attempt has ended by this ack.' })),
  deadline: optional(Ms),
  progress: optional(Type.Number()),
  note: optional(Type.String()),
});
export const WhyAnswer = closedObject({
  messageId: Type.String(),
  reason: Type.String(),
  text: Type.String(),
  nextAttemptAt: optional(Ms),
  ackDeadline: optional(Type.Integer({ description: 'Until when its attempt waits for its ack.' })),
  parkedSince: optional(Type.Integer({ description: 'Since when its host is parked.' })),
  isEarliest: optional(Type.Boolean({ description: 'The time also depends on other messages and may be later.' })),
  estimatedAt: optional(
    Type.Integer({
      description:
        'Milliseconds since 1970: about when its turn comes behind others, at the usual pace of attempts to its host.',
    }),
  ),
  level: optional(
    Type.Integer({ description: 'Of the messages that wait for a slot, those with a higher level go first.' }),
  ),
  behindMessageId: optional(Type.String()),
  aheadCount: optional(Type.Integer()),
  isAheadCountCut: cut,
  expiresAt,
  debounced,
});

const EVENT_FIELDS = {
  time: Ms,
  messageId: Type.String(),
  state: EventState,
  url: Type.String(),
  method: Type.String(),
  topicName: optional(Type.String()),
  endpointName: optional(Type.String()),
  queueName: optional(Type.String()),
  scheduleId: optional(Type.String()),
  label: optional(Type.String()),
  labels: optional(Type.Array(Type.String())),
  flowControlKey: optional(Type.String()),
  callerIp: optional(Type.String()),
  header: Headers,
  body: optional(Type.String({ description: 'In base64.' })),
  isBodyCut: optional(Type.Boolean({ description: 'The body is cut off here. GET on the message returns all of it.' })),
  maxRetries: Type.Integer(),
  createdAt: Ms,
  progress: optional(Type.Number({ description: 'Of PROGRESS: from 0 to 1, if the receiver has reported one.' })),
  changed: optional(Type.Array(ChangedName, { description: 'Of UPDATED: the names of what was changed.' })),
  attempt: optional(Type.Integer()),
  nextDeliveryTime: optional(Ms),
  error: optional(Type.String()),
  failureCode,
  responseStatus: optional(Type.Integer()),
  responseHeaders: optional(Headers),
  responseBody: optional(Type.String({ description: 'In base64.' })),
};
export const EventAnswer = closedObject(EVENT_FIELDS);
/** An event as the public QStash clients get it (qstash-view.ts). */
const QstashEventAnswer = closedObject({
  ...EVENT_FIELDS,
  state: Type.String({ enum: [...new Set(EVENT_STATES.map((state) => QSTASH_STATES.get(state) ?? state))] }),
  timeout: Type.Integer({ description: 'In milliseconds.' }),
  callback: optional(Type.String()),
  callbackHeaders: optional(Headers),
  failureCallback: optional(Type.String()),
  failureCallbackHeaders: optional(Headers),
  parallelism: optional(Type.Integer()),
  rate: optional(Type.Integer()),
  period: optional(Type.Number({ description: 'In seconds.' })),
  retryDelayExpr: optional(Type.String()),
  responseHeader: optional(Headers),
});
const eventsOf = (event: TSchema) =>
  closedObject({ events: Type.Array(event), logs: Type.Array(event), cursor: Cursor });
export const EventsAnswer = eventsOf(EventAnswer);
export const QstashEventsAnswer = eventsOf(QstashEventAnswer);

export const QueueAnswer = closedObject({
  name: Type.String(),
  createdAt: Ms,
  updatedAt: Ms,
  parallelism: Type.Integer(),
  paused: Type.Boolean(),
  expires: optional(Type.String({ description: 'How long after it is due a message of the queue may start.' })),
  priority: optional(Type.Number({ description: 'The priority of the messages of the queue.' })),
  outage: optional(
    Type.String({ enum: ['retry', 'park'], description: 'What its messages do while their host is down.' }),
  ),
  lag: Type.Integer(),
  isLagCut: cut,
});
export const EndpointAnswer = closedObject({ name: optional(Type.String()), url: Type.String() });
export const TopicAnswer = closedObject({
  id: Type.String(),
  name: Type.String(),
  createdAt: Ms,
  updatedAt: Ms,
  endpoints: Type.Array(EndpointAnswer),
  headers: optional(Type.Record(Type.String(), Type.Union([Type.String(), Type.Array(Type.String())]))),
});
export const TopicOrNothing = Type.Union([TopicAnswer, NothingAnswer]);
export const ScheduleIdAnswer = closedObject({ scheduleId: Type.String() });
/** A message that a schedule made. */
export const ScheduleRunAnswer = closedObject({
  messageId: Type.String(),
  url: Type.String(),
  createdAt: Ms,
  notBefore: Ms,
  state: MessageState,
  endedAt: optional(Ms),
  responseStatus: optional(Type.Integer()),
  failure: optional(Type.String()),
});
export const ScheduleAnswer = closedObject({
  scheduleId: Type.String(),
  cron: Type.String(),
  createdAt: Ms,
  destination: Type.String(),
  method: Type.String(),
  header: Headers,
  body: optional(Type.String()),
  bodyBase64: optional(Type.String()),
  isBodyLeftOut: optional(
    Type.Boolean({ description: 'The body is too long for a list. GET on the schedule returns it.' }),
  ),
  settings: optional(
    Type.Record(Type.String(), Type.String(), {
      description:
        'The settings that the schedule was created with, by their names without the prefix, except for forwarded headers.',
    }),
  ),
  retries: Type.Integer(),
  delay: optional(Type.Number()),
  retryDelayExpression: optional(Type.String()),
  retryJitter: optional(Type.String()),
  callback: optional(Type.String()),
  failureCallback: optional(Type.String()),
  callerIP: optional(Type.String()),
  callerIp: optional(Type.String()),
  isPaused: Type.Boolean(),
  queueName: optional(Type.String()),
  label: optional(Type.String()),
  labels: optional(Type.Array(Type.String())),
  flowControlKey: optional(Type.String()),
  parallelism: optional(Type.Integer()),
  rate: optional(Type.Integer()),
  period: optional(Type.Number()),
  nextScheduleTime: optional(Ms),
  lastScheduleTime: optional(Ms),
  lastScheduleStates: optional(Type.Record(Type.String(), Type.String({ enum: ['IN_PROGRESS', 'SUCCESS', 'FAIL'] }))),
  overlap: optional(Type.Literal('skip', { description: 'Absent: allow.' })),
  jitter: optional(Type.Number({ description: 'In seconds.' })),
  skippedCount: optional(
    Type.Integer({ description: 'Ticks that made no message, because a message of the tick before was open.' }),
  ),
  lastSkippedTime: optional(Ms),
  skippedText: optional(Type.String({ description: 'What was skipped, and what the next tick would wait for.' })),
  nextScheduleTimes: optional(
    Type.Array(Ms, { description: 'The next five times. Only GET of one schedule has them and the last runs.' }),
  ),
  lastRuns: optional(
    Type.Array(ScheduleRunAnswer, {
      description: 'The newest messages of the schedule, at most ten, newest first.',
    }),
  ),
});
export const FlowKeyAnswer = closedObject({
  flowControlKey: Type.String(),
  waitListSize: Type.Integer(),
  isWaitListSizeCut: cut,
  parallelismMax: Type.Integer(),
  parallelismCount: Type.Integer(),
  rateMax: Type.Integer(),
  rateCount: Type.Integer(),
  ratePeriod: Type.Number(),
  ratePeriodStart: Type.Integer(),
  isPaused: Type.Boolean(),
  isPinnedParallelism: Type.Boolean(),
  isPinnedRate: Type.Boolean(),
});
export const HostAnswer = closedObject({
  host: Type.String({ description: 'With the port.' }),
  state: Type.String({ enum: ['well', 'failing', 'parked'] }),
  failingSince: optional(Ms),
  parkedSince: optional(Ms),
  isParkedByHand: optional(Type.Boolean({ description: 'A person has parked it, until a person resumes it.' })),
  failedProbes: optional(Type.Integer({ description: 'Since it was parked.' })),
  nextProbeAt: optional(Type.Integer({ description: 'From when on the next probe may be sent.' })),
  opensWith: optional(
    Type.Integer({ description: 'It was parked and opens again: how many messages that park are sent at once.' }),
  ),
  attempts: Type.Integer({ description: 'Attempts of the last hour.' }),
  delivered: Type.Integer({ description: 'How many of them delivered their message.' }),
  successShare: optional(Type.Number({ description: '`delivered` of `attempts`, from 0 to 1.' })),
  p50Ms: optional(Type.Integer({ description: 'How long half of the attempts took at most.' })),
  p95Ms: optional(Type.Integer()),
  lastAttemptAt: optional(Ms),
  lastFailure: optional(
    closedObject({
      at: Ms,
      responseStatus: optional(Type.Integer()),
      error: optional(Type.String()),
    }),
  ),
  waiting: Type.Integer({ description: 'Messages to the host that wait for their next attempt.' }),
  isWaitingCut: cut,
});
export const ParallelismAnswer = closedObject({ parallelismMax: Type.Integer(), parallelismCount: Type.Integer() });

export const JobAnswer = closedObject({
  jobId: Type.String(),
  action: JobAction,
  filter: Type.Record(Type.String(), Type.Unknown()),
  perSecond: Type.Integer(),
  state: Type.String({ enum: ['running', 'stopped', 'done'] }),
  matched: Type.Integer(),
  isMatchedCut: cut,
  done: Type.Integer(),
  createdAt: Ms,
  updatedAt: Ms,
});
export const BulkCountAnswer = closedObject({ action: JobAction, matched: Type.Integer(), isMatchedCut: cut });
export const JobOrCount = Type.Union([JobAnswer, BulkCountAnswer]);
export const JobsAnswer = closedObject({ jobs: Type.Array(JobAnswer), cursor: Cursor });

const Count = Type.Integer({ minimum: 0 });
const standingFields = { waiting: Count, scheduled: Count, active: Count, retrying: Count, held: Count };
export const QueueStandingAnswer = closedObject({ name: Type.String(), ...standingFields, placesTaken: Count });
export const OverviewAnswer = closedObject({
  now: Ms,
  ...standingFields,
  failed: Type.Integer({ minimum: 0, description: 'Dead letters that were not sent again.' }),
  retried: Type.Integer({ minimum: 0, description: 'Dead letters that were sent again.' }),
  cancelled: Count,
  all: Count,
  countedMax: Type.Integer({ description: 'Limit of each count: a count of this size means this many or more.' }),
  oldestDueAt: optional(Ms),
  queues: Type.Array(QueueStandingAnswer),
});
export const ActivityBucketAnswer = closedObject({
  at: Ms,
  accepted: Count,
  delivered: Count,
  retried: Count,
  failed: Count,
  cancelled: Count,
});
export const ActivityAnswer = closedObject({
  now: Ms,
  bucketMs: Type.Integer(),
  buckets: Type.Array(ActivityBucketAnswer),
  lag: closedObject({ count: Count, p50Ms: optional(Count), p95Ms: optional(Count), p99Ms: optional(Count) }),
});
export const FailureGroupAnswer = closedObject({
  host: Type.String(),
  failure: Type.String(),
  responseStatus: optional(Type.Integer()),
  count: Count,
  firstAt: Ms,
  lastAt: Ms,
  createdAtMin: Ms,
  sample: closedObject({ dlqId: Type.String(), messageId: Type.String(), url: Type.String() }),
});
export const FailureGroupsAnswer = closedObject({
  groups: Type.Array(FailureGroupAnswer),
  groupedMax: Type.Integer({ description: 'How many dead letters are examined at most, newest first.' }),
  isListCut: optional(Type.Boolean({ description: 'There are more groups than one response can contain.' })),
});
export const CronAnswer = closedObject({ cron: Type.String(), timeZone: Type.String(), times: Type.Array(Ms) });
const Limit = Type.Union([Type.Integer(), Type.Null()]);
const tokenLimits = {
  expiresAt: optional(
    Type.Integer({ description: 'When the token expires. Milliseconds since 1970. Absent: it does not.' }),
  ),
  addresses: optional(
    Type.Array(Type.String(), { description: 'CIDR ranges from which it may be used. Absent: from everywhere.' }),
  ),
};
export const OwnAccountAnswer = closedObject({
  accountId: Type.String(),
  name: Type.String(),
  tier: Type.String(),
  createdAt: Ms,
  suspendedAt: optional(Ms),
  outage: Type.String({
    enum: ['retry', 'park'],
    description: 'What messages that say nothing do while their host is down.',
  }),
  token: closedObject({ tokenId: Type.String(), name: Type.String(), scopes: Type.Array(ScopeName), ...tokenLimits }),
  limits: Type.Record(Type.String(), Limit),
  service: closedObject({ version: Type.String(), headerPrefix: Type.String(), isDev: Type.Boolean() }),
});
export const ClockAnswer = closedObject({
  now: Ms,
  clock: Type.String({ enum: ['real', 'frozen', 'running'] }),
  advancingTo: optional(Type.Integer({ description: 'To which time the clock is being advanced now.' })),
  underWay: Type.Array(closedObject({ messageId: Type.String(), url: Type.String(), since: optional(Ms) }), {
    description: 'Attempts that have not ended: the first 100.',
  }),
  underWayCount: Type.Integer(),
});
export const SinkRequestAnswer = closedObject({
  id: Type.Integer(),
  at: Ms,
  method: Type.String(),
  url: Type.String(),
  header: Headers,
  body: optional(Type.String()),
  bodyBase64: optional(Type.String()),
  isBodyCut: optional(Type.Boolean()),
  status: optional(Type.Integer()),
});
export const SinkRequestsAnswer = closedObject({ requests: Type.Array(SinkRequestAnswer) });

const tokenFields = {
  tokenId: Type.String(),
  accountId: Type.String(),
  name: Type.String(),
  scopes: Type.Array(ScopeName),
  createdAt: Ms,
  revokedAt: optional(Ms),
  lastUsedAt: optional(Ms),
  ...tokenLimits,
};
export const NodeAnswer = closedObject({
  id: Type.String(),
  role: Type.String(),
  version: Type.String(),
  address: Type.String({ description: 'Address on which the node listens.' }),
  startedAt: Ms,
  aliveUntil: Ms,
  isAlive: Type.Boolean(),
});
export const NodesAnswer = closedObject({ nodes: Type.Array(NodeAnswer) });
export const TokenAnswer = closedObject(tokenFields);
export const TokensAnswer = closedObject({ tokens: Type.Array(TokenAnswer), cursor: Cursor });
const Secret = Type.String({ description: 'The token itself. No later response contains it.' });
export const NewTokenAnswer = closedObject({ ...tokenFields, token: Secret });
