// Limits how much a list, a search or a count reads, in rows and in bytes of bodies. Each is read in pieces, and other
// accounts have their turn between two pieces. At the limit for a call, its response ends with a cursor.

import { eachMax } from '../limits/budgets.ts';

export interface ReadAmount {
  readonly rows: number;
  /** Bytes of the bodies that are read. */
  readonly bytes: number;
}

/** How much one piece may read. */
export function pieceReadMax(): ReadAmount {
  return { rows: eachMax('pieceRows'), bytes: eachMax('pieceBytes') };
}

/** How much one call may read. */
export const CALL_READ_MAX: ReadAmount = { rows: 20_000, bytes: 32 * 1024 * 1024 };

/** How much the next piece of a call may read, after the call has read `rows` and `bytes`. Null: no further piece. */
export function nextReadMax({ rows, bytes }: ReadAmount): ReadAmount | null {
  if (rows >= CALL_READ_MAX.rows || bytes >= CALL_READ_MAX.bytes) return null;
  const piece = pieceReadMax();
  return {
    rows: Math.min(piece.rows, CALL_READ_MAX.rows - rows),
    bytes: Math.min(piece.bytes, CALL_READ_MAX.bytes - bytes),
  };
}

export function addReadAmounts(one: ReadAmount, other: ReadAmount): ReadAmount {
  return { rows: one.rows + other.rows, bytes: one.bytes + other.bytes };
}

/** Counts the rows and bytes that are read. The first body is always read, however large it is. */
export class ReadCounter {
  readonly #max: ReadAmount;
  #rows = 0;
  #bytes = 0;
  #passedBytes = 0;

  constructor(max: ReadAmount = CALL_READ_MAX) {
    this.#max = max;
  }

  /** Whether a body of this size may be read. Call this before reading it. */
  hasRoomFor(bodyBytes: number): boolean {
    return this.#rows === 0 || bodyBytes === 0 || this.#work + bodyBytes <= this.#max.bytes;
  }

  /**
   * Counts one row, of whose body `readBytes` were read and `passedBytes` were skipped. Skipped bytes count towards the
   * limit: SQLite stores some columns after the body, and reading these costs as much as reading the body.
   */
  add(readBytes: number, passedBytes = 0): void {
    this.#rows += 1;
    this.#bytes += readBytes;
    this.#passedBytes += passedBytes;
  }

  get isEnough(): boolean {
    return this.#rows >= this.#max.rows || this.#work >= this.#max.bytes;
  }

  /** How many more rows may be read. */
  get rowsLeft(): number {
    return Math.max(0, this.#max.rows - this.#rows);
  }

  get looked(): ReadAmount {
    return { rows: this.#rows, bytes: this.#bytes };
  }

  get #work(): number {
    return this.#bytes + this.#passedBytes;
  }
}
