// A large body on its way out, in pieces, so that it is let go as soon as the last of it is with the connection: what an
// HTTP client is given whole it keeps until the answer has come, and a receiver may take hours over that.

const PIECE_BYTES = 64 * 1024;

export class LargeBody {
  readonly length: number;
  #bytes: Uint8Array | null;
  readonly #onWritten: () => void;

  constructor(bytes: Uint8Array, onWritten: () => void) {
    this.length = bytes.length;
    this.#bytes = bytes;
    this.#onWritten = onWritten;
  }

  /** For undici, which asks for the next piece when the connection takes more. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < this.length; at += PIECE_BYTES) {
      // It can be sent once: nobody knows how much of it has arrived.
      if (this.#bytes === null) throw new Error('the body was sent already');
      const isLast = at + PIECE_BYTES >= this.length;
      // The last is copied: until the connection has taken it, it would keep all of the others.
      const piece = isLast ? this.#bytes.slice(at) : this.#bytes.subarray(at, at + PIECE_BYTES);
      if (isLast) this.#bytes = null;
      yield piece;
    }
    this.#onWritten();
  }
}
