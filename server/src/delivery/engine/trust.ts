// Whether this node still owns its claims. It does as long as its heartbeats reach the store. After too long without a
// heartbeat, another node may own them, and this node must release what it has not sent before it continues.

import type { Clock } from '../../runtime/world.ts';

/** A heartbeat that is sent again and again. `run` returns in how many milliseconds the next one is due. */
export interface Heartbeat {
  /** An attempt may start only if a heartbeat that began less than this ago has reached the store. */
  readonly goodForMs: number;
  /**
   * A request may be written to the network only if a heartbeat that began less than this ago has reached the store.
   */
  readonly wireForMs: number;
  /** Whether this node's time is accurate enough for claims. */
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

  /** How often trust was lost and regained. Another node may own claims from before the last lapse. */
  get lapses(): number {
    return this.#lapses;
  }

  /** Call this when a heartbeat that was sent at this time has reached the store. */
  renew(sentAtMs: number): void {
    if (!this.isGood) this.#lapses += 1;
    this.#heardOfAtMs = sentAtMs;
  }
}
