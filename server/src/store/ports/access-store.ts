// Access: tokens, sessions of the console, and the audit of what was done with them.

import type { Account, Deletion, Revocation, Session, SigningKeys, Token } from '../../rules/accounts/account.ts';
import type { AuditFilter, AuditRow, AuditRowKind } from '../../rules/accounts/audit.ts';
import type { ReadAmount } from '../../rules/reads/read-amount.ts';
import type { ListPiece, ListPieceRequest } from './list-piece.ts';
import type { PageRequest } from './message-store.ts';

export interface Principal {
  readonly token: Token;
  readonly account: Account;
  /** Set when the request used a session instead of the token itself. */
  readonly sessionId?: string;
}

/** The token that opened something that stays open, such as a live stream, and its session if there was one. */
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

export interface AuditPage {
  readonly order: PageRequest['order'];
  /** The id of the last row that was examined. Null to begin. */
  readonly after: string | null;
  /** The limits of the piece: in rows that match, and in rows that are examined. */
  readonly limit: number;
  readonly look: ReadAmount['rows'];
}

export interface AuditPiece {
  readonly rows: readonly AuditRow[];
  /** The id of the last row that was examined. Null if there are no more rows. */
  readonly after: string | null;
  readonly looked: number;
}

/** How many rows of each kind an account keeps. */
export type AuditKept = Readonly<Record<AuditRowKind, number>>;

export interface AccessStore {
  // ——— tokens ———

  /** False: the account is being deleted. */
  createToken(token: Token, hash: Uint8Array): Promise<boolean>;

  /** The token with this hash, and its account. Null if there is none, or if the token was revoked or has expired. */
  findToken(hash: Uint8Array, now: number): Promise<Principal | null>;

  /** Ordered by id. */
  listTokens(accountId: string, part?: ListPieceRequest): Promise<ListPiece<Token>>;

  /** Records that a token was used. */
  touchToken(tokenId: string, now: number): Promise<void>;

  /**
   * At least one token with the admin scope that does not expire always remains, even when several nodes revoke tokens at
   * once.
   */
  revokeToken(accountId: string, tokenId: string, now: number): Promise<Revocation>;

  /**
   * Ends everything of the account: its tokens are revoked, it is suspended, and it can neither be resumed nor get a
   * token. `deleteAccountPiece` deletes it afterwards. At least one token with the admin scope always remains.
   */
  beginDeletion(accountId: string, now: number): Promise<Deletion>;

  /** Revokes the tokens with these hashes, whatever their scopes are. */
  revokeHashes(hashes: readonly Uint8Array[], now: number): Promise<void>;

  /**
   * Creates the token if no token that does not expire has the admin scope. The token belongs to the oldest account. If there is no account,
   * it belongs to `account`, which is created too. If several nodes call this at once, it returns true to exactly one
   * of them.
   */
  createFirstAdmin(first: FirstAdmin): Promise<boolean>;

  /** The accounts that have a non-revoked token with one of these hashes, or one of these signing keys. */
  accountsKnownBy(hashes: readonly Uint8Array[], keys: readonly string[]): Promise<readonly string[]>;

  // ——— sessions ———

  /** Keeps the newest `keptMax` sessions of the token, including this one, and deletes the others. */
  createSession(session: Session, keptMax: number): Promise<void>;

  /** The token and the account of a session. Null if the session or its token has ended or expired. */
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

  // ——— audit. The row of what people set up is written by the verb that changes it (store/shared/audit-note.ts) ———

  /**
   * Writes rows. If there is a row with the same id, their counts are added up, and the status becomes the newer one. An
   * account keeps a limited number of rows of each kind: the oldest are deleted.
   */
  saveAudit(rows: readonly AuditRow[], kept?: AuditKept): Promise<void>;

  /** Rows of all accounts, unless the filter names some. */
  listAudit(filter: AuditFilter, page: AuditPage): Promise<AuditPiece>;

  /** Deletes up to `limit` rows from before `before`, and returns how many it deleted. */
  deleteAudit(before: number, limit: number): Promise<number>;
}
