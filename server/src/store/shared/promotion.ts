// How many due messages one claim makes ready. It works in pieces, so that no transaction is long, and takes some of
// every account, so that no account waits behind a million messages of another. Every adapter uses this file.

import { eachMax } from '../../rules/limits/budgets.ts';

/** The messages that are due longest, of any account. */
export const PROMOTE_MAX = eachMax('dueMessages');

/** Due flow keys and queues. */
export const PROMOTE_KEYS_MAX = eachMax('dueFlowKeys');
export const PROMOTE_QUEUES_MAX = eachMax('dueQueues');

/** If more lines are due than one step takes: how many of each account go first, and how many accounts it reads. */
export const PROMOTE_LINES_OF_ACCOUNT_MAX = 8;
export const PROMOTE_ACCOUNTS_LOOKED_MAX = 256;

/**
 * If one piece did not hold all due messages: also take a few of each of some other accounts, after the last account
 * that was read.
 */
export const PROMOTE_ACCOUNTS_MAX = 64;
export const PROMOTE_OF_ACCOUNT_MAX = 16;

/** How many messages of each flow key one claim makes ready, so that all keys together make one piece ready. */
export function promotedPerKeyMax(keys: number): number {
  return Math.ceil(PROMOTE_MAX / Math.max(1, keys));
}

/** How many messages of each queue one claim makes ready. */
export const promotedPerQueueMax = promotedPerKeyMax;
