// Receives request bodies, within a limit for each body, a share for each owner and a budget for all together. The
// announced length counts against the budget before any byte is read. Slow bodies are ended by request-feed.ts.

import type { IncomingMessage } from 'node:http';
import type { Pool } from '../../runtime/collections/pool.ts';
import { ApiError, poolError } from '../api/errors.ts';
import { type BodyTaker, CountedRequest, tooManyPiecesError } from '../server/counted-request.ts';
import { GrowingBytes } from '../server/growing-bytes.ts';
import { WholeRequest } from '../server/whole-request.ts';

export interface BodyLimit {
  readonly bytesMax: number;
  /** Makes the error for a body over the limit. */
  readonly error: () => ApiError;
}

/** A body that was received completely. */
export interface ReceivedBody {
  /** The bytes of the body. Empty if its pieces were passed to the function `take` instead. */
  readonly bytes: Uint8Array;
  /** The bytes count against the budget until this is called. */
  release(): void;
}

const NOTHING = new Uint8Array(0);
const WHAT_IS_HELD = 'bytes of request bodies';

/** One upload in progress. It is one object, because a closure for every step would take several times the memory. */
class Upload implements ReceivedBody, BodyTaker {
  readonly #request: CountedRequest;
  readonly #pool: Pool;
  readonly #ownerId: string;
  readonly #limit: BodyLimit;
  readonly #announced: number | null;
  readonly #take: ((piece: Uint8Array) => void) | null;
  readonly #onEnd: (body: ReceivedBody) => void;
  readonly #onFailure: (error: unknown) => void;
  #whole: GrowingBytes | null = null;
  /** How many bytes were taken from the pool. */
  #held = 0;
  #received = 0;

  constructor(
    request: CountedRequest,
    pool: Pool,
    ownerId: string,
    limit: BodyLimit,
    announced: number | null,
    take: ((piece: Uint8Array) => void) | null,
    onEnd: (body: ReceivedBody) => void,
    onFailure: (error: unknown) => void,
  ) {
    this.#request = request;
    this.#pool = pool;
    this.#ownerId = ownerId;
    this.#limit = limit;
    this.#announced = announced;
    this.#take = take;
    this.#onEnd = onEnd;
    this.#onFailure = onFailure;
  }

  get bytes(): Uint8Array {
    return this.#whole?.whole() ?? NOTHING;
  }

  hold(bytes: number): void {
    const why = bytes > 0 ? this.#pool.take(this.#ownerId, bytes) : null;
    if (why) throw poolError(why, WHAT_IS_HELD);
    this.#held += bytes;
  }

  add(piece: Uint8Array, isInPieces: boolean): void {
    this.#received += piece.length;
    try {
      if (this.#received > this.#limit.bytesMax) throw this.#limit.error();
      if (isInPieces) throw tooManyPiecesError();
      this.hold(Math.max(0, this.#received - this.#held));
      if (this.#take !== null) this.#take(piece);
      else this.#keep(piece);
    } catch (error) {
      this.fail(error);
    }
  }

  end(): void {
    // The parser checks the length as well. This check detects a piece that was lost between the parser and this code.
    if (this.#announced === null || this.#received === this.#announced) this.#onEnd(this);
    else this.breakOff(null);
  }

  breakOff(error: ApiError | null): void {
    this.fail(error ?? brokenOff());
  }

  fail(error: unknown): void {
    this.#request.dropRest();
    this.release();
    this.#onFailure(error);
  }

  release(): void {
    if (this.#held > 0) this.#pool.give(this.#ownerId, this.#held);
    this.#held = 0;
  }

  #keep(piece: Uint8Array): void {
    // Allocated with the first piece, because the announced length is checked and counted before that.
    this.#whole ??= new GrowingBytes(this.#announced ?? 0);
    this.#whole.add(piece);
  }
}

/** The body of a request that arrived in one piece. */
class WholeBody implements ReceivedBody {
  readonly #pool: Pool;
  readonly #ownerId: string;
  readonly bytes: Uint8Array;
  #held: number;

  constructor({ body, heldBytes }: WholeRequest, pool: Pool, ownerId: string) {
    const why = pool.take(ownerId, heldBytes);
    if (why) throw poolError(why, WHAT_IS_HELD);
    this.bytes = body;
    this.#pool = pool;
    this.#ownerId = ownerId;
    this.#held = heldBytes;
  }

  release(): void {
    if (this.#held > 0) this.#pool.give(this.#ownerId, this.#held);
    this.#held = 0;
  }
}

export class BodyReader {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /**
   * Collects the body, or passes each piece to `take` as it arrives. If `take` throws, the body is refused. The bytes
   * count against the budget until the caller releases the body. If the promise rejects, no bytes stay counted, and the
   * rest of the body is dropped. A body that arrived with its head is returned without a promise.
   */
  receive(
    request: IncomingMessage | WholeRequest,
    ownerId: string,
    limit: BodyLimit,
    take: ((piece: Uint8Array) => void) | null = null,
  ): ReceivedBody | Promise<ReceivedBody> {
    if (request instanceof WholeRequest) return this.#hold(request, ownerId, limit, take);
    return new Promise((resolve, reject) => {
      refuseEncoding(request);
      const announced = announcedBytes(request);
      // Checked before the body is read, so that a body over the limit is refused at once.
      if (announced !== null && announced > limit.bytesMax) throw limit.error();
      // The request may have been closed while the token was looked up. Then no more events come.
      if (request.destroyed) throw brokenOff();
      const upload = new Upload(
        asCountedRequest(request),
        this.#pool,
        ownerId,
        limit,
        announced,
        take,
        resolve,
        reject,
      );
      upload.hold(announced ?? 0);
      asCountedRequest(request).giveBody(upload);
    });
  }

  #hold(
    request: WholeRequest,
    ownerId: string,
    limit: BodyLimit,
    take: ((piece: Uint8Array) => void) | null,
  ): ReceivedBody {
    refuseEncoding(request);
    if (request.body.length > limit.bytesMax) throw limit.error();
    const held = new WholeBody(request, this.#pool, ownerId);
    try {
      take?.(request.body);
    } catch (error) {
      held.release();
      throw error;
    }
    return held;
  }
}

/** Every request is a CountedRequest, because the listener makes all of them. */
export function asCountedRequest(request: IncomingMessage): CountedRequest {
  if (!(request instanceof CountedRequest)) throw new TypeError('the request was not made by the listener');
  return request;
}

/** The value of `Content-Length`. Null for a chunked body. */
function announcedBytes(request: IncomingMessage): number | null {
  const text = request.headers['content-length'];
  return text === undefined ? null : Number(text);
}

function brokenOff(): ApiError {
  return new ApiError('bad_request', 'the connection was closed before the end of the body');
}

function refuseEncoding(request: Pick<IncomingMessage, 'headers'>): void {
  const encoding = request.headers['content-encoding'];
  if (encoding === undefined || encoding === '' || encoding.toLowerCase() === 'identity') return;
  throw new ApiError(
    'unsupported_encoding',
    `Content-Encoding: "${encoding}" is not supported; send the body uncompressed, or name the encoding for the destination ` +
      'in a forwarded Content-Encoding header',
  );
}
