// How many threads of one process listen and deliver, and how they share the limits of the node.

/**
 * With more lanes, a lane's part of some pools would be too small. Each part needs room for two holders: an account may
 * hold only as much as it leaves free.
 */
export const LANES_MAX = 32;

/** The default is not higher, because this many lanes keep the one writer thread busy all the time. */
const LANES_BY_DEFAULT_MAX = 4;

/**
 * How many lanes a node has. `asked` null means the default: one core is left for the writer thread. There are never
 * more lanes than the lowest of `limits`, which the lanes share: a lane with a part of zero would be blocked.
 */
export function laneCount(asked: number | null, cores: number, limits: readonly (number | null)[]): number {
  const wanted = asked ?? Math.min(Math.max(1, cores - 1), LANES_BY_DEFAULT_MAX);
  return Math.min(wanted, ...limits.filter((limit) => limit !== null));
}

/** The part of `whole` that lane number `lane` gets, counted from 0. The parts of all lanes add up to the whole. */
export function laneShare(whole: number, lanes: number, lane: number): number {
  return Math.floor(whole / lanes) + (lane < whole % lanes ? 1 : 0);
}

const BETWEEN = '/';

/** The node id of a lane that is not the main thread. `process`: the id of its process. `own`: new at each start. */
export function laneNode(process: string, own: string): string {
  return `${process}${BETWEEN}${own}`;
}

/** The id of the process that a node id belongs to. It is `node` itself if that is the main thread. */
export function processOfLane(node: string): string {
  return node.split(BETWEEN)[0]!;
}

/** Stored instead of the time until which a lane is alive, when the lane has ended. Later heartbeats do not count. */
export const ENDED_LANE = -1;

export interface LifeFacts {
  /** Until when the last heartbeat of the node counts, on the clock of `nowMs`; or ENDED_LANE. Null: no heartbeat. */
  readonly aliveUntilMs: number | null;
  readonly nowMs: number;
  /** Whether the node is a lane of the calling process. */
  readonly isOwnProcess: boolean;
  /** Whether the calling process may have been paused recently. */
  readonly stoodStill: boolean;
}

/**
 * A node that sends no heartbeats is dead. The exception is a lane of the calling process while this process was
 * paused: none of its lanes could send a heartbeat then, and the process knows by itself which lanes have ended.
 */
export function isAlive({ aliveUntilMs, nowMs, isOwnProcess, stoodStill }: LifeFacts): boolean {
  if (aliveUntilMs === ENDED_LANE) return false;
  if (aliveUntilMs !== null && aliveUntilMs > nowMs) return true;
  return isOwnProcess && stoodStill;
}

/** Detects a recent pause of the process, by gaps between the times of something that the process does regularly. */
export class PauseDetector {
  readonly #gapMsMax: number;
  readonly #shortMs: number;
  #lastMs = Number.NEGATIVE_INFINITY;
  #awakeFromMs = Number.NEGATIVE_INFINITY;

  /**
   * A gap of more than `gapMsMax` between two times is a pause. A pause counts as recent until `shortMs` have passed
   * without another pause.
   */
  constructor(gapMsMax: number, shortMs: number) {
    this.#gapMsMax = gapMsMax;
    this.#shortMs = shortMs;
  }

  /** Notes the time `nowMs`, and returns whether a pause was recent. The first call counts as the end of a pause. */
  wasRecent(nowMs: number): boolean {
    if (nowMs - this.#lastMs > this.#gapMsMax) this.#awakeFromMs = nowMs;
    this.#lastMs = nowMs;
    return nowMs - this.#awakeFromMs < this.#shortMs;
  }
}
