// How much one claim makes ready of what has come due: in pieces, so that no transaction is long, and of every account, so
// that nobody waits behind a million messages of another. For every adapter.

import { eachMax } from '../domain/budgets.ts';

/** The longest due, whoever's they are. */
export const PROMOTE_MAX = eachMax('dueMessages');

/** Flow keys that have come due: so many are looked for, so many of them let messages through. */
export const PROMOTE_KEYS_SOUGHT_MAX = 1000;
export const PROMOTE_KEYS_MAX = eachMax('dueFlowKeys');

/** Beside a whole piece of them: of so many accounts so many each, from behind the last ones looked at. */
export const PROMOTE_ACCOUNTS_MAX = 64;
export const PROMOTE_OF_ACCOUNT_MAX = 16;

/** Of each of so many flow keys: all of them together make one piece ready. */
export function promotedOfKeyMax(keys: number): number {
  return Math.ceil(PROMOTE_MAX / Math.max(1, keys));
}

/** One of each account, then another one of each: nobody's stand behind all of another account's. */
export function inTurns<T extends { readonly account_id: string }>(rows: readonly T[]): T[] {
  const turns = Map.groupBy(rows, (row) => row.account_id);
  const ordered: T[] = [];
  for (let turn = 0; ordered.length < rows.length; turn += 1) {
    for (const ofAccount of turns.values()) if (turn < ofAccount.length) ordered.push(ofAccount[turn]!);
  }
  return ordered;
}
