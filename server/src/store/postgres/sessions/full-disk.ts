// What a node does when a write finds no space on the disk of the database: it gives up the reserve, tells the other nodes,
// and runs the write again.

import type { Clock } from '../../../runtime/world.ts';

/** If giving it up did not help, it is not tried more often than this. */
const AGAIN_MS = 1000;

export interface FullDiskOptions {
  readonly timers: Clock;
  /** Returns whether there was something to give up. */
  readonly giveUp: () => Promise<boolean>;
  readonly onGivenUp: () => void;
}

export class FullDisk {
  readonly #options: FullDiskOptions;
  #givingUp: Promise<void> | null = null;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  /** How often space was given back, by any node. */
  #times = 0;

  constructor(options: FullDiskOptions) {
    this.#options = options;
  }

  /** To be read before a write. */
  get times(): number {
    return this.#times;
  }

  /** Another node has given it up. */
  noteGivenUp(): void {
    this.#times += 1;
  }

  /** A write found no space, and began when `times` was this. Resolves to whether there may be space now. */
  async makeRoom(times: number): Promise<boolean> {
    if (times === this.#times) await this.#giveUp();
    return times !== this.#times;
  }

  #giveUp(): Promise<void> {
    const { timers } = this.#options;
    if (this.#givingUp === null && timers.monotonicMs() - this.#triedAtMs >= AGAIN_MS) {
      this.#givingUp = this.#tryToGiveUp().finally(() => {
        this.#givingUp = null;
        this.#triedAtMs = timers.monotonicMs();
      });
    }
    return this.#givingUp ?? Promise.resolve();
  }

  async #tryToGiveUp(): Promise<void> {
    try {
      const wasThere = await this.#options.giveUp();
      // If it was not there, another node has given it up just now, or one has stopped trying to make it.
      this.#times += 1;
      if (wasThere) this.#options.onGivenUp();
    } catch {
      // The write that needed it fails as it did, and the next one tries again.
    }
  }
}
