// Joins pieces of any size into memory of its own. A one-byte piece costs hundreds of bytes as long as it is kept, and
// a view of a larger buffer is sent to the store's thread with the whole buffer.

export class GrowingBytes {
  #memory: Uint8Array;
  #length = 0;

  constructor(expectedBytes = 0) {
    this.#memory = new Uint8Array(expectedBytes);
  }

  get length(): number {
    return this.#length;
  }

  add(piece: Uint8Array): void {
    const needed = this.#length + piece.length;
    if (needed > this.#memory.length) {
      const larger = new Uint8Array(Math.max(needed, this.#memory.length * 2));
      larger.set(this.#memory.subarray(0, this.#length));
      this.#memory = larger;
    }
    this.#memory.set(piece, this.#length);
    this.#length = needed;
  }

  /** The bytes so far. Valid until more is added. */
  view(): Uint8Array {
    return this.#memory.subarray(0, this.#length);
  }

  /** All bytes, in memory that holds nothing else. */
  whole(): Uint8Array {
    return this.#length === this.#memory.length ? this.#memory : this.#memory.slice(0, this.#length);
  }

  clear(): void {
    this.#memory = new Uint8Array(0);
    this.#length = 0;
  }
}
