// Shares the time of the event loop among callers. While the loop has time to spare, everything is done when it comes. When
// it has none, or a turn of it has become long, whoever has used more than an equal part waits, and goes on piece by piece,
// whoever has used least first. Long bodies leave a part of the time to the others.

import { LoopTime } from '../../rules/limits/loop-time.ts';
import type { Clock } from '../../runtime/world.ts';

/** Whom the work is for: an account, or a network of callers without one. */
export interface LoopUser {
  readonly key: string;
  readonly isKnown: boolean;
}

/** The loop is asked so often, at most, how busy it is. */
const SAMPLE_MS = 50;
/** The part of the time in work from which on it counts as busy. */
const BUSY_PART = 0.8;
/**
 * How long work that has waited may take, before everything else that has reached the process is handled. When a turn of the
 * loop has taken this long, only those are served at once who have used little.
 */
const TURN_MS = 4;
/**
 * A long body takes more than the time in which it is read: memory that is collected, a thread that writes it, others that sign
 * it. So while others use the loop, whoever is ahead rests after each piece of one, for a multiple of the time that it took. The
 * multiple grows with every sample in which the loop was as busy as this, and shrinks with every other.
 */
const REST_BUSY_PART = 0.6;
const REST_STEP = 0.5;
const REST_MAX = 16;
/** The timers of the loop know no shorter time. */
const REST_MS_MIN = 1;
/** However long a piece took: the process may have stood still. */
const REST_MS_MAX = 250;
/** For a request that node:http reads: what its router and its response take, which cannot be told from other work. */
const REQUEST_MS = 0.1;

export class LoopTurns {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'soon' | 'after'>;
  readonly #busyMs: () => number;
  readonly #time = new LoopTime();
  /** By key, so that of each only the next piece has to be looked at. */
  readonly #waiting = new Map<string, { readonly user: LoopUser; readonly line: (() => void)[] }>();
  #isBusy = false;
  /** What was done since a turn of the loop was last waited for, and whether one is waited for. */
  #doneMs = 0;
  #isTurnLong = false;
  /** Calls that were asked for since the last turn began, and those that are left of it. */
  #calls = 0;
  #callsInTurn = 0;
  #turnSinceMs = 0;
  #rest = 0;
  /** Who rests, and until when. */
  readonly #resting = new Map<string, number>();
  /** Calls that wait until somebody has rested. */
  #restingCalls = 0;
  #sampledAtMs: number;
  #sampledBusyMs: number;
  /** How often somebody had to wait. */
  waits = 0;

  /** Needs a clock of real time, and how long the loop has been busy. */
  constructor(clock: Pick<Clock, 'monotonicMs' | 'soon' | 'after'>, busyMs: () => number) {
    this.#clock = clock;
    this.#busyMs = busyMs;
    this.#sampledAtMs = clock.monotonicMs();
    this.#sampledBusyMs = busyMs();
  }

  nowMs(): number {
    return this.#clock.monotonicMs();
  }

  /** Work for `user` was done from `sinceMs` until now. */
  charge({ key, isKnown }: LoopUser, sinceMs: number): void {
    const nowMs = this.#clock.monotonicMs();
    this.#time.charge(key, isKnown, nowMs - sinceMs, nowMs);
    this.#doneMs += nowMs - sinceMs;
    if (this.#doneMs >= TURN_MS) this.#awaitTurn();
    if (nowMs - this.#sampledAtMs >= SAMPLE_MS) this.#sample(nowMs);
  }

  /** A piece of a long body of `user` was read, and charged, from `sinceMs` until now. */
  restAfter({ key, isKnown }: LoopUser, sinceMs: number): void {
    if (this.#rest === 0) return;
    const nowMs = this.#clock.monotonicMs();
    if (!this.#time.isShared() || !this.#time.isAhead(key, isKnown, nowMs)) return;
    this.#resting.set(key, nowMs + Math.min(REST_MS_MAX, (nowMs - sinceMs) * this.#rest));
  }

  /** A request has come. */
  chargeRequest({ key, isKnown }: LoopUser): void {
    this.#time.charge(key, isKnown, REQUEST_MS, this.#clock.monotonicMs());
  }

  /** Whether the next work of `user` has to wait for its turn. */
  mustWait({ key, isKnown }: LoopUser): boolean {
    if (this.#isResting(key, this.#clock.monotonicMs())) return true;
    if (!this.#isBusy && !this.#isTurnLong) return false;
    return this.#waiting.has(key) || this.#time.isAhead(key, isKnown, this.#clock.monotonicMs());
  }

  /** Calls `work` when it is its turn. It charges for itself. */
  wait(user: LoopUser, work: () => void): void {
    this.waits += 1;
    this.#line(user, work);
  }

  /** Resolves when the next piece of long work may begin: after everything that has reached the process, or later. */
  next(user: LoopUser): Promise<void> {
    if (this.mustWait(user)) this.waits += 1;
    // In line in any case: many that go on at once would make a long turn.
    return new Promise((resolve) => this.#line(user, resolve));
  }

  /** For the metrics. */
  most(count: number) {
    return this.#time.most(count, this.#clock.monotonicMs());
  }

  #awaitTurn(): void {
    if (this.#isTurnLong) return;
    this.#isTurnLong = true;
    this.#clock.soon(() => {
      this.#isTurnLong = false;
      this.#doneMs = 0;
    });
  }

  #line(user: LoopUser, work: () => void): void {
    const own = this.#waiting.get(user.key);
    if (own) own.line.push(work);
    else this.#waiting.set(user.key, { user, line: [work] });
    this.#scheduleOne();
  }

  /**
   * One call for each piece that waits: all that were asked for before a turn of the loop are called in it, one after the other.
   * What follows from a piece, as far as it waits for nothing, is done before the next call, and counts for the turn.
   */
  #scheduleOne(): void {
    this.#calls += 1;
    this.#clock.soon(this.#serveOne);
  }

  readonly #serveOne = (): void => {
    const nowMs = this.#clock.monotonicMs();
    if (this.#callsInTurn === 0) {
      this.#callsInTurn = this.#calls;
      this.#calls = 0;
      this.#turnSinceMs = nowMs;
    }
    this.#callsInTurn -= 1;
    if (nowMs - this.#turnSinceMs >= TURN_MS) {
      this.#scheduleOne();
      return;
    }
    const next = this.#least(nowMs);
    if (next === null) {
      if (this.#waiting.size > 0) this.#awaitRest(nowMs);
      return;
    }
    const work = next.line.shift()!;
    if (next.line.length === 0) this.#waiting.delete(next.user.key);
    work();
  };

  #isResting(key: string, nowMs: number): boolean {
    const untilMs = this.#resting.get(key);
    if (untilMs === undefined) return false;
    if (untilMs > nowMs) return true;
    this.#resting.delete(key);
    return false;
  }

  /** Everybody who waits rests. */
  #awaitRest(nowMs: number): void {
    this.#restingCalls += 1;
    if (this.#restingCalls > 1) return;
    const untilMs = Math.min(...[...this.#waiting.keys()].map((key) => this.#resting.get(key)!));
    this.#clock.after(Math.max(REST_MS_MIN, Math.ceil(untilMs - nowMs)), () => {
      const calls = this.#restingCalls;
      this.#restingCalls = 0;
      for (let call = 0; call < calls; call += 1) this.#scheduleOne();
    });
  }

  #least(nowMs: number) {
    let least = null;
    let leastMs = Number.POSITIVE_INFINITY;
    for (const each of this.#waiting.values()) {
      if (this.#isResting(each.user.key, nowMs)) continue;
      const standing = this.#time.standing(each.user.key, each.user.isKnown);
      if (standing < leastMs) [least, leastMs] = [each, standing];
    }
    return least;
  }

  #sample(nowMs: number): void {
    const busyMs = this.#busyMs();
    const part = (busyMs - this.#sampledBusyMs) / (nowMs - this.#sampledAtMs);
    this.#isBusy = part >= BUSY_PART;
    this.#rest =
      part >= REST_BUSY_PART ? Math.min(REST_MAX, this.#rest + REST_STEP) : Math.max(0, this.#rest - REST_STEP);
    if (this.#rest === 0) this.#resting.clear();
    this.#sampledAtMs = nowMs;
    this.#sampledBusyMs = busyMs;
  }
}
