// Reads the elements of a JSON array one by one while it arrives, so that neither the text nor the value of the array
// is ever in memory as a whole. An element over the limits is reported and not parsed.

import { ApiError } from '../api/errors.ts';
import { GrowingBytes } from '../server/growing-bytes.ts';
import { badJson, parseJsonPart } from './json.ts';
import {
  ARRAY_END,
  ARRAY_START,
  ELEMENT_END,
  isBlank,
  JsonScanner,
  type JsonShape,
  shapeProblem,
} from './json-scanner.ts';

export interface ElementLimits extends JsonShape {
  readonly bytesMax: number;
}

export interface ArrayListener {
  /** Called before the element is read completely. It may throw to stop the reading. */
  begins(index: number): void;
  /** Gets the parsed element. For an element over the limits, `tooMuch` is called instead, with the reason. */
  element(value: unknown): void;
  tooMuch(why: string): void;
}

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
/** How many bytes of a body that is not an array are kept, to say in the error whether the body is JSON at all. */
const OTHER_BYTES_MAX = 64 * 1024;

export class JsonArrayReader {
  readonly #limits: ElementLimits;
  readonly #listener: ArrayListener;
  readonly #scanner = new JsonScanner();
  readonly #kept = new GrowingBytes();
  #state: 'before' | 'inside' | 'after' | 'other' = 'before';
  /** How many bytes were seen before the array, and how many of them were part of a byte order mark. */
  #seen = 0;
  #marksSeen = 0;
  #count = 0;
  /** Whether the current element has a byte that is not a blank. */
  #hasBegun = false;
  #elementBytes = 0;

  constructor(limits: ElementLimits, listener: ArrayListener) {
    this.#limits = limits;
    this.#listener = listener;
  }

  /** Throws an ApiError as soon as the body cannot become valid. Keeps no view of the piece, only copied bytes. */
  push(piece: Uint8Array): void {
    let at = 0;
    if (this.#state === 'before') at = this.#open(piece);
    if (this.#state === 'inside') at = this.#readElements(piece, at);
    if (this.#state === 'after') requireBlank(piece, at);
    if (this.#state === 'other' && this.#kept.length < OTHER_BYTES_MAX) this.#kept.add(piece.subarray(at));
  }

  /** Call this after the last piece. */
  end(): void {
    if (this.#state === 'after') return;
    if (this.#state === 'inside') {
      throw badJson(this.#scanner.isInString ? 'a string has no end' : 'the array has no end');
    }
    if (this.#kept.length < OTHER_BYTES_MAX) parseJsonPart(this.#kept.view());
    throw new ApiError('bad_body', 'the body of a batch is a JSON array of messages');
  }

  /** Finds the bracket that opens the array. Blanks may come before it, and a byte order mark before them. */
  #open(piece: Uint8Array): number {
    for (let at = 0; at < piece.length; at += 1) {
      const byte = piece[at]!;
      if (this.#seen === this.#marksSeen && byte === BYTE_ORDER_MARK[this.#seen]) this.#marksSeen += 1;
      else if (this.#marksSeen > 0 && this.#marksSeen < BYTE_ORDER_MARK.length) throw badJson('it is not UTF-8');
      else if (byte === ARRAY_START) {
        this.#scanner.depth = 1;
        this.#state = 'inside';
        return at + 1;
      } else if (!isBlank(byte)) {
        this.#state = 'other';
        return at;
      }
      this.#seen += 1;
    }
    return piece.length;
  }

  #readElements(piece: Uint8Array, from: number): number {
    let start = from;
    while (start < piece.length) {
      this.#noteBeginning(piece, start);
      const end = this.#scanner.next(piece, start, 1);
      const part = piece.subarray(start, end);
      this.#elementBytes += part.length;
      if (end === piece.length) {
        this.#keep(part);
        return end;
      }
      const isLast = piece[end] !== ELEMENT_END;
      if (isLast && piece[end] !== ARRAY_END) throw badJson('a closing bracket has no opening bracket');
      if (this.#hasBegun) this.#finish(part);
      else if (!isLast || this.#count > 0) throw badJson('an element is missing');
      if (isLast) {
        this.#state = 'after';
        return end + 1;
      }
      start = end + 1;
    }
    return start;
  }

  #noteBeginning(piece: Uint8Array, from: number): void {
    if (this.#hasBegun) return;
    let at = from;
    while (at < piece.length && isBlank(piece[at]!)) at += 1;
    const byte = piece[at];
    if (byte === undefined || byte === ELEMENT_END || byte === ARRAY_END) return;
    this.#hasBegun = true;
    this.#count += 1;
    this.#listener.begins(this.#count - 1);
  }

  #keep(part: Uint8Array): void {
    if (this.#elementBytes > this.#limits.bytesMax) this.#kept.clear();
    else this.#kept.add(part);
  }

  #finish(last: Uint8Array): void {
    const { deepest, values } = this.#scanner;
    const tooLong = this.#elementBytes > this.#limits.bytesMax;
    // The bracket of the array itself counts as one level, so it is subtracted.
    const wrong = tooLong
      ? `it has ${this.#elementBytes} bytes; the limit is ${this.#limits.bytesMax}`
      : shapeProblem(deepest - 1, values, this.#limits);
    if (wrong !== null) this.#listener.tooMuch(wrong);
    else if (this.#kept.length === 0) this.#listener.element(parseJsonPart(last));
    else {
      this.#kept.add(last);
      this.#listener.element(parseJsonPart(this.#kept.view()));
    }
    this.#kept.clear();
    this.#elementBytes = 0;
    this.#hasBegun = false;
    this.#scanner.deepest = 0;
    this.#scanner.values = 0;
  }
}

function requireBlank(piece: Uint8Array, from: number): void {
  for (let at = from; at < piece.length; at += 1) {
    if (!isBlank(piece[at]!)) throw badJson('there is text after the end of the array');
  }
}
