// How much time of the event loop each caller has used recently, and which callers have used more than an equal part.
// A caller is an account. All callers without a known account count together as one more account; among themselves,
// each network counts as one.

/** The length of a window. Time that was used counts until the end of the next window. */
const WINDOW_MS = 1000;
/** A caller that has used less than this in two windows never has to wait. */
const LITTLE_MS = 10;
/**
 * When callers without an account together have used more than this many equal parts, all of them wait. Otherwise
 * callers of ever new networks would never wait, because a new network has used nothing.
 */
const UNKNOWN_PARTS_MAX = 2;

class Window {
  readonly used = new Map<string, number>();
  readonly usedByUnknown = new Map<string, number>();
  totalMs = 0;
  unknownMs = 0;
}

export class LoopTime {
  #endsAtMs = Number.NEGATIVE_INFINITY;
  #now = new Window();
  #before = new Window();

  /** Counts `ms` for the account or network `key`. `isKnown`: it is an account. */
  charge(key: string, isKnown: boolean, ms: number, nowMs: number): void {
    this.#move(nowMs);
    const window = this.#now;
    const used = isKnown ? window.used : window.usedByUnknown;
    used.set(key, (used.get(key) ?? 0) + ms);
    window.totalMs += ms;
    if (!isKnown) window.unknownMs += ms;
  }

  usedMs(key: string, isKnown: boolean): number {
    const read = ({ used, usedByUnknown }: Window) => (isKnown ? used : usedByUnknown).get(key) ?? 0;
    return read(this.#now) + read(this.#before);
  }

  /**
   * By this value callers that wait are ordered, the lowest first. Callers without an account have nearly the same
   * value, that of their common use, and among them the network that has used least comes first.
   */
  standing(key: string, isKnown: boolean): number {
    const usedMs = this.usedMs(key, isKnown);
    return isKnown ? usedMs : this.#now.unknownMs + this.#before.unknownMs + usedMs / 1e6;
  }

  /**
   * Whether a caller has used more than an equal part of the total. The parts are for one more caller than was seen,
   * because another may just have arrived.
   */
  isAhead(key: string, isKnown: boolean, nowMs: number): boolean {
    this.#move(nowMs);
    const usedMs = this.usedMs(key, isKnown);
    const [now, before] = [this.#now, this.#before];
    const unknownMs = now.unknownMs + before.unknownMs;
    if ((isKnown ? usedMs : unknownMs) < LITTLE_MS) return false;
    const accounts = Math.max(now.used.size, before.used.size);
    const partMs = (now.totalMs + before.totalMs) / (accounts + (unknownMs > 0 ? 1 : 0) + 1);
    if (isKnown) return usedMs > partMs;
    const networks = Math.max(1, now.usedByUnknown.size, before.usedByUnknown.size);
    return unknownMs > partMs && (usedMs >= unknownMs / networks || unknownMs > UNKNOWN_PARTS_MAX * partMs);
  }

  /** Whether more than one account has used the loop. */
  isShared(): boolean {
    return Math.max(this.#now.used.size, this.#before.used.size) > 1;
  }

  /** How many milliseconds each of the `count` accounts that used most has used, and all unknown callers together. */
  most(
    count: number,
    nowMs: number,
  ): { readonly accounts: readonly (readonly [string, number])[]; readonly unknownMs: number } {
    this.#move(nowMs);
    const keys = new Set([...this.#now.used.keys(), ...this.#before.used.keys()]);
    const accounts = [...keys].map((key) => [key, this.usedMs(key, true)] as const);
    return {
      accounts: accounts.sort(([, a], [, b]) => b - a).slice(0, count),
      unknownMs: this.#now.unknownMs + this.#before.unknownMs,
    };
  }

  #move(nowMs: number): void {
    if (nowMs < this.#endsAtMs) return;
    const isLongAgo = nowMs >= this.#endsAtMs + WINDOW_MS;
    this.#before = isLongAgo ? new Window() : this.#now;
    this.#now = new Window();
    this.#endsAtMs = nowMs + WINDOW_MS;
  }
}
