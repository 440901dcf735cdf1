// Shares the time of the event loop among callers. While the loop is not busy, all work is done when it comes. When the
// loop is busy, or one of its turns has become long, callers that have used more than an equal part must wait. Their
// work continues piece by piece, that of the caller who has used least first. After long work a caller rests, which
// leaves time to the others.

import { LoopTime } from '../rules/limits/loop-time.ts';
import type { Clock } from './world.ts';

/** Who is charged for work: an account (`isKnown`), or a network of callers without a known account. */
export interface LoopUser {
  readonly key: string;
  readonly isKnown: boolean;
}

/** The shortest time between two readings of the utilisation of the event loop. */
const SAMPLE_MS = 50;
/** From this utilisation on, the event loop counts as busy. */
const BUSY_PART = 0.8;
/**
 * After this time of waiting work, everything else that has reached the process is handled first. When a turn of the
 * event loop has taken this long, only users that have used little are served at once.
 */
const TURN_MS = 4;
/**
 * A long body, batch or response costs more than its time in the loop: garbage collection, a thread that writes it,
 * others that sign it. So while several accounts use the loop, a user that has used more than an equal part rests after
 * each piece of such work, for a multiple of the time that it took. The multiple grows by REST_STEP, up to REST_MAX,
 * with every sample in which the utilisation was at least REST_BUSY_PART. It shrinks with time.
 */
const REST_BUSY_PART = 0.6;
const REST_STEP = 0.5;
const REST_MAX = 16;
/** The shortest time that a timer of the loop can wait. */
const REST_MS_MIN = 1;
/** The longest rest. A piece of work may seem to take very long because the process was paused. */
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
  /** The pieces of work that wait, by the key of their user, so that only the first piece of each user is looked at. */
  readonly #waiting = new Map<string, { readonly user: LoopUser; readonly line: (() => void)[] }>();
  #isBusy = false;
  /** The time charged since the last turn of the loop began. `#isTurnLong`: it has reached TURN_MS. */
  #doneMs = 0;
  #isTurnLong = false;
  /** How many calls of `#serveOne` were requested for the next turn. `#callsInTurn`: how many are left in this turn. */
  #calls = 0;
  #callsInTurn = 0;
  #turnSinceMs = 0;
  /**
   * Whether the last work was for a caller without a known account. First requests of new connections are charged to the
   * account that they turn out to have, so such callers seem to have used little. Others must not wait for all of them.
   */
  #isUnknownServed = false;
  /** For how many times the length of a piece of long work its user rests. */
  #rest = 0;
  /** Until when users rest, by their keys. */
  readonly #resting = new Map<string, number>();
  /**
   * How many calls of `#serveOne` wait until a user no longer rests, and when the first rest ends. For each piece that
   * waits there is one call, here or in the event loop.
   */
  #parkedCalls = 0;
  #restEndsAtMs = Number.POSITIVE_INFINITY;
  #cancelRest = () => {};
  #sampledAtMs: number;
  #sampledBusyMs: number;
  /** How often a user had to wait. */
  waits = 0;

  /** `clock` must be in real time. `busyMs` returns how long the event loop has been busy in total. */
  constructor(clock: Pick<Clock, 'monotonicMs' | 'soon' | 'after'>, busyMs: () => number) {
    this.#clock = clock;
    this.#busyMs = busyMs;
    this.#sampledAtMs = clock.monotonicMs();
    this.#sampledBusyMs = busyMs();
  }

  nowMs(): number {
    return this.#clock.monotonicMs();
  }

  /** Charges `user` for work that was done from `sinceMs` until now. */
  charge({ key, isKnown }: LoopUser, sinceMs: number): void {
    const nowMs = this.#clock.monotonicMs();
    this.#time.charge(key, isKnown, nowMs - sinceMs, nowMs);
    this.#count(nowMs - sinceMs, nowMs);
  }

  /** Charges the accounts of `things` for work from `sinceMs` until now: an equal part of the time for each thing. */
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

  /** Call this when a piece of long work for `user`, from `sinceMs` until now, was charged. Then the user may rest. */
  restAfter({ key, isKnown }: LoopUser, sinceMs: number): void {
    if (this.#rest === 0) return;
    const nowMs = this.#clock.monotonicMs();
    if (!this.#time.isShared() || !this.#time.isAhead(key, isKnown, nowMs)) return;
    const untilMs = nowMs + Math.min(REST_MS_MAX, (nowMs - sinceMs) * this.#rest);
    this.#resting.set(key, Math.max(this.#resting.get(key) ?? 0, untilMs));
  }

  /** Charges `user` for reading a request that has arrived. */
  chargeRequest({ key, isKnown }: LoopUser): void {
    this.#time.charge(key, isKnown, REQUEST_MS, this.#clock.monotonicMs());
  }

  /** Whether the next work of `user` has to wait for its turn. */
  mustWait({ key, isKnown }: LoopUser): boolean {
    // The work must run after the user's earlier pieces. Their rest may be over although they have not run yet.
    if (this.#parkedCalls > 0 && this.#waiting.has(key)) return true;
    if (this.#resting.size > 0 && this.#isResting(key, this.#clock.monotonicMs())) return true;
    if (!this.#isBusy && !this.#isTurnLong) return false;
    // Many new connections may be of one account, which is known only after their first requests have been read.
    if (!isKnown && this.#isTurnLong) return true;
    return this.#waiting.has(key) || this.#time.isAhead(key, isKnown, this.#clock.monotonicMs());
  }

  /** Calls `work` when the user has its turn. `work` must charge its own time. */
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

  /** The users that have used most of the loop's time, for the metrics. */
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
   * Requests one call of `#serveOne` for one piece that waits. All calls requested before a turn of the loop run in it,
   * one after the other. What a piece causes synchronously runs before the next call, and counts for the turn.
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
    const next = this.#least(nowMs, !this.#isUnknownServed) ?? this.#least(nowMs);
    if (next === null) {
      if (this.#waiting.size > 0) this.#park(nowMs);
      return;
    }
    this.#isUnknownServed = !next.user.isKnown;
    const work = next.line.shift()!;
    if (next.line.length === 0) this.#waiting.delete(next.user.key);
    // This call may have been requested for the piece of another user, which then needs one of the parked calls.
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

  /** Call this if all users that wait are resting: the call of `#serveOne` waits until the first rest ends. */
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

  /** Requests a parked call if a user that waits does not rest. Each served piece does so, until none is left. */
  #unpark(nowMs: number): void {
    if (this.#least(nowMs) !== null) this.#callParked();
    else this.#awaitRest(nowMs);
  }

  #callParked(): void {
    if (this.#parkedCalls === 0) return;
    this.#parkedCalls -= 1;
    this.#scheduleOne();
  }

  #least(nowMs: number, isUnknownToo = true) {
    let least = null;
    let leastMs = Number.POSITIVE_INFINITY;
    for (const each of this.#waiting.values()) {
      if (this.#isResting(each.user.key, nowMs) || !(isUnknownToo || each.user.isKnown)) continue;
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
