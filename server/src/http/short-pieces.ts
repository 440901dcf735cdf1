// Splits long work into short pieces: after a number of items or bytes, everything else that has reached the process
// runs first.

import type { Clock } from '../world.ts';

const THINGS_A_TURN = 250;
const BYTES_A_TURN = 1024 * 1024;

export class ShortPieces {
  readonly #clock: Pick<Clock, 'soon'>;
  #things = 0;
  #bytes = 0;

  constructor(clock: Pick<Clock, 'soon'>) {
    this.#clock = clock;
  }

  /** Counts the work done, and returns whether it is enough for one turn. */
  isEnough(things: number, bytes: number): boolean {
    this.#things += things;
    this.#bytes += bytes;
    return this.#things >= THINGS_A_TURN || this.#bytes >= BYTES_A_TURN;
  }

  next(): Promise<void> {
    this.#things = 0;
    this.#bytes = 0;
    return new Promise((resolve) => this.#clock.soon(resolve));
  }
}
