// What claims need to know about accounts.

import type { AccountAtClaim } from '../../shared/commands.ts';
import type { Database } from '../thread/database.ts';

export function suspendedAccounts(database: Database): string[] {
  // The condition on `id` makes SQLite use the index that has only suspended accounts.
  const rows = database.all<{ id: string }>("SELECT id FROM accounts WHERE suspended_at IS NOT NULL AND id > ''");
  return rows.map(({ id }) => id);
}

/** Reads each account at most once in a transaction. */
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

  /** Call this when an account has changed. */
  forget(): void {
    this.#read.clear();
  }
}

export function accountAtClaim(database: Database, accountId: string): AccountAtClaim {
  return database.get<AccountAtClaim>('SELECT tier, current_key AS signingKey FROM accounts WHERE id = ?', accountId)!;
}
