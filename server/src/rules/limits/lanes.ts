// How many threads of one process listen and deliver, and how they share the limits of the node.

/** Of a pool that accounts share, every lane has room for two: an account may hold only as much as it leaves free. */
export const LANES_MAX = 32;

/** More lanes than this have nothing to do: by then the one thread that writes is busy all the time. */
const LANES_BY_DEFAULT_MAX = 4;

/**
 * One core is left for the writer. No lane may be left without a part of a limit, because its part would have to be
 * zero or exceed the limit.
 */
export function laneCount(asked: number | null, cores: number, limits: readonly (number | null)[]): number {
  const wanted = asked ?? Math.min(Math.max(1, cores - 1), LANES_BY_DEFAULT_MAX);
  return Math.min(wanted, ...limits.filter((limit) => limit !== null));
}

/** The part of one lane, counted from 0. All parts together are the whole. */
export function laneShare(whole: number, lanes: number, lane: number): number {
  return Math.floor(whole / lanes) + (lane < whole % lanes ? 1 : 0);
}

const BETWEEN = '/';

/** The name of a further lane, under which it holds claims. `own` is new for every start of a lane. */
export function laneNode(process: string, own: string): string {
  return `${process}${BETWEEN}${own}`;
}

/** The process that a node is a lane of; the node itself if it is no further lane. */
export function processOf(node: string): string {
  return node.split(BETWEEN)[0]!;
}

/** What stands in place of the end of its lease for a lane that has ended. No later heartbeat of it counts. */
export const ENDED_LANE = -1;

export interface LifeQuestion {
  /** Until when the heartbeat of the node counts, on the clock of `nowMs`. Null if it has sent none. */
  readonly aliveUntilMs: number | null;
  readonly nowMs: number;
  /** Who asks is a lane of the same process. */
  readonly isOwnProcess: boolean;
  /** The asking process may have stood still a short time ago. */
  readonly stoodStill: boolean;
}

/**
 * A node that sends no heartbeats is dead. For a lane of the process that asks this is not enough: when the process
 * stood still, all of its lanes did, and none could send any. The process knows which of its lanes have ended.
 */
export function isAlive({ aliveUntilMs, nowMs, isOwnProcess, stoodStill }: LifeQuestion): boolean {
  if (aliveUntilMs === ENDED_LANE) return false;
  if (aliveUntilMs !== null && aliveUntilMs > nowMs) return true;
  return isOwnProcess && stoodStill;
}

/** Whether a process may have stood still a short time ago, as seen by something that it does again and again. */
export class Standstills {
  readonly #gapMsMax: number;
  readonly #shortMs: number;
  #lastMs = Number.NEGATIVE_INFINITY;
  #awakeFromMs = Number.NEGATIVE_INFINITY;

  /** A gap of more than `gapMsMax` between two times is a standstill. It counts until `shortMs` have passed without one. */
  constructor(gapMsMax: number, shortMs: number) {
    this.#gapMsMax = gapMsMax;
    this.#shortMs = shortMs;
  }

  /** Notes one more time. The first one counts as the end of a standstill. */
  wasRecent(nowMs: number): boolean {
    if (nowMs - this.#lastMs > this.#gapMsMax) this.#awakeFromMs = nowMs;
    this.#lastMs = nowMs;
    return nowMs - this.#awakeFromMs < this.#shortMs;
  }
}
