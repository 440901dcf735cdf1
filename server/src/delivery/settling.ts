// From attempts that have ended to the settlements that are written: which are settled together, what follows from each
// (domain/settle.ts decides), and which of them leave their slots to the next of their queues.

import type { Claim, Settlement } from '../domain/message.ts';
import { decideSafely } from '../domain/settle.ts';
import type { Ended } from './crash-recovery.ts';
import type { EngineOptions } from './engine-options.ts';

/** The claim, and what came of it. */
export type EndedAttempt = readonly [Claim, Ended];

/** Bodies of messages that are settled together; one that is larger is settled alone. */
const SETTLE_BYTES_MAX = 8 * 1024 * 1024;

/** Callbacks repeat what was sent, and make it larger: so many attempts are settled in pieces. */
export function* inPieces(ended: readonly EndedAttempt[]): Iterable<readonly EndedAttempt[]> {
  for (let at = 0; at < ended.length; ) {
    let bytes = 0;
    let end = at;
    while (end < ended.length && (end === at || bytes <= SETTLE_BYTES_MAX)) {
      bytes += ended[end]![0].message.body.length;
      end += 1;
    }
    yield end - at === ended.length ? ended : ended.slice(at, end);
    at = end;
  }
}

export function judging(
  { tiers, newId, style }: Pick<EngineOptions, 'tiers' | 'newId' | 'style'>,
  onFault: (error: unknown) => void,
): (ended: readonly EndedAttempt[]) => Settlement[] {
  const { headerPrefix } = style;
  return (ended) =>
    ended.map(([claim, end]) => {
      const { retentionMs, retriesDefault, retryDelayMsMin } = tiers[claim.tier];
      const retryFloor = { afterRetries: retriesDefault, ms: retryDelayMsMin };
      return decideSafely(claim, end, { headerPrefix, retentionMs, retryFloor, newId }, onFault);
    });
}

/** The accounts whose messages leave their slots to the next of their queues. */
export function passingOn(claims: readonly Claim[], mayPassOn: (claim: Claim) => boolean): string[] {
  const accounts = new Map<string, boolean>();
  for (const claim of claims) {
    const { queueName, accountId } = claim.message;
    if (queueName === null || accounts.get(accountId) === false) continue;
    accounts.set(accountId, mayPassOn(claim));
  }
  return [...accounts].filter(([, may]) => may).map(([accountId]) => accountId);
}
