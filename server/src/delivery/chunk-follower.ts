// Follows a body in chunks as it passes, to know where its trailers are, how much of it is extensions and how many chunks there are. It takes the
// trailers out and leaves the rest as it is; what is no chunk it leaves to the parser behind it, which refuses it.

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SEMICOLON = 0x3b;
const LINE_BREAK = Buffer.from('\r\n');
/** As many as a length needs; more of them, zeros before it, are counted like extensions. */
const SIZE_DIGITS_MAX = 16;

type State = 'size' | 'extension' | 'data' | 'trailers' | 'over';

export class ChunkFollower {
  #state: State = 'size';
  /** Of the chunk: its length, while its line is read; then what is still to come of it, with the line break behind. */
  #size = 0;
  #sizeDigits = 0;
  /** Extensions and trailers may have so many bytes more. */
  #leftBytes: number;
  /** So many chunks more: each one costs the parser behind a call, however short it is. */
  #leftChunks: number;
  /** Of the line of the trailers that is being read, without its end. */
  #lineBytes = 0;

  constructor(framingBytesMax: number, chunksMax: number) {
    this.#leftBytes = framingBytesMax;
    this.#leftChunks = chunksMax;
  }

  /** There were too many extensions, trailers or chunks: nothing behind what was passed on shall be read. */
  get isOverLimit(): boolean {
    return this.#leftBytes < 0 || this.#leftChunks < 0;
  }

  get hasTooManyChunks(): boolean {
    return this.#leftChunks < 0;
  }

  /** What shall be read of these bytes. */
  pass(bytes: Buffer): Buffer {
    let at = 0;
    while (at < bytes.length && this.#state !== 'trailers') {
      if (this.#state === 'over') return bytes;
      const from = at;
      if (this.#state === 'data') at = this.#skipData(bytes, at);
      else if (this.#state === 'size') at = this.#readSize(bytes, at);
      else at = this.#skipExtension(bytes, at);
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

  /** Answers where the empty line ends that ends the body, or null when it has not come. */
  #skipTrailers(bytes: Buffer, from: number): number | null {
    for (let at = from; at < bytes.length; ) {
      const found = bytes.indexOf(LINE_FEED, at);
      const end = found === -1 ? bytes.length : found;
      const last = end > at ? bytes[end - 1] : undefined;
      this.#lineBytes += end - at;
      this.#leftBytes -= end - at;
      if (found === -1) return null;
      at = found + 1;
      const isEmpty = this.#lineBytes === 1 && (last === undefined || last === CARRIAGE_RETURN);
      this.#lineBytes = 0;
      if (isEmpty) {
        this.#state = 'over';
        return at;
      }
    }
    return null;
  }
}
