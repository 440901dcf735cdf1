// Choices that repeat from a seed: what is published, when a process is killed, which sectors survive a power cut.

import type { Random } from '../../src/world.ts';
import { seededRandom } from '../manual-clock.ts';

export class Chance {
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  /** From 0 up to, but not including, 1. */
  fraction(): number {
    return new DataView(this.#random.bytes(4).buffer).getUint32(0) / 2 ** 32;
  }

  /** A whole number from 0 to `limit` - 1. */
  below(limit: number): number {
    return Math.floor(this.fraction() * limit);
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  happens(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }
}

/** From the environment when a run is to be repeated, else from the clock; the caller prints it. */
export function chooseSeed(): number {
  const given = process.env.CRASH_SEED;
  return given ? Number(given) : Date.now() % 1_000_000_000;
}
