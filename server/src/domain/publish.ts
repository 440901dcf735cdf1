// From a parsed request to the messages it makes: defaults, the tier's limits, fan-out, the time each is due. Pure:
// what is accepted over HTTP, one by one or in a batch, is decided here and nowhere else.

import { contentKey } from './deduplication.ts';
import { parseTargetUrl, type TargetUrl } from './destination.ts';
import { formatDurationMs } from './duration.ts';
import type { NewId } from './id.ts';
import type { CallbackTarget, HeaderList, Method, NewMessage } from './message.ts';
import { type Problem, type ProblemCode, problem } from './problem.ts';
import type { Redaction, Sha256 } from './redact.ts';
import type { Tier } from './tier.ts';
import type { Topic } from './topic.ts';

/** How a delivery is to be made, as far as the caller said; null where they left it to us. */
export interface DeliverySettings {
  readonly method: Method | null;
  readonly retries: number | null;
  readonly retryDelay: string | null;
  readonly delayMs: number | null;
  readonly timeoutMs: number | null;
  readonly forward: HeaderList;
}

export interface CallbackRequest {
  readonly target: TargetUrl;
  readonly settings: DeliverySettings;
}

export interface PublishRequest {
  readonly destination:
    | { readonly kind: 'url'; readonly target: TargetUrl }
    | { readonly kind: 'topic'; readonly topic: Topic };
  readonly queueName: string | null;
  readonly contentType: string | null;
  readonly settings: DeliverySettings;
  /** An absolute time that wins over the delay, in milliseconds since 1970. */
  readonly notBefore: number | null;
  readonly callback: CallbackRequest | null;
  readonly failureCallback: CallbackRequest | null;
  readonly labels: readonly string[];
  readonly flow: NewMessage['flow'];
  readonly orderKey: string | null;
  readonly deduplication: { readonly id: string } | 'byContent' | null;
  readonly redaction: Redaction | null;
  readonly body: Uint8Array;
  readonly callerIp: string | null;
  readonly hops: number;
  /** The schedule that makes it, if one does. */
  readonly scheduleId: string | null;
}

export interface Publisher {
  readonly accountId: string;
  readonly tier: Tier;
}

export interface PlanContext {
  readonly now: number;
  readonly newId: NewId;
  /** How long a deduplication id stands for its message. */
  readonly deduplicationWindowMs: number;
  readonly sha256: Sha256;
}

/** One message per endpoint of a topic, in its order; one for a URL. Or the first thing that is over a limit. */
export function planMessages(
  request: PublishRequest,
  publisher: Publisher,
  context: PlanContext,
): { readonly messages: readonly NewMessage[] } | { readonly problem: Problem } {
  const { now, newId } = context;
  const wrong = contradiction(request) ?? tierProblem(request, publisher.tier, now);
  if (wrong) return wrong;
  const { settings, contentType, destination } = request;
  const retriesMax = settings.retries ?? publisher.tier.retriesDefault;
  const retrySetting = { retriesMax, retryDelay: settings.retryDelay };
  const planned = {
    accountId: publisher.accountId,
    kind: request.scheduleId === null ? ('publish' as const) : ('schedule' as const),
    method: settings.method ?? 'POST',
    headers: deliveredHeaders(contentType, settings.forward),
    body: request.body,
    ...retrySetting,
    timeoutMs: settings.timeoutMs ?? publisher.tier.timeoutMsDefault,
    queueName: request.queueName,
    orderKey: request.orderKey,
    flow: request.flow,
    scheduleId: request.scheduleId,
    labels: request.labels,
    redaction: request.redaction,
    callback: request.callback && planCallback(request.callback, retrySetting, publisher.tier),
    failureCallback: request.failureCallback && planCallback(request.failureCallback, retrySetting, publisher.tier),
    sourceMessageId: null,
    callerIp: request.callerIp,
    hops: request.hops,
    createdAt: now,
    dueAt: dueAt(request, now),
  };
  if (destination.kind === 'url') {
    const { url, host } = destination.target;
    const deduplication = deduplicate(request, url, null, context);
    return {
      messages: [{ ...planned, id: newId('msg'), url, host, deduplication, topicName: null, endpointName: null }],
    };
  }
  const { topic } = destination;
  if (topic.endpoints.length === 0)
    return problem('topic_empty', `topic "${topic.name}" has no endpoints; add one first`);
  return {
    messages: topic.endpoints.map((endpoint) => ({
      ...planned,
      id: newId('msg'),
      url: endpoint.url,
      host: hostOf(endpoint.url),
      deduplication: deduplicate(request, topic.id, endpoint.url, context),
      topicName: topic.name,
      endpointName: endpoint.name,
    })),
  };
}

/** The key a message is known by to later ones that would repeat it; each copy for an endpoint has its own. */
function deduplicate(
  request: PublishRequest,
  destination: string,
  endpointUrl: string | null,
  context: PlanContext,
): NewMessage['deduplication'] {
  if (request.deduplication === null) return null;
  const { body, contentType, settings } = request;
  const key =
    request.deduplication === 'byContent'
      ? `content:${context.sha256(contentKey({ destination, body, contentType, headers: settings.forward }))}`
      : `id:${request.deduplication.id}`;
  const expiresAt = context.now + context.deduplicationWindowMs;
  return { key: endpointUrl === null ? key : `${key} ${endpointUrl}`, expiresAt };
}

/** Settings that exclude each other. */
function contradiction(request: PublishRequest): ReturnType<typeof problem> | null {
  if (request.flow && request.queueName !== null) {
    return problem('bad_header', 'Flow-Control-Key: not in a queue; a queue has its own parallelism');
  }
  if (request.orderKey !== null && request.queueName === null) {
    return problem('bad_header', 'Order-Key: only in a queue; enqueue the message to keep its order');
  }
  return null;
}

/** A forwarded Content-Type is the more deliberate of the two, and a request carries only one. */
export function deliveredHeaders(contentType: string | null, forward: HeaderList): HeaderList {
  if (contentType === null || forward.some(([name]) => name.toLowerCase() === 'content-type')) return forward;
  return [['Content-Type', contentType], ...forward];
}

/** The host of a URL that was judged when it was stored. */
export function hostOf(url: string): string {
  const target = parseTargetUrl(url);
  if ('problem' in target) throw new Error(`a stored URL is no longer valid: ${url}`);
  return target.host;
}

function dueAt(request: PublishRequest, now: number): number {
  if (request.notBefore !== null) return Math.max(now, request.notBefore);
  return now + (request.settings.delayMs ?? 0);
}

function planCallback(
  callback: CallbackRequest,
  original: Pick<CallbackTarget, 'retriesMax' | 'retryDelay'>,
  tier: Tier,
): CallbackTarget {
  const { settings } = callback;
  return {
    url: callback.target.url,
    method: settings.method ?? 'POST',
    headers: settings.forward,
    // Spec 6, rule 2: a callback uses the retry setting of the original request, unless it was given its own.
    retriesMax: settings.retries ?? original.retriesMax,
    retryDelay: settings.retryDelay ?? original.retryDelay,
    delayMs: settings.delayMs ?? 0,
    timeoutMs: settings.timeoutMs ?? tier.timeoutMsDefault,
  };
}

function tierProblem(request: PublishRequest, tier: Tier, now: number): ReturnType<typeof problem> | null {
  const over = (what: string, max: string) =>
    problem('limit_exceeded' satisfies ProblemCode, `${what} is over the limit of the ${tier.name} tier: ${max}`);
  if (isOver(request.body.length, tier.bodyBytesMax)) {
    return over(`the body (${request.body.length} bytes)`, `${tier.bodyBytesMax} bytes`);
  }
  if (isOver(dueAt(request, now) - now, tier.delayMsMax)) {
    return over('the delay', formatDurationMs(tier.delayMsMax!));
  }
  const all: [string, DeliverySettings][] = [['', request.settings]];
  if (request.callback) all.push(['callback ', request.callback.settings]);
  if (request.failureCallback) all.push(['failure callback ', request.failureCallback.settings]);
  for (const [whose, settings] of all) {
    if (isOver(settings.retries ?? 0, tier.retriesMax)) {
      return over(`the ${whose}retries (${settings.retries})`, String(tier.retriesMax));
    }
    if (isOver(settings.timeoutMs ?? 0, tier.timeoutMsMax)) {
      return over(`the ${whose}timeout`, formatDurationMs(tier.timeoutMsMax!));
    }
    if (isOver(settings.delayMs ?? 0, tier.delayMsMax)) {
      return over(`the ${whose}delay`, formatDurationMs(tier.delayMsMax!));
    }
  }
  return null;
}

function isOver(value: number, max: number | null): boolean {
  return max !== null && value > max;
}
