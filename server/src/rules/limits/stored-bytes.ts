// How many stored bytes a message, an attempt, a shared body and a resource count for. Each row also stores the number
// that was computed for it, so that exactly this number is subtracted when the row is deleted.

import type { MessageChange } from '../delivery/change.ts';
import type { Job } from '../delivery/job.ts';
import type { Attempt, CallbackTarget, NewMessage } from '../delivery/message.ts';
import { headerBytes } from '../publish/headers.ts';
import type { Topic } from '../publish/topic.ts';
import type { Schedule } from '../schedules/schedule.ts';

/** The row of a message without what its caller gave, with its index entries and its steps in the journal. */
const MESSAGE_BYTES = 1024;
/** The row of an attempt without its response, with its steps in the journal. */
const ATTEMPT_BYTES = 256;
/** The row of a topic, a schedule, a queue, a flow key or a bulk operation, without what its caller gave. */
const RESOURCE_BYTES = 1024;
/** The entry of a label in its table. */
const LABEL_BYTES = 64;

type Weighed = Pick<NewMessage, 'url' | 'headers' | 'callback' | 'failureCallback' | 'labels' | 'body' | 'debounce'>;

/** How many bytes a message counts for without its body, which it may share with others. */
export function bytesBesideBody({
  url,
  headers,
  callback,
  failureCallback,
  labels,
}: Omit<Weighed, 'body' | 'debounce'>): number {
  let bytes = MESSAGE_BYTES + url.length + headerBytes(headers);
  if (callback !== null) bytes += callbackBytes(callback);
  if (failureCallback !== null) bytes += callbackBytes(failureCallback);
  for (const label of labels) bytes += LABEL_BYTES + label.length;
  return bytes;
}

/** The most that a change of a message adds: all that it gives. What that replaces is subtracted when it is written. */
export function bytesOfChange({ target, body, contentType, forward, trace, ...change }: MessageChange): number {
  let bytes = (target?.url.length ?? 0) + (body?.length ?? 0) + (contentType?.length ?? 0);
  bytes += headerBytes(forward ?? []) + headerBytes(trace);
  for (const callback of [change.callback, change.failureCallback]) if (callback) bytes += callbackBytes(callback);
  for (const label of change.labels ?? []) bytes += LABEL_BYTES + label.length;
  return bytes;
}

/**
 * How many stored bytes these messages would add. A body that several of them share counts once, but each message that
 * takes the place of another stores it for itself.
 */
export function bytesOfAll(messages: readonly Weighed[]): number {
  if (messages.length === 1) return bytesBesideBody(messages[0]!) + messages[0]!.body.length;
  let bytes = 0;
  const bodies = new Set<Uint8Array>();
  for (const message of messages) {
    bytes += bytesBesideBody(message);
    if (message.debounce === null) bodies.add(message.body);
    else bytes += message.body.length;
  }
  for (const body of bodies) bytes += body.length;
  return bytes;
}

export function bytesOfAttempt({ responseHeaders, responseBody }: Pick<Attempt, 'responseHeaders' | 'responseBody'>) {
  return ATTEMPT_BYTES + headerBytes(responseHeaders) + responseBody.length;
}

export function bytesOfTopic({ name, endpoints, defaults }: Pick<Topic, 'name' | 'endpoints' | 'defaults'>): number {
  let bytes = RESOURCE_BYTES + name.length + headerBytes(defaults);
  for (const endpoint of endpoints) bytes += endpoint.url.length + (endpoint.name?.length ?? 0);
  return bytes;
}

export function bytesOfSchedule({
  destination,
  headers,
  body,
}: Pick<Schedule, 'destination' | 'headers' | 'body'>): number {
  return RESOURCE_BYTES + destination.length + headerBytes(headers) + body.length;
}

/**
 * The bytes of a queue or a flow key that a person has set up. Others count nothing: messages create them, and they are
 * deleted when they have no messages.
 */
export function bytesOfLine(name: string): number {
  return RESOURCE_BYTES + name.length;
}

export function bytesOfJob({ filter }: Pick<Job, 'filter'>): number {
  return RESOURCE_BYTES + JSON.stringify(filter).length;
}

function callbackBytes({ url, headers }: Pick<CallbackTarget, 'url' | 'headers'>): number {
  return url.length + headerBytes(headers);
}
