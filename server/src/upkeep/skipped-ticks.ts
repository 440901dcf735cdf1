// Reports ticks that made no message: one report for each schedule and reason, and after that one at the 100th, the
// 1,000th and so on. A schedule of every second would otherwise write a line each second, for as long as the reason lasts.

/** How many schedules are remembered. */
const KEPT_MAX = 10_000;
/** A schedule that made a message, or skipped no tick for this long, is forgotten. */
const FORGOTTEN_AFTER_MS = 86_400_000;
const FIRST_COUNT = 100;

export interface Reason {
  /** Stays the same while the reason does. The text may have numbers that change. */
  readonly code: string;
  readonly text: string;
}

interface Key {
  readonly accountId: string;
  readonly id: string;
}

/** `count`: how many ticks in a row, this one included, made no message for the same reason. */
export type OnSkipped<S extends Key> = (schedule: S, why: string, count: number) => void;

export class SkippedTicks<S extends Key> {
  readonly #onSkipped: OnSkipped<S>;
  readonly #keptMax: number;
  /** In the order of their last ticks. */
  readonly #kept = new Map<string, { readonly code: string; count: number; at: number }>();
  /** The ticks of schedules for which there is no room. */
  #others = 0;

  constructor(onSkipped: OnSkipped<S>, keptMax = KEPT_MAX) {
    this.#onSkipped = onSkipped;
    this.#keptMax = keptMax;
  }

  note(schedule: S, { code, text }: Reason, now: number): void {
    const count = this.#count(keyOf(schedule), code, now);
    if (count === 1 || isRound(count)) this.#onSkipped(schedule, text, count);
  }

  /** The schedule has made a message. */
  forget(schedule: S): void {
    if (this.#kept.size > 0) this.#kept.delete(keyOf(schedule));
  }

  #count(key: string, code: string, now: number): number {
    this.#forgetOldest(now);
    const before = this.#kept.get(key);
    this.#kept.delete(key);
    if (this.#kept.size >= this.#keptMax) {
      this.#others += 1;
      return this.#others;
    }
    const count = before?.code === code ? before.count + 1 : 1;
    this.#kept.set(key, { code, count, at: now });
    return count;
  }

  #forgetOldest(now: number): void {
    for (const [key, { at }] of this.#kept) {
      if (now - at < FORGOTTEN_AFTER_MS) return;
      this.#kept.delete(key);
    }
  }
}

function keyOf({ accountId, id }: Key): string {
  return `${accountId} ${id}`;
}

/** 100, 1,000, 10,000 and so on. */
function isRound(count: number): boolean {
  let round = FIRST_COUNT;
  while (round < count) round *= 10;
  return round === count;
}
