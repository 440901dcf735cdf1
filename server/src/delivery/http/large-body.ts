// Sends a large body in pieces, so that it is released as soon as the connection has its last piece. An HTTP client
// that gets the whole body keeps it until the response has come, and a receiver may take hours.

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

  /** For undici, which asks for the next piece when the connection can take more. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < this.length; at += PIECE_BYTES) {
      // The body can be sent only once: it is unknown how much of it has arrived.
      if (this.#bytes === null) throw new Error('the body was sent already');
      const isLast = at + PIECE_BYTES >= this.length;
      // The last piece is copied. A view would keep the whole body in memory until the connection has taken it.
      const piece = isLast ? this.#bytes.slice(at) : this.#bytes.subarray(at, at + PIECE_BYTES);
      if (isLast) this.#bytes = null;
      yield piece;
    }
    this.#onWritten();
  }
}
