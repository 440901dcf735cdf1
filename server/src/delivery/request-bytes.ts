// The bytes of a request, as they go to a socket: the head, and a small body right behind it. They are written one after
// the other into a block of memory that many requests share, and no piece of text is put together before.

import type { HttpRequest } from './http-client.ts';
import { LargeBody } from './large-body.ts';

const BLOCK_BYTES = 64 * 1024;
/** A request above this gets memory of its own: it would waste the rest of a block. */
const SHARED_BYTES_MAX = 16 * 1024;
/** Up to this size a body is copied behind its head, so that both go out with one call of the system. */
const COPIED_BODY_BYTES_MAX = 8 * 1024;

const LINE_END_BYTES = 2;
const SEPARATOR_BYTES = 2;

/** Where the next request goes. A full block is left to those that still send from it. */
let block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
let blockAt = 0;

export function isCopied(body: HttpRequest['body']): body is Uint8Array {
  return !(body instanceof LargeBody) && body.length <= COPIED_BODY_BYTES_MAX;
}

/** With the body, if it is copied. Every text in it is Latin-1 and was checked. */
export function requestBytes(request: HttpRequest): Buffer {
  const { method, path, host, headers, signature, body } = request;
  const start = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: keep-alive\r\n`;
  // A method that usually has a body says that there is none.
  const hasLength = body.length > 0 || (method !== 'GET' && method !== 'DELETE');
  const end = hasLength ? `Content-Length: ${body.length}\r\n\r\n` : '\r\n';
  const copied = isCopied(body) ? body : null;
  let bytes = start.length + end.length + (copied?.length ?? 0);
  for (const header of headers) bytes += header[0].length + header[1].length + SEPARATOR_BYTES + LINE_END_BYTES;
  for (const text of signature) bytes += text.length + LINE_END_BYTES;

  const isShared = bytes <= SHARED_BYTES_MAX;
  if (isShared && blockAt + bytes > BLOCK_BYTES) {
    block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    blockAt = 0;
  }
  const memory = isShared ? block : Buffer.allocUnsafeSlow(bytes);
  const from = isShared ? blockAt : 0;
  let at = from + memory.write(start, from, 'latin1');
  for (const header of headers) at = putHeader(memory, at, header[0], header[1]);
  for (let index = 0; index < signature.length; index += 2) {
    at = putHeader(memory, at, signature[index]!, signature[index + 1]!);
  }
  at += memory.write(end, at, 'latin1');
  if (copied !== null) memory.set(copied, at);
  if (isShared) blockAt += bytes;
  return memory.subarray(from, from + bytes);
}

function putHeader(memory: Buffer, from: number, name: string, value: string): number {
  let at = from + memory.write(name, from, 'latin1');
  memory[at++] = 0x3a;
  memory[at++] = 0x20;
  at += memory.write(value, at, 'latin1');
  memory[at++] = 0x0d;
  memory[at++] = 0x0a;
  return at;
}
