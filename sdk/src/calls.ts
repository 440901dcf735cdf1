// Every call of the API as data: what is sent, and the type of the response. The client sends the calls, `curl` prints
// them. No other file knows a path.

import type { SettingName } from './setting-names.ts';
import type * as shapes from './shapes.ts';

/** A misspelt name is a type error. */
export type PublishSettings = Readonly<Partial<Record<SettingName, string>>>;

declare const ANSWER: unique symbol;

export interface Call<T> {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** From the root of the API, with its query. */
  readonly path: string;
  /** Settings of a publish, without the prefix; the client adds it. */
  readonly settings?: PublishSettings;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /**
   * A list that comes in pages: the client requests all of them and returns the whole list. The name of the list in the
   * response, or null when the response is the list.
   */
  readonly list?: string | null;
  readonly [ANSWER]?: T;
}

export interface PublishRequest {
  /** A URL, or the name or id of a topic. */
  readonly destination: string;
  readonly body?: string | Uint8Array;
  readonly contentType?: string;
  /** Such as `{ Retries: '3', Delay: '90s', 'Forward-X-Tenant': 'acme' }`: the headers of a publish without their prefix. */
  readonly settings?: PublishSettings;
}

type Method = Call<unknown>['method'];

function call<T>(method: Method, path: string, body?: unknown): Call<T> {
  if (body === undefined) return { method, path };
  return { method, path, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
}

/** A list in pages. */
function listCall<T>(path: string, list: string | null = null): Call<T> {
  return { method: 'GET', path, list };
}

const part = encodeURIComponent;

/** Parameters in the order given. Lists repeat their name; absent values are left out. */
function query(values: object): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(values) as [string, unknown][]) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined && each !== null && each !== '') parameters.append(name, String(each));
    }
  }
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}

/** The destination is encoded whole, so that no runtime normalises its dots, slashes or query. */
function publication<T>(path: string, request: PublishRequest): Call<T> {
  return {
    method: 'POST',
    path: `${path}/${part(request.destination)}`,
    ...(request.settings && { settings: request.settings }),
    ...(request.contentType !== undefined && { headers: { 'Content-Type': request.contentType } }),
    ...(request.body !== undefined && { body: request.body }),
  };
}

type PublishAnswer = shapes.Published | readonly shapes.Published[];
type Filter = shapes.MessageFilter;
type Page = shapes.PageRequest;

export const calls = {
  publish: (request: PublishRequest) => publication<PublishAnswer>('/v2/publish', request),
  enqueue: (queue: string, request: PublishRequest) =>
    publication<PublishAnswer>(`/v2/enqueue/${part(queue)}`, request),
  createSchedule: (request: PublishRequest) => publication<{ scheduleId: string }>('/v2/schedules', request),
  batch: (
    elements: readonly {
      readonly destination: string;
      readonly queue?: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
      readonly bodyBase64?: string;
    }[],
  ) => call<readonly shapes.BatchResult[]>('POST', '/v2/batch', elements),

  getMessage: (id: string) => call<shapes.MessageWithAttempts>('GET', `/v2/messages/${part(id)}`),
  whyNotDelivered: (id: string) => call<shapes.Why>('GET', `/v2/messages/${part(id)}/why`),
  listMessages: (filter: Filter & Page = {}) => call<shapes.MessagePage>('GET', `/v2/messages${query(filter)}`),
  countMessages: (filter: Filter = {}) => call<shapes.StateCounts>('GET', `/v2/messages/counts${query(filter)}`),
  cancelMessage: (id: string) => call<shapes.Cancelled>('DELETE', `/v2/messages/${part(id)}`),
  releaseMessage: (id: string) => call<{ released: number }>('POST', `/v2/messages/${part(id)}/release`),
  deliverNow: (id: string) => call<{ messageId: string }>('POST', `/v2/messages/${part(id)}/retry`),

  listQueues: () => listCall<readonly shapes.Queue[]>('/v2/queues'),
  getQueue: (name: string) => call<shapes.Queue>('GET', `/v2/queues/${part(name)}`),
  saveQueue: (queue: { readonly queueName: string; readonly parallelism?: number; readonly paused?: boolean }) =>
    call<shapes.Queue>('POST', '/v2/queues', queue),
  pauseQueue: (name: string) => call<shapes.Queue>('POST', `/v2/queues/${part(name)}/pause`),
  resumeQueue: (name: string) => call<shapes.Queue>('POST', `/v2/queues/${part(name)}/resume`),
  deleteQueue: (name: string, options: { readonly force?: boolean } = {}) =>
    call<object>('DELETE', `/v2/queues/${part(name)}${query({ force: options.force ? 'true' : undefined })}`),

  listTopics: () => listCall<readonly shapes.Topic[]>('/v2/topics'),
  getTopic: (name: string) => call<shapes.Topic>('GET', `/v2/topics/${part(name)}`),
  addEndpoints: (name: string, endpoints: readonly shapes.Endpoint[]) =>
    call<shapes.Topic>('POST', `/v2/topics/${part(name)}/endpoints`, { endpoints }),
  removeEndpoints: (name: string, endpoints: readonly ({ readonly name: string } | { readonly url: string })[]) =>
    call<shapes.Topic | object>('DELETE', `/v2/topics/${part(name)}/endpoints`, { endpoints }),
  changeTopic: (
    name: string,
    change: {
      readonly endpoints?: readonly shapes.Endpoint[];
      readonly headers?: NonNullable<shapes.Topic['headers']>;
    },
  ) => call<shapes.Topic>('PATCH', `/v2/topics/${part(name)}`, change),
  deleteTopic: (name: string) => call<object>('DELETE', `/v2/topics/${part(name)}`),

  listSchedules: () => listCall<readonly shapes.Schedule[]>('/v2/schedules'),
  getSchedule: (id: string) => call<shapes.Schedule>('GET', `/v2/schedules/${part(id)}`),
  pauseSchedule: (id: string) => call<object>('POST', `/v2/schedules/${part(id)}/pause`),
  resumeSchedule: (id: string) => call<object>('POST', `/v2/schedules/${part(id)}/resume`),
  runSchedule: (id: string) => call<readonly shapes.Published[]>('POST', `/v2/schedules/${part(id)}/run`),
  deleteSchedule: (id: string) => call<object>('DELETE', `/v2/schedules/${part(id)}`),
  cronTimes: (cron: string) => call<shapes.CronTimes>('GET', `/v2/cron${query({ cron })}`),

  listDeadLetters: (filter: Filter & Page = {}) => call<shapes.DeadLetterPage>('GET', `/v2/dlq${query(filter)}`),
  failureGroups: () => call<shapes.FailureGroups>('GET', '/v2/dlq/groups'),
  getDeadLetter: (id: string) => call<shapes.DeadLetter>('GET', `/v2/dlq/${part(id)}`),
  retryDeadLetter: (
    id: string,
    changes?: {
      readonly url?: string;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    },
  ) => call<{ messageId: string }>('POST', `/v2/dlq/retry/${part(id)}`, changes),
  deleteDeadLetter: (id: string) => call<{ deleted: number }>('DELETE', `/v2/dlq/${part(id)}`),

  countBulk: (action: shapes.JobAction, filter: Filter | { readonly all: 'true' }) =>
    call<shapes.BulkCount>('POST', '/v2/bulk', { action, filter, dryRun: true }),
  startBulk: (action: shapes.JobAction, filter: Filter | { readonly all: 'true' }, perSecond: number) =>
    call<shapes.Job>('POST', '/v2/bulk', { action, filter, perSecond }),
  /** One page, newest first. */
  listBulk: (page: Omit<Page, 'order'> = {}) => call<shapes.JobPage>('GET', `/v2/bulk${query(page)}`),
  getBulk: (id: string) => call<shapes.Job>('GET', `/v2/bulk/${part(id)}`),
  stopBulk: (id: string) => call<shapes.Job>('POST', `/v2/bulk/${part(id)}/stop`),

  listFlowKeys: () => listCall<readonly shapes.FlowKey[]>('/v2/flowControl'),
  getFlowKey: (key: string) => call<shapes.FlowKey>('GET', `/v2/flowControl/${part(key)}`),
  pauseFlowKey: (key: string) => call<shapes.FlowKey>('POST', `/v2/flowControl/${part(key)}/pause`),
  resumeFlowKey: (key: string) => call<shapes.FlowKey>('POST', `/v2/flowControl/${part(key)}/resume`),
  /** Fixes the limits that are given: messages no longer change them. */
  pinFlowKey: (
    key: string,
    limits: {
      readonly parallelism?: string | undefined;
      readonly rate?: string | undefined;
      readonly period?: string | undefined;
    },
  ) => call<shapes.FlowKey>('POST', `/v2/flowControl/${part(key)}/pin${query(limits)}`),
  unpinFlowKey: (key: string) => call<shapes.FlowKey>('POST', `/v2/flowControl/${part(key)}/unpin`),
  resetFlowRate: (key: string) => call<shapes.FlowKey>('POST', `/v2/flowControl/${part(key)}/resetRate`),
  parallelism: () => call<shapes.Parallelism>('GET', '/v2/globalParallelism'),

  listEvents: (filter: Filter & Page = {}) => call<shapes.EventPage>('GET', `/v2/events${query(filter)}`),
  overview: () => call<shapes.Overview>('GET', '/v2/overview'),
  /** The last hour, unless another time is given: `fromDate` and `toDate`, as in the filters. */
  activity: (time: { readonly fromDate?: string; readonly toDate?: string } = {}) =>
    call<shapes.Activity>('GET', `/v2/activity${query(time)}`),

  getAccount: () => call<shapes.OwnAccount>('GET', '/v2/account'),
  getKeys: () => call<shapes.SigningKeys>('GET', '/v2/keys'),
  rotateKeys: () => call<shapes.SigningKeys>('POST', '/v2/keys/rotate'),
  usage: (days: { readonly fromDay?: string; readonly toDay?: string } = {}) =>
    listCall<shapes.Usage>(`/v2/usage${query(days)}`, 'usage'),

  listAccounts: () => listCall<{ readonly accounts: readonly shapes.Account[] }>('/v2/admin/accounts', 'accounts'),
  createAccount: (account: { readonly name: string; readonly tier?: string }) =>
    call<shapes.Account>('POST', '/v2/admin/accounts', account),
  setTier: (accountId: string, tier: string) =>
    call<shapes.Account>('PATCH', `/v2/admin/accounts/${part(accountId)}`, { tier }),
  listTokens: (accountId: string) =>
    listCall<{ readonly tokens: readonly shapes.Token[] }>(`/v2/admin/tokens${query({ accountId })}`, 'tokens'),
  createToken: (token: {
    readonly accountId: string;
    readonly name: string;
    readonly scopes: readonly shapes.Scope[];
  }) => call<shapes.NewToken>('POST', '/v2/admin/tokens', token),
  revokeToken: (accountId: string, tokenId: string) =>
    call<object>('DELETE', `/v2/admin/accounts/${part(accountId)}/tokens/${part(tokenId)}`),
  listNodes: () => call<{ readonly nodes: readonly shapes.ServiceNode[] }>('GET', '/v2/nodes'),

  sinkRequests: () => call<{ readonly requests: readonly shapes.SinkRequest[] }>('GET', '/v2/dev/requests'),
  forgetSinkRequests: () => call<object>('DELETE', '/v2/dev/requests'),
  clock: () => call<shapes.ServiceClock>('GET', '/v2/dev/clock'),
  /** Moves, stops or starts the clock of `postrider dev --clock manual`. */
  setClock: (
    order:
      | { readonly advance: string | number; readonly wait?: string | number }
      | { readonly advanceTo: string | number; readonly wait?: string | number }
      | { readonly freeze: true }
      | { readonly run: true },
  ) => call<shapes.ServiceClock>('POST', '/v2/dev/clock', order),
};

export type Calls = typeof calls;
export type AnswerOf<C> = C extends Call<infer T> ? T : never;

/** The path of the live stream, for `streamEvents`. */
export function streamPath(filter: Filter): string {
  return `/v2/events/stream${query(filter)}`;
}
