// Lets the groups of a node be written one at a time while it is busy. A statement costs the database almost as much for
// one message as for ten, so one group of ten is cheaper than two groups of five side by side. A group of a node with
// little to do never waits.

import type { Clock } from '../../world.ts';

/** Smaller groups mean little to do, even if one follows the other: each caller may wait for its answer to go on. */
export const BUSY_MESSAGES_MIN = 4;
/**
 * A node is busy for this many times as long as its last group took, and waits this long at most: the group under way
 * may hang. With two times as long, groups were a fifth smaller.
 */
export const WAIT_TIMES_MAX = 4;
/** A group that hung must not make the next ones wait as long. */
export const WAIT_MS_MAX = 100;

/** What a committer remembers of its last group. */
export interface LastGroup {
  readonly messages: number;
  readonly tookMs: number;
  readonly endedAtMs: number;
}

export class WriteTurns {
  readonly #timers: Clock;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(timers: Clock) {
    this.#timers = timers;
  }

  get nowMs(): number {
    return this.#timers.monotonicMs();
  }

  /**
   * Takes a turn, to be ended with `end`. Waits for the group under way first if the last group of the same kind was
   * large and ended just now.
   */
  async begin(last: LastGroup | null): Promise<void> {
    if (last !== null && this.#running > 0 && this.#isBusy(last)) await this.#others(last);
    else this.#running += 1;
  }

  end(): void {
    this.#running -= 1;
    if (this.#running === 0) this.#waiting[0]?.();
  }

  #isBusy({ messages, tookMs, endedAtMs }: LastGroup): boolean {
    return messages >= BUSY_MESSAGES_MIN && this.nowMs - endedAtMs <= WAIT_TIMES_MAX * tookMs;
  }

  /** Who waits has the turn as soon as the other ends: otherwise the other could take it again first. */
  #others({ tookMs }: LastGroup): Promise<void> {
    const msMax = Math.min(WAIT_MS_MAX, WAIT_TIMES_MAX * tookMs);
    return new Promise((resolve) => {
      const go = () => {
        cancel();
        this.#waiting.splice(this.#waiting.indexOf(go), 1);
        this.#running += 1;
        resolve();
      };
      const cancel = this.#timers.after(msMax, go);
      this.#waiting.push(go);
    });
  }
}
