// How many bytes of the disk a message, an attempt and a shared body are counted as. The row of a message keeps its own
// number, so that what was added for it is what is taken away with it.

import { headerBytes } from './headers.ts';
import type { Attempt, CallbackTarget, NewMessage } from './message.ts';

/** The row of a message without what its caller gave, its entries in indexes and its steps in the journal. */
const MESSAGE_BYTES = 1024;
/** The same for an attempt. */
const ATTEMPT_BYTES = 256;
/** The entry of a label in its table. */
const LABEL_BYTES = 64;

type Weighed = Pick<NewMessage, 'url' | 'headers' | 'callback' | 'failureCallback' | 'labels' | 'body'>;

/** A message without its body, which it may share with others. */
export function bytesBesideBody({ url, headers, callback, failureCallback, labels }: Omit<Weighed, 'body'>): number {
  let bytes = MESSAGE_BYTES + url.length + headerBytes(headers);
  if (callback !== null) bytes += callbackBytes(callback);
  if (failureCallback !== null) bytes += callbackBytes(failureCallback);
  for (const label of labels) bytes += LABEL_BYTES + label.length;
  return bytes;
}

/** What these messages would add. A body that several of them share counts once. */
export function bytesOfAll(messages: readonly Weighed[]): number {
  if (messages.length === 1) return bytesBesideBody(messages[0]!) + messages[0]!.body.length;
  let bytes = 0;
  const bodies = new Set<Uint8Array>();
  for (const message of messages) {
    bytes += bytesBesideBody(message);
    bodies.add(message.body);
  }
  for (const body of bodies) bytes += body.length;
  return bytes;
}

export function bytesOfAttempt({ responseHeaders, responseBody }: Pick<Attempt, 'responseHeaders' | 'responseBody'>) {
  return ATTEMPT_BYTES + headerBytes(responseHeaders) + responseBody.length;
}

function callbackBytes({ url, headers }: CallbackTarget): number {
  return url.length + headerBytes(headers);
}
