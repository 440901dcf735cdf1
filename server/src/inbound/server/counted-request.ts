// A request that counts the pieces of its body, and passes them to the code that takes the body. Each piece costs a
// call of the parser, however short it is. So a body in one-byte chunks costs a hundred times as much as the same bytes
// in one piece, even when they are only dropped.

import { eachMax } from '../../rules/limits/budgets.ts';
import { ParsedRequest } from '../../runtime/node-internals/parsed-request.ts';
import type { Principal } from '../../store/ports/access-store.ts';
import { ApiError } from '../api/errors.ts';

const PIECES_MAX = eachMax('bodyPieces');
/** The average size below which pieces count as short. */
const PIECE_BYTES_MIN = 16;

/** Receives the body of a request, piece by piece. `isInPieces`: more short pieces have come than we accept. */
export interface BodyTaker {
  add(piece: Uint8Array, isInPieces: boolean): void;
  /** The body is complete. No more calls follow. */
  end(): void;
  /** The end of the body will not come. `error` is the reason if one is known. No more calls follow. */
  breakOff(error: ApiError | null): void;
}

declare module 'node:http' {
  interface IncomingMessage {
    /** The id of the request, set when its head was read. */
    requestId?: string;
    /** The caller, once it is known. */
    principal?: Principal;
  }
}

export class CountedRequest extends ParsedRequest {
  #pieces = 0;
  #bytes = 0;
  #taker: BodyTaker | null = null;
  /** Why the body is not read to its end. Null while it is read. */
  #cutShort: ApiError | null = null;

  /** Whether the body came in more short pieces than we accept. */
  get #isInPieces(): boolean {
    return this.#pieces > PIECES_MAX && this.#bytes < this.#pieces * PIECE_BYTES_MIN;
  }

  get isCutShort(): boolean {
    return this.#cutShort !== null;
  }

  /** Ends the body early: its end will not come, or is not awaited. Its taker gets this error instead of the end. */
  cutShort(error: ApiError): void {
    if (this.complete) return;
    this.#cutShort ??= error;
    this.takeClose();
  }

  /** Gives the body to `taker` while it is parsed. */
  giveBody(taker: BodyTaker): void {
    this.#taker = taker;
    if (this.isStreamed) this.takeStream();
    // These pieces arrived while the token was looked up.
    else while (this.readableLength > 0 && this.#taker !== null) taker.add(this.read() as Buffer, this.#isInPieces);
    if (this.#cutShort !== null) this.takeClose();
    else if (this.complete && !this.isStreamed) this.takeEnd();
  }

  /** Refuses the body. The rest is dropped until the response is sent, because a paused request would never end. */
  dropRest(): void {
    this.#taker = null;
    if (!this.destroyed) this.resume();
  }

  protected override takePiece(piece: Uint8Array): boolean {
    // This piece is dropped, so the body must not end normally.
    if (this.#cutShort !== null) return true;
    this.#pieces += 1;
    this.#bytes += piece.length;
    if (this.#taker !== null) {
      this.#taker.add(piece, this.#isInPieces);
      return true;
    }
    // There is no taker: the token is still being looked up, or the body is already refused.
    if (this.#pieces <= 2 * PIECES_MAX || !this.#isInPieces) return false;
    this.#cutShort = tooManyPiecesError();
    return true;
  }

  protected override takeEnd(): boolean {
    if (this.#cutShort !== null) return true;
    const taker = this.#taker;
    // The taker refused the body at its last piece. The stream ends as usual.
    if (taker === null) return false;
    this.endTaken();
    this.#taker = null;
    taker.end();
    return true;
  }

  protected override takeClose(): void {
    const taker = this.#taker;
    this.#taker = null;
    taker?.breakOff(this.#cutShort);
  }
}

/** A CountedRequest that takes its body by the events of its stream, which works in every version of Node.js. */
export class StreamedRequest extends CountedRequest {
  protected override get isStreamed(): boolean {
    return true;
  }
}

export function tooManyPiecesError(): ApiError {
  return new ApiError(
    'body_in_pieces',
    `the body arrived in more than ${PIECES_MAX} very small chunks; send larger chunks`,
  );
}

export function tooSlowError(windowMs: number): ApiError {
  return new ApiError(
    'body_too_slow',
    `the body arrived too slowly: less than ${eachMax('bodyBytesMin')} bytes in ${windowMs / 1000} seconds`,
  );
}
