// Lets the groups of a node be written one at a time while it is busy. A statement costs the database almost as much for
// one message as for ten, so one group of ten is cheaper than two groups of five side by side. A group of a node with
// little to do never waits.

import type { Clock } from '../../../runtime/world.ts';

/**
 * A node is busy only if its groups are at least this large. Smaller groups mean little load, even one after another:
 * each caller may wait for its response before it continues.
 */
export const BUSY_MESSAGES_MIN = 4;
/**
 * A node is busy for this many times the duration of its last group. The next group waits at most as long, because the
 * current one may hang. With a factor of two, groups were a fifth smaller.
 */
export const WAIT_TIMES_MAX = 4;
/** Limit for the wait of a group: a group that hung must not make the next ones wait as long as it took. */
export const WAIT_MS_MAX = 100;

/** What is known about the last group of accepts, or about the last group of settlements. */
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
   * Takes a turn, to be ended with `end`. First waits for the current group if the last group of the same kind was
   * large and has just ended.
   */
  async begin(last: LastGroup | null): Promise<void> {
    if (last !== null && this.#running > 0 && isBusy(last, this.nowMs)) await this.#others(last);
    else this.#running += 1;
  }

  end(): void {
    this.#running -= 1;
    if (this.#running === 0) this.#waiting[0]?.();
  }

  /** A waiting group gets the turn as soon as the current one ends: otherwise a later group could take it first. */
  #others(last: LastGroup): Promise<void> {
    return new Promise((resolve) => {
      const go = () => {
        cancel();
        this.#waiting.splice(this.#waiting.indexOf(go), 1);
        this.#running += 1;
        resolve();
      };
      const cancel = this.#timers.after(waitMsMax(last), go);
      this.#waiting.push(go);
    });
  }
}

/** Whether the last group of a kind was large and has just ended. */
export function isBusy({ messages, tookMs, endedAtMs }: LastGroup, nowMs: number): boolean {
  return messages >= BUSY_MESSAGES_MIN && nowMs - endedAtMs <= WAIT_TIMES_MAX * tookMs;
}

/** How long the next group waits at most for the current one. */
export function waitMsMax({ tookMs }: LastGroup): number {
  return Math.min(WAIT_MS_MAX, WAIT_TIMES_MAX * tookMs);
}
