// Splits long work for an account into short pieces. After each piece, everything else that has reached the process
// runs first, and so do callers that have used less time of the event loop. Each piece is charged to the account.

import type { LoopTurns, LoopUser } from '../../runtime/loop-turns.ts';

const PIECE_MS = 2;
/** The clock is read after this many items, or bytes. */
const THINGS_A_LOOK = 16;
const BYTES_A_LOOK = 128 * 1024;
/** The most items in one piece, however fast they are. */
const THINGS_A_PIECE = 250;

export class EventLoopYielder {
  readonly #turns: LoopTurns;
  readonly #user: LoopUser;
  #sinceMs: number;
  #things = 0;
  /** Since the clock was last read. */
  #lookedThings = 0;
  #lookedBytes = 0;

  constructor(turns: LoopTurns, accountId: string) {
    this.#turns = turns;
    this.#user = { key: accountId, isKnown: true };
    this.#sinceMs = turns.nowMs();
  }

  /** Counts the work done, and returns whether it is enough for one turn. */
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

  /** Time spent waiting for others is not charged. */
  async waitFor<T>(others: Promise<T>): Promise<T> {
    this.end();
    const result = await others;
    this.#sinceMs = this.#turns.nowMs();
    return result;
  }

  /** The last piece is done. */
  end(): void {
    this.#things = 0;
    this.#turns.charge(this.#user, this.#sinceMs);
    this.#turns.restAfter(this.#user, this.#sinceMs);
  }
}
