// Makes the new message as which a dead letter is sent again: a copy that is due at once and names the dead letter as
// its source. It does not expire, unless the retry says so: a person has decided that it is still wanted.

import type { PublishSettings } from '../publish/publish-settings.ts';
import { combinedRedaction } from '../publish/redact.ts';
import type { NewId } from '../requests/id.ts';
import { type HeaderList, type Message, type NewMessage, NO_SETTINGS, requestedOnly } from './message.ts';

/** `hops`: how often the request that led to the retry has passed through this service. */
export function retriedMessage(dead: Message, now: number, newId: NewId, hops = 0): NewMessage {
  const { id, accountId, kind, url, host, method, headers, body, retriesMax, retryDelay } = dead;
  const { retryJitter, timeoutMs, queueName, scheduleId, topicName, endpointName } = dead;
  const { callback, failureCallback, callerIp, descendantsLeft } = dead;
  return {
    id: newId('msg'),
    accountId,
    kind,
    url,
    host,
    method,
    headers,
    body,
    retriesMax,
    retryDelay,
    retryJitter,
    timeoutMs,
    queueName,
    ...NO_SETTINGS,
    ...requestedOnly(dead),
    scheduleId,
    deduplication: null,
    debounce: null,
    topicName,
    endpointName,
    callback,
    failureCallback,
    sourceMessageId: id,
    callerIp,
    hops: Math.max(dead.hops, hops),
    descendantsLeft,
    createdAt: now,
    dueAt: now,
    mustStartBefore: null,
  };
}

/**
 * The message `again`, which is a copy of the dead letter, with the changes that the caller requested. `planned` is the
 * message that these changes alone would make, and `given` says which settings they contain.
 */
export function retryWithChanges(again: NewMessage, planned: NewMessage, given: PublishSettings): NewMessage {
  const { settings } = given;
  return {
    ...again,
    url: planned.url,
    host: planned.host,
    body: planned.body,
    headers: [...without(again.headers, planned.headers), ...planned.headers],
    dueAt: planned.dueAt,
    mustStartBefore: planned.mustStartBefore,
    ...(settings.method !== null && { method: planned.method }),
    ...(settings.retries !== null && { retriesMax: planned.retriesMax }),
    ...(settings.retryDelay !== null && { retryDelay: planned.retryDelay }),
    ...(settings.retryJitter !== null && { retryJitter: planned.retryJitter }),
    ...(settings.timeoutMs !== null && { timeoutMs: planned.timeoutMs }),
    ...(given.callback && { callback: planned.callback }),
    ...(given.failureCallback && { failureCallback: planned.failureCallback }),
    ...requestedOnly(given),
    // The original publisher requested the redaction, and a retry must not remove it.
    redaction: combinedRedaction(again.redaction, planned.redaction),
    ...(given.deduplication && { deduplication: planned.deduplication }),
  };
}

function without(headers: HeaderList, replaced: HeaderList): HeaderList {
  const names = new Set(replaced.map(([name]) => name.toLowerCase()));
  return headers.filter(([name]) => !names.has(name.toLowerCase()));
}
