// The ports to time and randomness. (The port to the network is delivery/engine/sender.ts.) Only this file may call the
// runtime's clocks, timers and random source. All other code receives a World, so that a test can control time.

import { randomFillSync } from 'node:crypto';
import { uptime } from 'node:os';

export interface Clock {
  /**
   * Milliseconds since 1970. In a running service it never goes back: it decides what is due, and the order of messages
   * (upkeep/service-clock.ts). The machine's own clock may jump in both directions.
   */
  now(): number;
  /** The trusted wall clock, for times that people name, such as those of a schedule. It may go back. */
  wallNow(): number;
  /** The machine's clock, right or wrong: for code that compares it with another clock. */
  machineNow(): number;
  /** Never goes back and never jumps. Only differences mean anything, also between threads of one process. */
  monotonicMs(): number;
  /** How long the machine has slept, which `monotonicMs` does not count. Only differences mean anything. */
  asleepMs(): number;
  /** Calls `fire` once, `ms` from now or a little later. Returns a function that cancels it. */
  after(ms: number, fire: () => void): () => void;
  /** Calls `fire` once, after everything that has already reached the process is handled. */
  soon(fire: () => void): void;
  /**
   * Calls `fire` once, a few milliseconds from now. The wait is for packets in transit, so it is real even when a test
   * controls time.
   */
  shortly(fire: () => void): void;
}

export interface Random {
  /** `length` unpredictable bytes, fit for secrets. `into`: memory of this length into which they may be written. */
  bytes(length: number, into?: Uint8Array): Uint8Array;
}

export interface World {
  readonly clock: Clock;
  readonly random: Random;
}

/** A longer timer of Node.js would fire at once. A caller that waits longer than this must check the clock again. */
const TIMER_MS_MAX = 2 ** 31 - 1;

const SHORTLY_MS = 5;

/**
 * `performance.now()` counts from the start of its thread. Adding this number gives the same time on all threads of the
 * process.
 */
const THREAD_STARTED_MS = Number(process.hrtime.bigint() / 1000n) / 1000 - performance.now();

/** Often enough to see most pauses that people notice, and too seldom to cost anything. */
const LOOP_DELAY_EVERY_MS = 200;

const systemClock: Clock = {
  now: () => Date.now(),
  wallNow: () => Date.now(),
  machineNow: () => Date.now(),
  monotonicMs: () => THREAD_STARTED_MS + performance.now(),
  asleepMs: () => uptime() * 1000 - (THREAD_STARTED_MS + performance.now()),
  after(ms, fire) {
    const timer = setTimeout(fire, Math.min(Math.max(0, Math.ceil(ms)), TIMER_MS_MAX));
    return () => clearTimeout(timer);
  },
  soon: (fire) => void setImmediate(fire),
  shortly: (fire) => void setTimeout(fire, SHORTLY_MS),
};

/** How long the event loop of this thread has been busy, since it was started. */
export function loopBusyMs(): number {
  return performance.eventLoopUtilization().active;
}

/** Calls `observe` some times a second with how late its timer was. Does not keep the process alive. Returns what ends it. */
export function watchLoopDelay(observe: (lateMs: number) => void): () => void {
  let firedAtMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    observe(Math.max(0, nowMs - firedAtMs - LOOP_DELAY_EVERY_MS));
    firedAtMs = nowMs;
  }, LOOP_DELAY_EVERY_MS).unref();
  return () => clearInterval(timer);
}

/** Waits for `work`, but no longer than `ms`. */
export async function withinMs(clock: Clock, ms: number, work: Promise<void>): Promise<void> {
  let cancel = () => {};
  const timeout = new Promise<void>((resolve) => {
    cancel = clock.after(ms, resolve);
  });
  // Without this, a failure after the timeout would have no handler.
  work.catch(() => {});
  try {
    await Promise.race([work, timeout]);
  } finally {
    cancel();
  }
}

/**
 * A random source that asks the kernel once for 256 ids: a call for every id would cost more than the rest of the id.
 */
function pooledRandom(): Random {
  const pool = Buffer.alloc(4096);
  let used = pool.length;
  return {
    bytes(length, into) {
      if (length > pool.length) return randomFillSync(new Uint8Array(length));
      if (used + length > pool.length) {
        randomFillSync(pool);
        used = 0;
      }
      const piece = into ?? new Uint8Array(length);
      for (let at = 0; at < length; at += 1) {
        piece[at] = pool[used + at]!;
        pool[used + at] = 0; // the bytes may be a secret of the caller
      }
      used += length;
      return piece;
    },
  };
}

export function systemWorld(): World {
  return { clock: systemClock, random: pooledRandom() };
}
