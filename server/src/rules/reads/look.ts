// Limits how much a list, a search or a count reads, in rows and in bytes of bodies. After one piece, other accounts
// have their turn. After one call, the response ends with a cursor.

import { eachMax } from '../limits/budgets.ts';

export interface Look {
  readonly rows: number;
  /** Bytes of the bodies that are read. */
  readonly bytes: number;
}

/** What one piece may read. */
export function pieceLook(): Look {
  return { rows: eachMax('pieceRows'), bytes: eachMax('pieceBytes') };
}

/** What one call may read. */
export const CALL_LOOK: Look = { rows: 20_000, bytes: 32 * 1024 * 1024 };

/** What the next piece of a call may read, after the call has read this much. Null when the call ends here. */
export function nextLook({ rows, bytes }: Look): Look | null {
  if (rows >= CALL_LOOK.rows || bytes >= CALL_LOOK.bytes) return null;
  const piece = pieceLook();
  return {
    rows: Math.min(piece.rows, CALL_LOOK.rows - rows),
    bytes: Math.min(piece.bytes, CALL_LOOK.bytes - bytes),
  };
}

export function addLooks(one: Look, other: Look): Look {
  return { rows: one.rows + other.rows, bytes: one.bytes + other.bytes };
}

/** Counts the rows and bytes that are read. The first body is always read, however large it is. */
export class Looking {
  readonly #max: Look;
  #rows = 0;
  #bytes = 0;
  #passedBytes = 0;

  constructor(max: Look = CALL_LOOK) {
    this.#max = max;
  }

  /** Whether a body of this size may be read. Call this before reading it. */
  hasRoomFor(bodyBytes: number): boolean {
    return this.#rows === 0 || bodyBytes === 0 || this.#work + bodyBytes <= this.#max.bytes;
  }

  /**
   * Counts one row: `readBytes` of its body were read, and `passedBytes` were passed over. In SQLite, some columns of a
   * message are stored after its body, and reading them costs as much as reading the body.
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

  get looked(): Look {
    return { rows: this.#rows, bytes: this.#bytes };
  }

  get #work(): number {
    return this.#bytes + this.#passedBytes;
  }
}
