// Defines what makes two messages duplicates: an id from the caller, or everything that a receiver would see. The keys
// are stored elsewhere, for the time in which a second message counts as a duplicate.

import type { HeaderList } from '../delivery/message.ts';

export const DEDUPLICATION_ID_LENGTH_MAX = 256;

/** Why this cannot be a deduplication id, or null. */
export function deduplicationIdProblem(text: string): string | null {
  if (text === '') return 'is empty';
  if (text.length > DEDUPLICATION_ID_LENGTH_MAX) {
    return `has ${text.length} characters; the limit is ${DEDUPLICATION_ID_LENGTH_MAX}`;
  }
  if (text.includes(':')) return 'must not contain ":"';
  // In a batch the id comes as JSON, which can carry more characters than a header. The same ids must be possible in
  // both.
  if (/[^\x20-\x7e\x80-\xff]/.test(text)) return 'has a control character or a character outside Latin-1';
  return null;
}

/** How the key of a message begins that is deduplicated by its content. */
const CONTENT_KEY = 'content:';

export function contentDeduplicationKey(hash: string): string {
  return CONTENT_KEY + hash;
}

/** Whether the key stands for the content of its message, and not for an id of the caller. */
export function isOfContent(key: string | null): boolean {
  return key?.startsWith(CONTENT_KEY) ?? false;
}

export interface DeduplicatedContent {
  /** The URL as given, or the id of the topic. */
  readonly destination: string;
  readonly body: Uint8Array;
  readonly contentType: string | null;
  /** The forwarded headers. */
  readonly headers: HeaderList;
}

/**
 * Returns bytes that are equal only for equal content: every part is preceded by its length, so no part can run into
 * the next. Case and order of header names do not matter. Several values of one name keep their order, which has a
 * meaning.
 */
export function contentKey(content: DeduplicatedContent): Uint8Array {
  const headers = content.headers.map(([name, value]): [string, string] => [name.toLowerCase(), value]);
  headers.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const parts = [
    textBytes(content.destination),
    content.body,
    ...(content.contentType === null ? [] : [textBytes(content.contentType)]),
    ...headers.flat().map(textBytes),
  ];
  // The number of parts distinguishes a missing Content-Type from an empty one: it is even without a Content-Type and
  // odd with one.
  return Buffer.concat(parts.flatMap((part) => [lengthBytes(part.length), part]));
}

/** Encodes the text as UTF-16, because UTF-8 encodes all unpaired surrogates alike. */
function textBytes(text: string): Uint8Array {
  return Buffer.from(text, 'utf16le');
}

function lengthBytes(length: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(length);
  return bytes;
}
