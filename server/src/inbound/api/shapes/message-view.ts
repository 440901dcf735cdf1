// Messages as the API shows them: canonical header names, text bodies as text, and redacted fields hidden. Every read
// of a message goes through here.

import { sha256 } from '../../../publish/publications.ts';
import type { AwaitedAck } from '../../../rules/acks/ack.ts';
import { base64, deadLetterId, headerMap } from '../../../rules/delivery/callback.ts';
import { versionOf } from '../../../rules/delivery/change.ts';
import type { MessageEvent } from '../../../rules/delivery/event.ts';
import type { Attempt, HeaderList, Message, Redaction } from '../../../rules/delivery/message.ts';
import { heldReason } from '../../../rules/delivery/recovery.ts';
import { retriesMade } from '../../../rules/delivery/retries-made.ts';
import { shownOutage } from '../../../rules/hosts/parking.ts';
import { givenDebounceKey } from '../../../rules/publish/debounce.ts';
import { redactBody, redactHeaders } from '../../../rules/publish/redact.ts';
import { shownState } from '../../../rules/reads/message-filter.ts';
import { formatDurationMs } from '../../../rules/time/duration.ts';

export function messageView(message: Message) {
  const { header, body } = shownContent(message);
  return {
    messageId: message.id,
    version: versionOf(message),
    url: message.url,
    ...(message.topicName !== null && { topicName: message.topicName }),
    ...(message.endpointName !== null && { endpointName: message.endpointName }),
    ...(message.queueName !== null && { queueName: message.queueName }),
    ...(message.orderKey !== null && { orderKey: message.orderKey }),
    ...(message.priority !== null && { priority: message.priority }),
    ...(message.outage !== null && { outage: shownOutage(message.outage) }),
    ...shownAwaitAck(message),
    ...(message.scheduleId !== null && { scheduleId: message.scheduleId }),
    method: message.method,
    header: headerMap(header),
    ...shownBody('body', body),
    maxRetries: message.retriesMax,
    ...(message.retryDelay !== null && { retryDelayExpression: message.retryDelay }),
    ...shownJitter(message),
    timeoutMs: message.timeoutMs,
    notBefore: message.firstDueAt,
    ...(message.mustStartBefore !== null && { expiresAt: message.mustStartBefore }),
    ...shownDebounce(message.debounce),
    createdAt: message.createdAt,
    state: shownState(message),
    retried: retriesMade(message),
    ...(message.endedAt === null && message.heldAt === null && { nextDeliveryTime: message.dueAt }),
    ...(message.endedAt !== null && { endedAt: message.endedAt }),
    ...(message.interrupted > 0 && { interrupted: message.interrupted }),
    ...(message.heldAt !== null && { heldAt: message.heldAt, heldReason: heldReason(message) }),
    ...(message.lastStatus !== null && { responseStatus: message.lastStatus }),
    ...(message.failure !== null && { failure: message.failure }),
    ...(message.failureCode !== undefined && { failureCode: message.failureCode }),
    ...shownCallback('callback', message),
    ...shownCallback('failureCallback', message),
    ...(message.retriedAs !== undefined && { retriedAs: message.retriedAs, retriedAt: message.retriedAt }),
    ...(message.sourceMessageId !== null && { sourceMessageId: message.sourceMessageId }),
    ...shownCaller(message.callerIp),
    ...(message.labels.length > 0 && { label: message.labels[0], labels: message.labels }),
    ...shownFlow(message.flow),
    ...(message.redaction && { redactFields: redactFields(message.redaction) }),
  };
}

/** The redacted fields, under the names that a publish uses for them. */
function redactFields({ body, allHeaders, headers }: Redaction): string[] {
  const names = headers.map((name) => `header[${name}]`);
  return [body ? 'body' : [], allHeaders ? 'headers' : [], names].flat();
}

export function ackView({ attempt, deadlineAt, progress, note }: AwaitedAck) {
  return {
    attempt,
    deadline: deadlineAt,
    ...(progress !== null && { progress }),
    ...(note !== null && { note }),
  };
}

export function attemptView(attempt: Attempt) {
  return {
    number: attempt.number,
    startedAt: attempt.startedAt,
    endedAt: attempt.endedAt,
    outcome: attempt.outcome,
    ...(attempt.error !== null && { error: attempt.error }),
    ...(attempt.nextAt !== null && { nextDeliveryTime: attempt.nextAt }),
    ...shownAnswer(attempt),
    ...(attempt.isAnswerLeftOut && { isAnswerLeftOut: true }),
  };
}

/** A dead letter: the fields of its message, and the last response. */
export function deadLetterView(message: Message, last: Attempt | undefined) {
  return {
    ...messageView(message),
    dlqId: deadLetterId(message.id),
    ...(last && shownAnswer(last)),
    ...(last?.error != null && { error: last.error }),
  };
}

export function eventView(event: MessageEvent) {
  const { at, state, message, attempt, attemptNumber = attempt?.number, changed, progress, isBodyCut } = event;
  const { header, body } = shownContent(message);
  const isAttemptEnd = attempt !== null && state !== 'ACTIVE';
  return {
    time: at,
    messageId: message.id,
    state,
    url: message.url,
    method: message.method,
    ...(message.topicName !== null && { topicName: message.topicName }),
    ...(message.endpointName !== null && { endpointName: message.endpointName }),
    ...(message.queueName !== null && { queueName: message.queueName }),
    ...(message.scheduleId !== null && { scheduleId: message.scheduleId }),
    ...(message.labels.length > 0 && { label: message.labels[0], labels: message.labels }),
    ...(message.flow && { flowControlKey: message.flow.key }),
    ...(message.callerIp !== null && { callerIp: message.callerIp }),
    header: headerMap(header),
    ...(body.length > 0 && { body: base64(body) }),
    ...(isBodyCut && { isBodyCut }),
    maxRetries: message.retriesMax,
    createdAt: message.createdAt,
    ...(state === 'CREATED' && { nextDeliveryTime: message.firstDueAt }),
    ...(changed && { changed: changed.names }),
    ...(progress !== undefined && { progress }),
    ...(attemptNumber !== undefined && { attempt: attemptNumber }),
    ...(state === 'RETRY' && attempt && { nextDeliveryTime: attempt.nextAt }),
    ...((state === 'ERROR' || state === 'HELD') && { error: errorText(attempt) }),
    ...(state === 'FAILED' && failureOf(message, attempt)),
    ...(isAttemptEnd &&
      attempt.status !== null && {
        responseStatus: attempt.status,
        responseHeaders: headerMap(attempt.responseHeaders),
        responseBody: base64(attempt.responseBody),
      }),
  };
}

/** What an event says about the failure: the result of the attempt, or that the message expired. */
function failureOf({ failure, failureCode }: Message, attempt: Attempt | null) {
  return failureCode === undefined ? { error: errorText(attempt) } : { error: failure, failureCode };
}

function errorText(attempt: Attempt | null): string {
  return attempt?.error ?? `the destination returned ${attempt?.status}`;
}

/** The headers and the body of a message, redacted where needed. */
export function shownContent({ redaction, headers, body }: Pick<Message, 'redaction' | 'headers' | 'body'>): {
  readonly header: HeaderList;
  readonly body: Uint8Array;
} {
  if (!redaction) return { header: headers, body };
  return {
    header: redactHeaders(redaction, headers, sha256),
    body: body.length === 0 ? body : redactBody(redaction, body, sha256),
  };
}

function shownAnswer(attempt: Attempt) {
  if (attempt.status === null) return {};
  return {
    responseStatus: attempt.status,
    responseHeader: headerMap(attempt.responseHeaders),
    ...shownBody('responseBody', attempt.responseBody),
    ...(attempt.isResponseBodyCut && { isResponseBodyCut: true }),
  };
}

type CallbackName = 'callback' | 'failureCallback';

function shownCallback(name: CallbackName, message: Message) {
  const target = message[name];
  if (!target) return {};
  const header = shownCallbackHeader(name, message);
  const { method, retriesMax, retryDelay, delayMs, timeoutMs } = target;
  return {
    [name]: target.url,
    ...(header && { [`${name}Header`]: header }),
    [`${name}Settings`]: {
      method,
      maxRetries: retriesMax,
      ...(retryDelay !== null && { retryDelayExpression: retryDelay }),
      ...shownJitter(target),
      delayMs,
      timeoutMs,
    },
  };
}

function shownAwaitAck({ awaitAckMs }: Message) {
  return awaitAckMs === null ? {} : { awaitAck: formatDurationMs(awaitAckMs) };
}

function shownDebounce(debounce: Message['debounce']) {
  if (debounce === null) return {};
  return { debounceKey: givenDebounceKey(debounce), debounced: debounce.count, debounceUntil: debounce.latestAt };
}

/** As a publish writes it. */
export function shownJitter({ retryJitter }: { readonly retryJitter: number | null }) {
  return retryJitter === null ? {} : { retryJitter: `${retryJitter}%` };
}

/** The headers that a callback of the message forwards, redacted where needed. Null when there are none. */
export function shownCallbackHeader(name: CallbackName, { redaction, [name]: target }: Message) {
  if (!target || target.headers.length === 0) return null;
  return headerMap(redaction ? redactHeaders(redaction, target.headers, sha256) : target.headers);
}

/** The address of the caller in two spellings, because the public clients use both. */
export function shownCaller(callerIp: string | null) {
  return callerIp === null ? {} : { callerIP: callerIp, callerIp };
}

/** The period is shown only beside a rate. The public clients expect it always: `hasPeriodAlways`. */
export function shownFlow(flow: Message['flow'], hasPeriodAlways = false) {
  if (!flow) return {};
  const { parallelism, rate, periodMs } = flow.limits;
  return {
    flowControlKey: flow.key,
    ...(parallelism !== null && { parallelism }),
    ...(rate !== null && { rate }),
    ...((rate !== null || hasPeriodAlways) && { period: periodMs / 1000 }),
  };
}

/** A body as text if it is UTF-8, else as base64 in the field `<name>Base64`. */
export function shownBody(name: string, body: Uint8Array): Record<string, string> {
  if (body.length === 0) return {};
  try {
    return { [name]: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body) };
  } catch {
    return { [`${name}Base64`]: base64(body) };
  }
}
