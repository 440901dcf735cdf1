// When a message expires: from then on no attempt of it starts. A message that waits at that time ends as failed, with
// the code `expired`. An attempt that has started before runs to its end.

import type { FailureCode, Message } from './message.ts';
import { NEVER_AT } from './recovery.ts';

/** As a caller gives it: how long after its acceptance, or an instant of the wall clock. */
export type Expiry = { readonly afterMs: number } | { readonly at: number };

export const EXPIRED: FailureCode = 'expired';

/** Every attempt must start before `mustStartBefore`. Null: whenever it is the message's turn. */
export function isExpired({ mustStartBefore }: { readonly mustStartBefore: number | null }, at: number): boolean {
  return mustStartBefore !== null && at >= mustStartBefore;
}

/** Those that have not expired: the same list if none has. */
export function withoutExpired<T extends { readonly message: Pick<Message, 'mustStartBefore'> }>(
  claims: readonly T[],
  now: number,
): readonly T[] {
  const hasGone = ({ message }: T) => isExpired(message, now);
  return claims.some(hasGone) ? claims.filter((claim) => !hasGone(claim)) : claims;
}

/** The end of the time in which attempts may start. `aheadMs`: how far the order clock is ahead of the wall clock. */
export function mustStartBefore(expiry: Expiry | null, now: number, aheadMs: number): number | null {
  if (expiry === null) return null;
  return Math.min(NEVER_AT, 'at' in expiry ? expiry.at + aheadMs : now + expiry.afterMs);
}

/**
 * The same for a message of a queue with a default. It counts from when the message is due, so that a delayed message
 * has as much time in the queue as any other.
 */
export function mustStartInQueue(message: Pick<Message, 'mustStartBefore' | 'dueAt'>, expiresMs: number | null) {
  if (expiresMs === null || message.mustStartBefore !== null) return message.mustStartBefore;
  return Math.min(NEVER_AT, message.dueAt + expiresMs);
}

/**
 * Why a message failed that has expired. `lastResult`: the result of the attempt that has just ended, as text. Without
 * times, so that messages with the same cause are one group.
 */
export function expiredText(attempts: number, lastResult: string | null = null): string {
  if (attempts === 0) return 'expired before its first attempt';
  return `expired before its next attempt${lastResult === null ? '' : `: ${lastResult}`}`;
}
