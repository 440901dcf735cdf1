// Permissions and usage of accounts. Nothing here reads or compares a secret: see accounts/.

import type { MessageKind } from '../delivery/message.ts';
import type { TierName } from '../limits/tier.ts';

export type Scope = 'publish' | 'read' | 'manage' | 'admin';
export const SCOPES: readonly Scope[] = ['publish', 'read', 'manage', 'admin'];

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly tier: TierName;
  readonly createdAt: number;
  /** Since when it is suspended: it makes no messages, and none of its messages start. Absent: it is not. */
  readonly suspendedAt?: number;
}

export interface Token {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: number;
  readonly revokedAt: number | null;
  /** Accurate to about a minute. */
  readonly lastUsedAt: number | null;
}

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

/** Whether a token may be revoked. `hasOtherAdmin`: another valid token has the scope to administer. */
export function checkRevocation(token: Pick<Token, 'scopes'> | null, hasOtherAdmin: () => boolean): Revocation {
  if (!token) return 'unknown';
  return token.scopes.includes('admin') && !hasOtherAdmin() ? 'lastAdmin' : 'revoked';
}

export interface SigningKeys {
  readonly current: string;
  readonly next: string;
}

/** One per accepted message, topic copies and callbacks included: each is a message of its own. */
export interface UsageRow {
  readonly day: string;
  readonly kind: MessageKind;
  readonly count: number;
}

/** The UTC day usage is counted under. */
export function usageDay(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

/** For how many days usage is kept: more than a year, so that a month can be compared with the same month of the year before. */
const USAGE_KEPT_DAYS = 400;

/** Usage before this day is deleted. */
export function firstKeptDay(now: number): string {
  return usageDay(now - USAGE_KEPT_DAYS * 24 * 60 * 60 * 1000);
}

/** Whether this is a day in the form of `usageDay`, and exists in the calendar. */
export function isUsageDay(text: string): boolean {
  const atMs = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(atMs) && usageDay(atMs) === text;
}

/** A token as people see it, without its secret. */
export function shownToken({ id, accountId, name, scopes, createdAt, revokedAt, lastUsedAt }: Token) {
  return {
    tokenId: id,
    accountId,
    name,
    scopes,
    createdAt,
    ...(revokedAt !== null && { revokedAt }),
    ...(lastUsedAt !== null && { lastUsedAt }),
  };
}
