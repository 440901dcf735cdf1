// The tokens and keys that everybody knows, because they are printed in documentation and in the sources of public
// clients. `dev` creates them; `serve` does not run with them.

import type { AccessStore } from '../store/ports/access-store.ts';
import type { AccountStore } from '../store/ports/account-store.ts';
import type { Accounts } from './accounts.ts';
import { hashToken } from './tokens.ts';

/** The token of `dev`. It is the same on every machine, so that a command from the documentation works as printed. */
export const DEV_TOKEN = 'dev_postrider';

/**
 * What the public QStash clients use with a local server (`QSTASH_DEV=true`). They accept a server only if it knows
 * this token and these keys, which are printed in their sources.
 */
const QSTASH_DEV = {
  token: 'eyJVc2VySUQiOiJkZWZhdWx0VXNlciIsIlBhc3N3b3JkIjoiZGVmYXVsdFBhc3N3b3JkIn0=',
  keys: { current: 'sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r', next: 'sig_5ZB6DVzB1wjE8S6rZ7eenA8Pdnhs' },
};

const DEV_ACCOUNT = 'dev';
const DEV_HASH = hashToken(DEV_TOKEN);
const KNOWN_HASHES = [DEV_HASH, hashToken(QSTASH_DEV.token)];
const KNOWN_KEYS = [QSTASH_DEV.keys.current, QSTASH_DEV.keys.next];

export function isWellKnown(token: string): boolean {
  return token === DEV_TOKEN || token === QSTASH_DEV.token;
}

/** Creates the token of `dev` if the store does not have it. Throws if the store has accounts, but not from `dev`. */
export async function ensureDevToken(
  store: AccessStore & Pick<AccountStore, 'listAccounts'>,
  accounts: Accounts,
  location: string,
  isForQstash: boolean,
): Promise<string> {
  const isDevStore = (await store.accountsKnownBy([DEV_HASH], [])).length > 0;
  if (!isDevStore && (await store.listAccounts()).entries.length > 0) {
    throw new Error(
      `${location} holds accounts that postrider dev did not create. postrider dev would give everybody access, because its ` +
        'token is public. Use a separate store for dev, with --data or --store.',
    );
  }
  await accounts.ensureWellKnownToken(DEV_ACCOUNT, DEV_TOKEN);
  if (isForQstash) await accounts.ensureWellKnownToken(DEV_ACCOUNT, QSTASH_DEV.token, QSTASH_DEV.keys);
  return DEV_TOKEN;
}

/**
 * Call this before `serve` listens, because nobody may get access with a well-known token or key. If the store knows
 * one, this throws without `isTakeOver`. With `isTakeOver` it revokes the well-known tokens, replaces the signing keys
 * of their accounts, and returns the id of one account that needs a new token. Null if the store knows none.
 */
export async function excludeDevTokens(
  store: AccessStore,
  accounts: Accounts,
  { location, isTakeOver, now }: { readonly location: string; readonly isTakeOver: boolean; readonly now: number },
): Promise<string | null> {
  const accountIds = await store.accountsKnownBy(KNOWN_HASHES, KNOWN_KEYS);
  if (accountIds.length === 0) return null;
  if (!isTakeOver) {
    throw new Error(
      `${location} was used by postrider dev, so everybody has access with the public dev token. Use a separate store for serve, ` +
        'with --data or --store, or start it with --take-over-dev: that revokes the public tokens, replaces the ' +
        'signing keys and prints a new token.',
    );
  }
  for (const accountId of accountIds) await accounts.replaceKeys(accountId);
  await store.revokeHashes(KNOWN_HASHES, now);
  return accountIds[0]!;
}
