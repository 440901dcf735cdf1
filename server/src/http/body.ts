// Receives request bodies, within a limit for each, a share for each account and a budget for all together. The
// announced length is taken from the budget before any byte is read. A caller that sends almost nothing is cut off.

import type { IncomingMessage } from 'node:http';
import { Member, MemberList } from '../domain/member-list.ts';
import type { Pool } from '../domain/pool.ts';
import type { Clock } from '../world.ts';
import { type BodyTaker, CountedRequest, inPieces } from './counted-request.ts';
import { ApiError, poolError } from './errors.ts';
import { GrowingBytes } from './growing-bytes.ts';
import { WholeRequest } from './whole-request.ts';

export interface BodyLimit {
  readonly bytesMax: number;
  /** The error for a body over the limit. */
  readonly error: () => ApiError;
}

/** In every window of this length, a body must bring at least this much, or end. */
const WINDOW_MS = 10_000;
const WINDOW_BYTES_MIN = 16 * 1024;

/** A body that was received whole. */
export interface HeldBody {
  /** Empty if the pieces went elsewhere. */
  readonly bytes: Uint8Array;
  /** Its bytes count against the budget until this is called. */
  release(): void;
}

const NOTHING = new Uint8Array(0);
const WHAT_IS_HELD = 'bytes of request bodies';

/** One upload in progress. One object for each: a closure for every step would cost several times as much. */
class Upload extends Member implements HeldBody, BodyTaker {
  readonly #request: CountedRequest;
  readonly #pool: Pool;
  readonly #accountId: string;
  readonly #limit: BodyLimit;
  readonly #announced: number | null;
  readonly #take: ((piece: Uint8Array) => void) | null;
  readonly #onEnd: (body: HeldBody) => void;
  readonly #onFailure: (error: unknown) => void;
  #whole: GrowingBytes | null = null;
  /** Bytes taken from the pool. */
  #held = 0;
  received = 0;
  /** Bytes received at the last check. Null before the first one. */
  lookedAt: number | null = null;

  constructor(
    request: CountedRequest,
    pool: Pool,
    accountId: string,
    limit: BodyLimit,
    announced: number | null,
    take: ((piece: Uint8Array) => void) | null,
    onEnd: (body: HeldBody) => void,
    onFailure: (error: unknown) => void,
  ) {
    super();
    this.#request = request;
    this.#pool = pool;
    this.#accountId = accountId;
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
    const why = bytes > 0 ? this.#pool.take(this.#accountId, bytes) : null;
    if (why) throw poolError(why, WHAT_IS_HELD);
    this.#held += bytes;
  }

  add(piece: Uint8Array, isInPieces: boolean): void {
    this.received += piece.length;
    try {
      if (this.received > this.#limit.bytesMax) throw this.#limit.error();
      if (isInPieces) throw inPieces();
      this.hold(Math.max(0, this.received - this.#held));
      if (this.#take !== null) this.#take(piece);
      else this.#keep(piece);
    } catch (error) {
      this.fail(error);
    }
  }

  end(): void {
    this.leave();
    // The parser counts, too. A body that lost a piece on its way here must not be taken for whole.
    if (this.#announced === null || this.received === this.#announced) this.#onEnd(this);
    else this.breakOff(null);
  }

  breakOff(error: ApiError | null): void {
    this.fail(error ?? brokenOff());
  }

  fail(error: unknown): void {
    this.leave();
    this.#request.dropRest();
    this.release();
    this.#onFailure(error);
  }

  release(): void {
    if (this.#held > 0) this.#pool.give(this.#accountId, this.#held);
    this.#held = 0;
  }

  #keep(piece: Uint8Array): void {
    // Allocated with the first piece: by then the announced length is within the limit and counted.
    this.#whole ??= new GrowingBytes(this.#announced ?? 0);
    this.#whole.add(piece);
  }
}

/** The body of a request that came whole. */
class WholeBody implements HeldBody {
  readonly #pool: Pool;
  readonly #accountId: string;
  readonly bytes: Uint8Array;
  #held: number;

  constructor({ body, heldBytes }: WholeRequest, pool: Pool, accountId: string) {
    const why = pool.take(accountId, heldBytes);
    if (why) throw poolError(why, WHAT_IS_HELD);
    this.bytes = body;
    this.#pool = pool;
    this.#accountId = accountId;
    this.#held = heldBytes;
  }

  release(): void {
    if (this.#held > 0) this.#pool.give(this.#accountId, this.#held);
    this.#held = 0;
  }
}

export class BodyReader {
  readonly #pool: Pool;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #uploads = new MemberList<Upload>();
  #cancelLook: (() => void) | null = null;

  constructor(pool: Pool, clock: Pick<Clock, 'after'>) {
    this.#pool = pool;
    this.#clock = clock;
  }

  /** Call this when nothing more is received. */
  close(): void {
    this.#cancelLook?.();
    this.#cancelLook = null;
  }

  /**
   * Collects the body, or passes each piece to `take` as it comes. If `take` throws, the body is refused. The bytes
   * count against the budget until the caller releases the body. If the promise rejects, none are counted, and what
   * follows of the body is dropped. A body that came whole is there at once.
   */
  receive(
    request: IncomingMessage | WholeRequest,
    accountId: string,
    limit: BodyLimit,
    take: ((piece: Uint8Array) => void) | null = null,
  ): HeldBody | Promise<HeldBody> {
    if (request instanceof WholeRequest) return this.#hold(request, accountId, limit, take);
    return new Promise((resolve, reject) => {
      refuseEncoding(request);
      const announced = announcedBytes(request);
      // Refused early, so that a body over the limit is not read first.
      if (announced !== null && announced > limit.bytesMax) throw limit.error();
      // The request may have been closed while the token was looked up. No more events come then.
      if (request.destroyed) throw brokenOff();
      const upload = new Upload(counted(request), this.#pool, accountId, limit, announced, take, resolve, reject);
      upload.hold(announced ?? 0);
      this.#watch(upload);
      counted(request).giveBody(upload);
    });
  }

  #hold(
    request: WholeRequest,
    accountId: string,
    limit: BodyLimit,
    take: ((piece: Uint8Array) => void) | null,
  ): HeldBody {
    refuseEncoding(request);
    if (request.body.length > limit.bytesMax) throw limit.error();
    const held = new WholeBody(request, this.#pool, accountId);
    try {
      take?.(request.body);
    } catch (error) {
      held.release();
      throw error;
    }
    return held;
  }

  #watch(upload: Upload): void {
    this.#uploads.add(upload);
    this.#lookLater();
  }

  /**
   * The timer is not cancelled with the last body: most bodies come at once, and a timer for each costs more than a
   * check of an empty set.
   */
  #lookLater(): void {
    this.#cancelLook ??= this.#clock.after(WINDOW_MS, () => this.#look());
  }

  /** One check for all uploads. An upload that was there at the last check has had a whole window. */
  #look(): void {
    this.#cancelLook = null;
    for (const upload of this.#uploads) {
      if (upload.lookedAt !== null && upload.received - upload.lookedAt < WINDOW_BYTES_MIN) upload.fail(tooSlow());
      else upload.lookedAt = upload.received;
    }
    if (this.#uploads.first !== null) this.#lookLater();
  }
}

/** Every request is one: the listener makes them. */
export function counted(request: IncomingMessage): CountedRequest {
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

function tooSlow(): ApiError {
  return new ApiError(
    'body_too_slow',
    `the body arrived too slowly: less than ${WINDOW_BYTES_MIN} bytes in ${WINDOW_MS / 1000} seconds`,
  );
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
