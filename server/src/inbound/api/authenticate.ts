// Finds who is calling and checks what they may do. Shared by the API and the publish handler.

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Accounts } from '../../accounts/accounts.ts';
import { tokenFromHeader } from '../../accounts/tokens.ts';
import type { Scope } from '../../rules/accounts/account.ts';
import { AddressRanges } from '../../runtime/address-ranges.ts';
import type { Principal } from '../../store/ports/access-store.ts';
import { sessionSecret } from '../console/session.ts';
import type { CallerAddresses } from '../server/caller.ts';
import { ApiError } from './errors.ts';

export interface Access {
  readonly accounts: Accounts;
  readonly callers: CallerAddresses;
}

export type CalledBy = Pick<IncomingMessage, 'headers' | 'socket'>;

/**
 * Throws unless the caller has the scope, and may use the token from its address. Not async, because an async function
 * would make each publish slower.
 */
export function authenticate(
  { accounts, callers }: Access,
  request: CalledBy,
  scope: Scope,
): Principal | Promise<Principal> {
  const found = find(accounts, request.headers);
  if (found === null) {
    throw new ApiError('unauthorized', 'Authorization: missing or not valid; send "Authorization: Bearer <token>"');
  }
  if (found instanceof Promise) return found.then((each) => admit(each, callers, request, scope));
  return admit(found, callers, request, scope);
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

function admit(principal: Principal | null, callers: CallerAddresses, request: CalledBy, scope: Scope): Principal {
  if (!principal) {
    throw new ApiError('unauthorized', 'Authorization: the token is not known, has expired or was revoked');
  }
  const elsewhere = whyNotFromHere(principal, callers, request);
  if (elsewhere !== null) throw new RefusedCaller(principal, elsewhere);
  if (!principal.token.scopes.includes(scope)) {
    const text = `this call needs a token with the scope "${scope}"; this token has ${scopesOf(principal)}`;
    throw new RefusedCaller(principal, text);
  }
  return principal;
}

/** Why the token may not be used from the address of the request, or null. The address is read only if it matters. */
export function whyNotFromHere(
  { token: { addresses } }: Principal,
  callers: CallerAddresses,
  request: CalledBy,
): string | null {
  if (addresses.length === 0) return null;
  const ip = callers.ipOf(request);
  if (ip !== null && rangesOf(addresses).has(ip)) return null;
  return `this token may not be used from ${ip ?? 'an unknown address'}`;
}

/** A principal is cached with its token, so its ranges are parsed once in that time. */
const parsedRanges = new WeakMap<readonly string[], AddressRanges>();

function rangesOf(addresses: readonly string[]): AddressRanges {
  const known = parsedRanges.get(addresses);
  if (known) return known;
  const ranges = new AddressRanges(addresses);
  parsedRanges.set(addresses, ranges);
  return ranges;
}

/** The caller is known, but may not make the call. */
class RefusedCaller extends ApiError {
  readonly principal: Principal;
  constructor(principal: Principal, message: string) {
    super('forbidden', message);
    this.principal = principal;
  }
}

/** The caller whom an error of `authenticate` refuses, if it is known. */
export function callerOf(error: unknown): Principal | undefined {
  return error instanceof RefusedCaller ? error.principal : undefined;
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
