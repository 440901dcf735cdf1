// Keeps the way onto the wire open, a moment at a time, while there are attempts. A process that stood still for longer finds it
// closed when it wakes: what it has not sent is given back and claimed anew, because it may have been cancelled meanwhile.

import type { Clock } from '../world.ts';
import type { Sender } from './sender.ts';

const PULSE_EVERY_MS = 1000;
/** A process that stood still for so long puts nothing on the wire that it had in hand before. */
export const STILL_MS_MAX = 2000;

export class WirePulse {
  readonly #clock: Clock;
  readonly #sender: Pick<Sender, 'mayStartUntil'>;
  readonly #isNeeded: () => boolean;
  /** As far as the last sign of life allows. */
  #untilMs = Number.NEGATIVE_INFINITY;
  #isRunning = false;

  constructor(clock: Clock, sender: Pick<Sender, 'mayStartUntil'>, isNeeded: () => boolean) {
    this.#clock = clock;
    this.#sender = sender;
    this.#isNeeded = isNeeded;
  }

  /** Nothing may be put on the wire after this time, whatever happens. */
  allowUntil(untilMs: number): void {
    this.#untilMs = untilMs;
    this.#open();
  }

  /** To be called before attempts are started. */
  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#open();
    this.#clock.after(PULSE_EVERY_MS, () => this.#again());
  }

  #again(): void {
    this.#isRunning = false;
    if (this.#isNeeded()) this.start();
  }

  #open(): void {
    this.#sender.mayStartUntil(Math.min(this.#untilMs, this.#clock.monotonicMs() + STILL_MS_MAX));
  }
}
