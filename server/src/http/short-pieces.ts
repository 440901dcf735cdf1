// Splits long work for an account into short pieces: after a number of items or bytes, everything else that has reached the
// process runs first, and callers that have used less of the event loop's time. Each piece counts for the account.

import type { LoopTurns, LoopUser } from './loop-turns.ts';

const THINGS_A_TURN = 250;
const BYTES_A_TURN = 1024 * 1024;

export class ShortPieces {
  readonly #turns: LoopTurns;
  readonly #user: LoopUser;
  #sinceMs: number;
  #things = 0;
  #bytes = 0;

  constructor(turns: LoopTurns, accountId: string) {
    this.#turns = turns;
    this.#user = { key: accountId, isKnown: true };
    this.#sinceMs = turns.nowMs();
  }

  /** Counts the work done, and returns whether it is enough for one turn. */
  isEnough(things: number, bytes: number): boolean {
    this.#things += things;
    this.#bytes += bytes;
    return this.#things >= THINGS_A_TURN || this.#bytes >= BYTES_A_TURN;
  }

  next(): Promise<void> {
    return this.waitFor(this.#turns.next(this.#user));
  }

  /** A wait for others does not count. */
  async waitFor<T>(others: Promise<T>): Promise<T> {
    this.end();
    const result = await others;
    this.#sinceMs = this.#turns.nowMs();
    return result;
  }

  /** The last piece is done. */
  end(): void {
    this.#things = 0;
    this.#bytes = 0;
    this.#turns.charge(this.#user, this.#sinceMs);
  }
}
