// The table of the verbs of accounts: tier, signing keys, usage and stored bytes.

import type { ListPart } from '../../ports/list-piece.ts';
import { SHARED_ACCOUNT_VERBS } from '../../resources/account-verbs.ts';
import { freeInside, storedAccounts } from '../messages/stored.ts';
import { lookingUp, on, type VerbContext, writing } from '../thread/verb.ts';
import { onThread } from './steps.ts';

export const ACCOUNT_VERBS = {
  ...onThread(SHARED_ACCOUNT_VERBS),
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
};
