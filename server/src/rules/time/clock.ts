// The times that the service uses, computed from readings of the wall clock and the monotonic clock; it reads no clock
// itself. The trusted wall clock follows a jump only after the jump has lasted for some time. The order clock never
// goes back.

/** Limit for a step of the wall clock, forward or back, that is followed at once. */
export const CLOCK_STEP_MS_MAX = 10_000;
/** How long the wall clock must run evenly after a larger jump until it is trusted again. */
export const CLOCK_BELIEVED_AFTER_MS = 10 * 60_000;
/**
 * Limit for the downtime at a start. If the wall clock was trusted when the time was last kept, and is at most this
 * much later at the start, the difference counts as downtime.
 */
export const CLOCK_DOWN_MS_MAX = 86_400_000;
/** Limit for a node's difference from the shared clock. Beyond it, the node starts nothing until its time is right. */
export const CLOCK_OFF_MS_MAX = 1000;
/** The speed of the order clock while it is ahead of the trusted wall clock. It runs slower until the two meet. */
const SLOWED = 15 / 16;
/** A tolerance for rounding: a whole millisecond may come out slightly too small. */
const TINY_MS = 0.01;

/** The time that the store keeps for the next start. */
export interface KeptTime {
  /** The wall clock when the time was kept. */
  readonly wallAt: number;
  readonly trustedAt: number;
  readonly orderAt: number;
  /** For how long the wall clock had been distrusted when the time was kept. 0 when the wall clock was trusted. */
  readonly doubtedMs: number;
}

/** A change of trust in the wall clock, for the log. */
export type ClockChange =
  /** The wall clock jumped this far ahead of the expected time (behind if negative), and is not trusted. */
  | { readonly kind: 'doubted'; readonly aheadMs: number }
  /** The wall clock is trusted again, and the trusted time has moved by this much. */
  | { readonly kind: 'believed'; readonly movedMs: number };

/** This node's time compared with the clock that all nodes share. */
export type ClockOff =
  /** The node's time has run ahead by this much since it was last corrected (behind if negative). */
  | { readonly kind: 'off'; readonly offMs: number }
  /** The node's time is accurate again. */
  | { readonly kind: 'right' };

interface Doubt {
  /** The wall clock minus the monotonic clock. */
  offset: number;
  readonly sinceMs: number;
}

/** The state of a Timekeeper, for another one in the same process: its times mean nothing to another process. */
export interface KeeperState {
  readonly offset: number;
  readonly order: number;
  readonly readAtMs: number;
  readonly wallOffset: number;
  readonly doubt: Readonly<Doubt> | null;
  readonly provenFromMs: number;
  readonly asleepMs: number;
}

/** The times with which a node starts. */
export interface TimeAtStart {
  readonly trustedAt: number;
  readonly orderAt: number;
  /** For how long the wall clock has been distrusted. Null if it is trusted. */
  readonly doubtedMs: number | null;
  /** Whether the time is certain enough to delete what has expired by it. */
  readonly isProven: boolean;
}

/**
 * Decides with which times a node starts. Only a wall clock that was trusted before gives the length of the downtime. A
 * wall clock that was not trusted may have been corrected since, so the difference is not elapsed time: the node
 * continues from the kept time. The newest time in the store moves the order clock by at most a step: a time further
 * ahead is ignored.
 */
export function timeAtStart(kept: KeptTime | null, newestAt: number | null, wallAt: number): TimeAtStart {
  const { trustedAt, orderAt, isProven } = kept
    ? continued(kept, wallAt)
    : // There is nothing to compare the wall clock with.
      { trustedAt: wallAt, orderAt: wallAt, isProven: false };
  const isTrusted = Math.abs(wallAt - trustedAt) <= CLOCK_STEP_MS_MAX;
  return {
    trustedAt,
    orderAt: newestAt !== null && newestAt <= orderAt + CLOCK_STEP_MS_MAX ? Math.max(orderAt, newestAt) : orderAt,
    doubtedMs: kept && !isTrusted ? doubtCarried(kept, wallAt) : null,
    isProven,
  };
}

function continued(kept: KeptTime, wallAt: number): Pick<TimeAtStart, 'trustedAt' | 'orderAt' | 'isProven'> {
  const shownMs = wallAt - kept.wallAt;
  const isDowntime = wasTrusted(kept)
    ? shownMs >= -CLOCK_STEP_MS_MAX && shownMs <= CLOCK_DOWN_MS_MAX
    : shownMs >= 0 && shownMs <= CLOCK_STEP_MS_MAX;
  const passedMs = isDowntime ? shownMs : 0;
  const trustedAt = kept.trustedAt + passedMs;
  return {
    trustedAt,
    // Up to one step of the difference may be a correction of the wall clock. That part is not elapsed time.
    orderAt: Math.max(trustedAt, kept.orderAt + Math.max(0, passedMs - CLOCK_STEP_MS_MAX) * SLOWED),
    isProven: passedMs <= CLOCK_BELIEVED_AFTER_MS,
  };
}

function wasTrusted({ wallAt, trustedAt }: KeptTime): boolean {
  return Math.abs(wallAt - trustedAt) <= CLOCK_STEP_MS_MAX;
}

/**
 * For how long the wall clock counts as doubted at a start. The doubt continues if the clock may be the same one that
 * was doubted before, so that a process that restarts repeatedly also recovers. Only time during which the service ran
 * counts.
 */
function doubtCarried(kept: KeptTime, wallAt: number): number {
  const shownMs = wallAt - kept.wallAt;
  const isSame = shownMs >= -CLOCK_STEP_MS_MAX && shownMs <= CLOCK_BELIEVED_AFTER_MS;
  return isSame && !wasTrusted(kept) ? kept.doubtedMs : 0;
}

export class Timekeeper {
  /** The trusted wall clock minus the monotonic clock. */
  #offset: number;
  /** The order clock at the last reading. `#readAtMs` is the monotonic clock at the same moment. */
  #order: number;
  #readAtMs: number;
  #wallOffset: number;
  #doubt: Doubt | null = null;
  /** From which monotonic time the trusted wall clock counts as proven: see `isProven`. */
  #provenFromMs = Number.NEGATIVE_INFINITY;
  #timesSetBack = 0;
  /** How long the machine had slept in total when the wall clock last showed the expected time. */
  #asleepMs: number;

  /** Trusts the wall clock, because nothing else is known until `resume`. */
  constructor(wallAt: number, monotonicMs: number, asleepMs: number) {
    this.#offset = wallAt - monotonicMs;
    this.#wallOffset = this.#offset;
    this.#order = wallAt;
    this.#readAtMs = monotonicMs;
    this.#asleepMs = asleepMs;
  }

  /** The order clock, which never goes back. It decides what is due, how long things last and the order of messages. */
  get orderAt(): number {
    return Math.floor(this.#order + TINY_MS);
  }

  /** The trusted wall clock, for calendar times. It goes back when the wall clock is set back and trusted. */
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

  /** Whether the time is certain enough to delete what has expired by it. */
  get isProven(): boolean {
    return this.#readAtMs >= this.#provenFromMs;
  }

  /** How often the trusted wall clock went back by more than a step. */
  get timesSetBack(): number {
    return this.#timesSetBack;
  }

  /**
   * Takes a reading of the clocks. `asleepMs` returns how long the machine has slept in total, which the monotonic
   * clock does not count. The function is called only when the wall clock is not as expected.
   */
  read(wallAt: number, monotonicMs: number, asleepMs: () => number): ClockChange | null {
    this.#wallOffset = wallAt - monotonicMs;
    const change = this.#checkWallClock(monotonicMs, asleepMs);
    this.#advance(monotonicMs);
    return change;
  }

  /** Notes how long the machine has slept in total. Call this after `read`. */
  noteAwake(asleepMs: number): void {
    if (!this.#doubt) this.#asleepMs = asleepMs;
  }

  /** Call this at a start: continues from the kept time, and from the newest time in the store. */
  resume(kept: KeptTime | null, newestAt: number | null, wallAt: number, monotonicMs: number): ClockChange | null {
    const { trustedAt, orderAt, doubtedMs, isProven } = timeAtStart(kept, newestAt, wallAt);
    this.#wallOffset = wallAt - monotonicMs;
    this.#readAtMs = monotonicMs;
    this.#offset = trustedAt - monotonicMs;
    this.#order = orderAt;
    this.#provenFromMs = isProven ? Number.NEGATIVE_INFINITY : monotonicMs + CLOCK_BELIEVED_AFTER_MS;
    this.#doubt = doubtedMs === null ? null : { offset: this.#wallOffset, sinceMs: monotonicMs - doubtedMs };
    return this.#doubt && { kind: 'doubted', aheadMs: this.aheadMs };
  }

  /** Continues with the state of another Timekeeper of the same process, which has read the same clocks. */
  join({ offset, order, readAtMs, wallOffset, doubt, provenFromMs, asleepMs }: KeeperState): void {
    this.#offset = offset;
    this.#order = order;
    this.#readAtMs = readAtMs;
    this.#wallOffset = wallOffset;
    this.#doubt = doubt && { ...doubt };
    this.#provenFromMs = provenFromMs;
    this.#asleepMs = asleepMs;
  }

  get state(): KeeperState {
    return {
      offset: this.#offset,
      order: this.#order,
      readAtMs: this.#readAtMs,
      wallOffset: this.#wallOffset,
      doubt: this.#doubt && { ...this.#doubt },
      provenFromMs: this.#provenFromMs,
      asleepMs: this.#asleepMs,
    };
  }

  /**
   * Moves the order clock forward to that of another node, which has just kept `kept`: all nodes get the order clock of
   * the node that is furthest ahead. A node that trusts another time is ignored: its clock may have been wrong when it
   * started.
   */
  catchUpWith(kept: KeptTime): void {
    const passedMs = this.#readAtMs + this.#wallOffset - kept.wallAt;
    if (passedMs < 0 || passedMs > CLOCK_STEP_MS_MAX) return;
    if (Math.abs(kept.trustedAt + passedMs - this.trustedAt) > CLOCK_STEP_MS_MAX) return;
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

  #checkWallClock(monotonicMs: number, asleepMs: () => number): ClockChange | null {
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
 * Corrects the time `reckoned` by a clock on another machine, which showed `shownAt` at some moment during the last
 * `tookMs`. So the right time is between `shownAt` and `shownAt + tookMs`: a time within these bounds is kept, so that
 * slow responses do not make it jitter.
 */
export function correctedTime(reckoned: number, shownAt: number, tookMs: number): number {
  return Math.min(Math.max(reckoned, shownAt), shownAt + tookMs);
}

/** A time is used unchanged up to this age. */
const READ_MS_MAX = 2000;

/** The time for work that was requested at `askedAt`. After a pause of the process, the elapsed time is added. */
export function timeOfWork(askedAt: number, passedMs: number): number {
  return passedMs > READ_MS_MAX ? askedAt + Math.round(passedMs) : askedAt;
}
