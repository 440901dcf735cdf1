// The schemas of API responses. The OpenAPI document shows them, and the tests check every response against them.

import { SCOPES } from '../../../rules/accounts/account.ts';
import { EVENT_STATES } from '../../../rules/delivery/event.ts';
import { SHOWN_STATES } from '../../../rules/reads/message-filter.ts';
import { callbackFields, Headers } from './callback-answer.ts';
import Type, { type TSchema } from './schema.ts';

export { Headers };

const Ms = Type.Integer({ description: 'Milliseconds since 1970.' });
const optional = <T extends TSchema>(schema: T) => Type.Optional(schema);
const open = (properties: Record<string, TSchema>) => Type.Object(properties, { additionalProperties: false });

/** A field beside a count. It is present when counting stopped at a limit. */
const cut = optional(Type.Boolean({ description: 'The real number is larger: counting stopped at a limit.' }));

export const Cursor = Type.Optional(Type.String({ description: 'Cursor of the next page; absent on the last page.' }));

export const ErrorAnswer = open({ error: Type.String(), code: Type.String() });

export const PublishResult = open({
  messageId: Type.String(),
  url: Type.String(),
  deduplicated: optional(Type.Boolean()),
});
export const PublishAnswer = Type.Union([PublishResult, Type.Array(PublishResult)]);
export const BatchResult = Type.Union([
  open({ messageId: Type.String(), deduplicated: optional(Type.Boolean()) }),
  Type.Array(PublishResult),
  ErrorAnswer,
]);
export const BatchAnswer = Type.Array(BatchResult);

export const MessageState = Type.String({ enum: [...SHOWN_STATES] });
export const EventState = Type.String({ enum: [...EVENT_STATES] });
export const ScopeName = Type.String({ enum: [...SCOPES] });
export const JobAction = Type.String({ enum: ['cancel', 'retry', 'delete'] });

const messageFields = {
  messageId: Type.String(),
  url: Type.String(),
  topicName: optional(Type.String()),
  endpointName: optional(Type.String()),
  queueName: optional(Type.String()),
  orderKey: optional(Type.String()),
  scheduleId: optional(Type.String()),
  method: Type.String(),
  header: Headers,
  body: optional(Type.String()),
  bodyBase64: optional(Type.String()),
  maxRetries: Type.Integer(),
  retryDelayExpression: optional(Type.String()),
  timeoutMs: Type.Integer(),
  notBefore: Ms,
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

export const StateCountsAnswer = open({
  states: open(Object.fromEntries(SHOWN_STATES.map((state) => [state, Type.Integer({ minimum: 0 })]))),
  isCut: optional(Type.Boolean({ description: 'The real number is larger: counting stopped at a limit.' })),
});

export const AttemptAnswer = open({
  number: Type.Integer(),
  startedAt: Ms,
  endedAt: Ms,
  outcome: Type.String({ enum: ['answered', 'unreachable', 'timedOut', 'refusedByPolicy', 'interrupted'] }),
  error: optional(Type.String()),
  nextDeliveryTime: optional(Ms),
  ...answerFields,
  isAnswerLeftOut: optional(
    Type.Boolean({
      description: 'The response of this attempt is left out, because those of later attempts fill the limit.',
    }),
  ),
});
export const MessageSummary = open(messageFields);
export const MessageAnswer = open({ ...messageFields, attempts: Type.Array(AttemptAnswer) });
export const MessagesAnswer = open({ messages: Type.Array(MessageSummary), cursor: Cursor });
export const DeadLetterAnswer = open({
  ...messageFields,
  ...answerFields,
  dlqId: Type.String(),
  error: optional(Type.String()),
});
export const DeadLettersAnswer = open({ messages: Type.Array(DeadLetterAnswer), cursor: Cursor });
export const DeletedAnswer = open({ deleted: Type.Integer(), cursor: Cursor });
/** Fields of a response with status 202: a node that has claimed some of the messages has not confirmed in time. */
const unconfirmedFields = {
  requested: optional(
    Type.Integer({ description: 'How many of them are claimed by a node that has not confirmed the cancel.' }),
  ),
  state: optional(Type.Literal('CANCEL_REQUESTED')),
  detail: optional(Type.String({ description: 'What happens to the messages whose cancel is not confirmed.' })),
};
export const CancelledAnswer = open({
  cancelled: Type.Integer({ description: 'Number of messages that are cancelled, or whose cancel was requested.' }),
  ...unconfirmedFields,
});
export const QueueDeletedAnswer = open(unconfirmedFields);
export const ReleasedAnswer = open({ released: Type.Integer() });
export const MessageIdAnswer = open({ messageId: Type.String() });
export const RetriedAnswer = open({ responses: Type.Array(MessageIdAnswer), cursor: Cursor });
export const RunAnswer = Type.Array(open({ messageId: Type.String(), url: Type.String() }));
export const NothingAnswer = open({});
export const StatusAnswer = open({
  status: Type.String(),
  /** Why the node is not ready: an error code and its text. */
  code: optional(Type.String()),
  error: optional(Type.String()),
});

export const WhyAnswer = open({
  messageId: Type.String(),
  reason: Type.String(),
  text: Type.String(),
  nextAttemptAt: optional(Ms),
  isEarliest: optional(Type.Boolean({ description: 'The time also depends on other messages and may be later.' })),
  behindMessageId: optional(Type.String()),
  aheadCount: optional(Type.Integer()),
  isAheadCountCut: cut,
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
  attempt: optional(Type.Integer()),
  nextDeliveryTime: optional(Ms),
  error: optional(Type.String()),
  responseStatus: optional(Type.Integer()),
  responseHeaders: optional(Headers),
  responseBody: optional(Type.String({ description: 'In base64.' })),
};
export const EventAnswer = open(EVENT_FIELDS);
/** An event as the public QStash clients get it (qstash-view.ts). */
const QstashEventAnswer = open({
  ...EVENT_FIELDS,
  state: Type.String({ enum: EVENT_STATES.map((state) => (state === 'CANCELLED' ? 'CANCELED' : state)) }),
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
const eventsOf = (event: TSchema) => open({ events: Type.Array(event), logs: Type.Array(event), cursor: Cursor });
export const EventsAnswer = eventsOf(EventAnswer);
export const QstashEventsAnswer = eventsOf(QstashEventAnswer);

export const QueueAnswer = open({
  name: Type.String(),
  createdAt: Ms,
  updatedAt: Ms,
  parallelism: Type.Integer(),
  paused: Type.Boolean(),
  lag: Type.Integer(),
  isLagCut: cut,
});
export const EndpointAnswer = open({ name: optional(Type.String()), url: Type.String() });
export const TopicAnswer = open({
  id: Type.String(),
  name: Type.String(),
  createdAt: Ms,
  updatedAt: Ms,
  endpoints: Type.Array(EndpointAnswer),
  headers: optional(Type.Record(Type.String(), Type.Union([Type.String(), Type.Array(Type.String())]))),
});
export const TopicOrNothing = Type.Union([TopicAnswer, NothingAnswer]);
export const ScheduleIdAnswer = open({ scheduleId: Type.String() });
export const ScheduleAnswer = open({
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
        'The settings that it was made with, by their names without the prefix, except for forwarded headers.',
    }),
  ),
  retries: Type.Integer(),
  delay: optional(Type.Number()),
  retryDelayExpression: optional(Type.String()),
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
});
export const FlowKeyAnswer = open({
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
export const ParallelismAnswer = open({ parallelismMax: Type.Integer(), parallelismCount: Type.Integer() });

export const JobAnswer = open({
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
export const BulkCountAnswer = open({ action: JobAction, matched: Type.Integer(), isMatchedCut: cut });
export const JobOrCount = Type.Union([JobAnswer, BulkCountAnswer]);
export const JobsAnswer = open({ jobs: Type.Array(JobAnswer), cursor: Cursor });

const Count = Type.Integer({ minimum: 0 });
const standingFields = { waiting: Count, scheduled: Count, active: Count, retrying: Count, held: Count };
export const QueueStandingAnswer = open({ name: Type.String(), ...standingFields, placesTaken: Count });
export const OverviewAnswer = open({
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
export const ActivityBucketAnswer = open({
  at: Ms,
  accepted: Count,
  delivered: Count,
  retried: Count,
  failed: Count,
  cancelled: Count,
});
export const ActivityAnswer = open({
  now: Ms,
  bucketMs: Type.Integer(),
  buckets: Type.Array(ActivityBucketAnswer),
  lag: open({ count: Count, p50Ms: optional(Count), p95Ms: optional(Count), p99Ms: optional(Count) }),
});
export const FailureGroupAnswer = open({
  host: Type.String(),
  failure: Type.String(),
  responseStatus: optional(Type.Integer()),
  count: Count,
  firstAt: Ms,
  lastAt: Ms,
  createdAtMin: Ms,
  sample: open({ dlqId: Type.String(), messageId: Type.String(), url: Type.String() }),
});
export const FailureGroupsAnswer = open({
  groups: Type.Array(FailureGroupAnswer),
  groupedMax: Type.Integer({ description: 'Maximum of dead letters that are examined, newest first.' }),
  isListCut: optional(Type.Boolean({ description: 'There are more groups than one response can contain.' })),
});
export const CronAnswer = open({ cron: Type.String(), timeZone: Type.String(), times: Type.Array(Ms) });
const Limit = Type.Union([Type.Integer(), Type.Null()]);
export const OwnAccountAnswer = open({
  accountId: Type.String(),
  name: Type.String(),
  tier: Type.String(),
  createdAt: Ms,
  suspendedAt: optional(Ms),
  token: open({ tokenId: Type.String(), name: Type.String(), scopes: Type.Array(ScopeName) }),
  limits: Type.Record(Type.String(), Limit),
  service: open({ version: Type.String(), headerPrefix: Type.String(), isDev: Type.Boolean() }),
});
export const ClockAnswer = open({
  now: Ms,
  clock: Type.String({ enum: ['real', 'frozen', 'running'] }),
  advancingTo: optional(Type.Integer({ description: 'When the running advance ends.' })),
  underWay: Type.Array(open({ messageId: Type.String(), url: Type.String(), since: optional(Ms) }), {
    description: 'Attempts that have not ended: the first 100.',
  }),
  underWayCount: Type.Integer(),
});
export const SinkRequestAnswer = open({
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
export const SinkRequestsAnswer = open({ requests: Type.Array(SinkRequestAnswer) });

const tokenFields = {
  tokenId: Type.String(),
  accountId: Type.String(),
  name: Type.String(),
  scopes: Type.Array(ScopeName),
  createdAt: Ms,
  revokedAt: optional(Ms),
  lastUsedAt: optional(Ms),
};
export const NodeAnswer = open({
  id: Type.String(),
  role: Type.String(),
  version: Type.String(),
  address: Type.String({ description: 'Address on which the node listens.' }),
  startedAt: Ms,
  aliveUntil: Ms,
  isAlive: Type.Boolean(),
});
export const NodesAnswer = open({ nodes: Type.Array(NodeAnswer) });
export const TokenAnswer = open(tokenFields);
export const TokensAnswer = open({ tokens: Type.Array(TokenAnswer), cursor: Cursor });
export const NewTokenAnswer = open({ ...tokenFields, token: Type.String({ description: 'Shown only here.' }) });
