// What goes over the wire, as types: the answers of the API and the bodies it takes. Times are milliseconds since 1970.

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
export type EventState = MessageState | 'ERROR' | 'RELEASED';

export interface Published {
  readonly messageId: string;
  readonly url: string;
  readonly deduplicated?: boolean;
}

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
  /** Crashes of the server that cut it off since its last known result. */
  readonly interrupted?: number;
  /** Since when it waits for a person to release or cancel it, and why. */
  readonly heldAt?: number;
  readonly heldReason?: string;
  readonly responseStatus?: number;
  readonly failure?: string;
  /** Of a dead letter that was sent again: the new message. */
  readonly retriedAs?: string;
  readonly retriedAt?: number;
  readonly callback?: string;
  readonly callbackHeader?: HeaderMap;
  readonly failureCallback?: string;
  readonly failureCallbackHeader?: HeaderMap;
  readonly sourceMessageId?: string;
  readonly callerIp?: string;
  readonly label?: string;
  readonly labels?: readonly string[];
  readonly flowControlKey?: string;
  readonly parallelism?: number;
  readonly rate?: number;
  readonly period?: number;
}

export interface Answered {
  readonly responseStatus?: number;
  readonly responseHeader?: HeaderMap;
  readonly responseBody?: string;
  readonly responseBodyBase64?: string;
  readonly isResponseBodyCut?: boolean;
}

export interface Attempt extends Answered {
  readonly number: number;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly outcome: 'answered' | 'unreachable' | 'timedOut' | 'refusedByPolicy' | 'interrupted';
  readonly error?: string;
  readonly nextDeliveryTime?: number;
}

export interface MessageWithAttempts extends Message {
  readonly attempts: readonly Attempt[];
}

export interface DeadLetter extends Message, Answered {
  readonly responseStatus?: number;
  readonly dlqId: string;
  readonly error?: string;
}

export interface MessagePage {
  readonly messages: readonly Message[];
  readonly cursor?: string;
}

export interface DeadLetterPage {
  readonly messages: readonly DeadLetter[];
  readonly cursor?: string;
}

export interface Why {
  readonly messageId: string;
  readonly reason: string;
  readonly text: string;
  readonly nextAttemptAt?: number;
  /** The time depends on others too: it may be later. */
  readonly isEarliest?: boolean;
  readonly behindMessageId?: string;
  readonly aheadCount?: number;
  /** There are more: counting ended at a limit. So it is beside every count. */
  readonly isAheadCountCut?: boolean;
}

export interface StateCounts {
  readonly states: Readonly<Record<MessageState, number>>;
  /** There are more: counting ended at a limit. */
  readonly isCut?: boolean;
}

/** A filter of messages: several values of one key mean any of them, several keys mean all of them. */
export interface MessageFilter {
  readonly messageIds?: readonly string[];
  readonly dlqIds?: readonly string[];
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
  /** Dead letters that were sent again: only those, none of them, or both. */
  readonly retried?: 'true' | 'false' | 'any';
  readonly fromDate?: string | number;
  readonly toDate?: string | number;
  readonly text?: string;
}

export interface PageRequest {
  readonly count?: number;
  readonly cursor?: string;
  readonly order?: 'newestFirst' | 'oldestFirst';
}

export interface MessageEvent {
  readonly time: number;
  readonly messageId: string;
  readonly state: EventState;
  readonly url: string;
  readonly method: string;
  readonly topicName?: string;
  readonly queueName?: string;
  readonly scheduleId?: string;
  readonly labels?: readonly string[];
  readonly maxRetries: number;
  readonly createdAt: number;
  readonly attempt?: number;
  readonly nextDeliveryTime?: number;
  readonly error?: string;
  readonly responseStatus?: number;
}

export interface Queue {
  readonly name: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly parallelism: number;
  readonly paused: boolean;
  readonly lag: number;
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
  /** Default settings of its messages; one value as text, several as a list. */
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
  /** In a list: the body is too long for it, and the schedule shows it. */
  readonly isBodyLeftOut?: boolean;
  readonly retries: number;
  readonly delay?: number;
  readonly callback?: string;
  readonly failureCallback?: string;
  readonly isPaused: boolean;
  readonly queueName?: string;
  readonly labels?: readonly string[];
  readonly flowControlKey?: string;
  readonly nextScheduleTime?: number;
  readonly lastScheduleTime?: number;
  readonly lastScheduleStates?: Readonly<Record<string, 'IN_PROGRESS' | 'SUCCESS' | 'FAIL'>>;
}

export interface FlowKey {
  readonly flowControlKey: string;
  readonly waitListSize: number;
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

/** What a cancel answers. With `requested`, a node has claimed so many of them and has not confirmed that none starts. */
export interface Cancelled {
  readonly cancelled: number;
  readonly requested?: number;
  readonly state?: 'CANCEL_REQUESTED';
  readonly detail?: string;
}

export type JobAction = 'cancel' | 'retry' | 'delete';

/** How many messages a bulk operation would mean. */
export interface BulkCount {
  readonly action: string;
  readonly matched: number;
  readonly isMatchedCut?: boolean;
}

export interface Job {
  readonly jobId: string;
  readonly action: JobAction;
  readonly filter: Readonly<Record<string, unknown>>;
  readonly perSecond: number;
  readonly state: 'running' | 'stopped' | 'done';
  readonly matched: number;
  readonly isMatchedCut?: boolean;
  readonly done: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface StandingCounts {
  readonly waiting: number;
  readonly scheduled: number;
  readonly active: number;
  readonly retrying: number;
  /** Wait for a person. */
  readonly held: number;
}

export interface Overview extends StandingCounts {
  readonly now: number;
  /** Dead letters that nobody has sent again. */
  readonly failed: number;
  /** Those that somebody has. */
  readonly retried: number;
  readonly cancelled: number;
  readonly all: number;
  /** A count that has reached it means that many or more. */
  readonly countedMax: number;
  readonly oldestDueAt?: number;
  readonly queues: readonly (StandingCounts & { readonly name: string; readonly placesTaken: number })[];
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

export interface OwnAccount {
  readonly accountId: string;
  readonly name: string;
  readonly tier: string;
  readonly createdAt: number;
  readonly token: { readonly tokenId: string; readonly name: string; readonly scopes: readonly Scope[] };
  readonly limits: Readonly<Record<string, number | null>>;
  readonly service: { readonly version: string; readonly headerPrefix: string; readonly isDev: boolean };
}

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly tier: string;
  readonly createdAt: number;
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

export interface SigningKeys {
  readonly current: string;
  readonly next: string;
}

export interface Usage {
  readonly fromDay: string;
  readonly toDay: string;
  readonly usage: readonly { readonly day: string; readonly kind: string; readonly count: number }[];
}

export interface ServiceNode {
  readonly id: string;
  readonly role: string;
  readonly version: string;
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
