// The account port over PostgreSQL: which verbs read and which write.

import type { AccountStore } from '../../ports/account-store.ts';
import type { Calls } from '../groups/calls.ts';
import * as lists from '../messages/lists.ts';
import * as stored from '../messages/stored.ts';
import * as accounts from './accounts.ts';

const ACCESS = { changesAccess: true } as const;

export function createAccounts(calls: Calls): AccountStore {
  return {
    createAccount: calls.writing(accounts.createAccount),
    getAccount: calls.reading(accounts.getAccount),
    setTier: calls.writing(accounts.setTier, ACCESS),
    setSuspended: calls.writing(
      (database, accountId: string, at: number | null, _now: number) => accounts.setSuspended(database, accountId, at),
      { ...ACCESS, makesWork: (_isKnown, _accountId, _at, now) => ({ dueAt: now, now }) },
    ),
    listAccounts: calls.reading(lists.listAccounts),
    usage: calls.reading(lists.usage),
    storedBytes: calls.reading(stored.storedBytes),
    storedAccounts: calls.reading(stored.storedAccounts),
    // The database tells nothing of its disk.
    freeInside: async () => 0,
    recountStored: calls.writing(stored.recountStored),
    foldStored: calls.writing(stored.foldStored),

    getSigningKeys: calls.reading(accounts.getSigningKeys),
    rotateSigningKeys: calls.writing(accounts.rotateSigningKeys),
  };
}
