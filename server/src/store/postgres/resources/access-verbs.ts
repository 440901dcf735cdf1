// The access port over PostgreSQL: which verbs read and which write.

import type { AccessStore } from '../../ports/access-store.ts';
import type { Calls } from '../groups/calls.ts';
import { listTokens } from '../messages/lists.ts';
import * as accounts from './accounts.ts';
import * as sessions from './sessions.ts';

const ACCESS = { changesAccess: true } as const;

export function createAccess(calls: Calls): AccessStore {
  return {
    createToken: calls.writing(accounts.createToken),
    findToken: calls.reading(accounts.findToken),
    listTokens: calls.reading(listTokens),
    touchToken: calls.writing(accounts.touchToken),
    revokeToken: calls.writing(accounts.revokeToken, ACCESS),
    revokeHashes: calls.writing(accounts.revokeHashes, ACCESS),
    createFirstAdmin: calls.writing(accounts.createFirstAdmin),
    accountsKnownBy: calls.reading(accounts.accountsKnownBy),

    createSession: calls.writing(sessions.createSession),
    findSession: calls.reading(sessions.findSession),
    endSession: calls.writing(sessions.endSession, ACCESS),
    areAdmitted: calls.reading(sessions.areAdmitted),
    onAccess: (listener) => calls.news.onAccess(listener),
  };
}
