// Accounts and tokens, over the API or directly in a store. A store can be used even when no token with the admin scope
// is left.

import type { Account, Client, NewToken, Scope, Token } from 'postrider-sdk';
import { parseConfig } from '../../../../server/src/node/settings/config.ts';
import type { Given } from '../../frame/arguments.ts';
import type { Invocation } from '../../frame/command.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { Failure, usageFailure } from '../../frame/failure.ts';
import { isForStore } from '../../frame/store-or-service.ts';
import type { Io } from '../../frame/terminal.ts';
import { CONNECTION_FLAGS } from '../../table/flags.ts';

export interface Recounted {
  readonly storedBytes: number;
  /** Negative if the count was too high. */
  readonly correctedBy: number;
}

export interface AccountAccess {
  /** Where the accounts are, as text. */
  readonly location: string;
  /** The account that a command uses when no account is named. Null if that is not clear. */
  ownAccountId(): Promise<string | null>;
  accounts(): Promise<readonly Account[]>;
  createAccount(name: string, tier: string | undefined): Promise<Account>;
  setTier(accountId: string, tier: string): Promise<Account>;
  setSuspended(accountId: string, isSuspended: boolean): Promise<Account>;
  /** Counts again how many bytes an account stores. Null over the API. */
  readonly recount: ((accountId: string) => Promise<Recounted>) | null;
  tokens(accountId: string): Promise<readonly Token[]>;
  createToken(accountId: string, name: string, scopes: readonly Scope[]): Promise<NewToken>;
  revokeToken(accountId: string, tokenId: string): Promise<void>;
  close(): Promise<void>;
}

export async function openAccess({ given, io, connect }: Invocation): Promise<AccountAccess> {
  if (isForStore(given, io.env)) return openStoreAccess(given, io);
  const { client, url } = connect();
  return apiAccess(client, url);
}

function apiAccess(client: Client, url: string): AccountAccess {
  return {
    location: url,
    ownAccountId: async () => (await client.getAccount()).accountId,
    accounts: async () => (await client.listAccounts()).accounts,
    createAccount: (name, tier) => client.createAccount({ name, ...(tier !== undefined && { tier }) }),
    setTier: (accountId, tier) => client.setTier(accountId, tier),
    setSuspended: (accountId, isSuspended) => client.setSuspended(accountId, isSuspended),
    recount: null,
    tokens: async (accountId) => (await client.listTokens(accountId)).tokens,
    createToken: (accountId, name, scopes) => client.createToken({ accountId, name, scopes }),
    revokeToken: async (accountId, tokenId) => {
      await client.revokeToken(accountId, tokenId);
    },
    close: async () => {},
  };
}

async function openStoreAccess(given: Given, io: Io): Promise<AccountAccess> {
  // Reads the settings of `token create`, because these settings name a store.
  const named = ['data', 'store'].flatMap((flag) => given.list(flag).map((value) => `--${flag}=${value}`));
  const ofService = CONNECTION_FLAGS.filter(({ name }) => given.has(name)).map(({ name }) => `--${name}`);
  if (ofService.length > 0) {
    const where = named.length === 0 ? 'POSTRIDER_DATA or POSTRIDER_STORE' : '--data or --store';
    throw new Failure(`${ofService.join(', ')} has no effect on a store, and ${where} names one`, {
      exit: EXIT.usage,
      hint: 'Nothing was changed. Name a service or a store, not both.',
    });
  }
  const parsed = parseConfig('token create', ['--admin', ...named], io.env);
  if (!('config' in parsed)) throw usageFailure('problems' in parsed ? parsed.problems : [], 'token');
  const { storeAccess } = await import('../../service/store-access.ts');
  try {
    return await storeAccess(parsed.config);
  } catch (error) {
    const { message } = error as Error;
    const hint = 'Name the directory of the service with --data, or its database with --store.';
    throw new Failure(message, message.startsWith('there is no store') ? { hint } : {});
  }
}

const NAMES_SHOWN_MAX = 10;

/**
 * Finds an account by name or id. Without either, it is the caller's own account, the only account, or the account
 * named default.
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
  const hint = namesOf(accounts, 'Choose one with --account');
  throw new Failure('there are several accounts', { exit: EXIT.usage, hint });
}

function namesOf(accounts: readonly Account[], lead: string): string {
  if (accounts.length === 0) return 'There are none yet: start postrider serve, which prints the first token.';
  const names = accounts.slice(0, NAMES_SHOWN_MAX).map((each) => each.name);
  const more = accounts.length > names.length ? ` and ${accounts.length - names.length} more` : '';
  return `${lead}: ${names.join(', ')}${more}.`;
}
