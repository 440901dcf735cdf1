// Opens the accounts and tokens of a service over the API, or those of a store. A store can be used even when no token
// with the admin scope is left.

import type { Client } from 'postrider-sdk';
import { parseConfig } from '../../../../server/src/node/settings/config.ts';
import type { Args } from '../../frame/arguments.ts';
import type { Invocation } from '../../frame/command.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { Failure, usageFailure } from '../../frame/failure.ts';
import { isForStore } from '../../frame/store-or-service.ts';
import type { Io } from '../../frame/terminal.ts';
import { CONNECTION_FLAGS } from '../../table/flags.ts';
import type { AccountAccess } from './account-access.ts';

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
    deleteAccount: ({ id, name }) => client.deleteAccount(id, name),
    recount: null,
    tokens: async (accountId) => (await client.listTokens(accountId)).tokens,
    createToken: (accountId, name, scopes, { expiresIn, addresses = [] }) =>
      client.createToken({
        ...{ accountId, name, scopes },
        ...(expiresIn !== undefined && { expiresIn }),
        ...(addresses.length > 0 && { addresses }),
      }),
    revokeToken: async (accountId, tokenId) => {
      await client.revokeToken(accountId, tokenId);
    },
    close: async () => {},
  };
}

async function openStoreAccess(given: Args, io: Io): Promise<AccountAccess> {
  // Reads the settings of `token create`, because these settings name a store.
  const named = ['data', 'store'].flatMap((flag) => given.list(flag).map((value) => `--${flag}=${value}`));
  const ofService = CONNECTION_FLAGS.filter(({ name }) => given.has(name)).map(({ name }) => `--${name}`);
  if (ofService.length > 0) {
    const where = named.length === 0 ? 'POSTRIDER_DATA or POSTRIDER_STORE' : '--data or --store';
    throw new Failure(`${ofService.join(', ')} has no effect on a store, but ${where} names a store`, {
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
