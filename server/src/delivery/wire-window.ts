// Until when requests may be put on the wire. A node's claims are its own as long as its signs of life reach the store;
// a process that stood still, or lost the store, may have lost them to another node, and must not send what that one
// sends as well. So the last look is taken when a request is about to be written, not when it was claimed.

import type { Clock } from '../world.ts';

export class WireWindow {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #untilMs = Number.POSITIVE_INFINITY;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  get isOpen(): boolean {
    return this.#clock.monotonicMs() < this.#untilMs;
  }

  /** Answers whether it had closed before: what was waiting to start then must not start any more. */
  extend(untilMs: number): boolean {
    const hadClosed = !this.isOpen;
    this.#untilMs = untilMs;
    return hadClosed;
  }
}
