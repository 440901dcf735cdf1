// How many lanes share the budgets of this node, and this lane's part of each budget. The number of lanes is state of a
// thread, so no rule reads it: an object that needs a limit reads its part here when it is created.

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

/**
 * The part of this lane of the node's limit in the table of budgets. All parts together do not exceed the limit, but
 * each part is at least one.
 */
export function laneMax(key: keyof typeof BUDGETS): number {
  return Math.max(1, Math.floor(nodeMax(key) / lanesOfNode));
}

/** The part of this lane of an account's limit: the account's requests arrive at all lanes. */
export function laneAccountMax(key: keyof typeof BUDGETS): number {
  return Math.max(1, Math.floor(accountMax(key) / lanesOfNode));
}
