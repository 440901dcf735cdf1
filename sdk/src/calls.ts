// Every call of the API as data: what is sent, and the type of the response. The clients send the calls, and `curl`
// prints them. Each call is exported separately, so that a bundler keeps only the calls that are used.

import type { AlertRequest } from './alert-request.ts';
import { type Call, call, listCall, type PublishSettings, part, query, repeatable } from './call.ts';
import type {
  AuditQuery,
  DeadLetterQuery,
  DeadLetterSelection,
  MessageQuery as Filter,
  MessageSelection,
  OneOrMore,
} from './message-query.ts';
import {
  type PublishRequest,
  publication,
  type ScheduleRequest,
  type TopicRequest,
  type UrlRequest,
} from './publish-request.ts';
import type * as shapes from './shapes.ts';

/** What to change of a message. What is not given stays as it is. */
export interface MessageChange {
  /** When the next attempt may start: a duration such as `90s` or a number of seconds, from now on. */
  readonly delay?: string | number;
  /** The same in seconds since 1970. */
  readonly notBefore?: number;
  readonly url?: string;
  readonly body?: string;
  /** In place of `body`, for bytes that are not text. */
  readonly bodyBase64?: string;
  /** Settings and headers to forward, with the prefix of the service, as in an element of a batch. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Only if the message has this `version`. */
  readonly ifMatch?: string;
}

type PublishAnswer = shapes.Published | readonly shapes.Published[];
type Page = shapes.PageRequest;
type From = Pick<Page, 'cursor'>;

export function publish(request: UrlRequest): Call<shapes.Published>;
export function publish(request: TopicRequest): Call<readonly shapes.Published[]>;
export function publish(request: PublishRequest): Call<PublishAnswer>;
export function publish(request: PublishRequest): Call<PublishAnswer> {
  return publication('/v2/publish', request);
}

export function enqueue(queue: string, request: UrlRequest): Call<shapes.Published>;
export function enqueue(queue: string, request: TopicRequest): Call<readonly shapes.Published[]>;
export function enqueue(queue: string, request: PublishRequest): Call<PublishAnswer>;
export function enqueue(queue: string, request: PublishRequest): Call<PublishAnswer> {
  return publication(`/v2/enqueue/${part(queue)}`, request);
}

/** A request with a schedule id can be sent twice: the second copy replaces the schedule that the first has created. */
export const createSchedule = (request: ScheduleRequest): Call<{ scheduleId: string }> => {
  const made = publication<{ scheduleId: string }>('/v2/schedules', request);
  return { ...made, repeat: made.settings?.['Schedule-Id'] === undefined ? 'no' : 'yes' };
};

export const batch = (
  elements: readonly {
    readonly destination: string;
    readonly queue?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
    readonly bodyBase64?: string;
  }[],
) => call<readonly shapes.BatchResult[]>('POST', '/v2/batch', elements);

export const getMessage = (id: string) => call<shapes.MessageWithAttempts>('GET', `/v2/messages/${part(id)}`);
export const whyNotDelivered = (id: string) => call<shapes.Why>('GET', `/v2/messages/${part(id)}/why`);
export const listMessages = (filter?: Filter & Page) =>
  call<shapes.MessagePage>('GET', `/v2/messages${query(filter ?? {})}`);
export const countMessages = (filter?: Filter) =>
  call<shapes.StateCounts>('GET', `/v2/messages/counts${query(filter ?? {})}`);
export const cancelMessage = (id: string) => call<shapes.Cancelled>('DELETE', `/v2/messages/${part(id)}`);
/** Cancels messages by ids or by filter. `{ all: true }` means every open message. */
export const cancelMessages = (selection: MessageSelection) =>
  call<shapes.Cancelled>('DELETE', '/v2/messages', selection);
/**
 * Changes a message that waits. With `ifMatch`, only if it has that `version`. Returns only the id and the new version to
 * a token without the scope `read`, and if the message has already another version again.
 */
export const updateMessage = (
  id: string,
  { ifMatch, ...change }: MessageChange,
): Call<shapes.MessageWithAttempts | shapes.UpdatedMessage> => {
  const made = call<shapes.MessageWithAttempts | shapes.UpdatedMessage>('PATCH', `/v2/messages/${part(id)}`, change);
  // Sent again, a change that was made would be refused, because the version is another.
  if (ifMatch === undefined) return repeatable(made);
  return { ...made, headers: { ...made.headers, 'If-Match': `"${ifMatch}"` } };
};
export const releaseMessage = (id: string) => call<{ released: number }>('POST', `/v2/messages/${part(id)}/release`);
export const deliverNow = (id: string) => call<{ messageId: string }>('POST', `/v2/messages/${part(id)}/retry`);

export const listQueues = () => listCall<readonly shapes.Queue[]>('/v2/queues');
export const getQueue = (name: string) => call<shapes.Queue>('GET', `/v2/queues/${part(name)}`);
export const saveQueue = (queue: {
  readonly queueName: string;
  readonly parallelism?: number;
  readonly paused?: boolean;
  readonly expires?: string | null;
  readonly priority?: number | null;
  /** What its messages that say nothing themselves do while their host is down. */
  readonly outage?: 'retry' | 'park' | null;
}) => repeatable(call<shapes.Queue>('POST', '/v2/queues', queue));
export const pauseQueue = (name: string) => repeatable(call<shapes.Queue>('POST', `/v2/queues/${part(name)}/pause`));
export const resumeQueue = (name: string) => repeatable(call<shapes.Queue>('POST', `/v2/queues/${part(name)}/resume`));
export const deleteQueue = (name: string, options?: { readonly force?: boolean }) =>
  call<object>('DELETE', `/v2/queues/${part(name)}${query({ force: options?.force ? 'true' : undefined })}`);

export const listTopics = () => listCall<readonly shapes.Topic[]>('/v2/topics');
export const getTopic = (name: string) => call<shapes.Topic>('GET', `/v2/topics/${part(name)}`);
export const addEndpoints = (name: string, endpoints: readonly shapes.Endpoint[]) =>
  repeatable(call<shapes.Topic>('POST', `/v2/topics/${part(name)}/endpoints`, { endpoints }));
export const removeEndpoints = (
  name: string,
  endpoints: readonly ({ readonly name: string } | { readonly url: string })[],
) => call<shapes.Topic | object>('DELETE', `/v2/topics/${part(name)}/endpoints`, { endpoints });
export const changeTopic = (
  name: string,
  change: {
    readonly endpoints?: readonly shapes.Endpoint[];
    readonly headers?: NonNullable<shapes.Topic['headers']>;
  },
) => repeatable(call<shapes.Topic>('PATCH', `/v2/topics/${part(name)}`, change));
export const deleteTopic = (name: string) => repeatable(call<object>('DELETE', `/v2/topics/${part(name)}`));

export const listSchedules = () => listCall<readonly shapes.Schedule[]>('/v2/schedules');
export const getSchedule = (id: string) => call<shapes.Schedule>('GET', `/v2/schedules/${part(id)}`);
/** Changes parts of a schedule. `headers` are those of an element of a batch; an empty value removes a header. */
export const changeSchedule = (
  id: string,
  change: {
    readonly cron?: string;
    readonly destination?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
    readonly bodyBase64?: string;
  },
) => repeatable(call<shapes.Schedule>('PATCH', `/v2/schedules/${part(id)}`, change));
export const pauseSchedule = (id: string) => repeatable(call<object>('POST', `/v2/schedules/${part(id)}/pause`));
export const resumeSchedule = (id: string) => repeatable(call<object>('POST', `/v2/schedules/${part(id)}/resume`));
export const runSchedule = (id: string) => call<readonly shapes.Published[]>('POST', `/v2/schedules/${part(id)}/run`);
export const deleteSchedule = (id: string) => repeatable(call<object>('DELETE', `/v2/schedules/${part(id)}`));
export const cronTimes = (cron: string) => call<shapes.CronTimes>('GET', `/v2/cron${query({ cron })}`);

export const listAlerts = () => listCall<readonly shapes.Alert[]>('/v2/alerts');
export const getAlert = (id: string) => call<shapes.Alert>('GET', `/v2/alerts/${part(id)}`);
/** Creates an alert. The service makes its id. */
export const createAlert = (alert: AlertRequest) => call<shapes.Alert>('POST', '/v2/alerts', alert);
/** Creates the alert with this id, or replaces it. */
export const saveAlert = (id: string, alert: AlertRequest) =>
  repeatable(call<shapes.Alert>('PUT', `/v2/alerts/${part(id)}`, alert));
export const testAlert = (id: string) => call<shapes.Published>('POST', `/v2/alerts/${part(id)}/test`);
export const deleteAlert = (id: string) => call<object>('DELETE', `/v2/alerts/${part(id)}`);

export const listDeadLetters = (filter?: DeadLetterQuery & Page) =>
  call<shapes.DeadLetterPage>('GET', `/v2/dlq${query(filter ?? {})}`);
export const failureGroups = () => call<shapes.FailureGroups>('GET', '/v2/dlq/groups');
export const getDeadLetter = (id: string) => call<shapes.DeadLetter>('GET', `/v2/dlq/${part(id)}`);
export const retryDeadLetter = (
  id: string,
  changes?: {
    readonly url?: string;
    readonly body?: string;
    readonly bodyBase64?: string;
    readonly headers?: Readonly<Record<string, string>>;
  },
) => call<{ messageId: string }>('POST', `/v2/dlq/retry/${part(id)}`, changes);
/**
 * Sends the dead letters with these ids again, or up to `count` of those that match a filter. If the response has a
 * `cursor`, there are more: pass it in the next call.
 */
export const retryDeadLetters = (
  selection: DeadLetterSelection & From,
  settings?: PublishSettings,
): Call<{ readonly responses: readonly { readonly messageId: string }[]; readonly cursor?: string }> => ({
  ...call('POST', '/v2/dlq/retry', selection),
  ...(settings && { settings }),
});
export const deleteDeadLetters = (selection: DeadLetterSelection & From) =>
  call<{ readonly deleted: number; readonly cursor?: string }>('DELETE', '/v2/dlq', selection);
export const deleteDeadLetter = (id: string) => call<{ deleted: number }>('DELETE', `/v2/dlq/${part(id)}`);

export const countBulk = (action: shapes.JobAction, filter: shapes.MessageFilter | { readonly all: 'true' }) =>
  call<shapes.BulkCount>('POST', '/v2/bulk', { action, filter, dryRun: true });
export const startBulk = (
  action: shapes.JobAction,
  filter: shapes.MessageFilter | { readonly all: 'true' },
  perSecond: number,
) => call<shapes.Job>('POST', '/v2/bulk', { action, filter, perSecond });
/** One page of bulk operations, newest first. */
export const listBulk = (page?: Omit<Page, 'order'>) => call<shapes.JobPage>('GET', `/v2/bulk${query(page ?? {})}`);
export const getBulk = (id: string) => call<shapes.Job>('GET', `/v2/bulk/${part(id)}`);
export const stopBulk = (id: string) => repeatable(call<shapes.Job>('POST', `/v2/bulk/${part(id)}/stop`));

export const listFlowKeys = () => listCall<readonly shapes.FlowKey[]>('/v2/flowControl');
export const getFlowKey = (key: string) => call<shapes.FlowKey>('GET', `/v2/flowControl/${part(key)}`);
export const pauseFlowKey = (key: string) =>
  repeatable(call<shapes.FlowKey>('POST', `/v2/flowControl/${part(key)}/pause`));
export const resumeFlowKey = (key: string) =>
  repeatable(call<shapes.FlowKey>('POST', `/v2/flowControl/${part(key)}/resume`));
/** Pins the given limits of a flow key: they stay until `unpinFlowKey`, whatever limits later messages carry. */
export const pinFlowKey = (
  key: string,
  limits: {
    readonly parallelism?: number | string | undefined;
    readonly rate?: number | string | undefined;
    readonly period?: number | string | undefined;
  },
) => repeatable(call<shapes.FlowKey>('POST', `/v2/flowControl/${part(key)}/pin${query(limits)}`));
export const unpinFlowKey = (key: string) =>
  repeatable(call<shapes.FlowKey>('POST', `/v2/flowControl/${part(key)}/unpin`));
export const resetFlowRate = (key: string) =>
  repeatable(call<shapes.FlowKey>('POST', `/v2/flowControl/${part(key)}/resetRate`));
export const parallelism = () => call<shapes.Parallelism>('GET', '/v2/globalParallelism');

export const listHosts = () => listCall<readonly shapes.Host[]>('/v2/hosts');
/** `host` with its port, or without: then 443 or 80. */
export const getHost = (host: string) => call<shapes.Host>('GET', `/v2/hosts/${part(host)}`);

/** Parks a host until it is resumed: messages that park wait. */
export const parkHost = (host: string) => repeatable(call<shapes.Host>('POST', `/v2/hosts/${part(host)}/park`));
export const resumeHost = (host: string) => repeatable(call<shapes.Host>('POST', `/v2/hosts/${part(host)}/resume`));

export const listEvents = (filter?: Filter & Page) => call<shapes.EventPage>('GET', `/v2/events${query(filter ?? {})}`);
export const overview = () => call<shapes.Overview>('GET', '/v2/overview');
/** Counts of events by time. `fromDate` and `toDate` have the formats of the filters. Default: the last hour. */
export const activity = (time?: { readonly fromDate?: string; readonly toDate?: string }) =>
  call<shapes.Activity>('GET', `/v2/activity${query(time ?? {})}`);

export const getAccount = () => call<shapes.OwnAccount>('GET', '/v2/account');
/** Sets what messages that say nothing themselves do while their host is down. */
export const setOutage = (outage: 'retry' | 'park') =>
  repeatable(call<shapes.OwnAccount>('PATCH', '/v2/account', { outage }));
export const getKeys = () => call<shapes.SigningKeys>('GET', '/v2/keys');
export const rotateKeys = () => call<shapes.SigningKeys>('POST', '/v2/keys/rotate');
export const usage = (days?: { readonly fromDay?: string; readonly toDay?: string }) =>
  listCall<shapes.Usage>(`/v2/usage${query(days ?? {})}`, 'usage');

/** Who has changed what in the account, and which of its calls were refused. */
export const listAudit = (filter?: AuditQuery & Page) =>
  call<shapes.AuditPage>('GET', `/v2/audit${query(filter ?? {})}`);
/** The same of all accounts, for the operator. */
export const listAllAudit = (filter?: AuditQuery & { readonly account?: OneOrMore } & Page) =>
  call<shapes.AuditPage>('GET', `/v2/admin/audit${query(filter ?? {})}`);

export const listAccounts = () =>
  listCall<{ readonly accounts: readonly shapes.Account[] }>('/v2/admin/accounts', 'accounts');
export const createAccount = (account: { readonly name: string; readonly tier?: string }) =>
  call<shapes.Account>('POST', '/v2/admin/accounts', account);
export const setTier = (accountId: string, tier: string) =>
  repeatable(call<shapes.Account>('PATCH', `/v2/admin/accounts/${part(accountId)}`, { tier }));
/** Suspends or resumes an account. While an account is suspended, it creates no messages, and its messages wait. */
export const setSuspended = (accountId: string, suspended: boolean) =>
  repeatable(call<shapes.Account>('PATCH', `/v2/admin/accounts/${part(accountId)}`, { suspended }));
/**
 * Deletes an account with everything that it has. `confirm` is its name. It works no more at once; the service deletes what
 * it has in pieces, and lists it with `deletingSince` until it is gone.
 */
export const deleteAccount = (accountId: string, confirm: string) =>
  repeatable(call<shapes.Account>('DELETE', `/v2/admin/accounts/${part(accountId)}${query({ confirm })}`));
export const listTokens = (accountId: string) =>
  listCall<{ readonly tokens: readonly shapes.Token[] }>(`/v2/admin/tokens${query({ accountId })}`, 'tokens');
export const createToken = (token: {
  readonly accountId: string;
  readonly name: string;
  readonly scopes: readonly shapes.Scope[];
  /** A duration such as `90d`. Without it and `expiresAt` the token does not expire. */
  readonly expiresIn?: string;
  /** Milliseconds since 1970, instead of `expiresIn`. */
  readonly expiresAt?: number;
  /** CIDR ranges from which the token may be used. Default: from everywhere. */
  readonly addresses?: readonly string[];
}) => call<shapes.NewToken>('POST', '/v2/admin/tokens', token);
export const revokeToken = (accountId: string, tokenId: string) =>
  call<object>('DELETE', `/v2/admin/accounts/${part(accountId)}/tokens/${part(tokenId)}`);
export const listNodes = () => call<{ readonly nodes: readonly shapes.ServiceNode[] }>('GET', '/v2/nodes');

export const sinkRequests = () => call<{ readonly requests: readonly shapes.SinkRequest[] }>('GET', '/v2/dev/requests');
export const forgetSinkRequests = () => call<object>('DELETE', '/v2/dev/requests');
export const clock = () => call<shapes.ServiceClock>('GET', '/v2/dev/clock');
/** Moves, stops or starts the clock of `postrider dev --clock manual`. */
export const setClock = (
  order:
    | { readonly advance: string | number; readonly wait?: string | number }
    | { readonly advanceTo: string | number; readonly wait?: string | number }
    | { readonly freeze: true }
    | { readonly run: true },
) => call<shapes.ServiceClock>('POST', '/v2/dev/clock', order);
