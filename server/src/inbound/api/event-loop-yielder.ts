// Splits long work for an account into short pieces and charges each piece to the account. After each piece, other
// events of the process run first, and so does work for callers that have used less time of the event loop.

import type { LoopTurns, LoopUser } from '../../runtime/loop-turns.ts';

const PIECE_MS = 2;
/** The number of items, or of bytes, after which the clock is read. */
const THINGS_A_LOOK = 16;
const BYTES_A_LOOK = 128 * 1024;
/** Limit for the items in one piece, however fast they are. */
const THINGS_A_PIECE = 250;

export class EventLoopYielder {
  readonly #turns: LoopTurns;
  readonly #user: LoopUser;
  #sinceMs: number;
  #things = 0;
  /** How much was done since the clock was last read. */
  #lookedThings = 0;
  #lookedBytes = 0;

  constructor(turns: LoopTurns, accountId: string) {
    this.#turns = turns;
    this.#user = { key: accountId, isKnown: true };
    this.#sinceMs = turns.nowMs();
  }

  /** Counts the work done. Returns whether it is enough for one turn. */
  isEnough(things: number, bytes: number): boolean {
    this.#things += things;
    if (this.#things >= THINGS_A_PIECE) return true;
    this.#lookedThings += things;
    this.#lookedBytes += bytes;
    if (this.#lookedThings < THINGS_A_LOOK && this.#lookedBytes < BYTES_A_LOOK) return false;
    this.#lookedThings = 0;
    this.#lookedBytes = 0;
    return this.#turns.nowMs() - this.#sinceMs >= PIECE_MS;
  }

  next(): Promise<void> {
    return this.waitFor(this.#turns.next(this.#user));
  }

  /** Waits for a promise. The account is not charged for this time. */
  async waitFor<T>(others: Promise<T>): Promise<T> {
    this.end();
    try {
      return await others;
    } finally {
      this.#sinceMs = this.#turns.nowMs();
    }
  }

  /** Call this after the last piece. */
  end(): void {
    this.#things = 0;
    this.#turns.charge(this.#user, this.#sinceMs);
    this.#turns.restAfter(this.#user, this.#sinceMs);
  }
}
