// How fast a node starts attempts after a crash. At first only a few may be in flight. When as many have ended with a
// known result, twice as many may be in flight, and so on. The pace also reserves times in which a message can start
// alone (see recovery.ts). It only decides; the engine starts the attempts.

import { ALONE_MS } from './recovery.ts';
import type { ClaimLimits } from './slots.ts';

/** At first, an eighth of the attempts that were in flight at the crash may start, but at least one. */
const FIRST_PART = 8;

/** After this time, twice as many attempts may be in flight, even without results. */
const GROWS_EVERY_MS = 2000;

type Phase =
  | { readonly kind: 'open' }
  /** Nothing starts until the attempts in flight have ended, so that a message can then start alone. */
  | { readonly kind: 'clearing' }
  /** One message has started alone. */
  | { readonly kind: 'alone'; readonly lease: string; readonly untilMs: number };

export class RecoveryPace {
  readonly #concurrency: number;
  /** The maximum of attempts in flight during recovery; Infinity after it. */
  #cap = Number.POSITIVE_INFINITY;
  #resultsToGrow = 0;
  #growsAtMs = 0;
  #phase: Phase = { kind: 'open' };
  #closedAtMs = 0;
  /** Whether a message has started alone since `#closedAtMs`. */
  #hasStarted = false;
  /** Until when no message starts alone: after a reserved time, the other messages get as much time. */
  #restsUntilMs = Number.NEGATIVE_INFINITY;

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  /** Whether only a message that starts alone may start. */
  get isClosed(): boolean {
    return this.#phase.kind !== 'open';
  }

  /** Whether recovery is over, so that messages start without restriction. */
  get isOver(): boolean {
    return this.#phase.kind === 'open' && this.#cap === Number.POSITIVE_INFINITY;
  }

  /**
   * Call this when a node has died with `orphans` attempts in flight. They are made again on this node, in addition to
   * its own `inFlight` attempts.
   */
  noteCrash(orphans: number, inFlight: number, nowMs: number): void {
    if (orphans === 0) return;
    const cap = inFlight + Math.max(1, Math.floor(orphans / FIRST_PART));
    if (cap < this.#cap) this.#setCap(cap, nowMs);
  }

  /** Call this when attempts have ended, `known` of them with a known result. */
  noteEnds(leases: readonly string[], known: number, nowMs: number): void {
    this.#resultsToGrow -= known;
    if (this.#resultsToGrow <= 0) this.#setCap(2 * this.#cap, nowMs);
    if (this.#phase.kind === 'alone' && leases.includes(this.#phase.lease)) this.#phase = { kind: 'clearing' };
  }

  /**
   * Whether a message may start alone now. `isWaiting`: a message that must start alone is due. If this returns true,
   * call `startedAlone` when the message has started, or `noneAlone` if none could start.
   */
  mayStartAlone(isWaiting: boolean, inFlight: number, nowMs: number): boolean {
    if (this.#phase.kind === 'open' && nowMs >= this.#turnsAtMs(isWaiting)) this.#close(nowMs);
    if (this.#phase.kind === 'alone' && nowMs >= this.#phase.untilMs) this.#open(nowMs);
    if (this.#phase.kind !== 'clearing') return false;
    const closedMs = nowMs - this.#closedAtMs;
    const isClear = inFlight === 0 || closedMs >= ALONE_MS;
    // If messages that start alone end quickly, several of them start while the others wait.
    const hasTime = !this.#hasStarted || closedMs < 2 * ALONE_MS;
    if (isWaiting && hasTime && !isClear) return false;
    if (isWaiting && hasTime && inFlight < this.#concurrency) return true;
    this.#open(nowMs);
    return false;
  }

  startedAlone(lease: string, nowMs: number): void {
    this.#phase = { kind: 'alone', lease, untilMs: nowMs + ALONE_MS };
    this.#hasStarted = true;
  }

  /** Call this when no waiting message can start yet, for instance because of its flow key. It is tried again later. */
  noneAlone(nowMs: number): void {
    this.#open(nowMs);
    this.#restsUntilMs = Math.max(this.#restsUntilMs, nowMs + ALONE_MS);
  }

  /** The free slots, reduced to what may be claimed during recovery. */
  limit(free: ClaimLimits, inFlight: number, nowMs: number): ClaimLimits {
    while (nowMs >= this.#growsAtMs && this.#cap < this.#concurrency) this.#setCap(2 * this.#cap, this.#growsAtMs);
    const slots = this.isClosed ? 0 : Math.max(0, Math.min(free.slots, this.#cap - inFlight));
    return slots === free.slots ? free : { ...free, slots };
  }

  /** In how many milliseconds more attempts may start if none ends before. Infinity: time alone changes nothing. */
  changesInMs(isWaiting: boolean, nowMs: number): number {
    const growsAtMs = this.#cap < this.#concurrency ? this.#growsAtMs : Number.POSITIVE_INFINITY;
    return Math.max(0, Math.min(growsAtMs, this.#turnsAtMs(isWaiting)) - nowMs);
  }

  #turnsAtMs(isWaiting: boolean): number {
    switch (this.#phase.kind) {
      case 'open':
        return isWaiting && this.#concurrency > 0 ? this.#restsUntilMs : Number.POSITIVE_INFINITY;
      case 'clearing':
        return this.#closedAtMs + ALONE_MS;
      case 'alone':
        return this.#phase.untilMs;
    }
  }

  #setCap(cap: number, nowMs: number): void {
    this.#cap = cap < this.#concurrency ? cap : Number.POSITIVE_INFINITY;
    this.#resultsToGrow = cap;
    this.#growsAtMs = nowMs + GROWS_EVERY_MS;
  }

  #close(nowMs: number): void {
    this.#phase = { kind: 'clearing' };
    this.#closedAtMs = nowMs;
    this.#hasStarted = false;
  }

  #open(nowMs: number): void {
    this.#phase = { kind: 'open' };
    this.#restsUntilMs = nowMs + (nowMs - this.#closedAtMs);
  }
}
