// How many due messages one claim makes ready. A claim works in pieces, so that no transaction is long, and it takes
// some messages of every account, so that no account waits behind a million messages of another. Every adapter uses
// this file.

import { eachMax } from '../../rules/limits/budgets.ts';

/** Limit for the messages that one claim makes ready because they have been due longest, of any account. */
export const PROMOTE_MAX = eachMax('dueMessages');

/** Limits for the due flow keys, and for the due queues, in which one claim makes messages ready. */
export const PROMOTE_KEYS_MAX = eachMax('dueFlowKeys');
export const PROMOTE_QUEUES_MAX = eachMax('dueQueues');

/**
 * If more queues or flow keys are due than one claim takes, it first takes a few of each account. Limits for these few,
 * and for the accounts that are read for them.
 */
export const PROMOTE_LINES_OF_ACCOUNT_MAX = 8;
export const PROMOTE_ACCOUNTS_LOOKED_MAX = 256;

/**
 * If more than PROMOTE_MAX messages are due, a claim also makes a few messages of other accounts ready, starting after
 * the last account that was read. Limits for these accounts, and for the messages of each.
 */
export const PROMOTE_ACCOUNTS_MAX = 64;
export const PROMOTE_OF_ACCOUNT_MAX = 16;

/** How many messages of each flow key one claim makes ready: all keys together make about PROMOTE_MAX ready. */
export function promotedPerKeyMax(keys: number): number {
  return Math.ceil(PROMOTE_MAX / Math.max(1, keys));
}

/** How many messages of each queue one claim makes ready: all queues together make about PROMOTE_MAX ready. */
export const promotedPerQueueMax = promotedPerKeyMax;
