// The verbs of accounts, tokens, keys and sessions, as the store has them: which of them read and which of them write.

import type { Store } from '../store.ts';
import * as accounts from './accounts.ts';
import type { Database } from './database.ts';
import * as sessions from './sessions.ts';

type Verb = (database: Database, ...rest: never[]) => Promise<unknown>;
export type Rest<F> = F extends (database: Database, ...rest: infer R) => Promise<infer T>
  ? (...rest: R) => Promise<T>
  : never;
/** Makes a function over a connection into a verb that finds its own. */
export type Over = <F extends Verb>(verb: F) => Rest<F>;

export function accountVerbs(reading: Over, writing: Over) {
  return {
    createAccount: writing(accounts.createAccount),
    getAccount: reading(accounts.getAccount),
    setTier: writing(accounts.setTier),
    accountsKnownBy: reading(accounts.accountsKnownBy),
    getSigningKeys: reading(accounts.getSigningKeys),
    rotateSigningKeys: writing(accounts.rotateSigningKeys),
    createToken: writing(accounts.createToken),
    findToken: reading(accounts.findToken),
    revokeToken: writing(accounts.revokeToken),
    revokeHashes: writing(accounts.revokeHashes),
    createFirstAdmin: writing(accounts.createFirstAdmin),
    touchToken: writing(accounts.touchToken),
    createSession: writing(sessions.createSession),
    findSession: reading(sessions.findSession),
    endSession: writing(sessions.endSession),
    areAdmitted: reading(sessions.areAdmitted),
  } satisfies Partial<Store>;
}
