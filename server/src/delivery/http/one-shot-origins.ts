// Remembers for a minute the origins whose connections serve only one request: they closed a connection right after its
// first response without saying so, or sent bytes without a request. The next request on such a connection could be
// lost, or get the wrong response.

import { laneMax } from '../../runtime/lane-part.ts';

const ONE_SHOT_MS = 60_000;
/**
 * A receiver that serves one request on a connection closes it within this time after the response. A receiver that
 * keeps connections closes them after a second or more.
 */
const CLOSED_AT_ONCE_MS = 100;

/** How a connection ended. */
export interface ConnectionEnd {
  /** How many responses were read on the connection. */
  readonly servedCount: number;
  readonly idleMs: number;
  /** Whether bytes came while no response was pending. */
  readonly isUnasked: boolean;
}

export class OneShotOrigins {
  /** When each entry expires, the oldest first. */
  readonly #untilMs = new Map<string, number>();

  has(origin: string, nowMs: number): boolean {
    // Usually no origin is remembered.
    if (this.#untilMs.size === 0) return false;
    const untilMs = this.#untilMs.get(origin);
    if (untilMs === undefined) return false;
    if (untilMs > nowMs) return true;
    this.#untilMs.delete(origin);
    return false;
  }

  /** Returns whether connections to the origin are now known to serve only one request. */
  note(origin: string, { servedCount, idleMs, isUnasked }: ConnectionEnd, nowMs: number): boolean {
    if (!isUnasked && (servedCount !== 1 || idleMs > CLOSED_AT_ONCE_MS)) return false;
    this.#untilMs.delete(origin);
    this.#untilMs.set(origin, nowMs + ONE_SHOT_MS);
    if (this.#untilMs.size > laneMax('oneShotOrigins')) this.#untilMs.delete(this.#untilMs.keys().next().value!);
    return true;
  }
}
