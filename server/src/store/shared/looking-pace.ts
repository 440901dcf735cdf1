// When to claim again after a claim that could not read every account and host. The next claim is made at once while
// claims find something, else after growing pauses, so that many hosts without room do not keep the store busy. Every
// adapter uses this file.

const PAUSE_MS = 20;
const PAUSE_MS_MAX = 1000;

export class NextClaimPace {
  #pauseMs = PAUSE_MS;

  /** After how many milliseconds to claim again. Null if there is no need to claim again. */
  next(isCut: boolean, hasFound: boolean): number | null {
    if (!isCut || hasFound) this.#pauseMs = PAUSE_MS;
    if (!isCut) return null;
    if (hasFound) return 0;
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX);
    return pauseMs;
  }
}
