// A request that counts the pieces of its body, and gives them to whoever takes it. Each piece costs a call of the parser,
// however short it is: a body in one-byte chunks costs a hundred times as much as its bytes, even when its content is no
// longer wanted.

import { IncomingMessage } from 'node:http';
import { eachMax } from '../../rules/limits/budgets.ts';
import { ApiError } from '../api/errors.ts';

const PIECES_MAX = eachMax('bodyPieces');
/** The average size below which pieces count as short. */
const PIECE_BYTES_MIN = 16;

/** Gets the body of a request, piece by piece. */
export interface BodyTaker {
  add(piece: Uint8Array, isInPieces: boolean): void;
  /** The body is whole. Nothing follows. */
  end(): void;
  /** Its end does not come, for this reason if one is known. Nothing follows. */
  breakOff(error: ApiError | null): void;
}

export class CountedRequest extends IncomingMessage {
  #pieces = 0;
  #bytes = 0;
  #taker: BodyTaker | null = null;
  /** The taker got all of the body. The stream never ends by itself then. */
  #isTaken = false;
  /** Why the body is not read to its end. */
  #cutShort: ApiError | null = null;

  static {
    // Node asks for it, and then lets go of a request that was answered. The types do not allow an accessor in its place.
    const ended = (request: CountedRequest) =>
      Reflect.get(IncomingMessage.prototype, 'readableEnded', request) as boolean;
    Object.defineProperty(CountedRequest.prototype, 'readableEnded', {
      get(this: CountedRequest) {
        return this.#isTaken || ended(this);
      },
    });
  }

  /** It came in more short pieces than we accept. */
  get #isInPieces(): boolean {
    return this.#pieces > PIECES_MAX && this.#bytes < this.#pieces * PIECE_BYTES_MIN;
  }

  get isCutShort(): boolean {
    return this.#cutShort !== null;
  }

  /** The end of the body will not come, or is not waited for. Whoever takes the body gets the error in its place. */
  cutShort(error: ApiError): void {
    if (this.complete) return;
    this.#cutShort ??= error;
    this.#breakOff();
  }

  /**
   * Gives the body to `taker` as it is parsed. The way through the events of a stream would cost as much as all checks
   * of a publish.
   */
  giveBody(taker: BodyTaker): void {
    this.#taker = taker;
    // What came while the token was looked up.
    while (this.readableLength > 0 && this.#taker !== null) taker.add(this.read() as Buffer, this.#isInPieces);
    if (this.#cutShort !== null) this.#breakOff();
    else if (this.complete) this.#end();
  }

  /**
   * The body is refused. What follows of it flows and is dropped until the refusal is answered: a paused request would
   * never end.
   */
  dropRest(): void {
    this.#taker = null;
    if (!this.destroyed) this.resume();
  }

  override push(chunk: Uint8Array | null, encoding?: BufferEncoding): boolean {
    // What was dropped of it must not be missing in a body that ends.
    if (this.#cutShort !== null) return true;
    if (chunk === null) {
      if (this.#taker === null) return super.push(chunk, encoding);
      this.#end();
      return false;
    }
    this.#pieces += 1;
    this.#bytes += chunk.length;
    if (this.#taker !== null) {
      this.#taker.add(chunk, this.#isInPieces);
      return true;
    }
    // The token is still being looked up, or the body is refused already.
    if (this.#pieces > 2 * PIECES_MAX && this.#isInPieces) {
      this.#cutShort = inPieces();
      return true;
    }
    return super.push(chunk, encoding);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#breakOff();
    super._destroy(error, callback);
  }

  /** Like Node's own version, which drops a body that is not read, but the pieces are counted. */
  _dump(): void {
    if (this.#isTaken) return;
    this.removeAllListeners('data');
    this.resume();
  }

  #breakOff(): void {
    const taker = this.#taker;
    this.#taker = null;
    taker?.breakOff(this.#cutShort);
  }

  #end(): void {
    const taker = this.#taker;
    // Refused with its last piece: the stream ends as it always does.
    if (taker === null) return;
    this.#isTaken = true;
    this.#taker = null;
    taker.end();
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
