// A request that counts the pieces of its body. Each piece costs a call of the parser, however short it is: a body in
// one-byte chunks costs a hundred times as much as its bytes, even when its content is no longer wanted.

import { IncomingMessage } from 'node:http';
import { eachMax } from '../domain/budgets.ts';

const PIECES_MAX = eachMax('bodyPieces');
/** The average size below which pieces count as short. */
const PIECE_BYTES_MIN = 16;

export class CountedRequest extends IncomingMessage {
  #pieces = 0;
  #bytes = 0;

  /** It came in more short pieces than we accept. */
  get isInPieces(): boolean {
    return this.#pieces > PIECES_MAX && this.#bytes < this.#pieces * PIECE_BYTES_MIN;
  }

  override push(chunk: Uint8Array | null, encoding?: BufferEncoding): boolean {
    if (chunk === null) return super.push(chunk, encoding);
    this.#pieces += 1;
    this.#bytes += chunk.length;
    // A caller that goes on after that has been refused, or sends so much at once that no response reaches it in time.
    if (this.#pieces > 2 * PIECES_MAX && this.isInPieces) {
      this.socket.destroy();
      return false;
    }
    return super.push(chunk, encoding);
  }

  /** Like Node's own version, which drops a body that is not read, but the pieces are counted. */
  _dump(): void {
    this.removeAllListeners('data');
    this.resume();
  }
}
