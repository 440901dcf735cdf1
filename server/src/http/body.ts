// Reads request bodies into memory, within a limit for each and a budget for all of them together.

import type { IncomingMessage } from 'node:http';
import { ApiError } from './errors.ts';

/** Bodies that are being read or processed at the same moment. Past it, new requests are refused, not buffered. */
const BYTES_MAX = 512 * 1024 * 1024;

export interface BodyLimit {
  readonly bytesMax: number;
  /** What to answer past it. */
  readonly error: () => ApiError;
}

export class BodyReader {
  #bytesHeld = 0;

  /** Runs `use` with the whole body, which counts against the budget until `use` has ended. */
  async withBody<T>(request: IncomingMessage, limit: BodyLimit, use: (body: Uint8Array) => Promise<T>): Promise<T> {
    refuseEncoding(request);
    // Said in advance, so that a body that will be refused anyway is not read first.
    if (Number(request.headers['content-length'] ?? 0) > limit.bytesMax) throw limit.error();
    let held = 0;
    try {
      const chunks: Buffer[] = [];
      // Left as it is when the loop ends early: destroyed, it could no longer be answered.
      for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        held += chunk.length;
        this.#bytesHeld += chunk.length;
        if (held > limit.bytesMax) throw limit.error();
        if (this.#bytesHeld > BYTES_MAX) {
          throw new ApiError('overloaded', 'the server is reading as many bodies as it may hold; try again shortly');
        }
        chunks.push(chunk);
      }
      return await use(joined(chunks, held));
    } finally {
      this.#bytesHeld -= held;
    }
  }
}

/**
 * In memory of its own. A chunk is a view of a larger buffer, and a body goes to the store's thread by structured clone,
 * which copies the whole of what a view looks at: 64 KiB for a message of one.
 */
function joined(chunks: readonly Buffer[], bytes: number): Uint8Array {
  const body = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
  }
  return body;
}

function refuseEncoding(request: IncomingMessage): void {
  const encoding = request.headers['content-encoding'];
  if (encoding === undefined || encoding === '' || encoding.toLowerCase() === 'identity') return;
  throw new ApiError(
    'unsupported_encoding',
    `Content-Encoding: "${encoding}" is not taken; send the body as it is, or name the encoding for the destination ` +
      'in a forwarded Content-Encoding header',
  );
}
