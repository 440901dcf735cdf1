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
  | 'RETRY'
  | 'ERROR'
  | 'HELD'
  | 'RELEASED'
  | 'DELIVERED'
  | 'FAILED'
  | 'CANCEL_REQUESTED'
  | 'CANCELLED';

export type JobAction = 'cancel' | 'retry' | 'delete';

export interface Published {
  readonly messageId: string;
  readonly url: string;
  readonly deduplicated?: boolean;
}

export type BatchResult =
  | { readonly messageId: string; readonly deduplicated?: boolean }
  | readonly Published[]
  | { readonly error: string; readonly code: string };

export interface Message {
  readonly messageId: string;
  readonly url: string;
  readonly topicName?: string;
  readonly endpointName?: string;
  readonly queueName?: string;
  readonly orderKey?: string;
  readonly scheduleId?: string;
  readonly method: string;
  readonly header: HeaderMap;
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly maxRetries: number;
  readonly retryDelayExpression?: string;
  readonly timeoutMs: number;
  readonly notBefore: number;
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
  readonly outcome: 'answered' | 'unreachable' | 'timedOut' | 'refusedByPolicy' | 'interrupted';
  readonly error?: string;
  readonly nextDeliveryTime?: number;
  readonly responseStatus?: number;
  readonly responseHeader?: HeaderMap;
  readonly responseBody?: string;
  readonly responseBodyBase64?: string;
  readonly isResponseBodyCut?: boolean;
  /** The response of this attempt is left out, because those of later attempts fill the limit. */
  readonly isAnswerLeftOut?: boolean;
}

export interface MessageWithAttempts extends Message {
  readonly attempts: readonly Attempt[];
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
  /** How many of them are claimed by a node that has not confirmed the cancel. */
  readonly requested?: number;
  readonly state?: 'CANCEL_REQUESTED';
  /** What happens to the messages whose cancel is not confirmed. */
  readonly detail?: string;
}

export interface Why {
  readonly messageId: string;
  readonly reason: string;
  readonly text: string;
  readonly nextAttemptAt?: number;
  /** The time also depends on other messages and may be later. */
  readonly isEarliest?: boolean;
  readonly behindMessageId?: string;
  readonly aheadCount?: number;
  /** The real number is larger: counting stopped at a limit. */
  readonly isAheadCountCut?: boolean;
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
  readonly attempt?: number;
  readonly nextDeliveryTime?: number;
  readonly error?: string;
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
  /** The settings that it was made with, by their names without the prefix, except for forwarded headers. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly retries: number;
  readonly delay?: number;
  readonly retryDelayExpression?: string;
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
  /** When its target was last notified. Milliseconds since 1970. */
  readonly notifiedAt?: number;
  /** The last message to its target. */
  readonly messageId?: string;
  /** The text of that message. */
  readonly text?: string;
  /** Why its target could not be notified, although it should have been. */
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
  /** Maximum of dead letters that are examined, newest first. */
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
  readonly token: { readonly tokenId: string; readonly name: string; readonly scopes: readonly Scope[] };
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
}

export interface Token {
  readonly tokenId: string;
  readonly accountId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: number;
  readonly revokedAt?: number;
  readonly lastUsedAt?: number;
}

export interface NewToken extends Token {
  /** Shown only here. */
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
  /** What the account stores now. */
  readonly storedBytes: number;
  /** The limit of its tier. Absent: no limit. */
  readonly storedBytesMax?: number;
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
  /** When the running advance ends. */
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
