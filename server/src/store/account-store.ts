// Accounts, and what proves who somebody is: tokens, sessions and signing keys. The usage of an account is counted by day.

import type { Account, Revocation, Session, SigningKeys, Token, UsageRow } from '../domain/account.ts';
import type { TierName } from '../domain/tier.ts';
import type { ListPart, ListPiece } from './list-piece.ts';

export interface Principal {
  readonly token: Token;
  readonly account: Account;
  /** Where it was not the token itself that was shown. */
  readonly sessionId?: string;
}

/** What something stays open for, such as a live stream. */
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

export interface AccountStore {
  // ——— accounts ———

  createAccount(account: Account, keys: SigningKeys): Promise<'created' | 'nameTaken'>;

  getAccount(accountId: string): Promise<Account | null>;

  setTier(accountId: string, tier: TierName): Promise<boolean>;

  /** By id. */
  listAccounts(part?: ListPart): Promise<ListPiece<Account>>;

  /** Usage by day (UTC, `YYYY-MM-DD`) and kind, oldest first, both days included; behind `usageKey` of a row. */
  usage(accountId: string, fromDay: string, toDay: string, part?: ListPart): Promise<ListPiece<UsageRow>>;

  /** The accounts that have a token with one of these hashes, not revoked, or one of these signing keys. */
  accountsKnownBy(hashes: readonly Uint8Array[], keys: readonly string[]): Promise<readonly string[]>;

  // ——— signing keys ———

  getSigningKeys(accountId: string): Promise<SigningKeys | null>;

  /** Makes `next` the current key and `fresh` the next one, if `next` is still the next; answers what then stands. */
  rotateSigningKeys(accountId: string, next: string, fresh: string): Promise<SigningKeys | null>;

  // ——— tokens ———

  createToken(token: Token, hash: Uint8Array): Promise<void>;

  /** The token with that hash and its account, unless revoked. */
  findToken(hash: Uint8Array): Promise<Principal | null>;

  /** By id. */
  listTokens(accountId: string, part?: ListPart): Promise<ListPiece<Token>>;

  /** Notes that a token was shown. */
  touchToken(tokenId: string, now: number): Promise<void>;

  /** However many are revoked at once, on however many nodes: one that may administer is left. */
  revokeToken(accountId: string, tokenId: string, now: number): Promise<Revocation>;

  /** Revokes the tokens with these hashes, whatever they may do. */
  revokeHashes(hashes: readonly Uint8Array[], now: number): Promise<void>;

  /**
   * Makes the token where there is none that may administer: for the oldest account, or for `account`, which is made with
   * it, where there is none. However many nodes ask at once, one is answered true.
   */
  createFirstAdmin(first: FirstAdmin): Promise<boolean>;

  // ——— sessions ———

  /** Makes room for it: of the sessions of its token, the newest `keptMax` stay, itself included. */
  createSession(session: Session, keptMax: number): Promise<void>;

  /** The token and account behind a session, unless it has ended or expired or its token was revoked. */
  findSession(sessionId: string, now: number): Promise<Principal | null>;

  /** From then on it is not found any more. */
  endSession(sessionId: string): Promise<void>;

  /** Beside each credential whether its token, and its session if it has one, are still good. */
  areAdmitted(credentials: readonly Credential[], now: number): Promise<readonly boolean[]>;
}
