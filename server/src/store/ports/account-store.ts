// Accounts: their tier, their signing keys, what they use each day, what happened to their messages, and how many bytes
// they store.

import type { Account, SigningKeys, UsageRow } from '../../rules/accounts/account.ts';
import type { Activity } from '../../rules/accounts/activity.ts';
import type { TierName } from '../../rules/limits/tier.ts';
import type { BacklogKind, BacklogPiece, BacklogPosition, ReadyPiece, ReadyPosition } from './backlog.ts';
import type { ListPiece, ListPieceRequest } from './list-piece.ts';

export interface AccountBytes {
  readonly accountId: string;
  readonly bytes: number;
}

export interface ActivityBucket {
  readonly at: number;
  readonly activity: Activity;
}

/**
 * `more`: rows were deleted, or others hold them, and the next piece should follow. `waiting`: nothing is left but the account
 * itself, which waits for requests that began before. `gone`: the account is deleted.
 */
export interface DeletionPiece {
  readonly accountId: string;
  readonly outcome: 'more' | 'waiting' | 'gone';
}

export interface AccountStore {
  // ——— accounts ———

  createAccount(account: Account, keys: SigningKeys): Promise<'created' | 'nameTaken'>;

  getAccount(accountId: string): Promise<Account | null>;

  /** False: there is no such account, or it is being deleted. */
  setTier(accountId: string, tier: TierName): Promise<boolean>;

  /**
   * Suspends the account, or resumes it with null. While the account is suspended, none of its messages is claimed;
   * running attempts end normally. Suspending it again keeps the first time. False: there is no such account, or it is
   * being deleted.
   */
  setSuspended(accountId: string, at: number | null, now: number): Promise<boolean>;

  /** What messages of the account that say nothing themselves do while their host is down. Null: they are retried. */
  setOutage(accountId: string, outage: 'park' | null): Promise<boolean>;

  /**
   * Deletes at most `limit` rows of the first account after `after` that is being deleted, and at last the account. The rows
   * of its audit stay. Messages are deleted whatever their states are: who settles one afterwards finds nothing. Null: there
   * is no such account, or other nodes work on them.
   */
  deleteAccountPiece(after: string, now: number, limit: number): Promise<DeletionPiece | null>;

  /** Ordered by id. */
  listAccounts(part?: ListPieceRequest): Promise<ListPiece<Account>>;

  /** Usage by day (UTC, `YYYY-MM-DD`) and kind, oldest first, both days included. `part.after`: a row's `usageKey`. */
  usage(accountId: string, fromDay: string, toDay: string, part?: ListPieceRequest): Promise<ListPiece<UsageRow>>;

  /** What happened from `fromAt` until before `toAt`, in buckets of `bucketMs`. Empty buckets are left out. */
  activity(accountId: string, fromAt: number, toAt: number, bucketMs: number): Promise<readonly ActivityBucket[]>;

  /**
   * How many bytes the account stores, counted by rules/limits/stored-bytes.ts. The count is updated in the transaction
   * that stores or deletes.
   */
  storedBytes(accountId: string): Promise<number>;

  /**
   * The stored bytes of at most `limit` accounts after `after`, ordered by id. Leaves out accounts that stored nothing.
   */
  storedAccounts(after: string, limit: number): Promise<readonly AccountBytes[]>;

  /**
   * Bytes that are free inside the files of the store, and that the store will use again. 0 if the number is not known.
   */
  freeBytesInside(): Promise<number>;

  /**
   * Corrects the count of what the account stores, and returns by how much it was too high. This may take long, and
   * blocks nothing. Do not run it twice at once: both runs would correct the same error.
   */
  recountStored(accountId: string): Promise<number>;

  /** Merges at most `limit` counts of stored bytes that sessions of the database wrote separately. Returns how many. */
  foldStored(limit: number): Promise<number>;

  // ——— all accounts ———

  /** Counts the next `limit` messages of all accounts after a position. */
  countBacklog(kind: BacklogKind, after: BacklogPosition | null, limit: number): Promise<BacklogPiece>;

  /** Counts the next `limit` ready messages of all accounts after a position. */
  countReady(after: ReadyPosition, limit: number): Promise<ReadyPiece>;

  // ——— signing keys ———

  getSigningKeys(accountId: string): Promise<SigningKeys | null>;

  /**
   * If `next` is still the next key, makes it the current key, and makes `fresh` the next key. Returns the keys that
   * are then in force; null if there is no such account.
   */
  rotateSigningKeys(accountId: string, next: string, fresh: string): Promise<SigningKeys | null>;
}
