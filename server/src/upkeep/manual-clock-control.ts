// Moves the clock of `dev --clock manual` as its user orders. An advance stops at every moment at which something
// becomes due, and continues when all of it was attempted and settled, so that retries within the span happen at their
// own time.

import type { Claim } from '../rules/delivery/message.ts';
import type { Problem } from '../rules/requests/problem.ts';
import { ADVANCE_STEPS_MAX, type ManualClockOrder, type ManualClockOrderResult } from '../rules/time/clock-order.ts';
import type { ManualTime } from './manual-time.ts';

/** How many turns of the event loop an attempt that has ended in the network needs until its settlement begins. */
const CALM_TURNS = 2;
/** How many turns are checked without a pause. Then there is one check every millisecond: an attempt may take long. */
const EAGER_TURNS = 50;

export interface EngineProgress {
  readonly isCaughtUp: boolean;
  underWay(): Iterable<Claim>;
  lookAhead(): void;
}

export interface ManualClockControlOptions {
  readonly time: ManualTime;
  readonly engine: EngineProgress;
  /** Deletes what has expired, until nothing is left. */
  readonly sweep: (now: number) => Promise<void>;
  /** Keeps the time in the store. */
  readonly keep: () => Promise<unknown>;
  readonly isServing: () => boolean;
}

export class ManualClockControl {
  readonly #options: ManualClockControlOptions;
  /** Orders are carried out one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  #advancingTo: number | null = null;

  constructor(options: ManualClockControlOptions) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#options.time.isRunning;
  }

  /** The time at which the current advance ends. Null if there is none. */
  get advancingTo(): number | null {
    return this.#advancingTo;
  }

  underWay(): readonly Claim[] {
    return [...this.#options.engine.underWay()];
  }

  /** Carries out an order. An advance ends early when `signal` aborts, because its caller has disconnected. */
  carryOut(order: ManualClockOrder, signal: AbortSignal): Promise<ManualClockOrderResult> {
    const done = this.#last.then(() => this.#carryOut(order, signal));
    this.#last = done.catch(() => {});
    return done;
  }

  async #carryOut(order: ManualClockOrder, signal: AbortSignal): Promise<ManualClockOrderResult> {
    const { time } = this.#options;
    if (signal.aborted) return { kind: 'done', underWay: this.underWay() };
    if (order.kind === 'freeze') time.freeze();
    else if (order.kind === 'run') time.run();
    else return this.#advance(order, signal);
    return { kind: 'done', underWay: this.underWay() };
  }

  async #advance(order: ManualClockOrder & { kind: 'advance' }, signal: AbortSignal): Promise<ManualClockOrderResult> {
    const { time } = this.#options;
    const wasRunning = time.isRunning;
    time.freeze();
    try {
      const endAt = order.to(time.now());
      if (typeof endAt !== 'number') return { kind: 'refused', problem: endAt };
      this.#advancingTo = endAt;
      return await this.#advanceTo(endAt, new Patience(order.waitMs, () => time.monotonicMs()), signal);
    } finally {
      this.#advancingTo = null;
      if (wasRunning) time.run();
    }
  }

  async #advanceTo(endAt: number, patience: Patience, signal: AbortSignal): Promise<ManualClockOrderResult> {
    const { time, engine, sweep, keep } = this.#options;
    engine.lookAhead();
    for (let steps = 0; await this.#isCalm(patience, signal); steps += 1) {
      const { nextAt } = time;
      if (nextAt !== null && nextAt <= endAt) {
        if (steps < ADVANCE_STEPS_MAX) {
          time.moveTo(nextAt);
          continue;
        }
        await keep();
        return { kind: 'refused', problem: tooLong(time.now()) };
      }
      time.moveTo(endAt);
      await sweep(endAt);
      await keep();
      return { kind: 'done', underWay: this.underWay() };
    }
    return { kind: 'refused', problem: { code: 'draining', message: 'the server is shutting down' } };
  }

  /**
   * Waits until everything that is due was attempted and settled, apart from attempts that take too long. False if the
   * advance must end.
   */
  async #isCalm(patience: Patience, signal: AbortSignal): Promise<boolean> {
    const { time, engine, isServing } = this.#options;
    let calmTurns = 0;
    for (let turn = 0; isServing() && !signal.aborted; turn += 1) {
      calmTurns = engine.isCaughtUp && patience.isOverFor(engine.underWay()) ? calmTurns + 1 : 0;
      if (calmTurns >= CALM_TURNS) return true;
      await new Promise<void>((resolve) => {
        if (turn < EAGER_TURNS) time.soon(resolve);
        else time.after(1, resolve);
      });
    }
    return false;
  }
}

function tooLong(now: number): Problem {
  const reached = new Date(now).toISOString();
  return {
    code: 'advance_too_long',
    message: `advance: something became due at ${ADVANCE_STEPS_MAX} moments, up to ${reached}, and the clock stopped there; advance again to continue`,
  };
}

/** How long to wait for each attempt, in real time. */
class Patience {
  readonly #waitMs: number;
  readonly #nowMs: () => number;
  /** When each running attempt was first seen. */
  #seenMs = new Map<string, number>();

  constructor(waitMs: number, nowMs: () => number) {
    this.#waitMs = waitMs;
    this.#nowMs = nowMs;
  }

  isOverFor(claims: Iterable<Claim>): boolean {
    const nowMs = this.#nowMs();
    const before = this.#seenMs;
    this.#seenMs = new Map();
    let isOver = true;
    for (const { lease } of claims) {
      const seenMs = before.get(lease) ?? nowMs;
      this.#seenMs.set(lease, seenMs);
      if (nowMs - seenMs < this.#waitMs) isOver = false;
    }
    return isOver;
  }
}
