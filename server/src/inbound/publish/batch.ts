// The body of a batch: an array of elements. Each is validated alone, so that an error in one fails only that one.

import type { HeaderList } from '../../rules/delivery/message.ts';
import { unknownFields } from '../../rules/publish/misspelt-settings.ts';
import { isName, NAME_RULE } from '../../rules/requests/name.ts';
import { ApiError } from '../api/errors.ts';
import { MESSAGE_SHAPE } from './json.ts';
import { JsonArrayReader } from './json-array.ts';

export interface BatchElement {
  readonly destination: string;
  readonly queueName: string | null;
  readonly headers: HeaderList;
  readonly body: Uint8Array;
  /** The names of fields that the service does not know. */
  readonly unknownFields: readonly string[];
}

const UTF8 = new TextEncoder();

/**
 * The JSON text of an element may have this many bytes for each byte of the largest allowed body, and a fixed number
 * for the headers of the delivery and its callbacks. Text in any language, and JSON within JSON, need at most three
 * times the bytes of the body. For binary data there is `bodyBase64`.
 */
const BYTES_A_BODY_BYTE_MAX = 3;
const BESIDE_BODY_BYTES_MAX = 512 * 1024;

/** How many bytes the JSON text of one message may have. */
export function messageTextBytesMax(bodyBytesMax: number): number {
  return bodyBytesMax * BYTES_A_BODY_BYTE_MAX + BESIDE_BODY_BYTES_MAX;
}

export interface BatchLimits {
  readonly elementsMax: number;
  readonly bodyBytesMax: number;
}

/** Parses each element of a batch as soon as it has arrived. */
export class BatchReader {
  readonly elements: (BatchElement | ApiError)[] = [];
  readonly #reader: JsonArrayReader;

  constructor({ elementsMax, bodyBytesMax }: BatchLimits) {
    this.#reader = new JsonArrayReader(
      { ...MESSAGE_SHAPE, bytesMax: messageTextBytesMax(bodyBytesMax) },
      {
        begins(index) {
          if (index < elementsMax) return;
          throw new ApiError('batch_too_long', `the batch has too many elements; the limit is ${elementsMax}`);
        },
        element: (value) => this.elements.push(checkedElement(value)),
        tooMuch: (why) => this.elements.push(new ApiError('bad_body', `the element is too large: ${why}`)),
      },
    );
  }

  push(piece: Uint8Array): void {
    this.#reader.push(piece);
  }

  end(): void {
    this.#reader.end();
  }
}

/** Errors for the most frequent mistakes are returned, because to throw one takes longer than to read an element. */
function checkedElement(element: unknown): BatchElement | ApiError {
  if (!isObject(element)) return new ApiError('bad_body', 'an element of a batch is an object with a destination');
  if (typeof element.destination !== 'string' || element.destination === '') return noDestination();
  try {
    return parseElement(element, element.destination);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

function noDestination(): ApiError {
  return new ApiError(
    'bad_destination',
    'destination: a non-empty destination must be provided: a URL, or the name or id of a topic',
  );
}

function parseElement(element: Record<string, unknown>, destination: string): BatchElement {
  const { queue, headers, body, bodyBase64 } = element;
  return {
    destination,
    queueName: parseQueueName(queue),
    headers: parseHeaders(headers),
    body: parseBody(body, bodyBase64),
    unknownFields: unknownFields(element),
  };
}

function parseQueueName(queue: unknown): string | null {
  if (isAbsent(queue)) return null;
  if (typeof queue === 'string' && isName(queue)) return queue;
  throw new ApiError('bad_queue_name', `queue: ${NAME_RULE}`);
}

/** Reads the headers of an element. A value is a string or an array of strings; null and "" mean absent. */
export function parseHeaders(headers: unknown): HeaderList {
  if (isAbsent(headers)) return [];
  if (!isObject(headers))
    throw new ApiError('bad_body', 'headers: must be an object with header names as keys and strings as values');
  const list: [string, string][] = [];
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (Array.isArray(value)) for (const each of value) addHeader(list, name, each);
    else addHeader(list, name, value);
  }
  return list;
}

function addHeader(list: [string, string][], name: string, value: unknown): void {
  if (isAbsent(value)) return;
  if (typeof value !== 'string') throw new ApiError('bad_body', `headers: the value of "${name}" must be a string`);
  list.push([name, value]);
}

/** Reads a body that is a field of a JSON object: text, or base64 for bytes that are not text. */
export function parseBody(body: unknown, bodyBase64: unknown): Uint8Array {
  if (!isAbsent(bodyBase64)) {
    if (!isAbsent(body)) throw new ApiError('bad_body', 'give body or bodyBase64, not both');
    if (typeof bodyBase64 !== 'string' || !/^[A-Za-z0-9+/]*={0,2}$/.test(bodyBase64) || bodyBase64.length % 4 !== 0) {
      throw new ApiError('bad_body', 'bodyBase64: must be a base64 string with padding');
    }
    // Copied, because a small Buffer is a view of a larger one, which would be copied whole to the store's thread.
    return new Uint8Array(Buffer.from(bodyBase64, 'base64'));
  }
  if (body === undefined || body === null) return new Uint8Array(0);
  if (typeof body !== 'string') throw new ApiError('bad_body', 'body: must be a string; write JSON as text');
  return UTF8.encode(body);
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
