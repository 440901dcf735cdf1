// Accounts, their signing keys and tokens.

import {
  type Account,
  checkRevocation,
  type Revocation,
  type SigningKeys,
  type Token,
} from '../../../rules/accounts/account.ts';
import type { TierName } from '../../../rules/limits/tier.ts';
import type { FirstAdmin, Principal } from '../../ports/access-store.ts';
import { type AccountRow, TOKEN_COLUMNS, type TokenRow, toAccount, toToken } from '../../rows/rows.ts';
import { nullIfUnstorable } from '../messages/null-if-unstorable.ts';
import type { Database } from '../sessions/database.ts';

export const ACCOUNT = 'id, name, tier, created_at AS "createdAt", suspended_at AS "suspendedAt"';

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
  const row = await database.get<AccountRow>(
    `SELECT ${ACCOUNT} FROM accounts WHERE id = $1`,
    nullIfUnstorable(accountId),
  );
  return row ? toAccount(row) : null;
}

export async function setTier(database: Database, accountId: string, tier: TierName): Promise<boolean> {
  return (await database.run('UPDATE accounts SET tier = $1 WHERE id = $2', tier, nullIfUnstorable(accountId))) > 0;
}

export async function setSuspended(database: Database, accountId: string, at: number | null): Promise<boolean> {
  const sql =
    at === null
      ? 'UPDATE accounts SET suspended_at = $1::bigint WHERE id = $2'
      : 'UPDATE accounts SET suspended_at = coalesce(suspended_at, $1::bigint) WHERE id = $2';
  return (await database.run(sql, at, nullIfUnstorable(accountId))) > 0;
}

export async function getSigningKeys(database: Database, accountId: string): Promise<SigningKeys | null> {
  const row = await database.get<SigningKeys>(
    'SELECT current_key AS "current", next_key AS "next" FROM accounts WHERE id = $1',
    nullIfUnstorable(accountId),
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
    nullIfUnstorable(accountId),
    nullIfUnstorable(next),
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
  const row = await database.get<TokenRow>(
    `SELECT ${TOKEN_COLUMNS} FROM tokens WHERE hash = $1 AND revoked_at IS NULL`,
    hash,
  );
  if (!row) return null;
  return { token: toToken(row), account: (await getAccount(database, row.account_id))! };
}

export async function touchToken(database: Database, tokenId: string, now: number): Promise<void> {
  await database.run('UPDATE tokens SET last_used_at = $2 WHERE id = $1', tokenId, now);
}

/** A table scan that stops at the first such token. */
const ADMIN = `SELECT id FROM tokens
  WHERE revoked_at IS NULL AND ' ' || scopes || ' ' LIKE '% admin %' AND id <> $1 LIMIT 1`;

/** Holds a lock until the end of the transaction, for all nodes. */
async function oneAtATime(database: Database): Promise<void> {
  await database.get("SELECT pg_advisory_xact_lock(hashtextextended('postrider tokens ' || current_schema(), 8411))");
}

export async function revokeToken(
  database: Database,
  accountId: string,
  tokenId: string,
  now: number,
): Promise<Revocation> {
  // Without the lock, two revokes at once would each count the other's token as the one that remains.
  await oneAtATime(database);
  const row = await database.get<TokenRow>(
    `SELECT ${TOKEN_COLUMNS} FROM tokens WHERE id = $1 AND account_id = $2 AND revoked_at IS NULL`,
    nullIfUnstorable(tokenId),
    nullIfUnstorable(accountId),
  );
  const other = await database.get(ADMIN, nullIfUnstorable(tokenId));
  const result = checkRevocation(row ? toToken(row) : null, () => other !== undefined);
  if (result !== 'revoked') return result;
  await database.run('UPDATE tokens SET revoked_at = $1 WHERE id = $2', now, tokenId);
  await database.run('DELETE FROM sessions WHERE token_id = $1', tokenId);
  return result;
}

/**
 * How long a node that starts waits for another one. Longer than a machine that stands still for a while: its timers are
 * over when it goes on, before the other node could do anything.
 */
const FIRST_ADMIN_MS_MAX = 120_000;

export async function createFirstAdmin(
  database: Database,
  { account, keys, token, hash }: FirstAdmin,
): Promise<boolean> {
  // Nobody's request waits for a start. The node that holds the lock may be slow, because it is starting too.
  await database.run(`SET LOCAL lock_timeout = ${FIRST_ADMIN_MS_MAX}`);
  await database.run('SET LOCAL statement_timeout = 0');
  await oneAtATime(database);
  if (await database.get(ADMIN, '')) return false;
  const oldest = await database.get<{ id: string }>('SELECT id FROM accounts ORDER BY id LIMIT 1');
  if (!oldest) await createAccount(database, account, keys);
  await createToken(database, { ...token, accountId: oldest?.id ?? account.id }, hash);
  return true;
}

export async function accountsKnownBy(
  database: Database,
  hashes: readonly Uint8Array[],
  keys: readonly string[],
): Promise<string[]> {
  const ids = new Set<string>();
  for (const hash of hashes) {
    const row = await database.get<{ id: string }>(
      'SELECT account_id AS id FROM tokens WHERE hash = $1 AND revoked_at IS NULL',
      hash,
    );
    if (row) ids.add(row.id);
  }
  const rows = await database.all<{ id: string }>(
    'SELECT id FROM accounts WHERE current_key = ANY($1) OR next_key = ANY($1)',
    keys,
  );
  for (const { id } of rows) ids.add(id);
  return [...ids];
}

export async function revokeHashes(database: Database, hashes: readonly Uint8Array[], now: number): Promise<void> {
  for (const hash of hashes)
    await database.run('UPDATE tokens SET revoked_at = $1 WHERE hash = $2 AND revoked_at IS NULL', now, hash);
}
