// Accounts, with their tokens, permissions and usage. Secrets are made and compared in server/src/accounts, not here.

import type { MessageKind } from '../delivery/message.ts';
import type { TierName } from '../limits/tier.ts';

export type Scope = 'publish' | 'read' | 'manage' | 'admin';
export const SCOPES: readonly Scope[] = ['publish', 'read', 'manage', 'admin'];

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly tier: TierName;
  readonly createdAt: number;
  /** Since when the account is suspended: it makes no messages, and none of its messages start. Absent if it is not. */
  readonly suspendedAt?: number;
  /** Since when the account is being deleted. It is suspended, and is not resumed. Absent if it stays. */
  readonly deletingSince?: number;
  /** What its messages that say nothing themselves do while their host is down. Absent: they are retried. */
  readonly outage?: 'park';
}

export interface Token {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: number;
  readonly revokedAt: number | null;
  /** The time is accurate to about a minute. */
  readonly lastUsedAt: number | null;
  /** From then on the token is worth nothing. Null: it does not expire. */
  readonly expiresAt: number | null;
  /** The CIDR ranges from which it may be used. Empty: from everywhere. */
  readonly addresses: readonly string[];
}

export function hasExpired({ expiresAt }: Pick<Token, 'expiresAt'>, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}

/** What limits a token beside its scopes. */
export type TokenLimits = Pick<Token, 'expiresAt' | 'addresses'>;

/** A sign-in to the console with a token. */
export interface Session {
  /** The hash of the secret in the browser's cookie. */
  readonly id: string;
  readonly tokenId: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** `lastAdmin`: the token is not revoked, because without it nobody could create a token. */
export type Revocation = 'revoked' | 'unknown' | 'lastAdmin';

/**
 * Whether a token may be revoked. `hasOtherAdmin`: another valid token has the scope to administer, and does not expire.
 * One that expires does not count: when its time comes, nobody would be asked, and nobody could create another.
 */
export function checkRevocation(token: Pick<Token, 'scopes'> | null, hasOtherAdmin: () => boolean): Revocation {
  if (!token) return 'unknown';
  return token.scopes.includes('admin') && !hasOtherAdmin() ? 'lastAdmin' : 'revoked';
}

/**
 * `before`: it was being deleted already. `lastAdmin`: it stays, because without it nobody could create a token.
 */
export type Deletion = 'begun' | 'before' | 'unknown' | 'lastAdmin';

/** Whether an account may be deleted. `hasOtherAdmin`: a valid token of another account has the scope to administer. */
export function checkDeletion(
  account: Pick<Account, 'deletingSince'> | null,
  hasAdmin: boolean,
  hasOtherAdmin: boolean,
): Deletion {
  if (!account) return 'unknown';
  if (account.deletingSince !== undefined) return 'before';
  return hasAdmin && !hasOtherAdmin ? 'lastAdmin' : 'begun';
}

/**
 * For how long an account without any rows left keeps its own: longer than a request may take that began before its
 * deletion. What such a request still stores is deleted too.
 */
const EMPTY_KEPT_MS = 6 * 60_000;

/** Whether the row of an account that is being deleted, and that has no other rows, may be deleted. */
export function isForgettable(deletingSince: number, now: number): boolean {
  return now >= deletingSince + EMPTY_KEPT_MS;
}

export interface SigningKeys {
  readonly current: string;
  readonly next: string;
}

/** How many messages were accepted on a day, with the copies for endpoints of a topic and the callbacks. */
export interface UsageRow {
  readonly day: string;
  readonly kind: MessageKind;
  readonly count: number;
}

/** The UTC day under which usage at this time is counted. */
export function usageDay(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

/**
 * For how many days usage is kept: more than a year, so that a month can be compared with the same one a year before.
 */
const USAGE_KEPT_DAYS = 400;

/** Usage before this day is deleted. */
export function firstKeptDay(now: number): string {
  return usageDay(now - USAGE_KEPT_DAYS * 24 * 60 * 60 * 1000);
}

/** Whether the text is a day that exists in the calendar, in the form of `usageDay`. */
export function isUsageDay(text: string): boolean {
  const atMs = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(atMs) && usageDay(atMs) === text;
}

/** A token as people see it, without its secret. */
export function shownToken(token: Token) {
  const { id, accountId, name, scopes, createdAt, revokedAt, lastUsedAt } = token;
  return {
    tokenId: id,
    accountId,
    name,
    scopes,
    createdAt,
    ...(revokedAt !== null && { revokedAt }),
    ...(lastUsedAt !== null && { lastUsedAt }),
    ...shownLimits(token),
  };
}

/** When a token expires and from where it may be used, if that is limited. */
export function shownLimits({ expiresAt, addresses }: TokenLimits) {
  return { ...(expiresAt !== null && { expiresAt }), ...(addresses.length > 0 && { addresses }) };
}
