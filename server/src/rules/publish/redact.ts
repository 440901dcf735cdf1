// Decides by the `Redact-Fields` header which parts of a message the API shows as a hash instead of their value. Only
// reads are affected: the original is stored, delivered and retried unchanged.

import type { HeaderList, Redaction } from '../delivery/message.ts';
import { eachMax } from '../limits/budgets.ts';

/** Returns the hex digest. The function is passed in, because rules/ has no cryptography. */
export type Sha256 = (bytes: Uint8Array) => string;

const NAMES_MAX = eachMax('redactionNames');

/** `headers[…]` is the spelling of the public documentation, `header[…]` that of the public clients. */
const ONE_HEADER = /^headers?\[\s*([!#$%&'*+.^_`|~0-9a-z-]+)\s*\]$/;
const WHOLE: ReadonlySet<string> = new Set(['body', 'header', 'headers']);

export function parseRedaction(text: string): Redaction | { readonly problem: string } {
  const parts = text.toLowerCase().split(',');
  const fields = new Set(parts.map((part) => part.trim()).filter((part) => part !== ''));
  const headers = new Set<string>();
  for (const field of fields) {
    const header = ONE_HEADER.exec(field)?.[1];
    if (header === undefined && !WHOLE.has(field)) {
      return { problem: `${JSON.stringify(field.slice(0, 40))} is not one of body, headers, header[Name]` };
    }
    if (header !== undefined) headers.add(header);
    if (headers.size > NAMES_MAX) return { problem: `names too many headers; the limit is ${NAMES_MAX}` };
  }
  if (fields.size === 0)
    return { problem: 'is empty; give one or more of body, headers, header[Name], separated by commas' };
  return {
    body: fields.has('body'),
    allHeaders: fields.has('header') || fields.has('headers'),
    headers: [...headers],
  };
}

/**
 * Combines two redactions: the result hides what either of the two hides. It hides all headers if it would have more
 * names than one message may have.
 */
export function combinedRedaction(one: Redaction | null, other: Redaction | null): Redaction | null {
  if (!one || !other) return one ?? other;
  const headers = [...new Set([...one.headers, ...other.headers])];
  const allHeaders = one.allHeaders || other.allHeaders || headers.length > NAMES_MAX;
  return { body: one.body || other.body, allHeaders, headers: allHeaders ? [] : headers };
}

/** The body that a read shows. An empty body is hidden too: it is also information that it is empty. */
export function redactBody(redaction: Redaction, body: Uint8Array, sha256: Sha256): Uint8Array {
  return redaction.body ? new TextEncoder().encode(redacted(body, sha256)) : body;
}

export function isRedacted({ allHeaders, headers }: Redaction, headerName: string): boolean {
  return allHeaders || headers.includes(headerName.toLowerCase());
}

export function redactHeaders(redaction: Redaction, headers: HeaderList, sha256: Sha256): HeaderList {
  return headers.map(([name, value]) => {
    // Latin-1 is the encoding on the wire, so the receiver can compare the hash with what arrived.
    return isRedacted(redaction, name) ? [name, redacted(Buffer.from(value, 'latin1'), sha256)] : [name, value];
  });
}

function redacted(bytes: Uint8Array, sha256: Sha256): string {
  return `REDACTED:${sha256(bytes)}`;
}
