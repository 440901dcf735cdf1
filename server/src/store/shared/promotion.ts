// How many due messages one claim makes ready. A claim works in pieces, so that no transaction is long, and it takes
// some messages of every account, so that no account waits behind a million messages of another. Every adapter uses
// this file.

import { eachMax } from '../../rules/limits/budgets.ts';

/** Limit for the messages that have been due longest, of any account. */
export const PROMOTE_MAX = eachMax('dueMessages');

/** Limit for the due flow keys, and for the due queues. */
export const PROMOTE_KEYS_MAX = eachMax('dueFlowKeys');
export const PROMOTE_QUEUES_MAX = eachMax('dueQueues');

/**
 * Limit for the lines of each account that go first if more lines are due than one step takes, and for the accounts
 * that are read.
 */
export const PROMOTE_LINES_OF_ACCOUNT_MAX = 8;
export const PROMOTE_ACCOUNTS_LOOKED_MAX = 256;

/**
 * Limit for the other accounts, if one piece did not hold all due messages. A few messages of each of these accounts
 * are taken too, starting after the last account that was read.
 */
export const PROMOTE_ACCOUNTS_MAX = 64;
export const PROMOTE_OF_ACCOUNT_MAX = 16;

/** How many messages of each flow key one claim makes ready, so that all keys together fill at most one piece. */
export function promotedPerKeyMax(keys: number): number {
  return Math.ceil(PROMOTE_MAX / Math.max(1, keys));
}

/** How many messages of each queue one claim makes ready, by the same rule. */
export const promotedPerQueueMax = promotedPerKeyMax;
