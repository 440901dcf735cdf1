// Says until when requests may be sent: a node owns its claims as long as its heartbeats reach the store. A process
// that was paused, or lost the store, may have lost its claims to another node, and must not send the same messages. So
// the check is made when a request is about to be written, not when its message was claimed.

import { isExpired } from '../../rules/delivery/expiry.ts';
import type { Clock } from '../../runtime/world.ts';

export class WireWindow {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'now'>;
  #untilMs = Number.POSITIVE_INFINITY;

  constructor(clock: Pick<Clock, 'monotonicMs' | 'now'>) {
    this.#clock = clock;
  }

  get isOpen(): boolean {
    return this.#clock.monotonicMs() < this.#untilMs;
  }

  /** Whether a request may be written now whose attempt must start before this time, if it is not null. */
  mayWrite(mustStartBefore: number | null): boolean {
    return this.isOpen && (mustStartBefore === null || !isExpired({ mustStartBefore }, this.#clock.now()));
  }

  /** Returns true if the window was closed: requests that were waiting for it must not be sent any more. */
  extend(untilMs: number): boolean {
    const hadClosed = !this.isOpen;
    this.#untilMs = untilMs;
    return hadClosed;
  }
}
