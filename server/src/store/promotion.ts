// How many due messages one claim makes ready. It works in pieces, so that no transaction is long, and takes some of
// every account, so that no account waits behind a million messages of another. For every adapter.

import { eachMax } from '../domain/budgets.ts';

/** The messages that are due longest, of any account. */
export const PROMOTE_MAX = eachMax('dueMessages');

/** Due flow keys: how many are looked for, and how many of those let messages through. */
export const PROMOTE_KEYS_SOUGHT_MAX = 1000;
export const PROMOTE_KEYS_MAX = eachMax('dueFlowKeys');

/**
 * If one piece did not hold all due messages: also take a few of each of some other accounts, after the last account
 * looked at.
 */
export const PROMOTE_ACCOUNTS_MAX = 64;
export const PROMOTE_OF_ACCOUNT_MAX = 16;

/** The share of each flow key, so that all keys together make one piece ready. */
export function promotedOfKeyMax(keys: number): number {
  return Math.ceil(PROMOTE_MAX / Math.max(1, keys));
}

/** One row of each account, then the second of each, and so on: no account waits behind all rows of another. */
export function inTurns<T extends { readonly account_id: string }>(rows: readonly T[]): T[] {
  const turns = Map.groupBy(rows, (row) => row.account_id);
  const ordered: T[] = [];
  for (let turn = 0; ordered.length < rows.length; turn += 1) {
    for (const ofAccount of turns.values()) if (turn < ofAccount.length) ordered.push(ofAccount[turn]!);
  }
  return ordered;
}
