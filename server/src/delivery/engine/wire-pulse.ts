// While there are attempts, repeatedly allows new requests for a short time ahead. If the process was paused for
// longer, the allowed time has passed when it continues. Unsent messages are then released and claimed again, because
// they may have been cancelled meanwhile.

import type { Claim } from '../../rules/delivery/message.ts';
import type { Clock } from '../../runtime/world.ts';
import type { Sender } from './sender.ts';

const PULSE_EVERY_MS = 1000;
/** After a pause of this length, the process sends nothing that it had claimed before. */
export const STILL_MS_MAX = 2000;

/** Whether one of the claims took longer than `STILL_MS_MAX` to get here. */
export function areLate(claims: readonly Claim[], now: number): boolean {
  return claims.some(({ message: { claimedAt } }) => claimedAt !== null && claimedAt < now - STILL_MS_MAX);
}

export class WirePulse {
  readonly #clock: Clock;
  readonly #sender: Pick<Sender, 'mayStartUntil'>;
  readonly #isNeeded: () => boolean;
  /** The limit set by the last heartbeat. */
  #untilMs = Number.NEGATIVE_INFINITY;
  #isRunning = false;

  constructor(clock: Clock, sender: Pick<Sender, 'mayStartUntil'>, isNeeded: () => boolean) {
    this.#clock = clock;
    this.#sender = sender;
    this.#isNeeded = isNeeded;
  }

  /** Nothing may be written to the network after this time. */
  allowUntil(untilMs: number): void {
    this.#untilMs = untilMs;
    this.#open();
  }

  /** Call this before attempts are started. */
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
