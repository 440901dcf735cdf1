// When a claim that could not look at every account and host goes on: at once as long as it finds something, else after
// pauses that grow, so that many hosts without room do not keep a store busy. For every adapter.

const PAUSE_MS = 20;
const PAUSE_MS_MAX = 1000;

export class LookingPace {
  #pauseMs = PAUSE_MS;

  /** In how many milliseconds to claim again; null when there is no reason to. */
  next(isCut: boolean, hasFound: boolean): number | null {
    if (!isCut || hasFound) this.#pauseMs = PAUSE_MS;
    if (!isCut) return null;
    if (hasFound) return 0;
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX);
    return pauseMs;
  }
}
