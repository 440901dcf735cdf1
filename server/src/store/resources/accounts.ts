// Accounts and their signing keys.

import type { Account, SigningKeys } from '../../rules/accounts/account.ts';
import type { TierName } from '../../rules/limits/tier.ts';
import { FIRST_PART, type ListPiece, type ListPieceRequest, pieceOf } from '../ports/list-piece.ts';
import { type AccountRow, toAccount } from '../rows/rows.ts';
import { all, get, run, type Steps, step } from './steps.ts';

const ACCOUNT =
  'id, name, tier, created_at AS "createdAt", suspended_at AS "suspendedAt", deleting_since AS "deletingSince", outage';

/** Nothing of an account is changed any more once it is being deleted. */
const STAYS = 'WHERE id = ? AND deleting_since IS NULL';

export function* createAccount(account: Account, keys: SigningKeys): Steps<'created' | 'nameTaken'> {
  const changes = yield* run(
    `INSERT INTO accounts (id, name, tier, current_key, next_key, created_at) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (name) DO NOTHING`,
    [account.id, account.name, account.tier, keys.current, keys.next, account.createdAt],
  );
  return changes > 0 ? 'created' : 'nameTaken';
}

export function* getAccount(accountId: string): Steps<Account | null> {
  const row = yield* get<AccountRow>(`SELECT ${ACCOUNT} FROM accounts WHERE id = ?`, [accountId]);
  return row ? toAccount(row) : null;
}

export function* listAccounts({ after, limit }: ListPieceRequest = FIRST_PART): Steps<ListPiece<Account>> {
  const sql = `SELECT ${ACCOUNT} FROM accounts WHERE id > ? ORDER BY id LIMIT ?`;
  return pieceOf(yield* all<AccountRow>(sql, [after ?? '', limit + 1]), limit, toAccount);
}

export function* setTier(accountId: string, tier: TierName): Steps<boolean> {
  yield* step('forgetAccounts');
  return (yield* run(`UPDATE accounts SET tier = ? ${STAYS}`, [tier, accountId])) > 0;
}

export function* setSuspended(accountId: string, at: number | null, _now: number): Steps<boolean> {
  const changes =
    at === null
      ? yield* run(`UPDATE accounts SET suspended_at = NULL ${STAYS}`, [accountId])
      : yield* run(`UPDATE accounts SET suspended_at = coalesce(suspended_at, ?) ${STAYS}`, [at, accountId]);
  return changes > 0;
}

export function* setOutage(accountId: string, outage: 'park' | null): Steps<boolean> {
  return (yield* run('UPDATE accounts SET outage = ? WHERE id = ?', [outage, accountId])) > 0;
}

export function* getSigningKeys(accountId: string): Steps<SigningKeys | null> {
  const sql = 'SELECT current_key AS "current", next_key AS "next" FROM accounts WHERE id = ?';
  const row = yield* get<SigningKeys>(sql, [accountId]);
  return row ? { ...row } : null;
}

export function* rotateSigningKeys(accountId: string, next: string, fresh: string): Steps<SigningKeys | null> {
  yield* step('forgetAccounts');
  const sql = 'UPDATE accounts SET current_key = next_key, next_key = ? WHERE id = ? AND next_key = ?';
  yield* run(sql, [fresh, accountId, next]);
  return yield* getSigningKeys(accountId);
}
