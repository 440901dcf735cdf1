// The bytes of a request, as they go to a socket: the head, directly followed by a small body. They are written one
// after the other into a block of memory that many requests share, without building strings first.

import type { HttpRequest } from './http-client.ts';
import { LargeBody } from './large-body.ts';

const BLOCK_BYTES = 64 * 1024;
/**
 * Limit for a request in a shared block. A larger request gets its own memory, because it would waste the rest of a
 * block.
 */
const SHARED_BYTES_MAX = 16 * 1024;
/** Up to this size a body is copied behind its head, so that both are sent with one system call. */
const COPIED_BODY_BYTES_MAX = 8 * 1024;

const BLANK = 0x20;
const COLON = 0x3a;
const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;
/**
 * Fixed parts of a head: between the path and the host, between the host and the first header, and before the length of
 * the body.
 */
const HOST = ' HTTP/1.1\r\nHost: ';
const CONNECTION = '\r\nConnection: keep-alive\r\n';
const LENGTH = 'Content-Length: ';

const LINE_END_BYTES = 2;
const SEPARATOR_BYTES = 2;

/** Where the next request is written. A full block is left to the requests that are still being sent from it. */
let block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
let blockAt = 0;

export function isCopied(body: HttpRequest['body']): body is Uint8Array {
  return !(body instanceof LargeBody) && body.length <= COPIED_BODY_BYTES_MAX;
}

/** The head, with the body if it is copied. Every text in the head is Latin-1 and was checked. */
export function requestBytes(request: HttpRequest): Buffer {
  const { method, target, headers, signature, body } = request;
  const { path, hostHeader: host } = target;
  // For a method that usually has a body, a length of 0 says that there is none.
  const hasLength = body.length > 0 || (method !== 'GET' && method !== 'DELETE');
  const length = hasLength ? String(body.length) : '';
  const copied = isCopied(body) ? body : null;
  let bytes = method.length + 1 + path.length + HOST.length + host.length + CONNECTION.length + LINE_END_BYTES;
  if (hasLength) bytes += LENGTH.length + length.length + LINE_END_BYTES;
  bytes += copied?.length ?? 0;
  // By index: each turn of a `for … of` would allocate.
  for (let index = 0; index < headers.length; index += 1) {
    const header = headers[index]!;
    bytes += header[0].length + header[1].length + SEPARATOR_BYTES + LINE_END_BYTES;
  }
  for (let index = 0; index < signature.length; index += 1) bytes += signature[index]!.length + LINE_END_BYTES;

  const isShared = bytes <= SHARED_BYTES_MAX;
  if (isShared && blockAt + bytes > BLOCK_BYTES) {
    block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    blockAt = 0;
  }
  const memory = isShared ? block : Buffer.allocUnsafeSlow(bytes);
  const from = isShared ? blockAt : 0;
  let at = from + memory.write(method, from, 'latin1');
  memory[at++] = BLANK;
  at += memory.write(path, at, 'latin1');
  at += memory.write(HOST, at, 'latin1');
  at += memory.write(host, at, 'latin1');
  at += memory.write(CONNECTION, at, 'latin1');
  for (let index = 0; index < headers.length; index += 1) {
    at = putHeader(memory, at, headers[index]![0], headers[index]![1]);
  }
  for (let index = 0; index < signature.length; index += 2) {
    at = putHeader(memory, at, signature[index]!, signature[index + 1]!);
  }
  if (hasLength) {
    at += memory.write(LENGTH, at, 'latin1');
    at = putLineEnd(memory, at + memory.write(length, at, 'latin1'));
  }
  at = putLineEnd(memory, at);
  if (copied !== null) memory.set(copied, at);
  if (isShared) blockAt += bytes;
  return memory.subarray(from, from + bytes);
}

function putHeader(memory: Buffer, from: number, name: string, value: string): number {
  let at = from + memory.write(name, from, 'latin1');
  memory[at++] = COLON;
  memory[at++] = BLANK;
  return putLineEnd(memory, at + memory.write(value, at, 'latin1'));
}

function putLineEnd(memory: Buffer, at: number): number {
  memory[at] = CARRIAGE_RETURN;
  memory[at + 1] = LINE_FEED;
  return at + LINE_END_BYTES;
}
