// Which time the service goes by. It is told what the wall clock shows and what the monotonic clock shows, and makes two
// times of them: the trusted wall clock, which takes over a jump only after the jump has lasted for a while, and the time
// of order, which never goes back. Pure: it asks no clock itself.

/** A wall clock that is put forward or back by no more than this is followed at once. */
export const CLOCK_STEP_MS_MAX = 10_000;
/** A wall clock that has jumped further is believed when it has gone on evenly for so long. */
export const CLOCK_BELIEVED_AFTER_MS = 10 * 60_000;
/** A start that finds the last kept time at most this old takes the time between for time in which nothing ran. */
export const CLOCK_DOWN_MS_MAX = 86_400_000;
/** A node whose time was further than this from the clock that all nodes share starts nothing until it is right again. */
export const CLOCK_OFF_MS_MAX = 1000;
/** While the time of order is ahead of the trusted wall clock, it goes so much slower, until the two meet. */
const SLOWED = 15 / 16;
/** Sums of fractions: a whole millisecond may come out a little short. */
const TINY_MS = 0.01;

/** What the store keeps of the time, for the next start. */
export interface KeptTime {
  /** What the wall clock showed when it was kept. */
  readonly wallAt: number;
  readonly trustedAt: number;
  readonly orderAt: number;
  /** For how long the wall clock had not been believed by then; 0 when it was. */
  readonly doubtedMs: number;
}

/** What was found about the wall clock, for the log. */
export type ClockChange =
  /** It jumped so far ahead of what was expected, or behind it if negative, and is not believed. */
  | { readonly kind: 'doubted'; readonly aheadMs: number }
  /** It is believed again, and the trusted time has moved by so much. */
  | { readonly kind: 'believed'; readonly movedMs: number };

/** What was found about the time of this node, held against the clock that all nodes share. */
export type ClockOff =
  /** It has run ahead by so much since it was last put right, or behind if negative. */
  | { readonly kind: 'off'; readonly offMs: number }
  /** It runs evenly again. */
  | { readonly kind: 'right' };

interface Doubt {
  /** The wall clock less the monotonic clock. */
  offset: number;
  readonly sinceMs: number;
}

export class Timekeeper {
  /** The trusted wall clock less the monotonic clock. */
  #offset: number;
  /** The time of order at the last reading, and what the monotonic clock showed then. */
  #order: number;
  #readAtMs: number;
  #wallOffset: number;
  #doubt: Doubt | null = null;
  /** A time that the start took over is not proven yet. */
  #provenFromMs = Number.NEGATIVE_INFINITY;
  #timesSetBack = 0;
  /** How long the machine had slept when the wall clock was last as expected. */
  #asleepMs: number;

  /** Believes the wall clock: nothing else is known yet. */
  constructor(wallAt: number, monotonicMs: number, asleepMs: number) {
    this.#offset = wallAt - monotonicMs;
    this.#wallOffset = this.#offset;
    this.#order = wallAt;
    this.#readAtMs = monotonicMs;
    this.#asleepMs = asleepMs;
  }

  /** Never goes back. Decides what is due, for how long, and who stands before whom. */
  get orderAt(): number {
    return Math.floor(this.#order + TINY_MS);
  }

  /** For what people name by the calendar. Goes back when the wall clock is set back and is believed. */
  get trustedAt(): number {
    return Math.floor(this.#readAtMs + this.#offset + TINY_MS);
  }

  /** How far the wall clock is ahead of the trusted one. */
  get aheadMs(): number {
    return this.#wallOffset - this.#offset;
  }

  get isBelieved(): boolean {
    return this.#doubt === null;
  }

  /** Whether the time is sure enough to delete by. */
  get isProven(): boolean {
    return this.#readAtMs >= this.#provenFromMs;
  }

  /** How often the trusted wall clock went back by more than a step. */
  get timesSetBack(): number {
    return this.#timesSetBack;
  }

  /**
   * What the clocks show now. `asleepMs` tells how long the machine has slept in all, which the monotonic clock does not
   * count; it is asked only when the wall clock is not as expected.
   */
  read(wallAt: number, monotonicMs: number, asleepMs: () => number): ClockChange | null {
    this.#wallOffset = wallAt - monotonicMs;
    const change = this.#judge(monotonicMs, asleepMs);
    this.#advance(monotonicMs);
    return change;
  }

  /** The machine is awake, and the wall clock was just read. */
  noteAwake(asleepMs: number): void {
    if (!this.#doubt) this.#asleepMs = asleepMs;
  }

  /** At a start: goes on from what was kept, and from the newest time that the store holds. */
  resume(kept: KeptTime | null, newestAt: number | null, wallAt: number, monotonicMs: number): ClockChange | null {
    this.#wallOffset = wallAt - monotonicMs;
    this.#readAtMs = monotonicMs;
    this.#doubt = null;
    const downMs = kept ? wallAt - kept.wallAt : 0;
    const wasDown = downMs >= -CLOCK_STEP_MS_MAX && downMs <= CLOCK_DOWN_MS_MAX;
    const passedMs = wasDown ? downMs : 0;
    const trustedAt = kept ? kept.trustedAt + passedMs : wallAt;
    this.#offset = trustedAt - monotonicMs;
    this.#order = Math.max(trustedAt, kept ? kept.orderAt + Math.max(0, passedMs) * SLOWED : 0, newestAt ?? 0);
    if (wasDown && downMs > CLOCK_BELIEVED_AFTER_MS) this.#provenFromMs = monotonicMs + CLOCK_BELIEVED_AFTER_MS;
    if (!kept || Math.abs(this.aheadMs) <= CLOCK_STEP_MS_MAX) return null;
    // Only what this service has seen counts: how long it was down, the clock that is doubted says itself.
    const doubtedMs = wasDown ? kept.doubtedMs : 0;
    this.#doubt = { offset: this.#wallOffset, sinceMs: monotonicMs - doubtedMs };
    return { kind: 'doubted', aheadMs: this.aheadMs };
  }

  /** What another node has kept a moment ago: the time of order is the same for all, as that of the first among them. */
  hearOf(kept: KeptTime): void {
    const passedMs = this.#readAtMs + this.#wallOffset - kept.wallAt;
    if (passedMs < 0 || passedMs > CLOCK_STEP_MS_MAX) return;
    this.#order = Math.max(this.#order, kept.orderAt + passedMs * SLOWED);
  }

  kept(): KeptTime {
    return {
      wallAt: Math.floor(this.#readAtMs + this.#wallOffset + TINY_MS),
      trustedAt: this.trustedAt,
      orderAt: this.orderAt,
      doubtedMs: this.#doubt ? Math.max(0, Math.floor(this.#readAtMs - this.#doubt.sinceMs)) : 0,
    };
  }

  #judge(monotonicMs: number, asleepMs: () => number): ClockChange | null {
    const { aheadMs } = this;
    if (Math.abs(aheadMs) <= CLOCK_STEP_MS_MAX) {
      const wasDoubted = this.#doubt !== null;
      this.#doubt = null;
      this.#offset = this.#wallOffset;
      return wasDoubted ? { kind: 'believed', movedMs: aheadMs } : null;
    }
    const sleptMs = asleepMs() - this.#asleepMs;
    if (aheadMs > 0 && Math.abs(aheadMs - sleptMs) <= CLOCK_STEP_MS_MAX) {
      this.#asleepMs += sleptMs;
      return this.#believe();
    }
    if (this.#doubt && Math.abs(this.#wallOffset - this.#doubt.offset) <= CLOCK_STEP_MS_MAX) {
      if (monotonicMs - this.#doubt.sinceMs >= CLOCK_BELIEVED_AFTER_MS) return this.#believe();
      this.#doubt.offset = this.#wallOffset;
      return null;
    }
    this.#doubt = { offset: this.#wallOffset, sinceMs: monotonicMs };
    return { kind: 'doubted', aheadMs };
  }

  #believe(): ClockChange {
    const movedMs = this.aheadMs;
    if (movedMs < 0) this.#timesSetBack += 1;
    this.#doubt = null;
    this.#offset = this.#wallOffset;
    return { kind: 'believed', movedMs };
  }

  #advance(monotonicMs: number): void {
    const passedMs = Math.max(0, monotonicMs - this.#readAtMs);
    this.#order = Math.max(monotonicMs + this.#offset, this.#order + passedMs * SLOWED);
    this.#readAtMs = monotonicMs;
  }
}

/**
 * A clock that another machine keeps, which showed `shownAt` at some moment between the question and its answer. As long
 * as what was reckoned lies between the two it may be right and stays, so that slow answers do not make the time tremble.
 */
export function reckonedAt(reckoned: number, shownAt: number, tookMs: number): number {
  return Math.min(Math.max(reckoned, shownAt), shownAt + tookMs);
}

/** A time that was read so long ago is still used as it is. */
const READ_MS_MAX = 2000;

/** The time of work that was asked for at `askedAt`: a process that stood still since then goes on by the time that it is. */
export function timeOfWork(askedAt: number, passedMs: number): number {
  return passedMs > READ_MS_MAX ? askedAt + Math.round(passedMs) : askedAt;
}
