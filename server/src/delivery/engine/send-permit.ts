// While there are attempts, repeatedly allows new requests for a short time ahead. If the process was paused for
// longer, the allowed time has passed when it continues. Unsent messages are then released and claimed again, because
// they may have been cancelled meanwhile.

import type { Claim } from '../../rules/delivery/message.ts';
import type { Clock } from '../../runtime/world.ts';
import type { Sender } from './sender.ts';

const EXTEND_EVERY_MS = 1000;
/** After a pause of this length, the process sends nothing that it had claimed before. */
export const PROCESS_PAUSE_MS_MAX = 2000;

/** Whether one of the claims took longer than `PROCESS_PAUSE_MS_MAX` from the store to the engine. */
export function isAnyLate(claims: readonly Claim[], now: number): boolean {
  return claims.some(({ message: { claimedAt } }) => claimedAt !== null && claimedAt < now - PROCESS_PAUSE_MS_MAX);
}

/** Permits the sender, again and again and for a short time each, to write requests to the network. */
export class SendPermit {
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

  /** After this time (monotonic), no request may be written to the network. */
  allowUntil(untilMs: number): void {
    this.#untilMs = untilMs;
    this.#extend();
  }

  /** Call this before attempts are started. */
  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#extend();
    this.#clock.after(EXTEND_EVERY_MS, () => this.#again());
  }

  #again(): void {
    this.#isRunning = false;
    if (this.#isNeeded()) this.start();
  }

  #extend(): void {
    this.#sender.mayStartUntil(Math.min(this.#untilMs, this.#clock.monotonicMs() + PROCESS_PAUSE_MS_MAX));
  }
}
