// The table of the verbs of tokens and sessions.

import * as sessions from './sessions.ts';
import { listing, reading, writing } from './shared-verb.ts';
import * as tokens from './tokens.ts';

const ACCESS = { changesAccess: true } as const;

export const ACCESS_VERBS = {
  createToken: writing(tokens.createToken),
  findToken: reading(tokens.findToken),
  listTokens: listing(tokens.listTokens),
  touchToken: writing(tokens.touchToken),
  revokeToken: writing(tokens.revokeToken, ACCESS),
  revokeHashes: writing(tokens.revokeHashes, ACCESS),
  createFirstAdmin: writing(tokens.createFirstAdmin),
  accountsKnownBy: reading(tokens.accountsKnownBy),

  createSession: writing(sessions.createSession),
  findSession: reading(sessions.findSession),
  endSession: writing(sessions.endSession, ACCESS),
  areAdmitted: reading(sessions.areAdmitted),
};
