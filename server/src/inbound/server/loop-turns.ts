// Shares the time of the event loop among callers. While the loop has time to spare, everything is done when it comes. When
// it has none, or a turn of it has become long, whoever has used more than an equal part waits, and goes on piece by piece,
// whoever has used least first. Long work leaves a part of the time to the others.

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
 * A long body, batch or response takes more than the time in the loop: memory that is collected, a thread that writes it, others
 * that sign it. So while other accounts use the loop, whoever is ahead rests after each piece of such work, for a multiple of the
 * time that it took. The multiple grows with every sample in which the loop was as busy as this, and shrinks with time.
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
  /** Calls for pieces of those who rest, and the timer for the first of them. Each piece in line has a call, here or in the loop. */
  #parkedCalls = 0;
  #restEndsAtMs = Number.POSITIVE_INFINITY;
  #cancelRest = () => {};
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

  /** A piece of long work for `user` was done, and charged, from `sinceMs` until now. */
  restAfter({ key, isKnown }: LoopUser, sinceMs: number): void {
    if (this.#rest === 0) return;
    const nowMs = this.#clock.monotonicMs();
    if (!this.#time.isShared() || !this.#time.isAhead(key, isKnown, nowMs)) return;
    const untilMs = nowMs + Math.min(REST_MS_MAX, (nowMs - sinceMs) * this.#rest);
    this.#resting.set(key, Math.max(this.#resting.get(key) ?? 0, untilMs));
  }

  /** A request has come. */
  chargeRequest({ key, isKnown }: LoopUser): void {
    this.#time.charge(key, isKnown, REQUEST_MS, this.#clock.monotonicMs());
  }

  /** Whether the next work of `user` has to wait for its turn. */
  mustWait({ key, isKnown }: LoopUser): boolean {
    // Behind its own pieces, which may have rested by now and are not served yet.
    if (this.#parkedCalls > 0 && this.#waiting.has(key)) return true;
    if (this.#resting.size > 0 && this.#isResting(key, this.#clock.monotonicMs())) return true;
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
      if (this.#waiting.size > 0) this.#park(nowMs);
      return;
    }
    const work = next.line.shift()!;
    if (next.line.length === 0) this.#waiting.delete(next.user.key);
    // The call was perhaps for a piece of somebody else.
    if (this.#parkedCalls > 0) this.#unpark(nowMs);
    work();
  };

  #isResting(key: string, nowMs: number): boolean {
    const untilMs = this.#resting.get(key);
    if (untilMs === undefined) return false;
    if (untilMs > nowMs) return true;
    this.#resting.delete(key);
    return false;
  }

  /** Everybody who waits rests. The call waits for the first who has rested. */
  #park(nowMs: number): void {
    this.#parkedCalls += 1;
    this.#awaitRest(nowMs);
  }

  #awaitRest(nowMs: number): void {
    let untilMs = Number.POSITIVE_INFINITY;
    for (const key of this.#waiting.keys()) untilMs = Math.min(untilMs, this.#resting.get(key) ?? nowMs);
    if (untilMs >= this.#restEndsAtMs) return;
    this.#cancelRest();
    this.#restEndsAtMs = untilMs;
    this.#cancelRest = this.#clock.after(Math.max(REST_MS_MIN, Math.ceil(untilMs - nowMs)), () => {
      this.#restEndsAtMs = Number.POSITIVE_INFINITY;
      this.#callParked();
    });
  }

  /** One more call, if there is somebody who does not rest. Whoever is served then asks again. */
  #unpark(nowMs: number): void {
    if (this.#least(nowMs) !== null) this.#callParked();
    else this.#awaitRest(nowMs);
  }

  #callParked(): void {
    if (this.#parkedCalls === 0) return;
    this.#parkedCalls -= 1;
    this.#scheduleOne();
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
    const passedMs = nowMs - this.#sampledAtMs;
    const part = (busyMs - this.#sampledBusyMs) / passedMs;
    this.#isBusy = part >= BUSY_PART;
    if (part >= REST_BUSY_PART) this.#rest = Math.min(REST_MAX, this.#rest + REST_STEP);
    else this.#rest = Math.max(0, this.#rest - REST_STEP * Math.floor(passedMs / SAMPLE_MS));
    for (const [key, untilMs] of this.#resting) if (untilMs <= nowMs || this.#rest === 0) this.#resting.delete(key);
    if (this.#resting.size === 0) this.#callParked();
    this.#sampledAtMs = nowMs;
    this.#sampledBusyMs = busyMs;
  }
}
