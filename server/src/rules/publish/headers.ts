// The rules for headers of a delivery that the caller chooses. The same rules apply at accept and in the sender, so
// that everything accepted can be sent. Other files collect these headers, and add those of the service.

import { BoundedCache } from '../../runtime/collections/remembered.ts';
import type { HeaderList } from '../delivery/message.ts';
import { eachMax } from '../limits/budgets.ts';

export const FORWARD_HEADERS_MAX = 64;
export const FORWARD_HEADER_BYTES_MAX = eachMax('headerBytes');
/** How many headers a delivery may have beside the forwarded headers: Content-Type, traceparent, tracestate. */
const HEADERS_BESIDE_MAX = 3;
const NAME_LENGTH_MAX = 256;

/** The form of a header name (RFC 9110, 5.6.2). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** A character that HTTP cannot carry in a value. It can carry printable characters of Latin-1, blanks and tabs. */
const NOT_IN_A_VALUE = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * These headers frame the request, belong to one connection, or are set by us. A user's own value would mislead us or
 * the receiver.
 */
const REFUSED: ReadonlySet<string> = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'http2-settings',
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
]);

/**
 * Why this header cannot be forwarded, or null. A forwarded `User-Agent` replaces ours. Blanks and tabs around a value
 * are accepted, but HTTP does not count them as part of the value: the receiver sees the value without them.
 */
export function forwardHeaderProblem(name: string, value: string, ownPrefix: string): string | null {
  if (name === '') return 'the header to forward has no name';
  if (name.length > NAME_LENGTH_MAX) {
    return `the header name starting with ${shown(name)} is longer than ${NAME_LENGTH_MAX} characters`;
  }
  if (!TOKEN.test(name)) return `${shown(name)} is not a valid header name`;

  const lowerName = name.toLowerCase();
  if (isOfConnection(lowerName)) {
    return `"${name}" cannot be forwarded: the service sets it, or it applies to a single connection`;
  }
  if (lowerName.startsWith(ownPrefix.toLowerCase())) {
    return `"${name}" cannot be forwarded: names starting with "${ownPrefix}" are reserved for the service`;
  }
  if (NOT_IN_A_VALUE.test(value)) {
    return `the value of "${name}" has a character that is not allowed in a header: a control character or a character outside Latin-1`;
  }
  return null;
}

/** The header names that were found valid are cached, because most messages have the same few names. */
const soundNames = new BoundedCache<string, string>(1000);

/**
 * Why a request with these headers must not be sent, or null. This is the last check before the network, wherever the
 * headers came from. A header that frames the request is refused here too.
 */
export function unsendableProblem(headers: HeaderList): string | null {
  for (let index = 0; index < headers.length; index += 1) {
    const header = headers[index]!;
    const name = header[0];
    const wrong = soundNames.get(name) === undefined ? unsendableName(name) : null;
    if (wrong !== null) return wrong;
    if (NOT_IN_A_VALUE.test(header[1])) return `the value of "${name}" has a character that no header can carry`;
  }
  return null;
}

/** Why this header name must not be sent, or null. A valid name is remembered. */
function unsendableName(name: string): string | null {
  if (!TOKEN.test(name)) return `${shown(name)} is not a valid header name`;
  if (isOfConnection(name.toLowerCase())) return `"${name}" is set by the service or belongs to a connection`;
  soundNames.set(name, name);
  return null;
}

/** Whether users may not set this header: the service sets it, or it belongs to a single connection. */
export function isServiceHeader(name: string, ownPrefix: string): boolean {
  const lowerName = name.toLowerCase();
  return isOfConnection(lowerName) || lowerName.startsWith(ownPrefix.toLowerCase());
}

function isOfConnection(lowerName: string): boolean {
  return REFUSED.has(lowerName) || lowerName.startsWith('proxy-');
}

export interface HeaderLimits {
  readonly countMax: number;
  readonly bytesMax: number;
}

/** Why these forwarded headers are together too many or too large, or null. */
export function forwardedHeadersProblem(headers: HeaderList, limits: HeaderLimits): string | null {
  if (headers.length > limits.countMax) {
    return `${headers.length} headers to forward; the limit is ${limits.countMax}`;
  }
  const bytes = headerBytes(headers);
  if (bytes > limits.bytesMax) {
    return `the headers to forward have ${bytes} bytes in total; the limit is ${limits.bytesMax}`;
  }
  return null;
}

/**
 * Why the final headers of a delivery are too many or too large, or null. All headers are checked together, wherever
 * each came from.
 */
export function deliveredHeadersProblem(
  contentType: string | null,
  forward: HeaderList,
  { countMax, bytesMax }: HeaderLimits,
): string | null {
  const isAdded = isContentTypeAdded(contentType, forward);
  const count = forward.length + (isAdded ? 1 : 0);
  const most = countMax + HEADERS_BESIDE_MAX;
  if (count > most) return `the delivery would have ${count} headers; the limit is ${most}`;
  const bytes = headerBytes(forward) + (isAdded ? 'Content-Type'.length + contentType!.length : 0);
  if (bytes > bytesMax) {
    return `the headers of the delivery have ${bytes} bytes in total; the limit is ${bytesMax}`;
  }
  return null;
}

/** The size of names and values together. One character is one byte, because values are Latin-1. */
/** What is wrong with headers that are kept and read again for each message, also those without effect. */
export function tooManyHeaders(headers: HeaderList, countMax: number, bytesMax: number): string | null {
  if (headers.length > countMax) return `headers: ${headers.length} headers; the limit is ${countMax}`;
  const bytes = headerBytes(headers);
  return bytes > bytesMax ? `headers: ${bytes} bytes in total; the limit is ${bytesMax}` : null;
}

export function headerBytes(headers: HeaderList): number {
  let bytes = 0;
  // Not destructured, because that would allocate an object for each header.
  for (const header of headers) bytes += header[0].length + header[1].length;
  return bytes;
}

/** The headers of a delivery. It has one Content-Type: a forwarded one replaces `contentType`, that of the publish. */
export function deliveredHeaders(contentType: string | null, forward: HeaderList): HeaderList {
  if (!isContentTypeAdded(contentType, forward)) return forward;
  // Not a spread, for which the runtime would allocate sixteen places too many.
  const first: HeaderList = [['Content-Type', contentType!]];
  return first.concat(forward);
}

function isContentTypeAdded(contentType: string | null, forward: HeaderList): boolean {
  if (contentType === null) return false;
  for (const header of forward) if (isHeaderNamed(header[0], 'content-type')) return false;
  return true;
}

/**
 * Whether a header has this name. The lengths are compared first: most names differ in length, and then no lower-case
 * copy is needed.
 */
export function isHeaderNamed(name: string, lowerName: string): boolean {
  return name.length === lowerName.length && name.toLowerCase() === lowerName;
}

/** Turns `x-my-id` into `X-My-Id`, the form in which names are shown. */
export function canonicalHeaderName(name: string): string {
  return name.toLowerCase().replace(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
}

/** The name for an error text: quoted and escaped, because it may contain any character. */
function shown(name: string): string {
  return JSON.stringify(name.slice(0, 40));
}
