// Accounts, their signing keys and tokens, and their usage.

import type { Account, SigningKeys, Token, UsageRow } from '../../domain/account.ts';
import type { TierName } from '../../domain/tier.ts';
import { type TokenRow, toToken } from '../rows.ts';
import type { Principal } from '../store.ts';
import type { Database } from './database.ts';
import { sought } from './sought.ts';

const ACCOUNT = 'id, name, tier, created_at AS "createdAt"';
const TOKEN = 'id, account_id, name, scopes, created_at, revoked_at, last_used_at';

export async function createAccount(
  database: Database,
  account: Account,
  keys: SigningKeys,
): Promise<'created' | 'nameTaken'> {
  const changes = await database.run(
    `INSERT INTO accounts (id, name, tier, current_key, next_key, created_at) VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (name) DO NOTHING`,
    account.id,
    account.name,
    account.tier,
    keys.current,
    keys.next,
    account.createdAt,
  );
  return changes > 0 ? 'created' : 'nameTaken';
}

export async function getAccount(database: Database, accountId: string): Promise<Account | null> {
  const row = await database.get<Account>(`SELECT ${ACCOUNT} FROM accounts WHERE id = $1`, sought(accountId));
  return row ?? null;
}

export function listAccounts(database: Database): Promise<Account[]> {
  return database.all<Account>(`SELECT ${ACCOUNT} FROM accounts ORDER BY id`);
}

export async function setTier(database: Database, accountId: string, tier: TierName): Promise<boolean> {
  return (await database.run('UPDATE accounts SET tier = $1 WHERE id = $2', tier, sought(accountId))) > 0;
}

export async function getSigningKeys(database: Database, accountId: string): Promise<SigningKeys | null> {
  const row = await database.get<SigningKeys>(
    'SELECT current_key AS "current", next_key AS "next" FROM accounts WHERE id = $1',
    sought(accountId),
  );
  return row ?? null;
}

export async function rotateSigningKeys(
  database: Database,
  accountId: string,
  next: string,
  fresh: string,
): Promise<SigningKeys | null> {
  await database.run(
    'UPDATE accounts SET current_key = next_key, next_key = $1 WHERE id = $2 AND next_key = $3',
    fresh,
    sought(accountId),
    sought(next),
  );
  return getSigningKeys(database, accountId);
}

export async function createToken(database: Database, token: Token, hash: Uint8Array): Promise<void> {
  await database.run(
    `INSERT INTO tokens (id, account_id, name, scopes, hash, created_at, revoked_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    token.id,
    token.accountId,
    token.name,
    token.scopes.join(' '),
    hash,
    token.createdAt,
    token.revokedAt,
  );
}

export async function findToken(database: Database, hash: Uint8Array): Promise<Principal | null> {
  const row = await database.get<TokenRow>(`SELECT ${TOKEN} FROM tokens WHERE hash = $1 AND revoked_at IS NULL`, hash);
  if (!row) return null;
  return { token: toToken(row), account: (await getAccount(database, row.account_id))! };
}

export async function listTokens(database: Database, accountId: string): Promise<Token[]> {
  const rows = await database.all<TokenRow>(
    `SELECT ${TOKEN} FROM tokens WHERE account_id = $1 ORDER BY id`,
    sought(accountId),
  );
  return rows.map(toToken);
}

export async function touchToken(database: Database, tokenId: string, now: number): Promise<void> {
  await database.run('UPDATE tokens SET last_used_at = $2 WHERE id = $1', tokenId, now);
}

export async function revokeToken(
  database: Database,
  accountId: string,
  tokenId: string,
  now: number,
): Promise<boolean> {
  const changes = await database.run(
    'UPDATE tokens SET revoked_at = $1 WHERE id = $2 AND account_id = $3 AND revoked_at IS NULL',
    now,
    sought(tokenId),
    sought(accountId),
  );
  return changes > 0;
}

export function usage(database: Database, accountId: string, fromDay: string, toDay: string): Promise<UsageRow[]> {
  return database.all<UsageRow>(
    `SELECT day, kind, sum(count)::bigint AS count FROM usage WHERE account_id = $1 AND day BETWEEN $2 AND $3
       GROUP BY day, kind ORDER BY day, kind`,
    sought(accountId),
    fromDay,
    toDay,
  );
}
