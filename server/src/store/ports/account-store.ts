// Accounts: their tier, their signing keys, what they use each day, and how many bytes they store.

import type { Account, SigningKeys, UsageRow } from '../../rules/accounts/account.ts';
import type { TierName } from '../../rules/limits/tier.ts';
import type { ListPart, ListPiece } from './list-piece.ts';

export interface StoredAccount {
  readonly accountId: string;
  readonly bytes: number;
}

export interface AccountStore {
  // ——— accounts ———

  createAccount(account: Account, keys: SigningKeys): Promise<'created' | 'nameTaken'>;

  getAccount(accountId: string): Promise<Account | null>;

  setTier(accountId: string, tier: TierName): Promise<boolean>;

  /**
   * Suspends the account, or resumes it with null. While it is suspended none of its messages is claimed; running
   * attempts end normally. Suspending it again keeps the first time.
   */
  setSuspended(accountId: string, at: number | null, now: number): Promise<boolean>;

  /** Ordered by id. */
  listAccounts(part?: ListPart): Promise<ListPiece<Account>>;

  /**
   * Usage by day (UTC, `YYYY-MM-DD`) and kind, oldest first, both days included. `part.after` is the `usageKey` of a
   * row.
   */
  usage(accountId: string, fromDay: string, toDay: string, part?: ListPart): Promise<ListPiece<UsageRow>>;

  /**
   * How many bytes the account stores, by rules/limits/stored-bytes.ts. Updated in the transaction that stores or
   * deletes.
   */
  storedBytes(accountId: string): Promise<number>;

  /**
   * How many bytes some accounts store, in the order of their ids. Accounts that never stored anything are left out.
   */
  storedAccounts(after: string, limit: number): Promise<readonly StoredAccount[]>;

  /** Bytes that are free inside the files of the store, and will be used again. 0 if it is not known. */
  freeInside(): Promise<number>;

  /**
   * Counts again what the account stores, and returns by how much the count was too high. It may take long, and blocks
   * nothing. Not twice at once: both would correct the same error.
   */
  recountStored(accountId: string): Promise<number>;

  /** Adds up counts that were written separately. Returns how many there were, at most `limit`. */
  foldStored(limit: number): Promise<number>;

  // ——— signing keys ———

  getSigningKeys(accountId: string): Promise<SigningKeys | null>;

  /**
   * If `next` is still the next key, makes it the current key and `fresh` the next one. Returns the keys that are then
   * in force.
   */
  rotateSigningKeys(accountId: string, next: string, fresh: string): Promise<SigningKeys | null>;
}
