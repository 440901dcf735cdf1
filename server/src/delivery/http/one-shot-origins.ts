// The origins whose connections serve only one request, for a minute: they closed a connection right after its first
// response without saying so, or sent bytes without a request. The next request on such a connection could be lost, or
// get the wrong response.

import { laneMax } from '../../runtime/lane-part.ts';

const ONE_SHOT_MS = 60_000;
/** Receivers that keep connections close them after a second or more, not at once. */
const CLOSED_AT_ONCE_MS = 100;

/** How a connection that had served ended. */
export interface Loss {
  /** How many responses were read on it. */
  readonly servedCount: number;
  readonly idleMs: number;
  /** Bytes came while no response was pending. */
  readonly isUnasked: boolean;
}

export class OneShotOrigins {
  /** When each entry expires, the oldest first. */
  readonly #untilMs = new Map<string, number>();

  has(origin: string, nowMs: number): boolean {
    // The usual case.
    if (this.#untilMs.size === 0) return false;
    const untilMs = this.#untilMs.get(origin);
    if (untilMs === undefined) return false;
    if (untilMs > nowMs) return true;
    this.#untilMs.delete(origin);
    return false;
  }

  /** Returns whether the origin is one of them now. */
  note(origin: string, { servedCount, idleMs, isUnasked }: Loss, nowMs: number): boolean {
    if (!isUnasked && (servedCount !== 1 || idleMs > CLOSED_AT_ONCE_MS)) return false;
    this.#untilMs.delete(origin);
    this.#untilMs.set(origin, nowMs + ONE_SHOT_MS);
    if (this.#untilMs.size > laneMax('oneShotOrigins')) this.#untilMs.delete(this.#untilMs.keys().next().value!);
    return true;
  }
}
