// A request that counts the pieces of its body, and passes them to its taker. Each piece costs a call of the parser,
// however short it is: a body in one-byte chunks costs a hundred times as much as its bytes, even when its content is
// no longer wanted.

import { eachMax } from '../../rules/limits/budgets.ts';
import { ParsedRequest } from '../../runtime/node-internals/parsed-request.ts';
import { ApiError } from '../api/errors.ts';

const PIECES_MAX = eachMax('bodyPieces');
/** The average size below which pieces count as short. */
const PIECE_BYTES_MIN = 16;

/** Gets the body of a request, piece by piece. */
export interface BodyTaker {
  add(piece: Uint8Array, isInPieces: boolean): void;
  /** The body is complete. No more calls follow. */
  end(): void;
  /** The end of the body will not come, for this reason if one is known. No more calls follow. */
  breakOff(error: ApiError | null): void;
}

export class CountedRequest extends ParsedRequest {
  #pieces = 0;
  #bytes = 0;
  #taker: BodyTaker | null = null;
  /** Why the body is not read to its end. */
  #cutShort: ApiError | null = null;

  /** Whether the body came in more short pieces than we accept. */
  get #isInPieces(): boolean {
    return this.#pieces > PIECES_MAX && this.#bytes < this.#pieces * PIECE_BYTES_MIN;
  }

  get isCutShort(): boolean {
    return this.#cutShort !== null;
  }

  /** The end of the body will not come, or is not waited for. The taker of the body gets this error instead. */
  cutShort(error: ApiError): void {
    if (this.complete) return;
    this.#cutShort ??= error;
    this.takeClose();
  }

  /** Gives the body to `taker` as it is parsed. */
  giveBody(taker: BodyTaker): void {
    this.#taker = taker;
    if (this.isStreamed) this.takeStream();
    // The pieces that arrived while the token was looked up.
    else while (this.readableLength > 0 && this.#taker !== null) taker.add(this.read() as Buffer, this.#isInPieces);
    if (this.#cutShort !== null) this.takeClose();
    else if (this.complete && !this.isStreamed) this.takeEnd();
  }

  /** The body is refused. The rest is read and dropped until the response is sent: a paused request would never end. */
  dropRest(): void {
    this.#taker = null;
    if (!this.destroyed) this.resume();
  }

  protected override takePiece(piece: Uint8Array): boolean {
    // A body that lost a dropped piece must not end normally.
    if (this.#cutShort !== null) return true;
    this.#pieces += 1;
    this.#bytes += piece.length;
    if (this.#taker !== null) {
      this.#taker.add(piece, this.#isInPieces);
      return true;
    }
    // The token is still being looked up, or the body is already refused.
    if (this.#pieces <= 2 * PIECES_MAX || !this.#isInPieces) return false;
    this.#cutShort = inPieces();
    return true;
  }

  protected override takeEnd(): boolean {
    if (this.#cutShort !== null) return true;
    const taker = this.#taker;
    // It was refused with its last piece: the stream ends as usual.
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

/** A CountedRequest that takes its body only by the events of its stream. */
export class StreamedRequest extends CountedRequest {
  protected override get isStreamed(): boolean {
    return true;
  }
}

export function inPieces(): ApiError {
  return new ApiError(
    'body_in_pieces',
    `the body arrived in more than ${PIECES_MAX} very small chunks; send larger chunks`,
  );
}

export function tooSlow(windowMs: number): ApiError {
  return new ApiError(
    'body_too_slow',
    `the body arrived too slowly: less than ${eachMax('bodyBytesMin')} bytes in ${windowMs / 1000} seconds`,
  );
}
