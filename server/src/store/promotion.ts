// How much one claim makes ready of what has come due: in pieces, so that no transaction is long, and of every account, so
// that nobody waits behind a million messages of another. For every adapter.

import { eachMax } from '../domain/budgets.ts';

/** The longest due, whoever's they are. */
export const PROMOTE_MAX = eachMax('dueMessages');

/** Beside a whole piece of them: of so many accounts so many each, from behind the last ones looked at. */
export const PROMOTE_ACCOUNTS_MAX = 64;
export const PROMOTE_OF_ACCOUNT_MAX = 16;
