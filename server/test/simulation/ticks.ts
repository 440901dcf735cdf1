// A schedule of every minute goes on ticking, whatever the wall clock does: it is never silent for long while a node is
// well, and never makes up for more than it missed.

import type { SimulatedNode } from './node.ts';

/** A minute, a step back of the wall clock, the look after it was set back, and a moment at the store. */
const SILENT_MS_MAX = 90_000;
const STORM_WITHIN_MS = 45_000;
/** One in its time, one that was missed, and one more after the clock was set back. */
const STORM_TICKS = 4;

export class Ticks {
  readonly #report: (violation: string) => void;
  #ticksAtMs: number[] = [];

  constructor(report: (violation: string) => void) {
    this.#report = report;
  }

  tick(nowMs: number): void {
    this.#ticksAtMs = [...this.#ticksAtMs.filter((atMs) => nowMs - atMs < STORM_WITHIN_MS), nowMs];
    if (this.#ticksAtMs.length >= STORM_TICKS) {
      this.#report(`a schedule of every minute ran ${this.#ticksAtMs.length} times within ${STORM_WITHIN_MS} ms`);
    }
  }

  check(nodes: Iterable<SimulatedNode>, nowMs: number): void {
    const lastMs = this.#ticksAtMs.at(-1) ?? 0;
    for (const node of nodes) {
      if (!node.isServing || node.isCutOff) continue;
      const silentMs = nowMs - Math.max(lastMs, node.undisturbedSinceMs);
      if (silentMs <= SILENT_MS_MAX) continue;
      this.#report(`a schedule of every minute is silent for ${silentMs} ms`);
      this.#ticksAtMs.push(nowMs);
    }
  }
}
