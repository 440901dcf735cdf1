// `postrider token …` and `postrider account …`, over the API or directly in a store.

import type { Account, OwnAccount, Scope, Token } from 'postrider-sdk';
import { SCOPES } from '../../../../server/src/rules/accounts/account.ts';
import type { Invocation } from '../../frame/command.ts';
import { confirm, confirmByName } from '../../frame/confirm.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { Failure } from '../../frame/failure.ts';
import { printable } from '../../frame/printable.ts';
import { timeText } from '../../frame/time-text.ts';
import { type AccountAccess, findAccount } from './account-access.ts';
import { openAccess } from './open-access.ts';

async function within<T>(invocation: Invocation, work: (access: AccountAccess) => Promise<T>): Promise<T> {
  const access = await openAccess(invocation);
  try {
    return await work(access);
  } finally {
    await access.close();
  }
}

export async function listTokens(invocation: Invocation): Promise<number> {
  const { given, out, io } = invocation;
  const now = io.world.clock.now();
  return within(invocation, async (access) => {
    const account = await findAccount(access, given.text('account'));
    const tokens = (await access.tokens(account.id)).filter(
      ({ revokedAt }) => given.has('all') || revokedAt === undefined,
    );
    out.list(
      tokens,
      `The account ${account.name} has no tokens.`,
      [
        { title: 'TOKEN' },
        { title: 'NAME' },
        { title: 'SCOPES' },
        { title: 'CREATED', isExtra: true },
        { title: 'LAST USED', isExtra: true },
        { title: 'EXPIRES' },
        { title: 'REVOKED' },
      ],
      (token) => tokenRow(token, now),
    );
    return EXIT.done;
  });
}

function tokenRow(
  { tokenId, name, scopes, createdAt, lastUsedAt, expiresAt, revokedAt }: Token,
  now: number,
): string[] {
  const at = (time: number | undefined) => (time === undefined ? '' : timeText(time));
  const expiry = at(expiresAt) && `${at(expiresAt)}${expiresAt! <= now ? ' (expired)' : ''}`;
  const times = [timeText(createdAt), at(lastUsedAt) || 'never', expiry, at(revokedAt)];
  return [tokenId, name, scopes.join(' '), ...times];
}

/** Only the token goes to standard output, so that a script can read it. */
export async function createToken(invocation: Invocation): Promise<number> {
  const { given, out } = invocation;
  const scopes = scopesOf(given.has('admin'), given.list('scope'));
  return within(invocation, async (access) => {
    const account = await findAccount(access, given.text('account'));
    const made = await access.createToken(account.id, given.text('name') ?? 'command-line', scopes, {
      expiresIn: given.text('expires-in'),
      addresses: wordsOf(given.list('address')),
    });
    if (out.isJson) {
      const { token, tokenId, expiresAt, addresses } = made;
      out.json({ token, tokenId, account: account.name, scopes: made.scopes, expiresAt, addresses });
      return EXIT.done;
    }
    out.line(made.token);
    out.note(
      `A token of the account "${account.name}" at ${access.location}, with the scopes ${made.scopes.join(', ')}. ` +
        'It is shown only once: store it now.',
    );
    return EXIT.done;
  });
}

function wordsOf(given: readonly string[]): readonly string[] {
  return given.flatMap((each) => each.split(',')).map((each) => each.trim());
}

function scopesOf(isAdmin: boolean, given: readonly string[]): readonly Scope[] {
  const wanted = wordsOf(given);
  const unknown = wanted.filter((each) => !SCOPES.some((scope) => scope === each));
  if (unknown.length > 0) {
    throw new Failure(`--scope: ${unknown.map((each) => `"${each}"`).join(', ')} is not one of ${SCOPES.join(', ')}`, {
      exit: EXIT.usage,
    });
  }
  if (isAdmin === wanted.length > 0) {
    throw new Failure('give --admin for a token that may do everything, or --scope with its scopes', {
      exit: EXIT.usage,
    });
  }
  return isAdmin ? SCOPES : SCOPES.filter((scope) => wanted.includes(scope));
}

export async function revokeToken(invocation: Invocation): Promise<number> {
  const { given, out } = invocation;
  const tokenId = given.words[0]!;
  return within(invocation, async (access) => {
    const account = await findAccount(access, given.text('account'));
    await confirm(
      invocation,
      `Revoke the token ${tokenId} of the account ${account.name}? Programs that use it lose access.`,
    );
    await access.revokeToken(account.id, tokenId);
    out.result({ tokenId, revoked: true }, `${printable(tokenId)}  revoked`);
    return EXIT.done;
  });
}

export async function showAccount({ out, connect }: Invocation): Promise<number> {
  const account = await connect().client.getAccount();
  if (out.isJson) {
    out.json(account);
    return EXIT.done;
  }
  out.facts([
    ['account', `${account.name} (${account.accountId})`],
    ['tier', account.tier],
    ['token', `${account.token.name} (${account.token.tokenId})`],
    ['scopes', account.token.scopes.join(', ')],
    ...limitsOf(account.token),
    ['outage', account.outage],
    [
      'service',
      `${account.service.version}${account.service.isDev ? ', dev' : ''}, headers ${account.service.headerPrefix}`,
    ],
  ]);
  out.table(
    [{ title: 'LIMIT' }, { title: 'VALUE', isNumber: true }],
    Object.entries(account.limits).map(([name, value]) => [name, value === null ? 'none' : String(value)]),
  );
  return EXIT.done;
}

function limitsOf({ expiresAt, addresses }: OwnAccount['token']): (readonly [string, string])[] {
  return [
    ...(expiresAt === undefined ? [] : [['expires', timeText(expiresAt)] as const]),
    ...(addresses === undefined ? [] : [['addresses', addresses.join(', ')] as const]),
  ];
}

export async function setOutage({ given, out, connect }: Invocation): Promise<number> {
  const account = await connect().client.setOutage(given.words[0] as 'retry' | 'park');
  out.result(account, `${printable(account.name)}  outage: ${account.outage}`);
  return EXIT.done;
}

export async function listAccounts(invocation: Invocation): Promise<number> {
  const { out } = invocation;
  return within(invocation, async (access) => {
    const accounts = await access.accounts();
    out.list(
      accounts,
      `There are no accounts at ${access.location}.`,
      [{ title: 'ACCOUNT' }, { title: 'NAME' }, { title: 'TIER' }, { title: 'CREATED' }, { title: 'STATE' }],
      (account) => [account.id, account.name, account.tier, timeText(account.createdAt), stateOf(account)],
    );
    return EXIT.done;
  });
}

function stateOf({ suspendedAt, deletingSince }: Account): string {
  if (deletingSince !== undefined) return 'being deleted';
  return suspendedAt === undefined ? '' : 'suspended';
}

export async function createAccount(invocation: Invocation): Promise<number> {
  const { given, out } = invocation;
  return within(invocation, async (access) => {
    const account = await access.createAccount(given.words[0]!, given.text('tier'));
    if (out.isJson) out.json(account);
    else {
      out.line(printable(account.id));
      out.note(`It has no token yet: postrider token create --account ${account.name} --scope publish,read`);
    }
    return EXIT.done;
  });
}

export async function setTier(invocation: Invocation): Promise<number> {
  const { given, out } = invocation;
  const [wanted, tier] = given.words;
  return within(invocation, async (access) => {
    const { id } = await findAccount(access, wanted);
    const account = await access.setTier(id, tier!);
    out.result(account, `${printable(account.name)}  ${printable(account.tier)}`);
    return EXIT.done;
  });
}

export function suspendAccount(invocation: Invocation): Promise<number> {
  return setSuspended(invocation, true);
}

export function resumeAccount(invocation: Invocation): Promise<number> {
  return setSuspended(invocation, false);
}

function setSuspended(invocation: Invocation, isSuspended: boolean): Promise<number> {
  const { given, out } = invocation;
  return within(invocation, async (access) => {
    const { id } = await findAccount(access, given.words[0]);
    const account = await access.setSuspended(id, isSuspended);
    out.result(account, `${printable(account.name)}  ${isSuspended ? 'suspended' : 'active'}`);
    return EXIT.done;
  });
}

export function deleteAccount(invocation: Invocation): Promise<number> {
  const { given, out } = invocation;
  return within(invocation, async (access) => {
    const found = await findAccount(access, given.words[0]);
    await confirmByName(
      invocation,
      `Delete the account ${found.name} at ${access.location}, with all its messages, settings and tokens? This cannot be undone.`,
      found.name,
    );
    const account = await access.deleteAccount(found);
    out.result(account, `${printable(account.name)}  being deleted`);
    return EXIT.done;
  });
}

export function recountAccounts(invocation: Invocation): Promise<number> {
  const { given, out } = invocation;
  return within(invocation, async (access) => {
    const { recount } = access;
    if (recount === null) {
      throw new Failure('this command works directly in the store, not over the API', {
        exit: EXIT.usage,
        hint: 'Name the directory of the service with --data, or its database with --store. The service may run meanwhile.',
      });
    }
    const wanted = given.text('account');
    const accounts = wanted === undefined ? await access.accounts() : [await findAccount(access, wanted)];
    const counted = [];
    for (const { id, name } of accounts) counted.push({ accountId: id, name, ...(await recount(id)) });
    if (out.isJson) out.json(counted);
    else {
      out.table(
        [{ title: 'ACCOUNT' }, { title: 'STORED BYTES', isNumber: true }, { title: 'CORRECTED BY', isNumber: true }],
        counted.map(({ name, storedBytes, correctedBy }) => [name, String(storedBytes), String(correctedBy)]),
      );
    }
    return EXIT.done;
  });
}
