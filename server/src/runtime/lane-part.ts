// How many lanes share the budgets of this node, and the part of them that this lane has. It is state of a thread, so no
// rule reads it: who needs a limit asks here when it is built.

import { accountMax, type BUDGETS, nodeMax } from '../rules/limits/budgets.ts';

/** Each lane is a thread, and has its own copy of this module. */
let lanesOfNode = 1;

/** Called once, before anything is built on this thread. */
export function shareAmongLanes(lanes: number): void {
  lanesOfNode = lanes;
}

export function lanes(): number {
  return lanesOfNode;
}

/** The part of this lane of what the table of budgets gives to the node: all parts together are no more, but each is at least one. */
export function laneMax(key: keyof typeof BUDGETS): number {
  return Math.max(1, Math.floor(nodeMax(key) / lanesOfNode));
}

/** Likewise of what an account has: its requests come to all lanes. */
export function laneAccountMax(key: keyof typeof BUDGETS): number {
  return Math.max(1, Math.floor(accountMax(key) / lanesOfNode));
}
