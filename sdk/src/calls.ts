// Every call of the API as data: what is sent, and the type of the response. The client sends the calls, `curl` prints
// them. No other file knows a path.

import type { SettingName } from './setting-names.ts';
import type * as wire from './wire.ts';

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

type PublishAnswer = wire.Published | readonly wire.Published[];
type Filter = wire.MessageFilter;
type Page = wire.PageRequest;

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
  ) => call<readonly wire.BatchResult[]>('POST', '/v2/batch', elements),

  getMessage: (id: string) => call<wire.MessageWithAttempts>('GET', `/v2/messages/${part(id)}`),
  whyNotDelivered: (id: string) => call<wire.Why>('GET', `/v2/messages/${part(id)}/why`),
  listMessages: (filter: Filter & Page = {}) => call<wire.MessagePage>('GET', `/v2/messages${query(filter)}`),
  countMessages: (filter: Filter = {}) => call<wire.StateCounts>('GET', `/v2/messages/counts${query(filter)}`),
  cancelMessage: (id: string) => call<wire.Cancelled>('DELETE', `/v2/messages/${part(id)}`),
  releaseMessage: (id: string) => call<{ released: number }>('POST', `/v2/messages/${part(id)}/release`),
  deliverNow: (id: string) => call<{ messageId: string }>('POST', `/v2/messages/${part(id)}/retry`),

  listQueues: () => listCall<readonly wire.Queue[]>('/v2/queues'),
  getQueue: (name: string) => call<wire.Queue>('GET', `/v2/queues/${part(name)}`),
  saveQueue: (queue: { readonly queueName: string; readonly parallelism?: number; readonly paused?: boolean }) =>
    call<wire.Queue>('POST', '/v2/queues', queue),
  pauseQueue: (name: string) => call<wire.Queue>('POST', `/v2/queues/${part(name)}/pause`),
  resumeQueue: (name: string) => call<wire.Queue>('POST', `/v2/queues/${part(name)}/resume`),
  deleteQueue: (name: string, options: { readonly force?: boolean } = {}) =>
    call<object>('DELETE', `/v2/queues/${part(name)}${query({ force: options.force ? 'true' : undefined })}`),

  listTopics: () => listCall<readonly wire.Topic[]>('/v2/topics'),
  getTopic: (name: string) => call<wire.Topic>('GET', `/v2/topics/${part(name)}`),
  addEndpoints: (name: string, endpoints: readonly wire.Endpoint[]) =>
    call<wire.Topic>('POST', `/v2/topics/${part(name)}/endpoints`, { endpoints }),
  removeEndpoints: (name: string, endpoints: readonly ({ readonly name: string } | { readonly url: string })[]) =>
    call<wire.Topic | object>('DELETE', `/v2/topics/${part(name)}/endpoints`, { endpoints }),
  changeTopic: (
    name: string,
    change: { readonly endpoints?: readonly wire.Endpoint[]; readonly headers?: NonNullable<wire.Topic['headers']> },
  ) => call<wire.Topic>('PATCH', `/v2/topics/${part(name)}`, change),
  deleteTopic: (name: string) => call<object>('DELETE', `/v2/topics/${part(name)}`),

  listSchedules: () => listCall<readonly wire.Schedule[]>('/v2/schedules'),
  getSchedule: (id: string) => call<wire.Schedule>('GET', `/v2/schedules/${part(id)}`),
  pauseSchedule: (id: string) => call<object>('POST', `/v2/schedules/${part(id)}/pause`),
  resumeSchedule: (id: string) => call<object>('POST', `/v2/schedules/${part(id)}/resume`),
  runSchedule: (id: string) => call<readonly wire.Published[]>('POST', `/v2/schedules/${part(id)}/run`),
  deleteSchedule: (id: string) => call<object>('DELETE', `/v2/schedules/${part(id)}`),
  cronTimes: (cron: string) => call<wire.CronTimes>('GET', `/v2/cron${query({ cron })}`),

  listDeadLetters: (filter: Filter & Page = {}) => call<wire.DeadLetterPage>('GET', `/v2/dlq${query(filter)}`),
  failureGroups: () => call<wire.FailureGroups>('GET', '/v2/dlq/groups'),
  getDeadLetter: (id: string) => call<wire.DeadLetter>('GET', `/v2/dlq/${part(id)}`),
  retryDeadLetter: (
    id: string,
    changes?: {
      readonly url?: string;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    },
  ) => call<{ messageId: string }>('POST', `/v2/dlq/retry/${part(id)}`, changes),
  deleteDeadLetter: (id: string) => call<{ deleted: number }>('DELETE', `/v2/dlq/${part(id)}`),

  countBulk: (action: wire.JobAction, filter: Filter | { readonly all: 'true' }) =>
    call<wire.BulkCount>('POST', '/v2/bulk', { action, filter, dryRun: true }),
  startBulk: (action: wire.JobAction, filter: Filter | { readonly all: 'true' }, perSecond: number) =>
    call<wire.Job>('POST', '/v2/bulk', { action, filter, perSecond }),
  /** One page, newest first. */
  listBulk: (page: Omit<Page, 'order'> = {}) => call<wire.JobPage>('GET', `/v2/bulk${query(page)}`),
  getBulk: (id: string) => call<wire.Job>('GET', `/v2/bulk/${part(id)}`),
  stopBulk: (id: string) => call<wire.Job>('POST', `/v2/bulk/${part(id)}/stop`),

  listFlowKeys: () => listCall<readonly wire.FlowKey[]>('/v2/flowControl'),
  pauseFlowKey: (key: string) => call<wire.FlowKey>('POST', `/v2/flowControl/${part(key)}/pause`),
  resumeFlowKey: (key: string) => call<wire.FlowKey>('POST', `/v2/flowControl/${part(key)}/resume`),
  parallelism: () => call<wire.Parallelism>('GET', '/v2/globalParallelism'),

  listEvents: (filter: Filter & Page = {}) => call<wire.EventPage>('GET', `/v2/events${query(filter)}`),
  overview: () => call<wire.Overview>('GET', '/v2/overview'),
  /** The last hour, unless another time is given: `fromDate` and `toDate`, as in the filters. */
  activity: (time: { readonly fromDate?: string; readonly toDate?: string } = {}) =>
    call<wire.Activity>('GET', `/v2/activity${query(time)}`),

  getAccount: () => call<wire.OwnAccount>('GET', '/v2/account'),
  getKeys: () => call<wire.SigningKeys>('GET', '/v2/keys'),
  rotateKeys: () => call<wire.SigningKeys>('POST', '/v2/keys/rotate'),
  usage: (days: { readonly fromDay?: string; readonly toDay?: string } = {}) =>
    listCall<wire.Usage>(`/v2/usage${query(days)}`, 'usage'),

  listAccounts: () => listCall<{ readonly accounts: readonly wire.Account[] }>('/v2/admin/accounts', 'accounts'),
  createAccount: (account: { readonly name: string; readonly tier?: string }) =>
    call<wire.Account>('POST', '/v2/admin/accounts', account),
  setTier: (accountId: string, tier: string) =>
    call<wire.Account>('PATCH', `/v2/admin/accounts/${part(accountId)}`, { tier }),
  listTokens: (accountId: string) =>
    listCall<{ readonly tokens: readonly wire.Token[] }>(`/v2/admin/tokens${query({ accountId })}`, 'tokens'),
  createToken: (token: { readonly accountId: string; readonly name: string; readonly scopes: readonly wire.Scope[] }) =>
    call<wire.NewToken>('POST', '/v2/admin/tokens', token),
  revokeToken: (accountId: string, tokenId: string) =>
    call<object>('DELETE', `/v2/admin/accounts/${part(accountId)}/tokens/${part(tokenId)}`),
  listNodes: () => call<{ readonly nodes: readonly wire.ServiceNode[] }>('GET', '/v2/nodes'),

  sinkRequests: () => call<{ readonly requests: readonly wire.SinkRequest[] }>('GET', '/v2/dev/requests'),
  forgetSinkRequests: () => call<object>('DELETE', '/v2/dev/requests'),
};

export type Calls = typeof calls;
export type AnswerOf<C> = C extends Call<infer T> ? T : never;

/** The path of the live stream, for `streamEvents`. */
export function streamPath(filter: Filter): string {
  return `/v2/events/stream${query(filter)}`;
}
