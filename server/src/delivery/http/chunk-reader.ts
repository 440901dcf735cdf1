// Reads a chunked body (RFC 9112, 7.1). Extensions are passed over. The guard bounds the bytes and removes the trailers
// before they come here.

import { NotHttpError } from './failure.ts';
import type { ExchangeListener } from './http-client.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SEMICOLON = 0x3b;

/** What comes next. `…Feed`: the line feed after a carriage return. */
type Next = 'size' | 'extension' | 'sizeFeed' | 'data' | 'dataEnd' | 'dataFeed' | 'end' | 'endFeed';

export class ChunkReader {
  #next: Next = 'size';
  #size = 0;
  #hasDigit = false;

  #readData(bytes: Buffer, at: number, exchange: Pick<ExchangeListener, 'onBody'>): number {
    const end = Math.min(bytes.length, at + this.#size);
    this.#size -= end - at;
    if (this.#size === 0) this.#next = 'dataEnd';
    exchange.onBody(bytes.subarray(at, end));
    return end;
  }

  /** Returns null while the body has not ended. When it has ended, returns how many of the bytes come after it. */
  read(bytes: Buffer, exchange: Pick<ExchangeListener, 'onBody'>): number | null {
    let at = 0;
    while (at < bytes.length) {
      if (this.#next === 'data') {
        at = this.#readData(bytes, at, exchange);
      } else if (this.#next === 'extension') {
        at = this.#skipExtension(bytes, at);
      } else {
        const isOver = this.#readByte(bytes[at]!);
        at += 1;
        if (isOver) return bytes.length - at;
      }
    }
    return null;
  }

  #skipExtension(bytes: Buffer, from: number): number {
    for (let at = from; at < bytes.length; at += 1) {
      const byte = bytes[at]!;
      if (byte === LINE_FEED) throw new NotHttpError('a chunk extension ends with an incomplete line break');
      if (byte !== CARRIAGE_RETURN) continue;
      this.#next = 'sizeFeed';
      return at + 1;
    }
    return bytes.length;
  }

  /** Returns whether the body has ended. */
  #readByte(byte: number): boolean {
    switch (this.#next) {
      case 'size':
        this.#readSize(byte);
        return false;
      case 'dataEnd':
        this.#expect(byte, CARRIAGE_RETURN, 'dataFeed');
        return false;
      case 'dataFeed':
        this.#expect(byte, LINE_FEED, 'size');
        this.#hasDigit = false;
        return false;
      case 'sizeFeed':
        this.#expect(byte, LINE_FEED, this.#size === 0 ? 'end' : 'data');
        return false;
      case 'end':
        this.#expect(byte, CARRIAGE_RETURN, 'endFeed');
        return false;
      default:
        this.#expect(byte, LINE_FEED, 'endFeed');
        return true;
    }
  }

  #readSize(byte: number): void {
    const digit = hexDigit(byte);
    if (digit !== -1) {
      this.#size = this.#size * 16 + digit;
      this.#hasDigit = true;
      if (this.#size > Number.MAX_SAFE_INTEGER) throw new NotHttpError('a chunk has an invalid size');
    } else if (!this.#hasDigit) throw new NotHttpError('a chunk has no size');
    else if (byte === CARRIAGE_RETURN) this.#next = 'sizeFeed';
    else if (byte === SEMICOLON) this.#next = 'extension';
    else throw new NotHttpError('a chunk has an invalid size');
  }

  #expect(byte: number, wanted: number, next: Next): void {
    if (byte !== wanted) throw new NotHttpError('a chunk is longer than its size');
    this.#next = next;
  }
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
