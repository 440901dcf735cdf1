// Reads and changes accounts and tokens directly in a store. A service may run on the store at the same time.

import { Accounts } from '../../../server/src/accounts/accounts.ts';
import { auditCommand } from '../../../server/src/audit/audit.ts';
import { openStoreForCommand, storeLocation } from '../../../server/src/node/main.ts';
import type { Config } from '../../../server/src/node/settings/config.ts';
import { type Account, shownToken } from '../../../server/src/rules/accounts/account.ts';
import { readTokenLimits } from '../../../server/src/rules/accounts/token-limits.ts';
import type { TierName } from '../../../server/src/rules/limits/tier.ts';
import { idMaker } from '../../../server/src/rules/requests/id.ts';
import { isName, NAME_RULE } from '../../../server/src/rules/requests/name.ts';
import { wrongRange } from '../../../server/src/runtime/address-ranges.ts';
import { systemWorld } from '../../../server/src/runtime/world.ts';
import { everyEntry, type ListPiece, type ListPieceRequest } from '../../../server/src/store/ports/list-piece.ts';
import type { Store } from '../../../server/src/store/ports/store.ts';
import type { AccountAccess } from '../commands/machine/account-access.ts';
import { EXIT } from '../frame/exit-codes.ts';
import { Failure } from '../frame/failure.ts';

export async function storeAccess(config: Config): Promise<AccountAccess> {
  const store = await openStoreForCommand(config);
  const world = systemWorld();
  const newId = idMaker(
    () => world.clock.now(),
    (length) => world.random.bytes(length),
  );
  const accounts = new Accounts(store, world, newId);
  const audited = <T>(command: string, accountId: string | null, target: string, change: () => Promise<T>) =>
    auditCommand(
      { store, newId, now: () => world.clock.now() },
      { call: `postrider ${command}`, accountId, target },
      change,
    );
  return {
    location: storeLocation(config),
    ownAccountId: async () => null,
    accounts: () => allOf(store.listAccounts),
    async createAccount(name, tier) {
      if (!isName(name)) throw new Failure(`the name of an account must have ${NAME_RULE}`, { exit: EXIT.usage });
      const create = () => accounts.createAccount(name, (tier ?? 'free') as TierName);
      const made = await audited('account create', null, name, create);
      if (made === 'nameTaken') throw new Failure(`an account "${name}" already exists`);
      return made;
    },
    async setTier(accountId, tier) {
      const set = () => accounts.setTier(accountId, tier as TierName);
      const isKnown = await audited('account set-tier', accountId, accountId, set);
      return changedAccount(store, accountId, isKnown);
    },
    async setSuspended(accountId, isSuspended) {
      const command = isSuspended ? 'account suspend' : 'account resume';
      const set = () => accounts.setSuspended(accountId, isSuspended);
      const isKnown = await audited(command, accountId, accountId, set);
      return changedAccount(store, accountId, isKnown);
    },
    async deleteAccount({ id }) {
      const result = await audited('account delete', id, id, () => accounts.deleteAccount(id));
      if (result === 'lastAdmin') {
        throw new Failure('it has the last token with the scope admin, so it cannot be deleted', {
          hint: 'Make one of another account first: postrider token create --admin --account, with the same --data or --store.',
        });
      }
      return requireAccount(store, id);
    },
    async recount(accountId) {
      const wrongBy = await store.recountStored(accountId);
      return { storedBytes: await store.storedBytes(accountId), correctedBy: 0 - wrongBy };
    },
    async tokens(accountId) {
      const tokens = await allOf((part?: ListPieceRequest) => store.listTokens(accountId, part));
      return tokens.map(shownToken);
    },
    async createToken(accountId, name, scopes, wanted) {
      const limits = readTokenLimits(wanted, world.clock.now(), wrongRange);
      if ('problem' in limits) throw new Failure(limits.problem, { exit: EXIT.usage });
      const create = () => accounts.createToken(accountId, name, scopes, limits);
      const made = await audited('token create', accountId, `${accountId}/${name}`, create);
      if (!made) throw new Failure('the account is being deleted');
      const { token, text } = made;
      return { ...shownToken(token), token: text };
    },
    async revokeToken(accountId, tokenId) {
      const revoke = () => accounts.revokeToken(accountId, tokenId);
      const result = await audited('token revoke', accountId, `${accountId}/${tokenId}`, revoke);
      if (result === 'revoked') return;
      throw result === 'lastAdmin'
        ? new Failure('it is the last token with the scope admin that does not expire, so it cannot be revoked', {
            hint: 'Make another one first: postrider token create --admin, with the same --data or --store.',
          })
        : new Failure(`there is no token ${tokenId} of this account`, { exit: EXIT.notFound });
    },
    close: () => store.close(),
  };
}

async function allOf<T extends { readonly id: string }>(
  list: (part?: ListPieceRequest) => Promise<ListPiece<T>>,
): Promise<T[]> {
  const all: T[] = [];
  for await (const entry of everyEntry(list, ({ id }) => id)) all.push(entry);
  return all;
}

async function requireAccount(store: Store, accountId: string): Promise<Account> {
  const account = await store.getAccount(accountId);
  if (account === null) throw new Failure('there is no such account', { exit: EXIT.notFound });
  return account;
}

async function changedAccount(store: Store, accountId: string, isChanged: boolean): Promise<Account> {
  const account = await requireAccount(store, accountId);
  if (!isChanged) throw new Failure('the account is being deleted');
  return account;
}
