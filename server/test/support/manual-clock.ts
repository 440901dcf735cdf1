// A world whose time stands still until a test moves it, and whose chance repeats from a seed.

import type { Clock, Random, World } from '../../src/runtime/world.ts';

interface Timer {
  /** On the monotonic clock. */
  readonly at: number;
  readonly fire: () => void;
}

export class ManualClock implements Clock {
  #wall: number;
  #monotonic = 0;
  #asleepMs = 0;
  /** In the order they were set; those for the same moment fire in that order. */
  readonly #timers = new Set<Timer>();

  constructor(now: number) {
    this.#wall = now;
  }

  now(): number {
    return this.#wall;
  }

  wallNow(): number {
    return this.#wall;
  }

  machineNow(): number {
    return this.#wall;
  }

  asleepMs(): number {
    return this.#asleepMs;
  }

  monotonicMs(): number {
    return this.#monotonic;
  }

  after(ms: number, fire: () => void): () => void {
    const timer: Timer = { at: this.#monotonic + Math.max(0, Math.ceil(ms)), fire };
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
    };
  }

  soon(fire: () => void): void {
    queueMicrotask(fire);
  }

  shortly(fire: () => void): void {
    setTimeout(fire, 5);
  }

  /**
   * Moves both clocks. Every timer that falls due fires at its own time, in the order of time, also those set by a
   * timer on the way. A timer set for "now" fires at the next advance, even one of 0 ms.
   */
  advance(ms: number): void {
    const end = this.#monotonic + ms;
    for (let timer = this.#earliest(); timer !== undefined && timer.at <= end; timer = this.#earliest()) {
      this.#timers.delete(timer);
      this.#moveTo(Math.max(timer.at, this.#monotonic));
      timer.fire();
    }
    this.#moveTo(Math.max(end, this.#monotonic));
  }

  /** The wall clock only, either way: somebody set the time. No timer fires. */
  jump(ms: number): void {
    this.#wall += ms;
  }

  /** The machine sleeps: the wall clock goes on, the monotonic one does not. */
  sleep(ms: number): void {
    this.#wall += ms;
    this.#asleepMs += ms;
  }

  /** How long until the next timer fires; null if none is set. */
  untilNextTimer(): number | null {
    const timer = this.#earliest();
    return timer === undefined ? null : Math.max(0, timer.at - this.#monotonic);
  }

  #earliest(): Timer | undefined {
    let earliest: Timer | undefined;
    for (const timer of this.#timers) if (earliest === undefined || timer.at < earliest.at) earliest = timer;
    return earliest;
  }

  #moveTo(monotonic: number): void {
    this.#wall += monotonic - this.#monotonic;
    this.#monotonic = monotonic;
  }
}

/** The same bytes for the same seed, in the same order of calls (splitmix32). Fit for tests only. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  };
  return {
    bytes(length) {
      const bytes = new Uint8Array(length);
      for (let at = 0; at < length; at += 1) bytes[at] = next() >>> 24;
      return bytes;
    },
  };
}

export interface ManualWorld extends World {
  readonly clock: ManualClock;
}

/** 2026-01-01T00:00:00Z, unless told otherwise. */
export function manualWorld(options: { now?: number; seed?: number } = {}): ManualWorld {
  return { clock: new ManualClock(options.now ?? Date.UTC(2026, 0, 1)), random: seededRandom(options.seed ?? 1) };
}
