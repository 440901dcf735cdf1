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
   * Suspends the account, or resumes it with null. While the account is suspended, none of its messages is claimed;
   * running attempts end normally. Suspending it again keeps the first time.
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
   * How many bytes the account stores, counted by rules/limits/stored-bytes.ts. The count is updated in the transaction
   * that stores or deletes.
   */
  storedBytes(accountId: string): Promise<number>;

  /**
   * How many bytes some accounts store, in the order of their ids. Accounts that never stored anything are left out.
   */
  storedAccounts(after: string, limit: number): Promise<readonly StoredAccount[]>;

  /**
   * Bytes that are free inside the files of the store, and that the store will use again. 0 if the number is not known.
   */
  freeInside(): Promise<number>;

  /**
   * Counts again what the account stores, and returns by how much the count was too high. The count may take long, and
   * blocks nothing. Do not run it twice at once: both runs would correct the same error.
   */
  recountStored(accountId: string): Promise<number>;

  /** Adds up stored byte counts that were written separately. Returns how many it added up, at most `limit`. */
  foldStored(limit: number): Promise<number>;

  // ——— signing keys ———

  getSigningKeys(accountId: string): Promise<SigningKeys | null>;

  /**
   * If `next` is still the next key, makes it the current key, and makes `fresh` the next key. Returns the keys that
   * are then in force.
   */
  rotateSigningKeys(accountId: string, next: string, fresh: string): Promise<SigningKeys | null>;
}
