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
import { FIRST_PART, type ListPart, type ListPiece, pieceOf } from '../../ports/list-piece.ts';
import { type AccountRow, TOKEN_COLUMNS, type TokenRow, toAccount, toToken } from '../../rows/rows.ts';
import type { AccountAtClaim } from '../../shared/commands.ts';
import type { Database } from '../thread/database.ts';

const ACCOUNT = 'id, name, tier, created_at AS createdAt, suspended_at AS suspendedAt';
const SIGNING_KEYS = 'SELECT current_key AS current, next_key AS next FROM accounts WHERE id = ?';

export function createAccount(database: Database, account: Account, keys: SigningKeys): 'created' | 'nameTaken' {
  const changes = database.run(
    `INSERT INTO accounts (id, name, tier, current_key, next_key, created_at) VALUES (?, ?, ?, ?, ?, ?)
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

export function getAccount(database: Database, accountId: string): Account | null {
  const row = database.get<AccountRow>(`SELECT ${ACCOUNT} FROM accounts WHERE id = ?`, accountId);
  return row ? toAccount(row) : null;
}

export function listAccounts(database: Database, { after, limit }: ListPart = FIRST_PART): ListPiece<Account> {
  const sql = `SELECT ${ACCOUNT} FROM accounts WHERE id > ? ORDER BY id LIMIT ?`;
  return pieceOf(database.all<AccountRow>(sql, after ?? '', limit + 1), limit, toAccount);
}

export function setTier(database: Database, accountId: string, tier: TierName): boolean {
  return database.run('UPDATE accounts SET tier = ? WHERE id = ?', tier, accountId) > 0;
}

export function setSuspended(database: Database, accountId: string, at: number | null): boolean {
  const sql =
    at === null
      ? 'UPDATE accounts SET suspended_at = ? WHERE id = ?'
      : 'UPDATE accounts SET suspended_at = ifnull(suspended_at, ?) WHERE id = ?';
  return database.run(sql, at, accountId) > 0;
}

export function suspendedAccounts(database: Database): string[] {
  // By its index, which has only these.
  const rows = database.all<{ id: string }>("SELECT id FROM accounts WHERE suspended_at IS NOT NULL AND id > ''");
  return rows.map(({ id }) => id);
}

export function getSigningKeys(database: Database, accountId: string): SigningKeys | null {
  const row = database.get<SigningKeys>(SIGNING_KEYS, accountId);
  return row ? { ...row } : null;
}

export function rotateSigningKeys(database: Database, accountId: string, next: string, fresh: string) {
  database.run(
    'UPDATE accounts SET current_key = next_key, next_key = ? WHERE id = ? AND next_key = ?',
    fresh,
    accountId,
    next,
  );
  return getSigningKeys(database, accountId);
}

export function createToken(database: Database, token: Token, hash: Uint8Array): void {
  database.run(
    'INSERT INTO tokens (id, account_id, name, scopes, hash, created_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
    token.id,
    token.accountId,
    token.name,
    token.scopes.join(' '),
    hash,
    token.createdAt,
    token.revokedAt,
  );
}

export function findToken(database: Database, hash: Uint8Array): Principal | null {
  const row = database.get<TokenRow>(`SELECT ${TOKEN_COLUMNS} FROM tokens WHERE hash = ? AND revoked_at IS NULL`, hash);
  if (!row) return null;
  return { token: toToken(row), account: getAccount(database, row.account_id)! };
}

export function listTokens(
  database: Database,
  accountId: string,
  { after, limit }: ListPart = FIRST_PART,
): ListPiece<Token> {
  const sql = `SELECT ${TOKEN_COLUMNS} FROM tokens WHERE account_id = ? AND id > ? ORDER BY id LIMIT ?`;
  return pieceOf(database.all<TokenRow>(sql, accountId, after ?? '', limit + 1), limit, toToken);
}

/** A table scan that stops at the first such token. */
const ADMIN =
  "SELECT id FROM tokens WHERE revoked_at IS NULL AND ' ' || scopes || ' ' LIKE '% admin %' AND id <> ? LIMIT 1";

export function revokeToken(database: Database, accountId: string, tokenId: string, now: number): Revocation {
  const row = database.get<TokenRow>(
    `SELECT ${TOKEN_COLUMNS} FROM tokens WHERE id = ? AND account_id = ? AND revoked_at IS NULL`,
    tokenId,
    accountId,
  );
  const hasOtherAdmin = () => database.get(ADMIN, tokenId) !== undefined;
  const result = checkRevocation(row ? toToken(row) : null, hasOtherAdmin);
  if (result !== 'revoked') return result;
  database.run('UPDATE tokens SET revoked_at = ? WHERE id = ?', now, tokenId);
  database.run('DELETE FROM sessions WHERE token_id = ?', tokenId);
  return result;
}

export function createFirstAdmin(database: Database, { account, keys, token, hash }: FirstAdmin): boolean {
  if (database.get(ADMIN, '')) return false;
  const oldest = database.get<{ id: string }>('SELECT id FROM accounts ORDER BY id LIMIT 1');
  if (!oldest) createAccount(database, account, keys);
  createToken(database, { ...token, accountId: oldest?.id ?? account.id }, hash);
  return true;
}

export function accountsKnownBy(database: Database, hashes: readonly Uint8Array[], keys: readonly string[]): string[] {
  const ids = new Set<string>();
  for (const hash of hashes) {
    const row = database.get<{ id: string }>(
      'SELECT account_id AS id FROM tokens WHERE hash = ? AND revoked_at IS NULL',
      hash,
    );
    if (row) ids.add(row.id);
  }
  for (const key of keys) {
    const rows = database.all<{ id: string }>('SELECT id FROM accounts WHERE current_key = ?1 OR next_key = ?1', key);
    for (const { id } of rows) ids.add(id);
  }
  return [...ids];
}

export function revokeHashes(database: Database, hashes: readonly Uint8Array[], now: number): void {
  for (const hash of hashes)
    database.run('UPDATE tokens SET revoked_at = ? WHERE hash = ? AND revoked_at IS NULL', now, hash);
}

export function touchToken(database: Database, tokenId: string, now: number): void {
  database.run('UPDATE tokens SET last_used_at = ? WHERE id = ?', now, tokenId);
}

/** What claims need to know about accounts. Each account is read once in a transaction. */
export class AccountsAtClaim {
  readonly #database: Database;
  readonly #read = new Map<string, AccountAtClaim>();

  constructor(database: Database) {
    this.#database = database;
    database.onTransaction({ beforeCommit: () => this.forget(), onRollback: () => this.forget() });
  }

  get(accountId: string): AccountAtClaim {
    let account = this.#read.get(accountId);
    if (!account) {
      account = accountAtClaim(this.#database, accountId);
      this.#read.set(accountId, account);
    }
    return account;
  }

  /** Call it when an account has changed. */
  forget(): void {
    this.#read.clear();
  }
}

export function accountAtClaim(database: Database, accountId: string): AccountAtClaim {
  return database.get<AccountAtClaim>('SELECT tier, current_key AS signingKey FROM accounts WHERE id = ?', accountId)!;
}
