// The table of the verbs of accounts: tier, signing keys, usage and stored bytes.

import type { TierName } from '../../../rules/limits/tier.ts';
import type { ListPart } from '../../ports/list-piece.ts';
import { freeInside, storedAccounts } from '../messages/stored.ts';
import { listing, lookingUp, on, type VerbContext, writing } from '../thread/verb.ts';
import * as accounts from './accounts.ts';

const ACCESS = { changesAccess: true } as const;

export const ACCOUNT_VERBS = {
  createAccount: on(accounts.createAccount),
  getAccount: on(accounts.getAccount),
  setTier: writing((database, { accountsAtClaim }, accountId: string, tier: TierName) => {
    accountsAtClaim.forget();
    return accounts.setTier(database, accountId, tier);
  }, ACCESS),
  setSuspended: on(
    (database, accountId: string, at: number | null, _now: number) => accounts.setSuspended(database, accountId, at),
    { ...ACCESS, makesWorkAt: (_isKnown, _accountId, _at, now) => now },
  ),
  listAccounts: listing(accounts.listAccounts),
  usage: {
    reads: 'list' as const,
    run: ({ caches }: VerbContext, accountId: string, fromDay: string, toDay: string, part?: ListPart) =>
      caches.usage.list(accountId, fromDay, toDay, part),
  },
  storedBytes: writing((_database, { stored }, accountId: string) => stored.of(accountId)),
  storedAccounts: lookingUp(storedAccounts),
  freeInside: lookingUp(freeInside),
  storedError: {
    reads: 'list' as const,
    run: ({ caches }: VerbContext, accountId: string) => caches.stored.errorOf(accountId),
  },
  correctStored: writing((_database, { stored }, accountId: string, by: number) => stored.add(accountId, by)),
  // Each account has one row.
  foldStored: on((_database, _limit: number) => 0),

  getSigningKeys: on(accounts.getSigningKeys),
  rotateSigningKeys: writing((database, { accountsAtClaim }, accountId: string, next: string, fresh: string) => {
    accountsAtClaim.forget();
    return accounts.rotateSigningKeys(database, accountId, next, fresh);
  }),
};
