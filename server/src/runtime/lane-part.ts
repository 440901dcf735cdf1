// How many lanes share the budgets of this node, and this lane's part of each budget. The number of lanes is state of
// the thread, and rules/ has no state. So an object that needs a limit reads this lane's part when it is created.

import { accountMax, type BUDGETS, nodeMax } from '../rules/limits/budgets.ts';

/** Each lane is a thread, and has its own copy of this module. */
let lanesOfNode = 1;

/** Sets the number of lanes of the node. Call this once on each thread, before anything else is built there. */
export function setLanesOfNode(lanes: number): void {
  lanesOfNode = lanes;
}

export function lanes(): number {
  return lanesOfNode;
}

/**
 * This lane's part of the node's limit in the table of budgets. It is rounded down, so that all parts together do not
 * exceed the limit, but is at least one.
 */
export function laneMax(key: keyof typeof BUDGETS): number {
  return Math.max(1, Math.floor(nodeMax(key) / lanesOfNode));
}

/** This lane's part of the limit for one account, whose requests arrive at all lanes. */
export function laneAccountMax(key: keyof typeof BUDGETS): number {
  return Math.max(1, Math.floor(accountMax(key) / lanesOfNode));
}
