// Schedules go on ticking, whatever the wall clock does: none is silent for long while a node is well, and that of every
// minute never makes up for more than it missed.

import type { SimulatedNode } from './node.ts';

/** Beyond its interval: a step back of the wall clock, the look after it was set back, and a moment at the store. */
const SILENT_MS_MAX = 30_000;
const MINUTE_MS = 60_000;
/** Made before a run begins. Its ticks make no message: that it ticks is all that is looked at. */
export const MINUTE_SCHEDULE = 'scd_minute';
const STORM_WITHIN_MS = 45_000;
/** One in its time, one that was missed, and one more after the clock was set back. */
const STORM_TICKS = 4;

interface Running {
  /** Between two of its ticks. */
  readonly everyMs: number;
  /** When it ticked last, or began to run. */
  sinceMs: number;
}

export class Ticks {
  readonly #report: (violation: string) => void;
  readonly #running = new Map<string, Running>([[MINUTE_SCHEDULE, { everyMs: MINUTE_MS, sinceMs: 0 }]]);
  #ticksAtMs: number[] = [];

  constructor(report: (violation: string) => void) {
    this.#report = report;
  }

  /** A schedule begins to run, or runs at other times; null: it is paused. */
  run(scheduleId: string, everyMs: number | null, nowMs: number): void {
    if (everyMs === null) this.#running.delete(scheduleId);
    else this.#running.set(scheduleId, { everyMs, sinceMs: nowMs });
  }

  tick(scheduleId: string, nowMs: number): void {
    const running = this.#running.get(scheduleId);
    if (running) running.sinceMs = nowMs;
    if (scheduleId === MINUTE_SCHEDULE) this.#countStorm(nowMs);
  }

  #countStorm(nowMs: number): void {
    this.#ticksAtMs = [...this.#ticksAtMs.filter((atMs) => nowMs - atMs < STORM_WITHIN_MS), nowMs];
    if (this.#ticksAtMs.length >= STORM_TICKS) {
      this.#report(`a schedule of every minute ran ${this.#ticksAtMs.length} times within ${STORM_WITHIN_MS} ms`);
    }
  }

  check(nodes: Iterable<SimulatedNode>, nowMs: number): void {
    for (const node of nodes) {
      if (!node.isServing || node.isCutOff) continue;
      for (const [id, running] of this.#running) {
        const silentMs = nowMs - Math.max(running.sinceMs, node.undisturbedSinceMs);
        if (silentMs <= running.everyMs + SILENT_MS_MAX) continue;
        this.#report(`${id}, of every ${running.everyMs} ms, is silent for ${silentMs} ms`);
        running.sinceMs = nowMs;
      }
    }
  }
}
