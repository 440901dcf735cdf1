// How many threads of one process listen and deliver, and how they share the limits of the node.

import { type BUDGETS, nodeMax } from './budgets.ts';

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

/** Each lane is a thread, and has its own copy of this module. */
let lanesOfNode = 1;

/** Called once, before anything is built on this thread. */
export function shareAmongLanes(lanes: number): void {
  lanesOfNode = lanes;
}

/** The part of this lane of what the table of budgets gives to the node. */
export function laneMax(key: keyof typeof BUDGETS): number {
  return Math.ceil(nodeMax(key) / lanesOfNode);
}
