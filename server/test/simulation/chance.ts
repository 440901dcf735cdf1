// Seeded dice: all that is random in a simulated run comes from one of these.

import type { Random } from '../../src/runtime/world.ts';
import { seededRandom } from '../support/manual-clock.ts';

export class Chance implements Random {
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  bytes(length: number): Uint8Array {
    return this.#random.bytes(length);
  }

  /** A whole number from 0 to `end` - 1. */
  below(end: number): number {
    const [a, b, c, d] = this.#random.bytes(4) as unknown as [number, number, number, number];
    return Math.floor(((a * 2 ** 24 + b * 2 ** 16 + c * 2 ** 8 + d) / 2 ** 32) * end);
  }

  /** A whole number, both ends included. */
  between(from: number, to: number): number {
    return from + this.below(to - from + 1);
  }

  isTrue(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }

  weighted<T extends string>(weights: Readonly<Partial<Record<T, number>>>): T {
    const entries = Object.entries(weights) as [T, number][];
    let left = this.below(entries.reduce((sum, [, weight]) => sum + weight, 0));
    for (const [name, weight] of entries) {
      if (left < weight) return name;
      left -= weight;
    }
    throw new Error('no weights to choose by');
  }
}
