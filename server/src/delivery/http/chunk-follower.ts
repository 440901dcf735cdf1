// Follows a chunked body as it passes, to know where its trailers are, how long its extensions are and how many chunks
// it has. It removes the trailers and passes on the rest. A malformed chunk is passed on as well, because the response
// parser refuses it.

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SEMICOLON = 0x3b;
const LINE_BREAK = Buffer.from('\r\n');
/** Limit for the digits of a chunk's length. Further digits (leading zeros) are counted like extensions. */
const SIZE_DIGITS_MAX = 16;

type State = 'size' | 'extension' | 'data' | 'trailers' | 'over';

export class ChunkFollower {
  #state: State = 'size';
  /**
   * While the size line is read: the chunk's length. After it: how many bytes of the chunk are still to come, with the
   * line break at its end.
   */
  #size = 0;
  #sizeDigits = 0;
  /** How many more bytes extensions and trailers may have. */
  #leftBytes: number;
  /** How many more chunks may come. Even a short chunk costs the parser a call. */
  #leftChunks: number;
  /** Length of the current trailer line, without its end. */
  #lineBytes = 0;
  /** The last byte of it, which may have come in an earlier piece. */
  #lineLast = 0;

  constructor(framingBytesMax: number, chunksMax: number) {
    this.#leftBytes = framingBytesMax;
    this.#leftChunks = chunksMax;
  }

  /** Whether there were too many extensions, trailers or chunks: no bytes are read after those already passed on. */
  get isOverLimit(): boolean {
    return this.#leftBytes < 0 || this.#leftChunks < 0;
  }

  get hasTooManyChunks(): boolean {
    return this.#leftChunks < 0;
  }

  #step(bytes: Buffer, at: number): number {
    if (this.#state === 'data') return this.#skipData(bytes, at);
    return this.#state === 'size' ? this.#readSize(bytes, at) : this.#skipExtension(bytes, at);
  }

  /** Returns the bytes that the parser may read. */
  pass(bytes: Buffer): Buffer {
    let at = 0;
    while (at < bytes.length && this.#state !== 'trailers') {
      if (this.#state === 'over') return bytes;
      const from = at;
      at = this.#step(bytes, at);
      if (this.isOverLimit) return bytes.subarray(0, from);
    }
    if (at === bytes.length) return bytes;
    const end = this.#skipTrailers(bytes, at);
    const before = bytes.subarray(0, at);
    return end === null || this.isOverLimit ? before : Buffer.concat([before, LINE_BREAK, bytes.subarray(end)]);
  }

  #skipData(bytes: Buffer, at: number): number {
    const skipped = Math.min(this.#size, bytes.length - at);
    this.#size -= skipped;
    if (this.#size === 0) this.#beginLine();
    return at + skipped;
  }

  #beginLine(): void {
    this.#state = 'size';
    this.#size = 0;
    this.#sizeDigits = 0;
  }

  #readSize(bytes: Buffer, at: number): number {
    const byte = bytes[at]!;
    const digit = Number.parseInt(String.fromCharCode(byte), 16);
    if (!Number.isNaN(digit)) {
      this.#size = this.#size * 16 + digit;
      this.#sizeDigits += 1;
      if (this.#sizeDigits > SIZE_DIGITS_MAX) this.#leftBytes -= 1;
    } else if (byte === LINE_FEED) this.#endLine();
    else if (byte === SEMICOLON) this.#state = 'extension';
    else if (byte !== CARRIAGE_RETURN) this.#state = 'over';
    return at + 1;
  }

  #skipExtension(bytes: Buffer, at: number): number {
    const found = bytes.indexOf(LINE_FEED, at);
    const end = found === -1 ? bytes.length : found + 1;
    this.#leftBytes -= end - at;
    if (found !== -1) this.#endLine();
    return end;
  }

  #endLine(): void {
    if (this.#size > 0) this.#leftChunks -= 1;
    this.#state = this.#size === 0 ? 'trailers' : 'data';
    this.#size += LINE_BREAK.length;
  }

  /** Returns where the empty line that ends the body ends, or null when it has not come. */
  #skipTrailers(bytes: Buffer, from: number): number | null {
    for (let at = from; at < bytes.length; ) {
      const found = bytes.indexOf(LINE_FEED, at);
      const end = found === -1 ? bytes.length : found;
      if (end > at) this.#lineLast = bytes[end - 1]!;
      this.#lineBytes += end - at;
      this.#leftBytes -= end - at;
      if (found === -1) return null;
      at = found + 1;
      const isEmpty = this.#lineBytes === 1 && this.#lineLast === CARRIAGE_RETURN;
      this.#lineBytes = 0;
      if (isEmpty) {
        this.#state = 'over';
        return at;
      }
    }
    return null;
  }
}
