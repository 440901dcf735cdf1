// HMAC-SHA-256 for short messages, made of two one-shot hashes (RFC 2104). It takes half the time of `createHmac`,
// which prepares its key again for every message. A long message is not copied: `createHmac` handles it. Functions
// named `…OnThread` run on other threads, which get a copy.

import { createHmac, hash, webcrypto } from 'node:crypto';

const BLOCK_BYTES = 64;
const HASH_BYTES = 32;
/** Limit for messages that are copied. Copying a longer message takes more time than is saved. */
const COPIED_BYTES_MAX = 8 * 1024;
/** How many prepared keys are kept. Each account signs with one. */
const KEYS_MAX = 1000;

type Encoding = 'base64' | 'base64url';

const NOTHING = new Uint8Array(0);
/** Shared by all calls, because no call waits while it uses the buffer. */
const inner = Buffer.alloc(BLOCK_BYTES + COPIED_BYTES_MAX);
const outer = Buffer.alloc(BLOCK_BYTES + HASH_BYTES);

/**
 * A view of the start of `inner`. Created again only when its length changes: most texts of one kind have the same
 * length.
 */
class InnerView {
  bytes: Uint8Array = inner.subarray(0, 0);

  resize(length: number): void {
    if (this.bytes.length !== length) this.bytes = inner.subarray(0, length);
  }
}

const textView = new InnerView();
const bodyView = new InnerView();
const prepared = new Map<string, Pads>();

/** A key, combined with the two constants of HMAC. */
interface Pads {
  readonly inner: Uint8Array;
  readonly outer: Uint8Array;
}

/**
 * The HMAC over the bytes of `start` and `text`, which are ASCII, followed by `body`. The text comes in two parts
 * because joining them would need a copy. The key is the UTF-8 bytes of `key`.
 */
export function hmacSha256(
  key: string,
  start: string,
  text: string,
  body: Uint8Array | null,
  encoding: Encoding,
): string {
  const bytes = body ?? NOTHING;
  if (start.length + text.length + bytes.length > COPIED_BYTES_MAX) {
    return createHmac('sha256', key).update(start).update(text).update(bytes).digest(encoding);
  }
  const pads = padsOf(key);
  inner.set(pads.inner);
  const textAt = BLOCK_BYTES + inner.write(start, BLOCK_BYTES, 'latin1');
  const bodyAt = textAt + inner.write(text, textAt, 'latin1');
  inner.set(bytes, bodyAt);
  outer.set(pads.outer);
  const used = body === null ? textView : bodyView;
  used.resize(bodyAt + bytes.length);
  outer.write(hash('sha256', used.bytes, 'latin1'), BLOCK_BYTES, 'latin1');
  return hash('sha256', outer, encoding);
}

/** Like `hmacSha256`, but for a long body, on another thread. `start` is ASCII. */
export async function hmacSha256OnThread(
  key: string,
  start: string,
  body: Uint8Array,
  encoding: Encoding,
): Promise<string> {
  const pads = padsOf(key);
  const bytes = Buffer.allocUnsafe(BLOCK_BYTES + start.length + body.length);
  bytes.set(pads.inner);
  bytes.write(start, BLOCK_BYTES, 'latin1');
  bytes.set(body, BLOCK_BYTES + start.length);
  const innerHash = await sha256OnThread(bytes, 'latin1');
  outer.set(pads.outer);
  outer.write(innerHash, BLOCK_BYTES, 'latin1');
  return hash('sha256', outer, encoding);
}

export async function sha256OnThread(bytes: Uint8Array, encoding: Encoding | 'latin1'): Promise<string> {
  // WebCrypto rejects memory that threads share. No body is in such memory.
  const digest = await webcrypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>);
  return Buffer.from(digest).toString(encoding);
}

function padsOf(key: string): Pads {
  const known = prepared.get(key);
  if (known !== undefined) return known;
  let bytes = Buffer.from(key);
  if (bytes.length > BLOCK_BYTES) bytes = hash('sha256', bytes, 'buffer');
  const pad = (constant: number) => Uint8Array.from({ length: BLOCK_BYTES }, (_, at) => (bytes[at] ?? 0) ^ constant);
  const pads = { inner: pad(0x36), outer: pad(0x5c) };
  if (prepared.size >= KEYS_MAX) prepared.clear();
  prepared.set(key, pads);
  return pads;
}
