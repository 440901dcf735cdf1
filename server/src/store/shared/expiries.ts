// Which messages one step ends because they have expired while they waited: those that expired first. If more have
// expired than one step ends, a few messages of the next accounts are chosen before them. And how many expired messages
// a claim passes over. Every adapter uses this file.

import { isExpired } from '../../rules/delivery/expiry.ts';
import { eachMax } from '../../rules/limits/budgets.ts';
import { firstWithinBytes } from './expired.ts';

/**
 * If more messages have expired than one step ends: how many accounts are read in turn, and how many messages of each.
 */
export const EXPIRY_ACCOUNTS_MAX = 64;
export const EXPIRY_OF_ACCOUNT_MAX = 16;

/** A message that has expired, before it is read whole. */
export interface ExpiredRow {
  readonly account_id: string;
  readonly seq: number;
  /** Whether a failure callback reports the end. Only then its body is read. */
  readonly is_reported: unknown;
  readonly bytes: number;
  readonly body_id: number | null;
}

/** Accounts take turns for at most this many of `limit` messages, so that those that expired first end too. */
export function expiredInTurnMax(limit: number): number {
  return Math.ceil(limit / 2);
}

/** What was read of the accounts in turn. */
export interface ReadInTurn<T> {
  /** Their expired messages, in the order of their accounts. */
  readonly rows: readonly T[];
  /** The account that was looked at last, whether or not any of its messages has expired. Empty: begin again. */
  readonly lastLooked: string;
}

export interface ChosenExpired<T> {
  readonly chosen: readonly T[];
  /** The account after which the turns continue. */
  readonly lastInTurn: string | null;
}

/** What one step ends. `inTurn` is null if `oldest` are all that have expired. */
export function chooseExpired<T extends ExpiredRow>(
  inTurn: ReadInTurn<T> | null,
  oldest: readonly T[],
  limit: number,
): ChosenExpired<T> {
  const keyOf = ({ account_id, seq }: T) => `${seq} ${account_id}`;
  const found = inTurn?.rows ?? [];
  const first = found.slice(0, expiredInTurnMax(limit));
  const taken = new Set(first.map(keyOf));
  const wanted = [...first, ...oldest.filter((row) => !taken.has(keyOf(row)))].slice(0, limit);
  const read = wanted.map((row) => (row.is_reported ? row : { ...row, bytes: 0, body_id: null }));
  const chosen = wanted.slice(0, firstWithinBytes(read, eachMax('changedBytes')).length);
  // An account whose messages are only among the oldest has had no turn. Those before it would be passed over.
  const served = first.slice(0, chosen.length);
  const hasServedAll = served.length === found.length;
  const lastInTurn = inTurn && (hasServedAll ? inTurn.lastLooked : served.at(-1)!.account_id);
  return { chosen, lastInTurn };
}

/**
 * How many expired messages a claim passes over in one backlog to find others behind them. There are as many only for a
 * moment: they are ended beside the claims.
 */
export const EXPIRED_PASSED_MAX = 64;

/**
 * How many one claim passes over so, in all backlogs together. In further backlogs it looks only at as many messages as
 * it wants, so that it reaches those without expired messages.
 */
export const EXPIRED_PASSED_BY_CLAIM_MAX = 1024;

/** The column that `isLive` needs. */
export interface ExpiringRow {
  readonly must_start_before: number | null;
}

/** Whether an attempt of the message may start now. */
export function isLive({ must_start_before: mustStartBefore }: ExpiringRow, now: number): boolean {
  return !isExpired({ mustStartBefore }, now);
}
