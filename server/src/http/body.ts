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
  readonly #bytesMax: number;
  #bytesHeld = 0;

  constructor(bytesMax = BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /** Runs `use` with the whole body, which counts against the budget until `use` has ended. */
  async withBody<T>(request: IncomingMessage, limit: BodyLimit, use: (body: Uint8Array) => Promise<T>): Promise<T> {
    refuseEncoding(request);
    // Said in advance, so that a body that will be refused anyway is not read first.
    if (Number(request.headers['content-length'] ?? 0) > limit.bytesMax) throw limit.error();
    const chunks: Buffer[] = [];
    const bytes = await this.#read(request, limit, chunks);
    try {
      return await use(joined(chunks, bytes));
    } finally {
      this.#bytesHeld -= bytes;
    }
  }

  /**
   * Answers how many bytes there are, which then count against the budget; when it fails, none do. By events, which
   * allocate less than `for await`. A refused body goes on flowing, to nobody, until the refusal
   * is answered: destroyed, the request could not be answered; paused, nobody would read it to its end.
   */
  #read(request: IncomingMessage, limit: BodyLimit, chunks: Buffer[]): Promise<number> {
    return new Promise((resolve, reject) => {
      let bytes = 0;
      let isSettled = false;
      const fail = (error: Error) => {
        isSettled = true;
        this.#bytesHeld -= bytes;
        reject(error);
      };
      const onClose = () => {
        if (!isSettled) fail(new ApiError('bad_request', 'the connection was closed within the body'));
      };
      // It may have been closed while the token was looked up; then there is no event left to come.
      if (request.destroyed) return onClose();
      request.on('data', (chunk: Buffer) => {
        if (isSettled) return;
        bytes += chunk.length;
        this.#bytesHeld += chunk.length;
        if (bytes > limit.bytesMax) fail(limit.error());
        else if (this.#bytesHeld > this.#bytesMax) {
          fail(new ApiError('overloaded', 'the server is reading as many bodies as it may hold; try again shortly'));
        } else chunks.push(chunk);
      });
      request.on('end', () => {
        if (isSettled) return;
        isSettled = true;
        resolve(bytes);
      });
      // Comes after every request, once it is answered; before the end, the caller went away. So does an error.
      request.on('close', onClose);
      request.on('error', onClose);
    });
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
