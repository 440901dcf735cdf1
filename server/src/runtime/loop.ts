// A loop for repeated work: it runs when its time comes or when it is woken, one run after the other. A failed run is
// repeated after a pause. No loop waits for another one.

import type { Clock } from './world.ts';

/** How long to wait before the next try when the store did not respond. */
export const STORE_PAUSE_MS = 1000;

/** The timers that a loop uses to wait for its next run. */
export type WaitTimers = Pick<Clock, 'after'>;

/**
 * Timers that use `dueTimers` for waits shorter than `dueBelowMs`, because these wait for something that becomes due.
 * All other waits are in real time.
 */
export function waitTimers(clock: Clock, dueTimers: WaitTimers, dueBelowMs: number): WaitTimers {
  return { after: (ms, fire) => (ms < dueBelowMs ? dueTimers : clock).after(ms, fire) };
}

/** Repeats a call until it succeeds. `onTrouble` gets every failure; if it throws, the repetition ends. */
export async function untilSuccess<T>(
  clock: Clock,
  ask: () => Promise<T>,
  onTrouble: (error: unknown) => void,
): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      onTrouble(error);
      await new Promise<void>((resolve) => clock.after(STORE_PAUSE_MS, resolve));
    }
  }
}

export class Loop {
  readonly #clock: Clock;
  readonly #waits: WaitTimers;
  readonly #run: () => Promise<number>;
  readonly #onTrouble: (error: unknown) => void;
  #isStopping = false;
  #isWoken = false;
  #hasFailed = false;
  #wakeUp: (() => void) | null = null;
  #running: Promise<void> | null = null;

  /**
   * `run` returns in how many milliseconds it must be called again. `waits` has the timer for this wait, but the pause
   * after a failure is in real time.
   */
  constructor(
    clock: Clock,
    run: () => Promise<number>,
    onTrouble: (error: unknown) => void,
    waits: WaitTimers = clock,
  ) {
    this.#clock = clock;
    this.#waits = waits;
    this.#run = run;
    this.#onTrouble = onTrouble;
  }

  /** Whether the loop waits for its time or for a wake-up. */
  get isAsleep(): boolean {
    return this.#wakeUp !== null;
  }

  /** Whether the loop has nothing to do: it waits, but not because its last run has failed. */
  get isDone(): boolean {
    return this.isAsleep && !this.#hasFailed;
  }

  start(): void {
    this.#running = this.#repeat();
  }

  /** The loop runs after everything that has already reached the process. If it is running, one more run follows. */
  wake(): void {
    this.#isWoken = true;
    this.#wakeUp?.();
  }

  /** Starts no further run. Resolves when the current run is over. */
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
        this.#hasFailed = false;
      } catch (error) {
        this.#onTrouble(error);
        this.#hasFailed = true;
        waitMs = STORE_PAUSE_MS;
      }
      if (waitMs > 0) await this.#sleep(waitMs);
    }
  }

  /**
   * Sleeps until woken or for `ms`. A wake-up during the last run counts. After a wake-up, the loop first lets other
   * wake-ups of this turn arrive: a run costs the same for one message as for a hundred.
   */
  async #sleep(ms: number): Promise<void> {
    if (this.#isStopping) return;
    await new Promise<void>((resolve) => {
      if (this.#isWoken) return this.#clock.soon(resolve);
      const timers = this.#hasFailed ? this.#clock : this.#waits;
      const cancel = timers.after(ms, () => {
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
