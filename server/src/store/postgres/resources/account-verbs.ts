// The account port over PostgreSQL: which verbs read and which write.

import type { AccountStore } from '../../ports/account-store.ts';
import { SHARED_ACCOUNT_VERBS } from '../../resources/account-verbs.ts';
import type { Calls } from '../groups/calls.ts';
import * as stored from '../messages/stored.ts';
import { usage } from '../messages/usage.ts';
import { onCall } from './steps.ts';

export function createAccounts(calls: Calls): AccountStore {
  return {
    ...onCall(calls, SHARED_ACCOUNT_VERBS),
    usage: calls.reading(usage),
    storedBytes: calls.reading(stored.storedBytes),
    storedAccounts: calls.reading(stored.storedAccounts),
    // The database does not report its free disk space.
    freeInside: async () => 0,
    recountStored: calls.writing(stored.recountStored),
    foldStored: calls.writing(stored.foldStored),
  };
}
