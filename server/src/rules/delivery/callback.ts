// Callbacks: messages that report an attempt. They are ordinary messages, without a queue and without a callback of
// their own.

import type { AckReport } from '../acks/ack.ts';
import { outageOfCallback } from '../hosts/parking.ts';
import { canonicalHeaderName } from '../publish/headers.ts';
import { hostOf } from '../publish/publish.ts';
import type { NewId } from '../requests/id.ts';
import {
  type Attempt,
  type CallbackTarget,
  type FailureCode,
  type HeaderList,
  type Message,
  type NewMessage,
  NO_SETTINGS,
} from './message.ts';

/** A dead letter is the message that failed: its id differs only in the prefix. */
export function deadLetterId(messageId: string): string {
  return messageId.replace(/^msg_/, 'dlq_');
}

export function messageIdOf(deadLetterId: string): string {
  return deadLetterId.replace(/^dlq_/, 'msg_');
}

/** What a callback says about an attempt. */
export type Report = Pick<Attempt, 'status' | 'error' | 'responseHeaders' | 'responseBody' | 'endedAt'> & {
  readonly ack?: AckReport | null;
};

/**
 * Makes the callback that reports one attempt or, with `isFailure`, that no attempt follows. `room`: how many
 * descendants of the message are for the callback itself, its retries, and all messages that the callback leads to.
 */
export function planCallbackMessage(
  source: Message,
  target: CallbackTarget,
  attempt: Report,
  isFailure: boolean,
  room: number,
  newId: NewId,
  failureCode: FailureCode | null = null,
): NewMessage {
  // At most half of the room is for retries. The rest is for messages that the callback leads to, if its URL is this
  // service again.
  const retriesMax = Math.min(target.retriesMax, Math.floor((room - 1) / 2));
  const report = {
    status: attempt.status ?? 0,
    ...errorAndAck(attempt),
    header: headerMap(attempt.responseHeaders),
    body: base64(attempt.responseBody),
    retried: source.retried,
    maxRetries: source.retriesMax,
    sourceMessageId: source.id,
    ...(source.topicName !== null && { topicName: source.topicName }),
    ...(source.endpointName !== null && { endpointName: source.endpointName }),
    url: source.url,
    method: source.method,
    sourceHeader: headerMap(source.headers),
    sourceBody: base64(source.body),
    notBefore: source.firstDueAt,
    createdAt: source.createdAt,
    ...(source.scheduleId !== null && { scheduleId: source.scheduleId }),
    ...(source.callerIp !== null && { callerIP: source.callerIp }),
    ...(isFailure && { dlqId: deadLetterId(source.id) }),
    ...(isFailure && failureCode !== null && { failureCode }),
  };
  return {
    id: newId('msg'),
    accountId: source.accountId,
    kind: isFailure ? 'failureCallback' : 'callback',
    url: target.url,
    host: hostOf(target.url),
    method: target.method,
    headers: [['Content-Type', 'application/json'], ...target.headers],
    body: new TextEncoder().encode(JSON.stringify(report)),
    retriesMax,
    retryDelay: target.retryDelay,
    retryJitter: target.retryJitter,
    timeoutMs: target.timeoutMs,
    queueName: null,
    ...NO_SETTINGS,
    outage: outageOfCallback(source.outage),
    scheduleId: source.scheduleId,
    labels: source.labels,
    // The body of the callback contains the headers and the body of the message, so it is redacted as a whole.
    redaction: source.redaction && { ...source.redaction, body: true },
    deduplication: null,
    debounce: null,
    topicName: null,
    endpointName: null,
    callback: null,
    failureCallback: null,
    sourceMessageId: source.id,
    callerIp: source.callerIp,
    hops: source.hops,
    descendantsLeft: room - 1 - retriesMax,
    createdAt: attempt.endedAt,
    dueAt: attempt.endedAt + target.delayMs,
    mustStartBefore: null,
  };
}

function errorAndAck({ error, ack }: Report) {
  return { ...(error !== null && { error }), ...(ack && { ack }) };
}

/** Headers in the form that the API shows: canonical names, each with an array of its values. */
export function headerMap(headers: HeaderList): Record<string, string[]> {
  const map: Record<string, string[]> = Object.create(null);
  for (const [name, value] of headers) {
    const key = canonicalHeaderName(name);
    map[key] ??= [];
    map[key].push(value);
  }
  return map;
}

export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
