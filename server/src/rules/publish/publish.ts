// Turns a parsed request into messages: it applies defaults and the limits of the tier, makes one message for each
// endpoint of a topic, and computes when each message is due.

import { type Expiry, isExpired, mustStartBefore } from '../delivery/expiry.ts';
import type { CallbackTarget, HeaderList, Method, NewMessage, RequestedSettings } from '../delivery/message.ts';
import { outageInAccount } from '../hosts/parking.ts';
import { HARD_LIMITS, type Tier } from '../limits/tier.ts';
import type { NewId } from '../requests/id.ts';
import { problem } from '../requests/problem.ts';
import { formatDurationMs } from '../time/duration.ts';
import { debounceKey } from './debounce.ts';
import { contentDeduplicationKey, contentKey } from './deduplication.ts';
import { parseTargetUrl, type TargetUrl } from './destination.ts';
import { deliveredHeaders } from './headers.ts';
import type { Sha256 } from './redact.ts';
import type { Topic } from './topic.ts';

/** How to make a delivery. A field is null where the caller gave no value. */
export interface DeliverySettings {
  readonly method: Method | null;
  readonly retries: number | null;
  readonly retryDelay: string | null;
  /** In percent. */
  readonly retryJitter: number | null;
  readonly delayMs: number | null;
  readonly timeoutMs: number | null;
  readonly forward: HeaderList;
}

export interface CallbackRequest {
  readonly target: TargetUrl;
  readonly settings: DeliverySettings;
}

/** A new message with the same key takes the place of the one that waits, which is then due after the window. */
export interface DebounceRequest {
  readonly key: string;
  readonly windowMs: number;
  /** How long after the first message the one that waits is due at the latest. Null: the longest delay of the tier. */
  readonly maxMs: number | null;
}

export interface PublishRequest extends RequestedSettings {
  readonly destination:
    | { readonly kind: 'url'; readonly target: TargetUrl }
    | { readonly kind: 'topic'; readonly topic: Topic };
  readonly queueName: string | null;
  readonly contentType: string | null;
  readonly settings: DeliverySettings;
  /** An absolute time that takes precedence over the delay, in milliseconds since 1970. */
  readonly notBefore: number | null;
  /** From when on no attempt starts. Null: the message does not expire. */
  readonly expiry: Expiry | null;
  readonly callback: CallbackRequest | null;
  readonly failureCallback: CallbackRequest | null;
  readonly deduplication: { readonly id: string } | 'byContent' | null;
  readonly debounce: DebounceRequest | null;
  readonly body: Uint8Array;
  readonly callerIp: string | null;
  readonly hops: number;
  /**
   * How many messages the whole request may make and lead to. Null when the request did not come from one of our
   * deliveries.
   */
  readonly descendantsLeft: number | null;
  /** The schedule that repeats this request. Null for a request of a caller. */
  readonly scheduleId: string | null;
}

export interface Publisher {
  readonly accountId: string;
  readonly tier: Tier;
  /** What messages that say nothing themselves do while their host is down. */
  readonly outage?: 'park' | undefined;
}

/** The same moment on two clocks: `now` on the order clock, `wallNow` on the trusted wall clock. */
export interface PlanTime {
  readonly now: number;
  readonly wallNow: number;
}

export interface PlanContext extends PlanTime {
  readonly newId: NewId;
  /** How long a deduplication id blocks duplicates. */
  readonly deduplicationWindowMs: number;
  readonly sha256: Sha256;
}

/** Why a request cannot be planned, or null: settings that exclude each other, a limit of the tier, an empty topic. */
export function requestProblem(
  request: PublishRequest,
  tier: Tier,
  time: PlanTime,
  headerPrefix: string,
): PlanProblem | null {
  const wrong =
    (request.debounce && debounceProblem(request, tier, headerPrefix)) ??
    limitProblem(request, tier, time, headerPrefix);
  if (wrong) return wrong;
  const { destination } = request;
  if (destination.kind === 'url' || destination.topic.endpoints.length > 0) return null;
  return problem('topic_empty', `topic "${destination.topic.name}" has no endpoints; add one first`);
}

/** Like `requestProblem`, but does not check whether a topic has endpoints. */
export function limitProblem(
  request: Limited & Pick<PublishRequest, 'flow' | 'orderKey' | 'priority' | 'queueName'>,
  tier: Tier,
  time: PlanTime,
  headerPrefix: string,
): PlanProblem | null {
  return contradiction(request, headerPrefix) ?? tierProblem(request, tier, time, headerPrefix);
}

/**
 * Why every message to a topic with these default settings would be refused, or null. A problem that only messages in a
 * queue have, or only messages outside a queue, is not reported.
 */
export function defaultsProblem(
  settings: DefaultSettings,
  tier: Tier,
  time: PlanTime,
  headerPrefix: string,
): PlanProblem | null {
  const inQueue = contradiction({ ...settings, queueName: 'any' }, headerPrefix);
  const outside = inQueue && contradiction({ ...settings, queueName: null }, headerPrefix);
  return outside ?? tierProblem({ ...settings, body: new Uint8Array(0) }, tier, time, headerPrefix);
}

/** The number of messages that a request makes: one for each endpoint of a topic, or one for a URL. */
export function messageCount({ destination }: PublishRequest): number {
  return destination.kind === 'url' ? 1 : destination.topic.endpoints.length;
}

/**
 * Makes one message for each endpoint of a topic, in the order of the endpoints, or one message for a URL. The request
 * must have no problem. `descendantsLeft` messages may descend from each message.
 */
export function makeMessages(
  request: PublishRequest,
  publisher: Publisher,
  context: PlanContext,
  descendantsLeft: number,
): readonly NewMessage[] {
  const { destination } = request;
  const shared = sharedParts(request, publisher.tier, descendantsLeft);
  if (destination.kind === 'url') {
    const { url, host } = destination.target;
    const resolved = { url, host, topicName: null, endpointName: null };
    const deduplication = deduplicate(deduplicationKey(request, url, context), null, context);
    const debounce = debounced(request, null, publisher.tier, context);
    return [planMessage(request, publisher, context, shared, resolved, deduplication, debounce)];
  }
  const { topic } = destination;
  // Computed once for all endpoints: the key may be the hash of a large body.
  const key = deduplicationKey(request, topic.id, context);
  return topic.endpoints.map(({ url, name }) => {
    const resolved = { url, host: hostOf(url), topicName: topic.name, endpointName: name };
    const deduplication = deduplicate(key, url, context);
    const debounce = debounced(request, url, publisher.tier, context);
    return planMessage(request, publisher, context, shared, resolved, deduplication, debounce);
  });
}

type SharedParts = Pick<
  NewMessage,
  'headers' | 'retriesMax' | 'retryDelay' | 'retryJitter' | 'callback' | 'failureCallback' | 'descendantsLeft'
>;
type ResolvedDestination = Pick<NewMessage, 'url' | 'host' | 'topicName' | 'endpointName'>;

/** Builds the parts of a message that are the same for every endpoint of a topic, once for all of them. */
function sharedParts(request: PublishRequest, tier: Tier, descendantsLeft: number): SharedParts {
  const { settings, contentType, callback, failureCallback } = request;
  const { retries, retryDelay, retryJitter } = settings;
  const retrySetting = { retriesMax: retries ?? tier.retriesDefault, retryDelay, retryJitter };
  return {
    headers: deliveredHeaders(contentType, settings.forward),
    retriesMax: retrySetting.retriesMax,
    retryDelay,
    retryJitter,
    callback: callback && planCallback(callback, retrySetting, tier),
    failureCallback: failureCallback && planCallback(failureCallback, retrySetting, tier),
    descendantsLeft,
  };
}

/** Makes every message with this one object literal, because spreading parts would be several times slower. */
function planMessage(
  request: PublishRequest,
  publisher: Publisher,
  context: PlanContext,
  shared: SharedParts,
  resolved: ResolvedDestination,
  deduplication: NewMessage['deduplication'],
  debounce: NewMessage['debounce'],
): NewMessage {
  const { settings } = request;
  return {
    id: context.newId('msg', context.now),
    accountId: publisher.accountId,
    kind: request.scheduleId === null ? 'publish' : 'schedule',
    url: resolved.url,
    host: resolved.host,
    method: settings.method ?? 'POST',
    headers: shared.headers,
    body: request.body,
    retriesMax: shared.retriesMax,
    retryDelay: shared.retryDelay,
    retryJitter: shared.retryJitter,
    timeoutMs: settings.timeoutMs ?? publisher.tier.timeoutMsDefault,
    queueName: request.queueName,
    orderKey: request.orderKey,
    priority: request.priority,
    outage: outageInAccount(request.outage, publisher.outage),
    awaitAckMs: request.awaitAckMs,
    flow: request.flow,
    scheduleId: request.scheduleId,
    labels: request.labels,
    redaction: request.redaction,
    deduplication,
    debounce,
    topicName: resolved.topicName,
    endpointName: resolved.endpointName,
    callback: shared.callback,
    failureCallback: shared.failureCallback,
    sourceMessageId: null,
    callerIp: request.callerIp,
    hops: request.hops,
    descendantsLeft: shared.descendantsLeft,
    createdAt: context.now,
    dueAt: dueAt(request, context),
    mustStartBefore: startsBefore(request, context),
  };
}

function deduplicationKey(request: PublishRequest, destination: string, { sha256 }: PlanContext): string | null {
  if (request.deduplication === null) return null;
  if (request.deduplication !== 'byContent') return `id:${request.deduplication.id}`;
  const { body, contentType, settings } = request;
  return contentDeduplicationKey(sha256(contentKey({ destination, body, contentType, headers: settings.forward })));
}

/** The key by which later duplicates of a message are found. The messages to the endpoints of a topic differ in it. */
function deduplicate(
  key: string | null,
  endpointUrl: string | null,
  context: PlanContext,
): NewMessage['deduplication'] {
  if (key === null) return null;
  const expiresAt = context.now + context.deduplicationWindowMs;
  return { key: endpointUrl === null ? key : `${key} ${endpointUrl}`, expiresAt };
}

function debounced(
  { debounce }: PublishRequest,
  endpointUrl: string | null,
  tier: Tier,
  { now }: PlanContext,
): NewMessage['debounce'] {
  if (debounce === null) return null;
  const { key, maxMs } = debounce;
  return { key: debounceKey(key, endpointUrl), latestAt: now + (maxMs ?? longestDelayMs(tier)), count: 1 };
}

/** Why a request with a debounce key is refused, or null. */
function debounceProblem(request: PublishRequest, tier: Tier, headerPrefix: string): PlanProblem | null {
  const { settings, notBefore, deduplication, scheduleId, debounce } = request;
  const name = `${headerPrefix}Debounce-Key`;
  if (scheduleId !== null) {
    return problem('bad_header', `${name}: not for a schedule; see ${headerPrefix}Schedule-Overlap`);
  }
  if (settings.delayMs || notBefore !== null) {
    const time = `${headerPrefix}${notBefore === null ? 'Delay' : 'Not-Before'}`;
    return problem('bad_header', `${name}: not together with ${time}; ${headerPrefix}Debounce decides the time`);
  }
  if (deduplication !== null) {
    const why = 'not together with deduplication, which drops the newest message and not the one that waits';
    return problem('bad_header', `${name}: ${why}`);
  }
  const delayMsMax = longestDelayMs(tier);
  if (debounce!.windowMs > delayMsMax) {
    return overTier(tier, `${headerPrefix}Debounce`, formatDurationMs(delayMsMax));
  }
  if (debounce!.maxMs === null || debounce!.maxMs <= delayMsMax) return null;
  return overTier(tier, `${headerPrefix}Debounce-Max`, formatDurationMs(delayMsMax));
}

/** The problem if messages with a debounce key are not possible here and one is asked for, or null. */
export function noDebounceProblem(
  { debounce }: Pick<PublishRequest, 'debounce'>,
  why: string,
  headerPrefix: string,
): PlanProblem | null {
  return debounce && problem('bad_header', `${headerPrefix}Debounce-Key: ${why}`);
}

/** The problem if two settings exclude each other, or null. */
function contradiction(
  request: Pick<PublishRequest, 'flow' | 'orderKey' | 'priority' | 'queueName'>,
  headerPrefix: string,
): ReturnType<typeof problem> | null {
  if (request.flow && request.queueName !== null) {
    return problem(
      'bad_header',
      `${headerPrefix}Flow-Control-Key: not allowed in a queue; a queue has its own parallelism`,
    );
  }
  if (request.priority !== null && request.queueName !== null) {
    return problem(
      'bad_header',
      `${headerPrefix}Priority: not allowed in a queue, whose messages start in order; POST /v2/queues sets the priority of the whole queue`,
    );
  }
  if (request.orderKey !== null && request.queueName === null) {
    const why = 'only allowed in a queue; enqueue the message to keep its order';
    return problem('bad_header', `${headerPrefix}Order-Key: ${why}`);
  }
  return null;
}

/** The host of a URL that was validated when it was stored. */
export function hostOf(url: string): string {
  const target = parseTargetUrl(url);
  if ('problem' in target) throw new Error(`a stored URL is no longer valid: ${url}`);
  return target.host;
}

/** A difference of the clocks up to this is ignored: the clock of a distant database is not known more exactly. */
const CLOCKS_AGREE_MS = 100;

/**
 * What is added to a time on the wall clock, if the order clock differs from it. After a correction the clocks differ by
 * some milliseconds: then nothing is added.
 */
function orderAheadMs({ now, wallNow }: PlanTime): number {
  const aheadMs = now - wallNow;
  return Math.abs(aheadMs) <= CLOCKS_AGREE_MS ? 0 : aheadMs;
}

/** When a request is due. */
export function dueAt(request: Pick<PublishRequest, 'settings' | 'notBefore' | 'debounce'>, time: PlanTime): number {
  if (request.debounce !== null) return time.now + request.debounce.windowMs;
  if (request.notBefore === null) return time.now + (request.settings.delayMs ?? 0);
  return Math.max(time.now, request.notBefore + orderAheadMs(time));
}

/** From when on no attempt of a request starts. Null: it does not expire. */
export function startsBefore({ expiry }: Pick<PublishRequest, 'expiry'>, time: PlanTime): number | null {
  return mustStartBefore(expiry, time.now, orderAheadMs(time));
}

/** Why a message would expire before its first attempt could start, or null. */
function expiryProblem(request: Limited, time: PlanTime, headerPrefix: string): PlanProblem | null {
  const { expiry, notBefore, debounce } = request;
  if (expiry === null) return null;
  const before = { mustStartBefore: startsBefore(request, time) };
  const name = `${headerPrefix}${'at' in expiry ? 'Expires-At' : 'Expires'}`;
  if (isExpired(before, time.now))
    return problem('bad_header', `${name}: is in the past; the message would never be sent`);
  if (!isExpired(before, dueAt(request, time))) return null;
  const delay = `${headerPrefix}${debounce ? 'Debounce' : notBefore === null ? 'Delay' : 'Not-Before'}`;
  return problem('bad_header', `${delay}: the message would expire before it is due; see ${name}`);
}

/** `original`: the retry setting of the message. */
function planCallback(
  callback: CallbackRequest,
  original: Pick<CallbackTarget, 'retriesMax' | 'retryDelay' | 'retryJitter'>,
  tier: Tier,
): CallbackTarget {
  const { settings } = callback;
  return {
    url: callback.target.url,
    method: settings.method ?? 'POST',
    headers: settings.forward,
    // Spec 6, rule 2: a callback without its own retry setting uses the retry setting of the original request.
    retriesMax: settings.retries ?? original.retriesMax,
    retryDelay: settings.retryDelay ?? original.retryDelay,
    retryJitter: settings.retryJitter ?? original.retryJitter,
    delayMs: settings.delayMs ?? 0,
    timeoutMs: settings.timeoutMs ?? tier.timeoutMsDefault,
  };
}

type PlanProblem = ReturnType<typeof problem>;

type Limited = Pick<
  PublishRequest,
  'settings' | 'notBefore' | 'expiry' | 'debounce' | 'callback' | 'failureCallback' | 'body' | 'awaitAckMs'
>;
type DefaultSettings = Omit<Limited, 'body'> & Pick<PublishRequest, 'flow' | 'orderKey' | 'priority'>;

function tierProblem(request: Limited, tier: Tier, time: PlanTime, headerPrefix: string): PlanProblem | null {
  const { body, callback, failureCallback, notBefore } = request;
  if (isOver(body.length, tier.bodyBytesMax)) {
    return overTier(tier, `the body (${body.length} bytes)`, `${tier.bodyBytesMax} bytes`);
  }
  const delayMsMax = longestDelayMs(tier);
  if (dueAt(request, time) - time.now > delayMsMax) {
    const name = `${headerPrefix}${notBefore === null ? 'Delay' : 'Not-Before'}`;
    return overTier(tier, name, formatDurationMs(delayMsMax));
  }
  return (
    expiryProblem(request, time, headerPrefix) ??
    awaitAckProblem(request, tier, headerPrefix) ??
    settingsProblem(headerPrefix, request.settings, tier) ??
    (callback && settingsProblem(`${headerPrefix}Callback-`, callback.settings, tier)) ??
    (failureCallback && settingsProblem(`${headerPrefix}Failure-Callback-`, failureCallback.settings, tier))
  );
}

function settingsProblem(group: string, settings: DeliverySettings, tier: Tier): PlanProblem | null {
  const { retries, timeoutMs, delayMs } = settings;
  const retriesMax = tier.retriesMax ?? HARD_LIMITS.retriesMax;
  if (retries !== null && retries > retriesMax) {
    return overTier(tier, `${group}Retries (${retries})`, String(retriesMax));
  }
  const timeoutMsMax = tier.timeoutMsMax ?? HARD_LIMITS.timeoutMsMax;
  if (timeoutMs !== null && timeoutMs > timeoutMsMax) {
    return overTier(tier, `${group}Timeout`, formatDurationMs(timeoutMsMax));
  }
  const delayMsMax = longestDelayMs(tier);
  if (delayMs !== null && delayMs > delayMsMax) {
    return overTier(tier, `${group}Delay`, formatDurationMs(delayMsMax));
  }
  return null;
}

function awaitAckProblem({ awaitAckMs }: Pick<PublishRequest, 'awaitAckMs'>, tier: Tier, prefix: string) {
  const max = tier.awaitAckMsMax ?? HARD_LIMITS.awaitAckMsMax;
  return awaitAckMs !== null && awaitAckMs > max ? overTier(tier, `${prefix}Await-Ack`, formatDurationMs(max)) : null;
}

function longestDelayMs({ delayMsMax }: Tier): number {
  return delayMsMax ?? HARD_LIMITS.delayMsMax;
}

function overTier(tier: Tier, what: string, max: string): PlanProblem {
  return problem('limit_exceeded', `${what} exceeds the limit of the ${tier.name} tier: ${max}`);
}

function isOver(value: number, max: number | null): boolean {
  return max !== null && value > max;
}
