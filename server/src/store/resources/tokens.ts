// Tokens: who has access, and the first administrator.

import { checkRevocation, hasExpired, type Revocation, type Token } from '../../rules/accounts/account.ts';
import type { FirstAdmin, Principal } from '../ports/access-store.ts';
import { FIRST_PART, type ListPiece, type ListPieceRequest, pieceOf } from '../ports/list-piece.ts';
import { TOKEN_COLUMNS, type TokenRow, toToken } from '../rows/rows.ts';
import { createAccount, getAccount } from './accounts.ts';
import { all, get, run, type Steps, step } from './steps.ts';

export function* createToken(token: Token, hash: Uint8Array): Steps<boolean> {
  // Without the lock, the account could be deleted meanwhile, and this token of it would not be revoked.
  yield* step('lockAccount', token.accountId);
  const account = yield* getAccount(token.accountId);
  if (account?.deletingSince !== undefined) return false;
  yield* run(
    `INSERT INTO tokens (id, account_id, name, scopes, hash, created_at, revoked_at, expires_at, addresses)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      ...[token.id, token.accountId, token.name, token.scopes.join(' '), hash, token.createdAt, token.revokedAt],
      ...[token.expiresAt, token.addresses.join(' ')],
    ],
  );
  return true;
}

export function* findToken(hash: Uint8Array, now: number): Steps<Principal | null> {
  const sql = `SELECT ${TOKEN_COLUMNS} FROM tokens WHERE hash = ? AND revoked_at IS NULL`;
  const row = yield* get<TokenRow>(sql, [hash]);
  if (!row) return null;
  const token = toToken(row);
  return hasExpired(token, now) ? null : { token, account: (yield* getAccount(row.account_id))! };
}

export function* listTokens(
  accountId: string,
  { after, limit }: ListPieceRequest = FIRST_PART,
): Steps<ListPiece<Token>> {
  const sql = `SELECT ${TOKEN_COLUMNS} FROM tokens WHERE account_id = ? AND id > ? ORDER BY id LIMIT ?`;
  return pieceOf(yield* all<TokenRow>(sql, [accountId, after ?? '', limit + 1]), limit, toToken);
}

export function* touchToken(tokenId: string, now: number): Steps<void> {
  yield* run('UPDATE tokens SET last_used_at = ? WHERE id = ?', [now, tokenId]);
}

/**
 * A table scan. A query adds a condition, and stops at the first token with the admin scope that does not expire
 * (`checkRevocation` says why).
 */
export const ADMIN_TOKENS = `SELECT id FROM tokens
   WHERE revoked_at IS NULL AND expires_at IS NULL AND ' ' || scopes || ' ' LIKE '% admin %'`;
const ADMIN = `${ADMIN_TOKENS} AND id <> ? LIMIT 1`;

export function* revokeToken(accountId: string, tokenId: string, now: number): Steps<Revocation> {
  // Without the lock, each of two simultaneous revokes would count the other's token as the one that remains.
  yield* step('lockTokens', 'request');
  const sql = `SELECT ${TOKEN_COLUMNS} FROM tokens WHERE id = ? AND account_id = ? AND revoked_at IS NULL`;
  const row = yield* get<TokenRow>(sql, [tokenId, accountId]);
  const otherAdmin = yield* get(ADMIN, [tokenId]);
  const result = checkRevocation(row ? toToken(row) : null, () => otherAdmin !== undefined);
  if (result !== 'revoked') return result;
  yield* run('UPDATE tokens SET revoked_at = ? WHERE id = ?', [now, tokenId]);
  yield* run('DELETE FROM sessions WHERE token_id = ?', [tokenId]);
  return result;
}

export function* createFirstAdmin({ account, keys, token, hash }: FirstAdmin): Steps<boolean> {
  yield* step('lockTokens', 'start');
  if (yield* get(ADMIN, [''])) return false;
  const oldest = yield* get<{ id: string }>(
    'SELECT id FROM accounts WHERE deleting_since IS NULL ORDER BY id LIMIT 1',
    [],
  );
  if (!oldest) yield* createAccount(account, keys);
  yield* createToken({ ...token, accountId: oldest?.id ?? account.id }, hash);
  return true;
}

export function* accountsKnownBy(hashes: readonly Uint8Array[], keys: readonly string[]): Steps<string[]> {
  const sql = 'SELECT id FROM accounts WHERE current_key = ANY (?1) OR next_key = ANY (?1)';
  const known = yield* all<{ id: string }>(sql, [keys]);
  for (const hash of hashes) {
    known.push(
      ...(yield* all<{ id: string }>('SELECT account_id AS id FROM tokens WHERE hash = ? AND revoked_at IS NULL', [
        hash,
      ])),
    );
  }
  return [...new Set(known.map(({ id }) => id))];
}

export function* revokeHashes(hashes: readonly Uint8Array[], now: number): Steps<void> {
  const sql = 'UPDATE tokens SET revoked_at = ? WHERE hash = ? AND revoked_at IS NULL';
  for (const hash of hashes) yield* run(sql, [now, hash]);
}
