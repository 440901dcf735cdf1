// The table of the verbs of accounts, which are written once for all adapters. Each adapter counts in its own way how
// much an account uses and stores.

import * as accounts from './accounts.ts';
import { listing, reading, writing } from './shared-verb.ts';

const ACCESS = { changesAccess: true } as const;

export const SHARED_ACCOUNT_VERBS = {
  createAccount: writing(accounts.createAccount),
  getAccount: reading(accounts.getAccount),
  setTier: writing(accounts.setTier, ACCESS),
  setSuspended: writing(accounts.setSuspended, {
    ...ACCESS,
    makesWork: (_isKnown, _accountId, _at, now) => ({ dueAt: now, now }),
  }),
  listAccounts: listing(accounts.listAccounts),
  getSigningKeys: reading(accounts.getSigningKeys),
  rotateSigningKeys: writing(accounts.rotateSigningKeys),
};
