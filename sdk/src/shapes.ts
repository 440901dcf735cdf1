// Made from server/src/inbound/api/shapes/answers.ts by "npm run docs". Change that file, not this one.
// What the API answers, and the filters it takes, as types. Times are milliseconds since 1970.

export type HeaderMap = Readonly<Record<string, readonly string[]>>;

export type Scope = 'publish' | 'read' | 'manage' | 'admin';

export type MessageState =
  | 'CREATED'
  | 'ACTIVE'
  | 'RETRY'
  | 'HELD'
  | 'CANCEL_REQUESTED'
  | 'DELIVERED'
  | 'FAILED'
  | 'CANCELLED';

export type EventState =
  | 'CREATED'
  | 'ACTIVE'
  | 'AWAITING_ACK'
  | 'PROGRESS'
  | 'UPDATED'
  | 'RETRY'
  | 'ERROR'
  | 'HELD'
  | 'RELEASED'
  | 'PARKED'
  | 'RESUMED'
  | 'DELIVERED'
  | 'FAILED'
  | 'CANCEL_REQUESTED'
  | 'CANCELLED';

export type ChangedName =
  | 'nextDeliveryTime'
  | 'url'
  | 'body'
  | 'header'
  | 'method'
  | 'maxRetries'
  | 'retryDelayExpression'
  | 'timeoutMs'
  | 'callback'
  | 'failureCallback'
  | 'labels'
  | 'redactFields'
  | 'retryJitter'
  | 'priority'
  | 'expiresAt'
  | 'debounced'
  | 'outage'
  | 'awaitAck';

export type JobAction = 'cancel' | 'retry' | 'delete';

export interface Published {
  readonly messageId: string;
  readonly url: string;
  readonly deduplicated?: boolean;
  /** With a `Debounce-Key`: for how many messages it stands, itself included. */
  readonly debounced?: number;
}

export type BatchResult =
  | { readonly messageId: string; readonly deduplicated?: boolean; readonly debounced?: number }
  | readonly Published[]
  | { readonly error: string; readonly code: string };

export interface Message {
  readonly messageId: string;
  /** Differs after every change of the message and every attempt that has ended. For `If-Match`. */
  readonly version: string;
  readonly url: string;
  readonly topicName?: string;
  readonly endpointName?: string;
  readonly queueName?: string;
  readonly orderKey?: string;
  readonly priority?: number;
  /** What it does while its host is down: it said so, or its queue or account did. */
  readonly outage?: 'retry' | 'park';
  /** How long a receiver that returns 202 has for its ack, such as `30m`. */
  readonly awaitAck?: string;
  readonly ack?: {
    readonly attempt: number;
    readonly deadline: number;
    readonly progress?: number;
    readonly note?: string;
  };
  readonly scheduleId?: string;
  readonly method: string;
  readonly header: HeaderMap;
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly maxRetries: number;
  readonly retryDelayExpression?: string;
  readonly retryJitter?: string;
  readonly timeoutMs: number;
  readonly notBefore: number;
  /** Milliseconds since 1970. From then on no attempt of the message starts. */
  readonly expiresAt?: number;
  readonly debounceKey?: string;
  /** With a `Debounce-Key`: for how many messages it stands, itself included. */
  readonly debounced?: number;
  /** Of a message with a `Debounce-Key`: it is due then at the latest. Milliseconds since 1970. */
  readonly debounceUntil?: number;
  readonly createdAt: number;
  readonly state: MessageState;
  readonly retried: number;
  readonly nextDeliveryTime?: number;
  readonly endedAt?: number;
  /** How many crashes interrupted the message since its last known result. */
  readonly interrupted?: number;
  readonly heldAt?: number;
  readonly heldReason?: string;
  readonly responseStatus?: number;
  readonly failure?: string;
  /** Why the message failed, for programs. Absent if the result of the last attempt is the reason. */
  readonly failureCode?: 'expired' | 'no_ack';
  /** If this dead letter was sent again: the id of the new message. */
  readonly retriedAs?: string;
  readonly retriedAt?: number;
  readonly callback?: string;
  readonly callbackHeader?: HeaderMap;
  /** How the callback is delivered, with its defaults filled in. */
  readonly callbackSettings?: {
    readonly method: string;
    readonly maxRetries: number;
    readonly retryDelayExpression?: string;
    readonly retryJitter?: string;
    readonly delayMs: number;
    readonly timeoutMs: number;
  };
  readonly failureCallback?: string;
  readonly failureCallbackHeader?: HeaderMap;
  /** How the callback is delivered, with its defaults filled in. */
  readonly failureCallbackSettings?: {
    readonly method: string;
    readonly maxRetries: number;
    readonly retryDelayExpression?: string;
    readonly retryJitter?: string;
    readonly delayMs: number;
    readonly timeoutMs: number;
  };
  readonly sourceMessageId?: string;
  readonly callerIP?: string;
  readonly callerIp?: string;
  readonly label?: string;
  readonly labels?: readonly string[];
  readonly flowControlKey?: string;
  readonly parallelism?: number;
  readonly rate?: number;
  readonly period?: number;
  /** What is shown as `REDACTED:<sha256>`: body, headers, header[name]. */
  readonly redactFields?: readonly string[];
}

export interface Attempt {
  readonly number: number;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly outcome: 'answered' | 'rejected' | 'noAck' | 'unreachable' | 'timedOut' | 'refusedByPolicy' | 'interrupted';
  readonly error?: string;
  readonly nextDeliveryTime?: number;
  readonly responseStatus?: number;
  readonly responseHeader?: HeaderMap;
  readonly responseBody?: string;
  readonly responseBodyBase64?: string;
  readonly isResponseBodyCut?: boolean;
  /** The response of this attempt is left out, because the responses of later attempts have reached the limit. */
  readonly isAnswerLeftOut?: boolean;
}

export interface MessageWithAttempts extends Message {
  readonly attempts: readonly Attempt[];
}

export interface UpdatedMessage {
  readonly messageId: string;
  /** Differs after every change of the message and every attempt that has ended. For `If-Match`. */
  readonly version: string;
}

export interface MessagePage {
  readonly messages: readonly Message[];
  /** Cursor of the next page; absent on the last page. */
  readonly cursor?: string;
}

export interface DeadLetter extends Message {
  readonly responseHeader?: HeaderMap;
  readonly responseBody?: string;
  readonly responseBodyBase64?: string;
  readonly isResponseBodyCut?: boolean;
  readonly dlqId: string;
  readonly error?: string;
}

export interface DeadLetterPage {
  readonly messages: readonly DeadLetter[];
  /** Cursor of the next page; absent on the last page. */
  readonly cursor?: string;
}

export interface Cancelled {
  /** Number of messages that are cancelled, or whose cancel was requested. */
  readonly cancelled: number;
  /** How many of the messages are claimed by a node that has not confirmed the cancel. */
  readonly requested?: number;
  readonly state?: 'CANCEL_REQUESTED';
  /** What happens to the messages whose cancel is not confirmed. */
  readonly detail?: string;
}

export interface Ack {
  readonly messageId: string;
  readonly attempt: number;
  /** How the attempt has ended by this ack. */
  readonly ok?: boolean;
  readonly deadline?: number;
  readonly progress?: number;
  readonly note?: string;
}

export interface Why {
  readonly messageId: string;
  readonly reason: string;
  readonly text: string;
  readonly nextAttemptAt?: number;
  /** Until when its attempt waits for its ack. */
  readonly ackDeadline?: number;
  /** Since when its host is parked. */
  readonly parkedSince?: number;
  /** The time also depends on other messages and may be later. */
  readonly isEarliest?: boolean;
  /** Milliseconds since 1970: about when its turn comes behind others, at the usual pace of attempts to its host. */
  readonly estimatedAt?: number;
  /** Of the messages that wait for a slot, those with a higher level go first. */
  readonly level?: number;
  readonly behindMessageId?: string;
  readonly aheadCount?: number;
  /** The real number is larger: counting stopped at a limit. */
  readonly isAheadCountCut?: boolean;
  /** Milliseconds since 1970. From then on no attempt of the message starts. */
  readonly expiresAt?: number;
  /** With a `Debounce-Key`: for how many messages it stands, itself included. */
  readonly debounced?: number;
}

export interface StateCounts {
  readonly states: {
    readonly CREATED: number;
    readonly ACTIVE: number;
    readonly RETRY: number;
    readonly HELD: number;
    readonly CANCEL_REQUESTED: number;
    readonly DELIVERED: number;
    readonly FAILED: number;
    readonly CANCELLED: number;
  };
  /** The real number is larger: counting stopped at a limit. */
  readonly isCut?: boolean;
}

export interface MessageEvent {
  readonly time: number;
  readonly messageId: string;
  readonly state: EventState;
  readonly url: string;
  readonly method: string;
  readonly topicName?: string;
  readonly endpointName?: string;
  readonly queueName?: string;
  readonly scheduleId?: string;
  readonly label?: string;
  readonly labels?: readonly string[];
  readonly flowControlKey?: string;
  readonly callerIp?: string;
  readonly header: HeaderMap;
  /** In base64. */
  readonly body?: string;
  /** The body is cut off here. GET on the message returns all of it. */
  readonly isBodyCut?: boolean;
  readonly maxRetries: number;
  readonly createdAt: number;
  /** Of PROGRESS: from 0 to 1, if the receiver has reported one. */
  readonly progress?: number;
  /** Of UPDATED: the names of what was changed. */
  readonly changed?: readonly ChangedName[];
  readonly attempt?: number;
  readonly nextDeliveryTime?: number;
  readonly error?: string;
  /** Why the message failed, for programs. Absent if the result of the last attempt is the reason. */
  readonly failureCode?: 'expired' | 'no_ack';
  readonly responseStatus?: number;
  readonly responseHeaders?: HeaderMap;
  /** In base64. */
  readonly responseBody?: string;
}

export interface EventPage {
  readonly events: readonly MessageEvent[];
  readonly logs: readonly MessageEvent[];
  /** Cursor of the next page; absent on the last page. */
  readonly cursor?: string;
}

export interface Queue {
  readonly name: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly parallelism: number;
  readonly paused: boolean;
  /** How long after it is due a message of the queue may start. */
  readonly expires?: string;
  /** The priority of the messages of the queue. */
  readonly priority?: number;
  /** What its messages do while their host is down. */
  readonly outage?: 'retry' | 'park';
  readonly lag: number;
  /** The real number is larger: counting stopped at a limit. */
  readonly isLagCut?: boolean;
}

export interface Endpoint {
  readonly name?: string;
  readonly url: string;
}

export interface Topic {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly endpoints: readonly Endpoint[];
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

export interface ScheduleRun {
  readonly messageId: string;
  readonly url: string;
  readonly createdAt: number;
  readonly notBefore: number;
  readonly state: MessageState;
  readonly endedAt?: number;
  readonly responseStatus?: number;
  readonly failure?: string;
}

export interface Schedule {
  readonly scheduleId: string;
  readonly cron: string;
  readonly createdAt: number;
  readonly destination: string;
  readonly method: string;
  readonly header: HeaderMap;
  readonly body?: string;
  readonly bodyBase64?: string;
  /** The body is too long for a list. GET on the schedule returns it. */
  readonly isBodyLeftOut?: boolean;
  /** The settings that the schedule was created with, by their names without the prefix, except for forwarded headers. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly retries: number;
  readonly delay?: number;
  readonly retryDelayExpression?: string;
  readonly retryJitter?: string;
  readonly callback?: string;
  readonly failureCallback?: string;
  readonly callerIP?: string;
  readonly callerIp?: string;
  readonly isPaused: boolean;
  readonly queueName?: string;
  readonly label?: string;
  readonly labels?: readonly string[];
  readonly flowControlKey?: string;
  readonly parallelism?: number;
  readonly rate?: number;
  readonly period?: number;
  readonly nextScheduleTime?: number;
  readonly lastScheduleTime?: number;
  readonly lastScheduleStates?: Readonly<Record<string, 'IN_PROGRESS' | 'SUCCESS' | 'FAIL'>>;
  /** Absent: allow. */
  readonly overlap?: 'skip';
  /** In seconds. */
  readonly jitter?: number;
  /** Ticks that made no message, because a message of the tick before was open. */
  readonly skippedCount?: number;
  readonly lastSkippedTime?: number;
  /** What was skipped, and what the next tick would wait for. */
  readonly skippedText?: string;
  /** The next five times. Only GET of one schedule has them and the last runs. */
  readonly nextScheduleTimes?: readonly number[];
  /** The newest messages of the schedule, at most ten, newest first. */
  readonly lastRuns?: readonly ScheduleRun[];
}

export interface CronTimes {
  readonly cron: string;
  readonly timeZone: string;
  readonly times: readonly number[];
}

export type AlertRule =
  | {
      readonly type: 'messageFailed';
      readonly count: number;
      readonly window: string;
      readonly host?: string;
      readonly queue?: string;
      readonly label?: string;
    }
  | {
      readonly type: 'failureRate';
      readonly share: number;
      readonly window: string;
      readonly minimum: number;
      readonly host?: string;
      readonly queue?: string;
      readonly label?: string;
    }
  | { readonly type: 'queueStalled'; readonly olderThan: string; readonly queue?: string }
  | { readonly type: 'hostFailing'; readonly attempts: number; readonly host?: string }
  | { readonly type: 'scheduleFailed'; readonly schedule?: string }
  | { readonly type: 'quotaNear'; readonly share: number }
  | { readonly type: 'diskLow'; readonly freeBytes: number };

export interface AlertTarget {
  readonly url: string;
  readonly format: 'json' | 'slack';
}

export interface Alert {
  readonly alertId: string;
  readonly rule: AlertRule;
  readonly target: AlertTarget;
  /** A duration, such as `5m`. */
  readonly remindEvery?: string;
  readonly state: 'calm' | 'firing';
  readonly since?: number;
  /** When the target was last notified. Milliseconds since 1970. */
  readonly notifiedAt?: number;
  /** Id of the last message to the target. */
  readonly messageId?: string;
  /** Text of the last message to the target. */
  readonly text?: string;
  /** Why the target could not be notified, although it should have been. */
  readonly problem?: string;
  /** The time of the last evaluation without a `problem`. Milliseconds since 1970. */
  readonly evaluatedAt?: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface FlowKey {
  readonly flowControlKey: string;
  readonly waitListSize: number;
  /** The real number is larger: counting stopped at a limit. */
  readonly isWaitListSizeCut?: boolean;
  readonly parallelismMax: number;
  readonly parallelismCount: number;
  readonly rateMax: number;
  readonly rateCount: number;
  readonly ratePeriod: number;
  readonly ratePeriodStart: number;
  readonly isPaused: boolean;
  readonly isPinnedParallelism: boolean;
  readonly isPinnedRate: boolean;
}

export interface Parallelism {
  readonly parallelismMax: number;
  readonly parallelismCount: number;
}

export interface Host {
  /** With the port. */
  readonly host: string;
  readonly state: 'well' | 'failing' | 'parked';
  readonly failingSince?: number;
  readonly parkedSince?: number;
  /** A person has parked it, until a person resumes it. */
  readonly isParkedByHand?: boolean;
  /** Since it was parked. */
  readonly failedProbes?: number;
  /** From when on the next probe may be sent. */
  readonly nextProbeAt?: number;
  /** It was parked and opens again: how many messages that park are sent at once. */
  readonly opensWith?: number;
  /** Attempts of the last hour. */
  readonly attempts: number;
  /** How many of them delivered their message. */
  readonly delivered: number;
  /** `delivered` of `attempts`, from 0 to 1. */
  readonly successShare?: number;
  /** How long half of the attempts took at most. */
  readonly p50Ms?: number;
  readonly p95Ms?: number;
  readonly lastAttemptAt?: number;
  readonly lastFailure?: { readonly at: number; readonly responseStatus?: number; readonly error?: string };
  /** Messages to the host that wait for their next attempt. */
  readonly waiting: number;
  /** The real number is larger: counting stopped at a limit. */
  readonly isWaitingCut?: boolean;
}

export interface Job {
  readonly jobId: string;
  readonly action: JobAction;
  readonly filter: Readonly<Record<string, unknown>>;
  readonly perSecond: number;
  readonly state: 'running' | 'stopped' | 'done';
  readonly matched: number;
  /** The real number is larger: counting stopped at a limit. */
  readonly isMatchedCut?: boolean;
  readonly done: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface JobPage {
  readonly jobs: readonly Job[];
  /** Cursor of the next page; absent on the last page. */
  readonly cursor?: string;
}

export interface BulkCount {
  readonly action: JobAction;
  readonly matched: number;
  /** The real number is larger: counting stopped at a limit. */
  readonly isMatchedCut?: boolean;
}

export interface QueueStanding {
  readonly name: string;
  readonly waiting: number;
  readonly scheduled: number;
  readonly active: number;
  readonly retrying: number;
  readonly held: number;
  readonly placesTaken: number;
}

export interface Overview {
  readonly now: number;
  readonly waiting: number;
  readonly scheduled: number;
  readonly active: number;
  readonly retrying: number;
  readonly held: number;
  /** Dead letters that were not sent again. */
  readonly failed: number;
  /** Dead letters that were sent again. */
  readonly retried: number;
  readonly cancelled: number;
  readonly all: number;
  /** Limit of each count: a count of this size means this many or more. */
  readonly countedMax: number;
  readonly oldestDueAt?: number;
  readonly queues: readonly QueueStanding[];
}

export interface ActivityBucket {
  readonly at: number;
  readonly accepted: number;
  readonly delivered: number;
  readonly retried: number;
  readonly failed: number;
  readonly cancelled: number;
}

export interface Activity {
  readonly now: number;
  readonly bucketMs: number;
  readonly buckets: readonly ActivityBucket[];
  readonly lag: { readonly count: number; readonly p50Ms?: number; readonly p95Ms?: number; readonly p99Ms?: number };
}

export interface FailureGroup {
  readonly host: string;
  readonly failure: string;
  readonly responseStatus?: number;
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
  readonly createdAtMin: number;
  readonly sample: { readonly dlqId: string; readonly messageId: string; readonly url: string };
}

export interface FailureGroups {
  readonly groups: readonly FailureGroup[];
  /** How many dead letters are examined at most, newest first. */
  readonly groupedMax: number;
  /** There are more groups than one response can contain. */
  readonly isListCut?: boolean;
}

export interface OwnAccount {
  readonly accountId: string;
  readonly name: string;
  readonly tier: string;
  readonly createdAt: number;
  readonly suspendedAt?: number;
  /** What messages that say nothing do while their host is down. */
  readonly outage: 'retry' | 'park';
  readonly token: {
    readonly tokenId: string;
    readonly name: string;
    readonly scopes: readonly Scope[];
    readonly expiresAt?: number;
    readonly addresses?: readonly string[];
  };
  readonly limits: Readonly<Record<string, number | null>>;
  readonly service: { readonly version: string; readonly headerPrefix: string; readonly isDev: boolean };
}

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly tier: string;
  readonly createdAt: number;
  /** Since when the account is suspended. Absent if it is not suspended. */
  readonly suspendedAt?: number;
  /** Since when the account is being deleted. Absent if it is not. It cannot be stopped. */
  readonly deletingSince?: number;
  readonly outage?: 'park';
}

export interface Token {
  readonly tokenId: string;
  readonly accountId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: number;
  readonly revokedAt?: number;
  readonly lastUsedAt?: number;
  /** When the token expires. Milliseconds since 1970. Absent: it does not. */
  readonly expiresAt?: number;
  /** CIDR ranges from which it may be used. Absent: from everywhere. */
  readonly addresses?: readonly string[];
}

export interface NewToken extends Token {
  /** The token itself. No later response contains it. */
  readonly token: string;
}

export interface SigningKeys {
  readonly current: string;
  readonly next: string;
}

export interface Usage {
  readonly fromDay: string;
  readonly toDay: string;
  readonly usage: readonly { readonly day: string; readonly kind: string; readonly count: number }[];
  /** How many bytes the account stores now. */
  readonly storedBytes: number;
  /** The limit for `storedBytes`. Absent: no limit. */
  readonly storedBytesMax?: number;
  /** Cursor of the next page; absent on the last page. */
  readonly cursor?: string;
}

export interface AuditEntry {
  readonly auditId: string;
  readonly time: number;
  /** Of several equal calls, the time of the last one. */
  readonly lastTime?: number;
  /** How many equal calls there were. Absent: one. */
  readonly count?: number;
  /** Account of the caller. Absent: the caller was not known. */
  readonly accountId?: string;
  /** How the caller was known: by a token, by a session of the console, on the machine itself, or not. */
  readonly via: 'token' | 'session' | 'command' | 'none';
  readonly tokenId?: string;
  readonly tokenName?: string;
  /** Address of the caller; its network, such as `203.0.113.0/24`, if it was not known. */
  readonly address?: string;
  /** Method and route, or a command. `*`: there were too many different calls, so they are counted together. */
  readonly call: string;
  /** Name or id of what was called for. */
  readonly target?: string;
  readonly result: 'done' | 'refused';
  readonly status?: number;
  /** Code of the error. */
  readonly code?: string;
  /** The `X-Request-Id` of the call; of several, of the first one. */
  readonly requestId?: string;
}

export interface AuditPage {
  readonly audit: readonly AuditEntry[];
  /** Cursor of the next page; absent on the last page. */
  readonly cursor?: string;
}

export interface ServiceNode {
  readonly id: string;
  readonly role: string;
  readonly version: string;
  /** Address on which the node listens. */
  readonly address: string;
  readonly startedAt: number;
  readonly aliveUntil: number;
  readonly isAlive: boolean;
}

export interface SinkRequest {
  readonly id: number;
  readonly at: number;
  readonly method: string;
  readonly url: string;
  readonly header: HeaderMap;
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly isBodyCut?: boolean;
  readonly status?: number;
}

export interface ServiceClock {
  readonly now: number;
  readonly clock: 'real' | 'frozen' | 'running';
  /** To which time the clock is being advanced now. */
  readonly advancingTo?: number;
  /** Attempts that have not ended: the first 100. */
  readonly underWay: readonly { readonly messageId: string; readonly url: string; readonly since?: number }[];
  readonly underWayCount: number;
}

/** A filter of messages: several values of one key mean any of them, several keys mean all of them. */
export interface MessageFilter {
  readonly messageIds?: readonly string[];
  readonly state?: readonly string[];
  readonly url?: readonly string[];
  readonly host?: readonly string[];
  readonly path?: readonly string[];
  readonly topicName?: readonly string[];
  readonly queueName?: readonly string[];
  readonly scheduleId?: readonly string[];
  readonly sourceMessageId?: readonly string[];
  readonly label?: readonly string[];
  readonly flowControlKey?: readonly string[];
  readonly debounceKey?: readonly string[];
  readonly callerIp?: readonly string[];
  readonly responseStatus?: readonly string[];
  readonly failure?: readonly string[];
  readonly retried?: 'true' | 'false' | 'any';
  readonly fromDate?: string | number;
  readonly toDate?: string | number;
  readonly text?: string;
  readonly dlqIds?: readonly string[];
}

export interface PageRequest {
  readonly count?: number;
  readonly cursor?: string;
  readonly order?: 'newestFirst' | 'oldestFirst';
}
