// Sends many messages in few calls. The list may be of any length: it is cut into chunks, and each element has its own
// result.

import type { PublishSettings } from './call.ts';
import * as calls from './calls.ts';
import type { ErrorCode } from './error-codes.ts';
import { PostriderError, UnreachableError } from './errors.ts';
import {
  type Content,
  type EitherRequest,
  type PublishRequest,
  partsOf,
  repeatOf,
  type TopicRequest,
  type UrlRequest,
} from './publish-request.ts';
import { newDeduplicationId } from './retry.ts';
import { DEFAULT_PREFIX, type Send, type SendOptions } from './send.ts';
import type { CallbackOptions, FlowLimits } from './setting-options.ts';
import type { BatchResult, Published } from './shapes.ts';

interface InQueue {
  /** The queue for the message. Without it, the message goes to no queue. */
  readonly queue?: string | undefined;
}

export type BatchElement = (UrlRequest | TopicRequest | EitherRequest) & InQueue;

/** Why an element was not accepted. `code` is empty if the response did not come from the service. */
export interface Refused {
  readonly isAccepted: false;
  readonly error: string;
  readonly code: ErrorCode | '';
  /** It is unknown whether the element was accepted: no response arrived, or one with a status of 500 or more. */
  readonly isUnknown?: true;
}

export interface AcceptedMessage {
  readonly isAccepted: true;
  readonly messageId: string;
  readonly deduplicated?: boolean;
}

export interface AcceptedMessages {
  readonly isAccepted: true;
  /** One message for each endpoint of the topic. */
  readonly messages: readonly Published[];
}

/** The result of an element: one message for a URL, and for a topic one message for each endpoint. */
export type BatchSlot<E> =
  | (E extends { readonly url: string }
      ? AcceptedMessage
      : E extends { readonly topic: string }
        ? AcceptedMessages
        : AcceptedMessage | AcceptedMessages)
  | Refused;

export type BatchSlots<E extends readonly BatchElement[]> = { readonly [K in keyof E]: BatchSlot<E[K]> };

type KeyOf<T> = T extends unknown ? keyof T : never;
type Known = KeyOf<BatchElement> | KeyOf<Content>;
/** The options that may be objects. A misspelt name inside one of them is a type error too. */
interface Nested {
  readonly callback: CallbackOptions;
  readonly failureCallback: CallbackOptions;
  readonly flowControlValue: FlowLimits;
  readonly settings: PublishSettings;
}
type ExactIn<T, Shape> = T extends object ? { readonly [K in Exclude<keyof T, keyof Shape>]: never } : unknown;

/** Makes a property that is no option a type error: the compiler does not check this in an inferred type. */
export type Exact<T> = { readonly [K in Exclude<keyof T, Known>]: never } & {
  readonly [K in keyof T & keyof Nested]: ExactIn<T[K], Nested[K]>;
};

export interface BatchOptions extends SendOptions {
  /** Maximum number of elements in one call. Default: 500. */
  readonly chunk?: number | undefined;
}

type Element = Parameters<typeof calls.batch>[0][number];

const ELEMENTS_MAX = 500;
const CHUNK_LENGTH_MAX = 8 * 1024 * 1024;

/**
 * Sends the elements in their order, in one or more calls. When a call fails as a whole, no later call is sent, so that
 * no element overtakes an earlier one. Throws only if the first call fails as a whole.
 */
export async function sendBatch(
  send: Send,
  elements: readonly PublishRequest[],
  { chunk = ELEMENTS_MAX, signal }: BatchOptions = {},
  prefix = DEFAULT_PREFIX,
): Promise<(AcceptedMessage | AcceptedMessages | Refused)[]> {
  const made = elements.map((element) => elementOf(element, prefix));
  const slots: (AcceptedMessage | AcceptedMessages | Refused)[] = [];
  let most = Math.max(1, chunk);
  while (slots.length < made.length) {
    const taken = take(made, slots.length, most);
    try {
      const results = await sendChunk(send, taken, signal);
      slots.push(...results.map((result, index) => slotOf(result, taken[index]!.isKeyOurs)));
    } catch (error) {
      const isTooMuch =
        error instanceof PostriderError && (error.code === 'batch_too_long' || error.code === 'request_too_large');
      if (isTooMuch && taken.length > 1) {
        most = Math.ceil(taken.length / 2);
        continue;
      }
      if (isTooMuch) {
        slots.push(refusal(error));
        continue;
      }
      if (slots.length === 0 || !(error instanceof PostriderError || error instanceof UnreachableError)) throw error;
      for (const [index] of made.slice(slots.length).entries()) slots.push(refusal(error, index < taken.length));
    }
  }
  return slots;
}

interface Made {
  readonly element: Element;
  readonly isKeyOurs: boolean;
  readonly repeat: 'yes' | 'no' | 'key';
  readonly length: number;
}

function elementOf(request: PublishRequest & InQueue, prefix: string): Made {
  const { queue, ...rest } = request;
  const { destination, body, contentType, settings } = partsOf(rest);
  const repeat = repeatOf(settings);
  const isKeyOurs = repeat === 'key';
  const own = Object.entries({ ...settings, ...(isKeyOurs && { 'Deduplication-Id': newDeduplicationId() }) });
  const element: Element = {
    destination,
    ...(queue !== undefined && { queue }),
    headers: {
      ...(contentType !== undefined && { 'Content-Type': contentType }),
      ...Object.fromEntries(own.map(([name, value]) => [prefix + name, value])),
    },
    ...(typeof body === 'string' ? { body } : body && { bodyBase64: base64(body) }),
  };
  return {
    element,
    isKeyOurs,
    repeat,
    length: destination.length + (element.body ?? element.bodyBase64 ?? '').length,
  };
}

/** The elements of the next call: at least one, then more up to `most` and up to the largest length of a call. */
function take(made: readonly Made[], from: number, most: number): Made[] {
  const taken: Made[] = [];
  for (let length = 0; taken.length < most && from + taken.length < made.length; ) {
    const next = made[from + taken.length]!;
    length += next.length;
    if (taken.length > 0 && length > CHUNK_LENGTH_MAX) break;
    taken.push(next);
  }
  return taken;
}

/** Sends one call. If no element is valid, the status is an error, but the response is still the list of results. */
async function sendChunk(
  send: Send,
  taken: readonly Made[],
  signal: AbortSignal | undefined,
): Promise<readonly BatchResult[]> {
  // Elements with a deduplication id can be sent again.
  const repeat: Made['repeat'] = taken.some((each) => each.repeat === 'no') ? 'no' : 'yes';
  const call = { ...calls.batch(taken.map(({ element }) => element)), repeat };
  const results: unknown = await send(call, { signal }).catch((error: unknown) => {
    if (error instanceof PostriderError && Array.isArray(error.answer)) return error.answer as unknown[];
    throw error;
  });
  if (Array.isArray(results) && results.length === taken.length) return results as readonly BatchResult[];
  throw new PostriderError(200, '', 'the response does not have a result for each element');
}

function slotOf(result: BatchResult, isKeyOurs: boolean): AcceptedMessage | AcceptedMessages | Refused {
  const shown = <T extends object>(entry: T): T => {
    const { deduplicated, ...rest } = entry as T & { deduplicated?: boolean };
    return (isKeyOurs || deduplicated === undefined ? rest : entry) as T;
  };
  if (Array.isArray(result)) return { isAccepted: true, messages: (result as readonly Published[]).map(shown) };
  const entry = result as Exclude<BatchResult, readonly Published[]>;
  if ('messageId' in entry) return { isAccepted: true, ...shown(entry) };
  return { isAccepted: false, error: entry.error, code: entry.code as ErrorCode };
}

function refusal(error: PostriderError | UnreachableError, wasSent = false): Refused {
  const isUnknown = wasSent && (error instanceof UnreachableError || error.status >= 500);
  const code = error instanceof PostriderError ? error.code : '';
  return { isAccepted: false, error: error.message, code, ...(isUnknown && { isUnknown }) };
}

function base64(bytes: Uint8Array): string {
  let text = '';
  // The bytes are converted in pieces, because a function call cannot have a million arguments.
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}
