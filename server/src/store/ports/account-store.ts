// Accounts and their credentials: tokens, sessions and signing keys. The usage of an account is counted by day.

import type { Account, Revocation, Session, SigningKeys, Token, UsageRow } from '../../rules/accounts/account.ts';
import type { TierName } from '../../rules/limits/tier.ts';
import type { ListPart, ListPiece } from './list-piece.ts';

export interface Principal {
  readonly token: Token;
  readonly account: Account;
  /** Set when the request used a session instead of the token itself. */
  readonly sessionId?: string;
}

/** The credential behind something that stays open, such as a live stream. */
export interface Credential {
  readonly tokenId: string;
  readonly sessionId: string | null;
}

export interface FirstAdmin {
  readonly account: Account;
  readonly keys: SigningKeys;
  readonly token: Omit<Token, 'accountId'>;
  readonly hash: Uint8Array;
}

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
   * Suspends the account, or resumes it with null. While it is suspended none of its messages is claimed; those under
   * way end. Suspending it again keeps the first time.
   */
  setSuspended(accountId: string, at: number | null, now: number): Promise<boolean>;

  /** Ordered by id. */
  listAccounts(part?: ListPart): Promise<ListPiece<Account>>;

  /**
   * Usage by day (UTC, `YYYY-MM-DD`) and kind, oldest first, both days included. `part.after` is the `usageKey` of a
   * row.
   */
  usage(accountId: string, fromDay: string, toDay: string, part?: ListPart): Promise<ListPiece<UsageRow>>;

  /** How many bytes the account stores, by rules/limits/stored-bytes.ts. Changed in the transaction of what is stored. */
  storedBytes(accountId: string): Promise<number>;

  /** The same for some accounts, in the order of their ids. Those that never stored anything are left out. */
  storedAccounts(after: string, limit: number): Promise<readonly StoredAccount[]>;

  /** Bytes that are free inside the files of the store, and will be used again. 0 if it is not known. */
  freeInside(): Promise<number>;

  /**
   * Counts what the account stores again, and returns by how much the count was too high. It may take long, and nobody
   * waits for it. Not twice at once: both would correct the same error.
   */
  recountStored(accountId: string): Promise<number>;

  /** Folds counts that were written apart. Returns how many there were, at most `limit`. */
  foldStored(limit: number): Promise<number>;

  /** The accounts that have a non-revoked token with one of these hashes, or one of these signing keys. */
  accountsKnownBy(hashes: readonly Uint8Array[], keys: readonly string[]): Promise<readonly string[]>;

  // ——— signing keys ———

  getSigningKeys(accountId: string): Promise<SigningKeys | null>;

  /**
   * If `next` is still the next key, makes it the current key and `fresh` the next one. Returns the keys that are then
   * in force.
   */
  rotateSigningKeys(accountId: string, next: string, fresh: string): Promise<SigningKeys | null>;

  // ——— tokens ———

  createToken(token: Token, hash: Uint8Array): Promise<void>;

  /** The token with that hash and its account, unless revoked. */
  findToken(hash: Uint8Array): Promise<Principal | null>;

  /** Ordered by id. */
  listTokens(accountId: string, part?: ListPart): Promise<ListPiece<Token>>;

  /** Records that a token was used. */
  touchToken(tokenId: string, now: number): Promise<void>;

  /** At least one token with the admin scope always remains, even when several nodes revoke tokens at once. */
  revokeToken(accountId: string, tokenId: string, now: number): Promise<Revocation>;

  /** Revokes the tokens with these hashes, whatever their scopes are. */
  revokeHashes(hashes: readonly Uint8Array[], now: number): Promise<void>;

  /**
   * Creates the token if no token has the admin scope. It belongs to the oldest account, or to `account`, which is
   * created too if there is no account. If several nodes call this at once, it returns true to exactly one of them.
   */
  createFirstAdmin(first: FirstAdmin): Promise<boolean>;

  // ——— sessions ———

  /** Keeps the newest `keptMax` sessions of the token, including this one, and deletes the others. */
  createSession(session: Session, keptMax: number): Promise<void>;

  /** The token and account of a session, or null if the session has ended or expired or its token was revoked. */
  findSession(sessionId: string, now: number): Promise<Principal | null>;

  /** After this call the session is not found any more. */
  endSession(sessionId: string): Promise<void>;

  /** Parallel to `credentials`: whether the token, and the session if there is one, are still valid. */
  areAdmitted(credentials: readonly Credential[], now: number): Promise<readonly boolean[]>;

  /**
   * Calls `listener` when another node has changed a token, a session or an account. It is only a hint, and may be
   * missed.
   */
  onAccess(listener: () => void): void;
}
