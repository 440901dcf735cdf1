// The policy for headers that users make us send: one rule, applied at accept and again by the sender, so that what
// is accepted can be sent. It does not collect the headers of a request nor add our own.

import { eachMax } from './budgets.ts';
import type { HeaderList } from './message.ts';

export const FORWARD_HEADERS_MAX = 64;
export const FORWARD_HEADER_BYTES_MAX = eachMax('headerBytes');
/** Beside the forwarded ones: Content-Type, traceparent, tracestate. */
const HEADERS_BESIDE_MAX = 3;
const NAME_LENGTH_MAX = 256;

/** RFC 9110, 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** What the wire can carry in a value: printable characters of Latin-1, blanks and tabs. */
const NOT_IN_A_VALUE = /[^\t\x20-\x7e\x80-\xff]/;

/** They frame the request, belong to one connection, or are set by us; a user's own would lie to one of the sides. */
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
 * Why this header cannot be forwarded, or null. `User-Agent` can be, and then stands in for ours. Blanks and tabs
 * around a value are taken, but HTTP does not count them to it: the receiver sees it without them.
 */
export function forwardHeaderProblem(name: string, value: string, ownPrefix: string): string | null {
  if (name === '') return 'the header to forward has no name';
  if (name.length > NAME_LENGTH_MAX) {
    return `the header name starting with ${shown(name)} is longer than ${NAME_LENGTH_MAX} characters`;
  }
  if (!TOKEN.test(name)) return `${shown(name)} is not a valid header name`;

  const lowerName = name.toLowerCase();
  if (isOfConnection(lowerName)) {
    return `"${name}" cannot be forwarded: it is set by the service or belongs to a single connection`;
  }
  if (lowerName.startsWith(ownPrefix.toLowerCase())) {
    return `"${name}" cannot be forwarded: names starting with "${ownPrefix}" are the service's own`;
  }
  if (NOT_IN_A_VALUE.test(value)) {
    return `the value of "${name}" has a character that no header can carry: a control character or one beyond Latin-1`;
  }
  return null;
}

/** Whether a header is not the user's to set: it is ours, or belongs to a single connection. */
export function isOwned(name: string, ownPrefix: string): boolean {
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

/** Why these headers are too much together, or null. */
export function forwardedHeadersProblem(headers: HeaderList, limits: HeaderLimits): string | null {
  if (headers.length > limits.countMax) {
    return `${headers.length} headers to forward; at most ${limits.countMax} are taken`;
  }
  const bytes = headerBytes(headers);
  if (bytes > limits.bytesMax) {
    return `the headers to forward have ${bytes} bytes together; at most ${limits.bytesMax} are taken`;
  }
  return null;
}

/** The same for the list that is delivered in the end: it is judged whole, whichever way each of them came. */
export function deliveredHeadersProblem(
  contentType: string | null,
  forward: HeaderList,
  { countMax, bytesMax }: HeaderLimits,
): string | null {
  const isAdded = isContentTypeAdded(contentType, forward);
  const count = forward.length + (isAdded ? 1 : 0);
  const most = countMax + HEADERS_BESIDE_MAX;
  if (count > most) return `the delivery would have ${count} headers; at most ${most} are taken`;
  const bytes = headerBytes(forward) + (isAdded ? 'Content-Type'.length + contentType!.length : 0);
  if (bytes > bytesMax) {
    return `the headers of the delivery have ${bytes} bytes together; at most ${bytesMax} are taken`;
  }
  return null;
}

/** A character is a byte, since values are Latin-1. */
export function headerBytes(headers: HeaderList): number {
  let bytes = 0;
  // Not taken apart: for each of them that would be an object more.
  for (const header of headers) bytes += header[0].length + header[1].length;
  return bytes;
}

/** A forwarded Content-Type is the more deliberate of the two, and a request carries only one. */
export function deliveredHeaders(contentType: string | null, forward: HeaderList): HeaderList {
  if (!isContentTypeAdded(contentType, forward)) return forward;
  return [['Content-Type', contentType!], ...forward];
}

function isContentTypeAdded(contentType: string | null, forward: HeaderList): boolean {
  if (contentType === null) return false;
  for (const header of forward) if (isNamed(header[0], 'content-type')) return false;
  return true;
}

/** Looks at the length first: most names differ in it, and no other text need be made of them. */
export function isNamed(name: string, lowerName: string): boolean {
  return name.length === lowerName.length && name.toLowerCase() === lowerName;
}

/** `x-my-id` as `X-My-Id`: how names are shown, whatever case they came in. */
export function canonicalHeaderName(name: string): string {
  return name.toLowerCase().replace(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
}

/** Quoted and escaped: it may hold anything, and ends up in a message to people. */
function shown(name: string): string {
  return JSON.stringify(name.slice(0, 40));
}
