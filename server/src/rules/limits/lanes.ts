// How many threads of one process listen and deliver, and how they share the limits of the node.

/**
 * With more lanes, a lane's part of a pool would be too small. Each part needs room for two, because an account may
 * hold only as much as it leaves free.
 */
export const LANES_MAX = 32;

/** More lanes would have nothing to do: at this number the one writer thread is busy all the time. */
const LANES_BY_DEFAULT_MAX = 4;

/**
 * By default, one core is left for the writer thread. There are never more lanes than the lowest limit: a lane with a
 * part of zero would be blocked, and with a larger part the lanes together would exceed the limit.
 */
export function laneCount(asked: number | null, cores: number, limits: readonly (number | null)[]): number {
  const wanted = asked ?? Math.min(Math.max(1, cores - 1), LANES_BY_DEFAULT_MAX);
  return Math.min(wanted, ...limits.filter((limit) => limit !== null));
}

/** The part of one lane, counted from 0. All parts add up to the whole. */
export function laneShare(whole: number, lanes: number, lane: number): number {
  return Math.floor(whole / lanes) + (lane < whole % lanes ? 1 : 0);
}

const BETWEEN = '/';

/** The name under which a further lane of a process holds claims. `own` is new for every start of a lane. */
export function laneNode(process: string, own: string): string {
  return `${process}${BETWEEN}${own}`;
}

/** The process of a lane; the node itself if it is not a further lane. */
export function processOf(node: string): string {
  return node.split(BETWEEN)[0]!;
}

/** Stored in place of the time until which a lane is alive, once it has ended. Its later heartbeats do not count. */
export const ENDED_LANE = -1;

export interface LifeFacts {
  /** Until when the heartbeat of the node counts, on the clock of `nowMs`. Null if it has sent none. */
  readonly aliveUntilMs: number | null;
  readonly nowMs: number;
  /** Whether the node is a lane of the calling process. */
  readonly isOwnProcess: boolean;
  /** Whether the calling process may have been paused recently. */
  readonly stoodStill: boolean;
}

/**
 * A node that sends no heartbeats is dead. For a lane of the calling process this is not enough: when the process was
 * paused, all of its lanes were, and none could send a heartbeat. The process itself knows which of its lanes have
 * ended.
 */
export function isAlive({ aliveUntilMs, nowMs, isOwnProcess, stoodStill }: LifeFacts): boolean {
  if (aliveUntilMs === ENDED_LANE) return false;
  if (aliveUntilMs !== null && aliveUntilMs > nowMs) return true;
  return isOwnProcess && stoodStill;
}

/** Finds out whether a process may have been paused recently, from the times of something that it does regularly. */
export class PauseDetector {
  readonly #gapMsMax: number;
  readonly #shortMs: number;
  #lastMs = Number.NEGATIVE_INFINITY;
  #awakeFromMs = Number.NEGATIVE_INFINITY;

  /**
   * A gap of more than `gapMsMax` between two times is a pause. A pause counts as recent until `shortMs` have passed
   * without another.
   */
  constructor(gapMsMax: number, shortMs: number) {
    this.#gapMsMax = gapMsMax;
    this.#shortMs = shortMs;
  }

  /** Notes one more time, and returns whether a pause was recent. The first time counts as the end of a pause. */
  wasRecent(nowMs: number): boolean {
    if (nowMs - this.#lastMs > this.#gapMsMax) this.#awakeFromMs = nowMs;
    this.#lastMs = nowMs;
    return nowMs - this.#awakeFromMs < this.#shortMs;
  }
}
