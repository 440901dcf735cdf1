// Finds who is calling and checks what they may do. Shared by the API and the publish handler.

import type { IncomingHttpHeaders } from 'node:http';
import type { Accounts } from '../../accounts/accounts.ts';
import { tokenFromHeader } from '../../accounts/tokens.ts';
import type { Scope } from '../../rules/accounts/account.ts';
import type { Principal } from '../../store/ports/access-store.ts';
import { sessionSecret } from '../console/session.ts';
import { ApiError } from './errors.ts';

/** Throws unless the caller has the scope. Not async, because an async function would make each publish slower. */
export function authenticate(
  accounts: Accounts,
  headers: IncomingHttpHeaders,
  scope: Scope,
): Principal | Promise<Principal> {
  const found = find(accounts, headers);
  if (found === null) {
    throw new ApiError('unauthorized', 'Authorization: missing or not valid; send "Authorization: Bearer <token>"');
  }
  return found instanceof Promise ? found.then((each) => requireScope(each, scope)) : requireScope(found, scope);
}

/** Returns null when the request has no token and no session. */
function find(accounts: Accounts, headers: IncomingHttpHeaders): Principal | Promise<Principal | null> | null {
  if (headers.authorization !== undefined) {
    const token = tokenFromHeader(headers.authorization);
    return token === null ? null : accounts.authenticate(token);
  }
  const secret = sessionSecret(headers);
  return secret === null ? null : accounts.authenticateSession(secret);
}

function requireScope(principal: Principal | null, scope: Scope): Principal {
  if (!principal) throw new ApiError('unauthorized', 'Authorization: the token is not known or was revoked');
  if (!principal.token.scopes.includes(scope)) {
    throw new ScopeError(principal, scope);
  }
  return principal;
}

/** The caller is known, but lacks the scope of the call. */
class ScopeError extends ApiError {
  readonly principal: Principal;
  constructor(principal: Principal, scope: Scope) {
    super('forbidden', `this call needs a token with the scope "${scope}"; this token has ${scopesOf(principal)}`);
    this.principal = principal;
  }
}

/** The caller whom an error of `authenticate` refuses, if it is known. */
export function callerOf(error: unknown): Principal | undefined {
  return error instanceof ScopeError ? error.principal : undefined;
}

function scopesOf(principal: Principal): string {
  return principal.token.scopes.map((scope) => `"${scope}"`).join(', ');
}

/** Refuses a change by a suspended account. Such an account may still read and delete. */
export function refuseSuspended({ account }: Principal): void {
  if (account.suspendedAt === undefined) return;
  throw new ApiError(
    'account_suspended',
    'the account is suspended: it can read and delete, and its messages wait; ask the operator of the service',
  );
}
