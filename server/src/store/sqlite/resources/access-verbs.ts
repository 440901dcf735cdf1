// The table of the verbs of tokens and sessions.

import { listing, on } from '../thread/verb.ts';
import * as accounts from './accounts.ts';
import * as sessions from './sessions.ts';

const ACCESS = { changesAccess: true } as const;

export const ACCESS_VERBS = {
  createToken: on(accounts.createToken),
  findToken: on(accounts.findToken),
  listTokens: listing(accounts.listTokens),
  touchToken: on(accounts.touchToken),
  revokeToken: on(accounts.revokeToken, ACCESS),
  revokeHashes: on(accounts.revokeHashes, ACCESS),
  createFirstAdmin: on(accounts.createFirstAdmin),
  accountsKnownBy: on(accounts.accountsKnownBy),

  createSession: on(sessions.createSession),
  findSession: on(sessions.findSession),
  endSession: on(sessions.endSession, ACCESS),
  areAdmitted: on(sessions.areAdmitted),
};
