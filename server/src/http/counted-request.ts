// A request that counts the pieces of its body. Each one is a call of the parser, however short it is: a body in chunks of
// one byte costs a hundred times what its bytes do, also when nobody wants it any more.

import { IncomingMessage } from 'node:http';
import { eachMax } from '../domain/budgets.ts';

const PIECES_MAX = eachMax('bodyPieces');
/** What a piece has on average, or it is a short one. */
const PIECE_BYTES_MIN = 16;

export class CountedRequest extends IncomingMessage {
  #pieces = 0;
  #bytes = 0;

  /** It came in more short pieces than are taken. */
  get isInPieces(): boolean {
    return this.#pieces > PIECES_MAX && this.#bytes < this.#pieces * PIECE_BYTES_MIN;
  }

  override push(chunk: Uint8Array | null, encoding?: BufferEncoding): boolean {
    if (chunk === null) return super.push(chunk, encoding);
    this.#pieces += 1;
    this.#bytes += chunk.length;
    // Whoever goes on after that has been refused, or sends so much at once that no answer reaches them in time.
    if (this.#pieces > 2 * PIECES_MAX && this.isInPieces) {
      this.socket.destroy();
      return false;
    }
    return super.push(chunk, encoding);
  }

  /** As Node does it with what nobody reads, but that its pieces are counted. */
  _dump(): void {
    this.removeAllListeners('data');
    this.resume();
  }
}
