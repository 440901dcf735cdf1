// `postrider token create`: makes a token directly in the store, for an operator without any other access. Only the
// token (with --json, an object) goes to standard output, so that a script can read it. Everything else goes to
// standard error.

import { Accounts } from '../../../server/src/accounts/accounts.ts';
import { auditCommand } from '../../../server/src/audit/audit.ts';
import { openStoreForCommand, storeLocation } from '../../../server/src/node/main.ts';
import type { Config } from '../../../server/src/node/settings/config.ts';
import { type Account, SCOPES, shownLimits } from '../../../server/src/rules/accounts/account.ts';
import { readTokenLimits } from '../../../server/src/rules/accounts/token-limits.ts';
import { idMaker } from '../../../server/src/rules/requests/id.ts';
import { formatDurationMs } from '../../../server/src/rules/time/duration.ts';
import { wrongRange } from '../../../server/src/runtime/address-ranges.ts';
import { systemWorld } from '../../../server/src/runtime/world.ts';
import type { AccessStore } from '../../../server/src/store/ports/access-store.ts';
import type { AccountStore } from '../../../server/src/store/ports/account-store.ts';
import { everyEntry } from '../../../server/src/store/ports/list-piece.ts';
import type { Store } from '../../../server/src/store/ports/store.ts';
import { EXIT } from '../frame/exit-codes.ts';
import { reportFailure } from './report-failure.ts';

const NAMES_SHOWN_MAX = 10;

export async function runTokenCreate(config: Config): Promise<number> {
  let store: Store | null = null;
  try {
    store = await openStoreForCommand(config);
    const made = await createToken(store, config);
    process.stdout.write(config.json ? `${JSON.stringify(made)}\n` : `${made.token}\n`);
    if (!config.json) {
      process.stderr.write(
        `A token of the account "${made.account}" in ${storeLocation(config)}, with the scopes ${made.scopes.join(', ')}. ` +
          'It is shown only once: store it now.\n',
      );
    }
    return 0;
  } catch (error) {
    const { message } = error as Error;
    return reportFailure({ text: `postrider token create: ${message}`, message, exit: EXIT.failed }, config.json);
  } finally {
    await store?.close();
  }
}

async function createToken(store: AccountStore & AccessStore, config: Config) {
  const world = systemWorld();
  const newId = idMaker(
    () => world.clock.now(),
    (length) => world.random.bytes(length),
  );
  const account = chooseAccount(await everyAccount(store), config);
  const scopes = config.admin ? SCOPES : config.scope;
  const { tokenExpiresIn: lifeMs, tokenAddresses: addresses } = config;
  const expiresIn = lifeMs === null ? undefined : formatDurationMs(lifeMs);
  const limits = readTokenLimits({ expiresIn, addresses }, world.clock.now(), wrongRange);
  if ('problem' in limits) throw new Error(limits.problem);
  const made = await auditCommand(
    { store, newId, now: () => world.clock.now() },
    { call: 'postrider token create', accountId: account.id, target: `${account.id}/${config.tokenName}` },
    () => new Accounts(store, world, newId).createToken(account.id, config.tokenName, scopes, limits),
  );
  if (!made) throw new Error(`the account "${account.name}" is being deleted`);
  const { token, text } = made;
  return { token: text, tokenId: token.id, account: account.name, scopes, ...shownLimits(token) };
}

async function everyAccount(store: AccountStore): Promise<Account[]> {
  const accounts: Account[] = [];
  for await (const account of everyEntry(store.listAccounts, ({ id }) => id)) accounts.push(account);
  return accounts;
}

function chooseAccount(accounts: readonly Account[], config: Config): Account {
  if (accounts.length === 0) {
    throw new Error(
      `${storeLocation(config)} has no account yet; start postrider serve on it: that prints the first token`,
    );
  }
  const wanted = config.account ?? (accounts.length === 1 ? accounts[0]!.name : 'default');
  const found = accounts.find(({ name }) => name === wanted);
  if (found) return found;
  const names = accounts.slice(0, NAMES_SHOWN_MAX).map(({ name }) => name);
  const more = accounts.length > names.length ? ` and ${accounts.length - names.length} more` : '';
  const missing = config.account === null ? 'there are several accounts' : `there is no account "${wanted}"`;
  throw new Error(`${missing}; choose one with --account: ${names.join(', ')}${more}`);
}
