// Decides whether a waiting message may be changed, and what it is after the change. The store reads the message, calls
// `planChange`, and writes the result in the same transaction, so an attempt sends the message as it was before or after.

import type { Outage } from '../hosts/parking.ts';
import { eachMax } from '../limits/budgets.ts';
import { TRACE_HEADERS } from '../publish/header-meaning.ts';
import { deliveredHeaders, deliveredHeadersProblem, type HeaderLimits, isHeaderNamed } from '../publish/headers.ts';
import { combinedRedaction, isRedacted } from '../publish/redact.ts';
import { type Descent, stricterDescent } from './descent.ts';
import { isExpired } from './expiry.ts';
import type { CallbackTarget, HeaderList, Message, Method, NewMessage, Redaction } from './message.ts';

/** A callback that replaces the old one. Null: it has the retry setting of its message, as the message then has it. */
export interface ChangedCallback extends Omit<CallbackTarget, 'retriesMax'> {
  readonly retriesMax: number | null;
}

/** What a caller wants to change. What is null stays as it is. All values are valid. */
export interface MessageChange {
  /** When the next attempt may start. */
  readonly dueAt: number | null;
  /** From when on no attempt starts. */
  readonly mustStartBefore: number | null;
  readonly target: Pick<NewMessage, 'url' | 'host'> | null;
  readonly body: Uint8Array | null;
  readonly contentType: string | null;
  /** Replaces all forwarded headers, but not trace headers. */
  readonly forward: HeaderList | null;
  /** Each replaces the trace header of the same name. */
  readonly trace: HeaderList;
  readonly method: Method | null;
  readonly retriesMax: number | null;
  readonly retryDelay: string | null;
  readonly retryJitter: number | null;
  readonly timeoutMs: number | null;
  readonly callback: ChangedCallback | null;
  readonly failureCallback: ChangedCallback | null;
  readonly labels: readonly string[] | null;
  readonly priority: number | null;
  readonly outage: Outage | null;
  readonly awaitAckMs: number | null;
  /** Is added to the redaction of the message: nobody can take a redaction back. */
  readonly redaction: Redaction | null;
  /** How the request that makes the change descends from our deliveries. It can only tighten the limits. */
  readonly descent: Descent;
  readonly headerLimits: HeaderLimits;
  /** The change is made only if the message has one of these versions; null: whatever version it has. */
  readonly versions: readonly string[] | null;
}

/**
 * What a change can change, by the names that a message is shown with. The journal stores their positions in this list:
 * add new names at the end.
 */
export const CHANGEABLE = [
  'nextDeliveryTime',
  'url',
  'body',
  'header',
  'method',
  'maxRetries',
  'retryDelayExpression',
  'timeoutMs',
  'callback',
  'failureCallback',
  'labels',
  'redactFields',
  'retryJitter',
  'priority',
  'expiresAt',
  'debounced',
  'outage',
  'awaitAck',
] as const;
export type ChangedName = (typeof CHANGEABLE)[number];

/** The names as one number, for the journal. */
export function changedMask(names: readonly ChangedName[]): number {
  return names.reduce((mask, name) => mask | (1 << CHANGEABLE.indexOf(name)), 0);
}

/** A name that only a newer version knows is left out. */
export function changedNames(mask: number): readonly ChangedName[] {
  return CHANGEABLE.filter((_, index) => (mask & (1 << index)) !== 0);
}

/** Whether what a message is deduplicated by was changed, if it is deduplicated by its content. */
export function isContentChanged(names: readonly ChangedName[]): boolean {
  return names.some((name) => name === 'url' || name === 'body' || name === 'header');
}

/** Whether a change may decide when, where or before which others the message starts or ends: then work is searched again. */
export function isStartChanged(before: Message, after: Message): boolean {
  return (
    before.dueAt !== after.dueAt ||
    before.mustStartBefore !== after.mustStartBefore ||
    before.host !== after.host ||
    before.priority !== after.priority ||
    before.outage !== after.outage
  );
}

/**
 * Differs after every change, after another message has taken its place, after a person has made it due or released it,
 * and after every attempt that has ended.
 */
export function versionOf({
  attempts,
  changes = 0,
  debounce,
}: Pick<Message, 'attempts' | 'changes' | 'debounce'>): string {
  const replacements = debounce === null ? 0 : debounce.count - 1;
  return `${attempts}-${changes + replacements}`;
}

/**
 * Why a change is refused although the message waits. `heldTime`: a held message has no time. `retriesUsed`: the message
 * was retried more often than it then may be. `ownCallback`: callbacks and alerts have no callbacks of their own.
 * `inQueue`: the messages of a queue have no priority. `expires`: the message would expire before it is due. `redacted`:
 * the field would send redacted parts to somebody who does not get them now. `tooOften`: it was changed as often as a
 * message may be, because each change adds an event.
 */
export type ChangeRefusal =
  | { readonly why: 'redacted'; readonly field: SendingField; readonly parts: readonly RedactedPart[] }
  | { readonly why: 'heldTime' | 'ownCallback' | 'inQueue' | 'expires' | 'tooOften' }
  | { readonly why: 'retriesUsed'; readonly retried: number }
  | { readonly why: 'headers'; readonly text: string };

/** What decides who gets the message, or a copy of it. */
export type SendingField = 'url' | 'callback' | 'failureCallback';
export type RedactedPart = 'body' | 'headers';

export type ChangePlan =
  /** `unknown`: there is no such message, or it has ended. `active`: a node has claimed it. */
  | { readonly outcome: 'unknown' | 'active' | 'cancelRequested' }
  /** `version`: the one that the message has. */
  | { readonly outcome: 'otherVersion' | 'unchanged'; readonly version: string }
  | { readonly outcome: 'refused'; readonly refusal: ChangeRefusal }
  | {
      readonly outcome: 'changed';
      /** The message after the change. Its body is not looked at: the change has a new one if there is one. */
      readonly message: Message;
      readonly names: readonly ChangedName[];
    };

const CHANGES_MAX = eachMax('messageChanges');

/** What became of a change. `version`: the one that it gave the message. */
export type ChangeOutcome =
  | Exclude<ChangePlan, { outcome: 'changed' }>
  | { readonly outcome: 'changed'; readonly version: string };

/** `isBodySame`: whether the change has no body, or the one that the message has already. */
export function planChange(message: Message | null, change: MessageChange, isBodySame: boolean): ChangePlan {
  if (!message || message.endedAt !== null) return { outcome: 'unknown' };
  if (message.cancelRequestedAt !== undefined) return { outcome: 'cancelRequested' };
  if (message.state === 'claimed') return { outcome: 'active' };
  const version = versionOf(message);
  if (change.versions !== null && !change.versions.includes(version)) return { outcome: 'otherVersion', version };
  const refusal = refusalOf(message, change);
  return refusal ? { outcome: 'refused', refusal } : planOf(message, change, isBodySame);
}

/** What a message becomes that may be changed, unless this would not be valid. */
function planOf(message: Message, change: MessageChange, isBodySame: boolean): ChangePlan {
  const after = changedMessage(message, change);
  if (expiresTooSoon(after, change)) return { outcome: 'refused', refusal: { why: 'expires' } };
  const tooMuch = deliveredHeadersProblem(null, after.headers, change.headerLimits);
  if (tooMuch !== null) return { outcome: 'refused', refusal: { why: 'headers', text: tooMuch } };
  const names = namesOfChanges(message, after, isBodySame);
  if (names.length === 0) return { outcome: 'unchanged', version: versionOf(message) };
  const isTooOften = after.changes! > CHANGES_MAX;
  return isTooOften
    ? { outcome: 'refused', refusal: { why: 'tooOften' } }
    : { outcome: 'changed', message: after, names };
}

/** What differs between a message before and after. The store compares the bodies. */
export function namesOfChanges(before: NewMessage, after: NewMessage, isBodySame: boolean): readonly ChangedName[] {
  return CHANGEABLE.filter((name) =>
    name === 'body' ? !isBodySame : !areEqual(SHOWN_AS[name](before), SHOWN_AS[name](after)),
  );
}

/** The first of the fields that decide who gets the message, or null if the change has none of them. */
export function sendingField({ target, callback, failureCallback }: MessageChange): SendingField | null {
  if (target) return 'url';
  if (callback) return 'callback';
  return failureCallback ? 'failureCallback' : null;
}

function refusalOf(message: Message, change: MessageChange): ChangeRefusal | null {
  const { state, retried, queueName } = message;
  const { dueAt, retriesMax, priority } = change;
  if (dueAt !== null && state === 'held') return { why: 'heldTime' };
  if (retriesMax !== null && retriesMax < retried) return { why: 'retriesUsed', retried };
  if (priority !== null && queueName !== null) return { why: 'inQueue' };
  return callbackRefusal(message, change) ?? redactionRefusal(message, change);
}

function callbackRefusal({ kind }: Message, { callback, failureCallback }: MessageChange): ChangeRefusal | null {
  const mayHaveCallbacks = kind === 'publish' || kind === 'schedule';
  return (callback || failureCallback) && !mayHaveCallbacks ? { why: 'ownCallback' } : null;
}

/**
 * A message is sent, and reported to callbacks, with its redacted parts. So whoever may read it must not have it sent to a
 * receiver of their own, unless the change replaces these parts.
 */
function redactionRefusal(message: Message, change: MessageChange): ChangeRefusal | null {
  const field = sendingField(change.target?.host === message.host ? { ...change, target: null } : change);
  const parts = field === null ? [] : redactedPartsKept(message, change);
  return field === null || parts.length === 0 ? null : { why: 'redacted', field, parts };
}

function redactedPartsKept({ redaction, headers }: Message, change: MessageChange): RedactedPart[] {
  if (!redaction) return [];
  const keepsHeaders = keptHeaders(headers, change).some(([name]) => isRedacted(redaction, name));
  return [
    ...(redaction.body && change.body === null ? ['body' as const] : []),
    ...(keepsHeaders ? ['headers' as const] : []),
  ];
}

function expiresTooSoon(after: Message, { dueAt, mustStartBefore }: MessageChange): boolean {
  const isAboutTime = dueAt !== null || mustStartBefore !== null;
  return isAboutTime && after.state !== 'held' && isExpired(after, after.dueAt);
}

function changedMessage(message: Message, change: MessageChange): Message {
  const { target, descent } = change;
  const retrySetting = {
    retriesMax: newOr(change.retriesMax, message.retriesMax),
    retryDelay: newOr(change.retryDelay, message.retryDelay),
    retryJitter: newOr(change.retryJitter, message.retryJitter),
  };
  return {
    ...message,
    ...target,
    // The name is that of the endpoint with the old URL.
    endpointName: newOr(target, message).url === message.url ? message.endpointName : null,
    dueAt: newOr(change.dueAt, message.dueAt),
    mustStartBefore: newOr(change.mustStartBefore, message.mustStartBefore),
    headers: changedHeaders(message.headers, change),
    method: newOr(change.method, message.method),
    ...retrySetting,
    timeoutMs: newOr(change.timeoutMs, message.timeoutMs),
    callback: newOr(withDefaults(change.callback, retrySetting), message.callback),
    failureCallback: newOr(withDefaults(change.failureCallback, retrySetting), message.failureCallback),
    labels: newOr(change.labels, message.labels),
    priority: newOr(change.priority, message.priority),
    outage: newOr(change.outage, message.outage),
    awaitAckMs: newOr(change.awaitAckMs, message.awaitAckMs),
    redaction: combinedRedaction(message.redaction, change.redaction),
    hops: Math.max(message.hops, descent.hops),
    descendantsLeft: stricterDescent(message.descendantsLeft, descent.left)!,
    changes: (message.changes ?? 0) + 1,
  };
}

function newOr<T>(given: T | null, before: T): T {
  return given ?? before;
}

function withDefaults(
  callback: ChangedCallback | null,
  ofMessage: Pick<CallbackTarget, 'retriesMax' | 'retryDelay' | 'retryJitter'>,
): CallbackTarget | null {
  return (
    callback && {
      ...callback,
      retriesMax: callback.retriesMax ?? ofMessage.retriesMax,
      retryDelay: callback.retryDelay ?? ofMessage.retryDelay,
      retryJitter: callback.retryJitter ?? ofMessage.retryJitter,
    }
  );
}

function changedHeaders(headers: HeaderList, change: MessageChange): HeaderList {
  const { contentType, forward, trace } = change;
  if (contentType === null && forward === null && trace.length === 0) return headers;
  const kept = keptHeaders(headers, change);
  const type = contentType ?? kept.find(isContentType)?.[1] ?? null;
  return deliveredHeaders(type, [...(forward ?? []), ...kept.filter((header) => !isContentType(header)), ...trace]);
}

/** The headers that the change leaves as they are. */
function keptHeaders(headers: HeaderList, { contentType, forward, trace }: MessageChange): HeaderList {
  const newTrace = new Set(trace.map(([name]) => name.toLowerCase()));
  return headers.filter((header) => {
    const lowerName = header[0].toLowerCase();
    if (isContentType(header)) return contentType === null;
    // The delivery still belongs to the trace of the publish, unless the change names another trace.
    return !newTrace.has(lowerName) && (forward === null || TRACE_HEADERS.has(lowerName));
  });
}

function isContentType([name]: HeaderList[number]): boolean {
  return isHeaderNamed(name, 'content-type');
}

/** What each name stands for. A body is compared by the store, which knows its size without reading it. */
const SHOWN_AS: Readonly<Record<Exclude<ChangedName, 'body'>, (message: NewMessage) => unknown>> = {
  nextDeliveryTime: ({ dueAt }) => dueAt,
  url: ({ url }) => url,
  header: ({ headers }) => headers,
  method: ({ method }) => method,
  maxRetries: ({ retriesMax }) => retriesMax,
  retryDelayExpression: ({ retryDelay }) => retryDelay,
  timeoutMs: ({ timeoutMs }) => timeoutMs,
  callback: ({ callback }) => callback,
  failureCallback: ({ failureCallback }) => failureCallback,
  labels: ({ labels }) => labels,
  redactFields: ({ redaction }) => redaction,
  retryJitter: ({ retryJitter }) => retryJitter,
  priority: ({ priority }) => priority,
  expiresAt: ({ mustStartBefore }) => mustStartBefore,
  debounced: ({ debounce }) => debounce?.count,
  outage: ({ outage }) => outage,
  awaitAck: ({ awaitAckMs }) => awaitAckMs,
};

/** Equal values are written alike: both come from the same code, which gives fields in the same order. */
function areEqual(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
