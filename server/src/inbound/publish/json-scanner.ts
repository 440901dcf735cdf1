// Scans JSON as bytes before it is parsed: how deep it nests, how many values it has, and where the elements of an
// array begin and end. The scanner knows strings and brackets only. JSON.parse checks the rest of the grammar.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** The limits of one JSON value: its depth and its number of values. */
export interface JsonShape {
  readonly depthMax: number;
  readonly valuesMax: number;
}

/** Scans JSON in pieces, which may be cut anywhere. */
export class JsonScanner {
  /** How many brackets are open now. */
  depth = 0;
  /** The deepest nesting so far. The caller resets it. */
  deepest = 0;
  /** How many keys and values there are. The first one of each object or array is not counted. */
  values = 0;
  #isInString = false;
  #isEscaped = false;

  get isInString(): boolean {
    return this.#isInString;
  }

  /**
   * Scans from `from` to the next comma at the depth `level`, or to the bracket that closes this depth. Returns the
   * index of that byte, or the length of the piece when it has no such byte.
   */
  next(piece: Uint8Array, from: number, level: number): number {
    const { length } = piece;
    let at = from;
    while (at < length) {
      if (this.#isInString) {
        at = this.#skipString(piece, at);
        continue;
      }
      switch (piece[at]) {
        case QUOTE:
          this.#isInString = true;
          break;
        case COMMA:
          if (this.depth === level) return at;
          this.values += 1;
          break;
        case COLON:
          this.values += 1;
          break;
        case OPEN_ARRAY:
        case OPEN_OBJECT:
          this.#open();
          break;
        case CLOSE_ARRAY:
        case CLOSE_OBJECT:
          this.depth -= 1;
          if (this.depth < level) return at;
          break;
        default:
      }
      at += 1;
    }
    return length;
  }

  #open(): void {
    this.values += 1;
    this.depth += 1;
    if (this.depth > this.deepest) this.deepest = this.depth;
  }

  /** Returns where the string ends, or the end of the piece. */
  #skipString(piece: Uint8Array, from: number): number {
    const { length } = piece;
    let at = from;
    if (this.#isEscaped && at < length) {
      this.#isEscaped = false;
      at += 1;
    }
    while (at < length) {
      const byte = piece[at]!;
      if (byte === QUOTE) {
        this.#isInString = false;
        return at + 1;
      }
      if (byte === BACKSLASH) {
        at += 1;
        if (at === length) this.#isEscaped = true;
      }
      at += 1;
    }
    return length;
  }
}

/** Why a value is too large or too deep for JSON.parse, or null. */
export function shapeProblem(deepest: number, values: number, { depthMax, valuesMax }: JsonShape): string | null {
  if (deepest > depthMax) return `it is nested ${deepest} levels deep; the limit is ${depthMax}`;
  if (values > valuesMax) return `it has ${values} keys and values; the limit is ${valuesMax}`;
  return null;
}

export function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

export const ARRAY_START = OPEN_ARRAY;
export const ARRAY_END = CLOSE_ARRAY;
export const ELEMENT_END = COMMA;
