// Joins pieces of any size in one block of memory. To keep the pieces instead would take more: a kept piece of one byte
// takes hundreds of bytes, and a piece that is a view of a larger buffer keeps that whole buffer in memory.

const NOTHING = new Uint8Array(0);

export class GrowingBytes {
  readonly #expectedBytes: number;
  #memory: Uint8Array = NOTHING;
  #length = 0;

  constructor(expectedBytes = 0) {
    this.#expectedBytes = expectedBytes;
  }

  get length(): number {
    return this.#length;
  }

  /** Adds a piece. The caller must not change it afterwards: a piece with all expected bytes is kept, not copied. */
  add(piece: Uint8Array): void {
    const needed = this.#length + piece.length;
    if (needed === this.#expectedBytes && this.#length === 0 && piece.byteLength === piece.buffer.byteLength) {
      this.#memory = piece;
      this.#length = needed;
      return;
    }
    if (needed > this.#memory.length) {
      const larger = new Uint8Array(Math.max(needed, this.#expectedBytes, this.#memory.length * 2));
      larger.set(this.#memory.subarray(0, this.#length));
      this.#memory = larger;
    }
    this.#memory.set(piece, this.#length);
    this.#length = needed;
  }

  /** The bytes so far. The view is valid until more bytes are added. */
  view(): Uint8Array {
    return this.#memory.subarray(0, this.#length);
  }

  /** All bytes, in memory that holds nothing else. */
  whole(): Uint8Array {
    return this.#length === this.#memory.length ? this.#memory : this.#memory.slice(0, this.#length);
  }

  clear(): void {
    this.#memory = NOTHING;
    this.#length = 0;
  }
}
