// Work that comes back: done whenever it is due or somebody says that there may be something to do, one run after the
// other, and nothing in between. A run that fails is tried again after a pause. Each loop waits for itself alone.

import type { Clock } from '../world.ts';

/** How long to wait before the store is asked again when it did not answer. */
export const STORE_PAUSE_MS = 1000;

export class Loop {
  readonly #clock: Clock;
  readonly #run: () => Promise<number>;
  readonly #onTrouble: (error: unknown) => void;
  #isStopping = false;
  #isWoken = false;
  #wakeUp: (() => void) | null = null;
  #running: Promise<void> | null = null;

  /** `run` answers in how many milliseconds it wants to run again. */
  constructor(clock: Clock, run: () => Promise<number>, onTrouble: (error: unknown) => void) {
    this.#clock = clock;
    this.#run = run;
    this.#onTrouble = onTrouble;
  }

  /** It waits for the clock, or for somebody to wake it. */
  get isAsleep(): boolean {
    return this.#wakeUp !== null;
  }

  start(): void {
    this.#running = this.#repeat();
  }

  /** It runs as soon as all that has reached the process is dealt with; if it runs now, once more afterwards. */
  wake(): void {
    this.#isWoken = true;
    this.#wakeUp?.();
  }

  /** No run begins any more. Resolves when the one under way is over. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.wake();
    await this.#running;
  }

  async #repeat(): Promise<void> {
    while (!this.#isStopping) {
      this.#isWoken = false;
      let waitMs: number;
      try {
        waitMs = await this.#run();
      } catch (error) {
        this.#onTrouble(error);
        waitMs = STORE_PAUSE_MS;
      }
      if (waitMs > 0) await this.#sleep(waitMs);
    }
  }

  /**
   * Sleeps until woken or for `ms`. A wake-up that came while it ran counts. Whoever else is about to wake it does so
   * before it runs: a run costs the same for one message as for a hundred.
   */
  async #sleep(ms: number): Promise<void> {
    if (this.#isStopping) return;
    await new Promise<void>((resolve) => {
      if (this.#isWoken) return this.#clock.soon(resolve);
      const cancel = this.#clock.after(ms, () => {
        this.#wakeUp = null;
        resolve();
      });
      this.#wakeUp = () => {
        this.#wakeUp = null;
        cancel();
        this.#clock.soon(resolve);
      };
    });
  }
}
