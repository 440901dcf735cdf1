// Access: tokens, and sessions of the console.

import type { Account, Revocation, Session, SigningKeys, Token } from '../../rules/accounts/account.ts';
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

export interface AccessStore {
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
   * Creates the token if no token has the admin scope. The token belongs to the oldest account. If there is no account,
   * it belongs to `account`, which is created too. If several nodes call this at once, it returns true to exactly one
   * of them.
   */
  createFirstAdmin(first: FirstAdmin): Promise<boolean>;

  /** The accounts that have a non-revoked token with one of these hashes, or one of these signing keys. */
  accountsKnownBy(hashes: readonly Uint8Array[], keys: readonly string[]): Promise<readonly string[]>;

  // ——— sessions ———

  /** Keeps the newest `keptMax` sessions of the token, including this one, and deletes the others. */
  createSession(session: Session, keptMax: number): Promise<void>;

  /** The token and the account of a session. Null if the session has ended or expired, or if its token was revoked. */
  findSession(sessionId: string, now: number): Promise<Principal | null>;

  /** After this call the session is not found any more. */
  endSession(sessionId: string): Promise<void>;

  /** Parallel to `credentials`: whether the token, and the session if there is one, are still valid. */
  areAdmitted(credentials: readonly Credential[], now: number): Promise<readonly boolean[]>;

  /**
   * Calls `listener` when another node has changed a token, a session or an account. The call is only a hint, and may
   * be missed.
   */
  onAccess(listener: () => void): void;
}
