// Who is asking, and may they? Shared by both lanes.

import type { IncomingHttpHeaders } from 'node:http';
import type { Accounts } from '../accounts/accounts.ts';
import { tokenFromHeader } from '../accounts/tokens.ts';
import type { Scope } from '../domain/account.ts';
import type { Principal } from '../store/store.ts';
import { ApiError } from './errors.ts';
import { tokenFromSession } from './session.ts';

export async function authenticate(accounts: Accounts, headers: IncomingHttpHeaders, scope: Scope): Promise<Principal> {
  const token =
    headers.authorization === undefined ? tokenFromSession(headers) : tokenFromHeader(headers.authorization);
  if (token === null) {
    throw new ApiError('unauthorized', 'Authorization: missing or unreadable; send "Authorization: Bearer <token>"');
  }
  const principal = await accounts.authenticate(token);
  if (!principal) throw new ApiError('unauthorized', 'Authorization: the token is not known or was revoked');
  if (!principal.token.scopes.includes(scope)) {
    throw new ApiError(
      'forbidden',
      `this call needs a token with the scope "${scope}"; this one has ${scopesOf(principal)}`,
    );
  }
  return principal;
}

function scopesOf(principal: Principal): string {
  return principal.token.scopes.map((scope) => `"${scope}"`).join(', ');
}
