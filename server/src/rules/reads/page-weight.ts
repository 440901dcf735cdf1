// Estimates how many bytes an entry of a list takes in the response. Pages end by this estimate. It is computed from
// the stored data, without building the response.

import type { MessageEvent } from '../delivery/event.ts';
import type { Attempt, HeaderList, Message } from '../delivery/message.ts';

/** Roughly how many bytes the field names, the numbers and the punctuation of an entry take. */
const FRAME_BYTES = 600;

export function messageWeight(message: Message): number {
  const { callback, failureCallback } = message;
  return (
    FRAME_BYTES +
    bodyWeight(message.body) +
    headersWeight(message.headers) +
    (callback ? callback.url.length + headersWeight(callback.headers) : 0) +
    (failureCallback ? failureCallback.url.length + headersWeight(failureCallback.headers) : 0) +
    message.url.length +
    2 * message.labels.reduce((sum, label) => sum + label.length + 3, 0) +
    (message.failure?.length ?? 0) +
    (message.retryDelay?.length ?? 0)
  );
}

export function attemptWeight(attempt: Attempt): number {
  return (
    FRAME_BYTES +
    bodyWeight(attempt.responseBody) +
    headersWeight(attempt.responseHeaders) +
    (attempt.error?.length ?? 0)
  );
}

/** An event appears in the response twice: in `events` and in `logs`. */
export function eventWeight({ message, attempt }: MessageEvent): number {
  return 2 * (messageWeight(message) + (attempt ? attemptWeight(attempt) : 0));
}

/** The size of a body as JSON text or as base64, whichever is longer: the form is known only when the body is shown. */
export function bodyWeight(body: Uint8Array): number {
  let escaped = body.length;
  for (const byte of body) {
    if (byte < 0x20) escaped += 5;
    else if (byte === 0x22 || byte === 0x5c) escaped += 1;
  }
  return Math.max(escaped, Math.ceil((body.length * 4) / 3));
}

function headersWeight(headers: HeaderList): number {
  return headers.reduce((sum, [name, value]) => sum + name.length + 2 * value.length + 8, 0);
}
