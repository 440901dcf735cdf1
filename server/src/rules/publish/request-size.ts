// How much one request makes the service store, counted from its parsed form before any message is made. Each body
// counts once, however many messages share it, unless they may take the place of others. Everything else counts for
// every message.

import { SETTING_FIELDS } from '../delivery/message.ts';
import { showAmount } from '../limits/budget.ts';
import { eachMax } from '../limits/budgets.ts';
import { type Problem, problem } from '../requests/problem.ts';
import { deliveredHeaders, headerBytes } from './headers.ts';
import { type CallbackRequest, messageCount, type PublishRequest } from './publish.ts';

export interface RequestSizeLimits {
  readonly messagesMax: number;
  readonly bytesMax: number;
}

/** The limits are never below the longest batch and the largest body that the configuration allows. */
export function requestSizeLimits(batchMax: number, requestBytesMax: number): RequestSizeLimits {
  const besideBytes = eachMax('plannedBytes') / 8;
  return {
    messagesMax: Math.max(eachMax('plannedMessages'), batchMax),
    bytesMax: Math.max(eachMax('plannedBytes'), requestBytesMax + besideBytes),
  };
}

/** Why these publishes are too much for one request, or null. */
export function requestSizeProblem(
  requests: readonly PublishRequest[],
  { messagesMax, bytesMax }: RequestSizeLimits,
): { readonly problem: Problem } | null {
  const [only] = requests;
  // A single message always fits: the limits have room for the largest body and the rest of a message.
  if (requests.length === 1 && messageCount(only!) === 1) return null;
  let messages = 0;
  let bytes = 0;
  for (const request of requests) {
    const count = messageCount(request);
    messages += count;
    bytes += (request.debounce === null ? 1 : count) * request.body.length + count * besideBody(request);
  }
  if (messages > messagesMax) {
    return problem(
      'request_too_large',
      `the request would create ${messages} messages (one for each endpoint of a topic); the limit for one request is ${messagesMax}`,
    );
  }
  if (bytes > bytesMax) {
    const most = showAmount(bytesMax, 'bytes');
    return problem(
      'request_too_large',
      `the request would store ${bytes} bytes, with the headers of every message; the limit for one request is ${most}`,
    );
  }
  return null;
}

/** The bytes that every message stores besides its body. Only what can be long counts: headers, texts and callbacks. */
function besideBody(request: PublishRequest): number {
  const { contentType, settings, callback, failureCallback } = request;
  let bytes =
    headerBytes(deliveredHeaders(contentType, settings.forward)) +
    callbackBytes(callback) +
    callbackBytes(failureCallback);
  bytes += settings.retryDelay?.length ?? 0;
  for (const name of SETTING_FIELDS) bytes += textLength(request[name]);
  return bytes;
}

/** The total length of all texts in a value, at any depth. */
function textLength(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let length = 0;
  for (const inner of Object.values(value)) length += textLength(inner);
  return length;
}

function callbackBytes(callback: CallbackRequest | null): number {
  return callback ? callback.target.url.length + headerBytes(callback.settings.forward) : 0;
}
