// What commands do with accounts and tokens, over the API or directly in a store, and which account a command means.

import type { Account, NewToken, Scope, Token } from 'postrider-sdk';
import type { WantedTokenLimits } from '../../../../server/src/rules/accounts/token-limits.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { Failure } from '../../frame/failure.ts';

export interface RecountResult {
  readonly storedBytes: number;
  /** Negative if the count was too high. */
  readonly correctedBy: number;
}

export interface AccountAccess {
  /** The address of the service, or the place of the store. */
  readonly location: string;
  /** The account of the token, which a command uses when no account is named. Null for a store: no token is used. */
  ownAccountId(): Promise<string | null>;
  accounts(): Promise<readonly Account[]>;
  createAccount(name: string, tier: string | undefined): Promise<Account>;
  setTier(accountId: string, tier: string): Promise<Account>;
  setSuspended(accountId: string, isSuspended: boolean): Promise<Account>;
  /** From then on it works no more. The service deletes it, also if this was done directly in its store. */
  deleteAccount(account: Account): Promise<Account>;
  /** Counts again how many bytes an account stores. Null over the API, which has no call for this. */
  readonly recount: ((accountId: string) => Promise<RecountResult>) | null;
  tokens(accountId: string): Promise<readonly Token[]>;
  createToken(
    accountId: string,
    name: string,
    scopes: readonly Scope[],
    limits: Pick<WantedTokenLimits, 'expiresIn' | 'addresses'>,
  ): Promise<NewToken>;
  revokeToken(accountId: string, tokenId: string): Promise<void>;
  close(): Promise<void>;
}

const NAMES_SHOWN_MAX = 10;

/**
 * Finds an account by its name or id. If none is named, it is the caller's own account, or else the only account, or
 * else the account with the name default.
 */
export async function findAccount(access: AccountAccess, wanted: string | undefined): Promise<Account> {
  const own = wanted === undefined ? await access.ownAccountId() : null;
  const accounts = await access.accounts();
  const name = wanted ?? (accounts.length === 1 ? accounts[0]!.name : 'default');
  const found = accounts.find(({ id }) => id === (own ?? wanted)) ?? accounts.find((each) => each.name === name);
  if (found) return found;
  if (wanted !== undefined) {
    const hint = namesOf(accounts, 'There are');
    throw new Failure(`there is no account "${wanted}"`, { exit: EXIT.notFound, hint });
  }
  const what = accounts.length === 0 ? 'there is no account yet' : 'there are several accounts';
  throw new Failure(what, { exit: EXIT.usage, hint: namesOf(accounts, 'Choose one with --account') });
}

function namesOf(accounts: readonly Account[], lead: string): string {
  if (accounts.length === 0) return 'To make the first account and its token, start postrider serve.';
  const names = accounts.slice(0, NAMES_SHOWN_MAX).map((each) => each.name);
  const more = accounts.length > names.length ? ` and ${accounts.length - names.length} more` : '';
  return `${lead}: ${names.join(', ')}${more}.`;
}
