// Shares the time of the event loop among callers. While the loop is not busy, all work is done when it comes. When it
// is busy, or one of its turns has become long, callers that have used more than an equal part wait and continue piece
// by piece, the one that has used least first; after long work they rest, which leaves time to the others.

import { LoopTime } from '../rules/limits/loop-time.ts';
import type { Clock } from './world.ts';

/** The user that work is charged to: an account, or a network of callers without one. */
export interface LoopUser {
  readonly key: string;
  readonly isKnown: boolean;
}

/** How often the utilisation of the loop is read, at most. */
const SAMPLE_MS = 50;
/** From this utilisation on the loop counts as busy. */
const BUSY_PART = 0.8;
/**
 * How long waiting work may run before everything else that has reached the process is handled. When a turn of the loop
 * has taken this long, only users that have used little are served at once.
 */
const TURN_MS = 4;
/**
 * A long body, batch or response costs more than its time in the loop: garbage collection, a thread that writes it,
 * others that sign it. So while other accounts use the loop, a user that is ahead rests after each piece of such work,
 * for a multiple of the time that it took. The multiple grows with every sample in which the loop was as busy as this,
 * and shrinks with time.
 */
const REST_BUSY_PART = 0.6;
const REST_STEP = 0.5;
const REST_MAX = 16;
/** The shortest time that a timer of the loop can wait. */
const REST_MS_MIN = 1;
/** The limit for a rest, however long a piece took: the process may have been paused. */
const REST_MS_MAX = 250;
/**
 * The time that is charged for a request that node:http reads: its routing and its response cannot be measured
 * separately.
 */
const REQUEST_MS = 0.1;

export class LoopTurns {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'soon' | 'after'>;
  readonly #busyMs: () => number;
  readonly #time = new LoopTime();
  /** The work that waits, by the key of its user, so that only the next piece of each user has to be looked at. */
  readonly #waiting = new Map<string, { readonly user: LoopUser; readonly line: (() => void)[] }>();
  #isBusy = false;
  /** The time used since the last turn of the loop began, and whether a new turn is awaited. */
  #doneMs = 0;
  #isTurnLong = false;
  /** Calls requested since the last turn began, and calls that are left to run in that turn. */
  #calls = 0;
  #callsInTurn = 0;
  #turnSinceMs = 0;
  #rest = 0;
  /** The users that rest, and until when. */
  readonly #resting = new Map<string, number>();
  /**
   * Calls for pieces of users that rest, and the timer for the first of them. Each piece in line has a call, here or in
   * the loop.
   */
  #parkedCalls = 0;
  #restEndsAtMs = Number.POSITIVE_INFINITY;
  #cancelRest = () => {};
  #sampledAtMs: number;
  #sampledBusyMs: number;
  /** How often a user had to wait. */
  waits = 0;

  /** Needs a real-time clock, and the time for which the loop has been busy. */
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
    this.#count(nowMs - sinceMs, nowMs);
  }

  /** Work for all of `things` was done from `sinceMs` until now. The account of each is charged an equal part. */
  chargeEach<T>(things: readonly T[], accountOf: (thing: T) => string, sinceMs: number): void {
    const nowMs = this.#clock.monotonicMs();
    const partMs = (nowMs - sinceMs) / things.length;
    for (let at = 0; at < things.length; ) {
      const accountId = accountOf(things[at]!);
      let end = at + 1;
      while (end < things.length && accountOf(things[end]!) === accountId) end += 1;
      this.#time.charge(accountId, true, partMs * (end - at), nowMs);
      at = end;
    }
    this.#count(nowMs - sinceMs, nowMs);
  }

  /** A piece of long work for `user` was done, and charged, from `sinceMs` until now. */
  restAfter({ key, isKnown }: LoopUser, sinceMs: number): void {
    if (this.#rest === 0) return;
    const nowMs = this.#clock.monotonicMs();
    if (!this.#time.isShared() || !this.#time.isAhead(key, isKnown, nowMs)) return;
    const untilMs = nowMs + Math.min(REST_MS_MAX, (nowMs - sinceMs) * this.#rest);
    this.#resting.set(key, Math.max(this.#resting.get(key) ?? 0, untilMs));
  }

  /** A request has arrived. */
  chargeRequest({ key, isKnown }: LoopUser): void {
    this.#time.charge(key, isKnown, REQUEST_MS, this.#clock.monotonicMs());
  }

  /** Whether the next work of `user` has to wait for its turn. */
  mustWait({ key, isKnown }: LoopUser): boolean {
    // The work runs after the user's own earlier pieces, whose rest may be over although they have not run yet.
    if (this.#parkedCalls > 0 && this.#waiting.has(key)) return true;
    if (this.#resting.size > 0 && this.#isResting(key, this.#clock.monotonicMs())) return true;
    if (!this.#isBusy && !this.#isTurnLong) return false;
    return this.#waiting.has(key) || this.#time.isAhead(key, isKnown, this.#clock.monotonicMs());
  }

  /** Calls `work` when it is its turn. The work charges its own time. */
  wait(user: LoopUser, work: () => void): void {
    this.waits += 1;
    this.#line(user, work);
  }

  /** Resolves when the next piece of long work may begin: after everything that has reached the process, or later. */
  next(user: LoopUser): Promise<void> {
    if (this.mustWait(user)) this.waits += 1;
    // The piece is always put in line: if many continued at once, the turn would be long.
    return new Promise((resolve) => this.#line(user, resolve));
  }

  /** For the metrics. */
  most(count: number) {
    return this.#time.most(count, this.#clock.monotonicMs());
  }

  #count(doneMs: number, nowMs: number): void {
    this.#doneMs += doneMs;
    if (this.#doneMs >= TURN_MS) this.#awaitTurn();
    if (nowMs - this.#sampledAtMs >= SAMPLE_MS) this.#sample(nowMs);
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
   * One call for each piece that waits: all calls requested before a turn of the loop run in it, one after the other.
   * The synchronous consequences of a piece run before the next call, and count for the turn.
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
    // The call may have been for a piece of another user.
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

  /** All users that wait are resting. The call waits for the first one whose rest ends. */
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

  /** One more call, if there is a user that does not rest. A user that is served requests the next one. */
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
