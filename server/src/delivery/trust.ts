// Whether this node's claims are its own. They are as long as its signs of life reach the store; a node that was not
// heard of for too long may have lost them to another, and must give back what it has not sent before it goes on.

import type { Clock } from '../world.ts';

/** A sign of life, to be given again and again; answers in how many milliseconds the next is due. */
export interface Heartbeat {
  /** No attempt may start unless one that began less than this ago has reached the store. */
  readonly goodForMs: number;
  /** No request may be put on the wire unless one that began less than this ago has reached the store. */
  readonly wireForMs: number;
  /** Whether the time of this node is right enough to claim by. */
  isTimeRight(): boolean;
  run(): Promise<number>;
}

export class Trust {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #goodForMs: number;
  #heardOfAtMs = Number.NEGATIVE_INFINITY;
  #lapses = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>, goodForMs: number) {
    this.#clock = clock;
    this.#goodForMs = goodForMs;
  }

  get isGood(): boolean {
    return this.#clock.monotonicMs() - this.#heardOfAtMs < this.#goodForMs;
  }

  /** How often it was lost and found again: what was claimed before a lapse may be somebody else's since. */
  get lapses(): number {
    return this.#lapses;
  }

  /** A sign of life that was sent at this time has reached the store. */
  renew(sentAtMs: number): void {
    if (!this.isGood) this.#lapses += 1;
    this.#heardOfAtMs = sentAtMs;
  }
}
