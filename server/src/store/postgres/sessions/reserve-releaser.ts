// Handles a write that finds no space on the disk of the database: releases the reserve, notifies the other nodes, and
// runs the write again.

import type { Clock } from '../../../runtime/world.ts';

/** How long to wait before the reserve is released again, if a release did not help. */
const AGAIN_MS = 1000;

export interface ReserveReleaserOptions {
  readonly timers: Clock;
  /** Returns whether there was a reserve to release. */
  readonly release: () => Promise<boolean>;
  readonly onReleased: () => void;
}

/** Releases the reserve of the database for a write that found no space. */
export class ReserveReleaser {
  readonly #options: ReserveReleaserOptions;
  #releasing: Promise<void> | null = null;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  /** How often space was released, by any node. */
  #times = 0;

  constructor(options: ReserveReleaserOptions) {
    this.#options = options;
  }

  /** How often space was released. Read this before a write, and give it to `makeRoom` if the write finds no space. */
  get times(): number {
    return this.#times;
  }

  /** Notes that another node has released the reserve. */
  noteReleased(): void {
    this.#times += 1;
  }

  /**
   * Call this when a write found no space. `times` is the value before the write. Resolves to whether there may be
   * space now.
   */
  async makeRoom(times: number): Promise<boolean> {
    if (times === this.#times) await this.#release();
    return times !== this.#times;
  }

  #release(): Promise<void> {
    const { timers } = this.#options;
    if (this.#releasing === null && timers.monotonicMs() - this.#triedAtMs >= AGAIN_MS) {
      this.#releasing = this.#tryToRelease().finally(() => {
        this.#releasing = null;
        this.#triedAtMs = timers.monotonicMs();
      });
    }
    return this.#releasing ?? Promise.resolve();
  }

  async #tryToRelease(): Promise<void> {
    try {
      const wasThere = await this.#options.release();
      // If there was none, another node has just released it, or has stopped trying to create it.
      this.#times += 1;
      if (wasThere) this.#options.onReleased();
    } catch {
      // The write fails with its own error, and the next one tries again.
    }
  }
}
