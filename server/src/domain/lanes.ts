// How many threads of one process listen and deliver, and how they share the limits of the node.

import { type BUDGETS, nodeMax } from './budgets.ts';

export const LANES_MAX = 64;

/** No lane may be left without a part of a limit, because its part would have to be zero or exceed the limit. */
export function laneCount(asked: number, limits: readonly (number | null)[]): number {
  return Math.min(asked, ...limits.filter((limit) => limit !== null));
}

/** The part of one lane, counted from 0. All parts together are the whole. */
export function laneShare(whole: number, lanes: number, lane: number): number {
  return Math.floor(whole / lanes) + (lane < whole % lanes ? 1 : 0);
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
