// Turns ended attempts into settlements: which attempts are settled together, what follows from each
// (rules/delivery/settle.ts decides), and which of them pass their slots to the next message of their queue.

import type { Claim, Settlement } from '../../rules/delivery/message.ts';
import { decideSafely } from '../../rules/delivery/settle.ts';
import { bytesOfAttempt } from '../../rules/limits/stored-bytes.ts';
import { HARD_LIMITS } from '../../rules/limits/tier.ts';
import type { AttemptResult } from './crash-recovery.ts';
import type { EngineOptions } from './engine-options.ts';
import type { SendReport } from './sender.ts';

/** The claim, and the result of its attempt. */
export type EndedAttempt = readonly [Claim, AttemptResult];

export function accountOf({ message }: Claim): string {
  return message.accountId;
}

export function accountOfEnded([claim]: EndedAttempt): string {
  return accountOf(claim);
}

/** Limit for the bodies of messages settled together. A larger body is settled alone. */
const SETTLE_BYTES_MAX = 8 * 1024 * 1024;

/** Separates attempts that were made from claims that were not sent. Skips a report whose lease is no longer known. */
export function separateUnsent(
  reports: readonly SendReport[],
  claimOf: (lease: string) => Claim | undefined,
): { readonly ended: EndedAttempt[]; readonly unsent: Claim[] } {
  const ended: EndedAttempt[] = [];
  const unsent: Claim[] = [];
  for (const report of reports) {
    const claim = claimOf(report.lease);
    if (!claim) continue;
    if (isMade(report)) ended.push([claim, report]);
    else unsent.push(claim);
  }
  return { ended, unsent };
}

function isMade(report: SendReport): report is SendReport & AttemptResult {
  return report.outcome !== 'unsent';
}

/**
 * Splits attempts into pieces that are settled separately, so that no transaction is too large. The callbacks in a
 * settlement repeat the body that was sent, in a longer form.
 */
export function* settlementPieces(ended: readonly EndedAttempt[]): Iterable<readonly EndedAttempt[]> {
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

export function settlementDecider(
  {
    tiers,
    newId,
    style,
    keepsAnswers = () => true,
    parking,
  }: Pick<EngineOptions, 'tiers' | 'newId' | 'style' | 'keepsAnswers' | 'parking'>,
  onFault: (error: unknown) => void,
): (ended: readonly EndedAttempt[]) => Settlement[] {
  const { headerPrefix } = style;
  return (ended) =>
    ended.map(([claim, end]) => {
      const { retentionMs, retriesDefault, retryDelayMsMin, awaitAckMsMax } = tiers[claim.tier];
      const retryFloor = { afterRetries: retriesDefault, ms: retryDelayMsMin };
      const trial = parking?.trialOf(claim) ?? null;
      const context = {
        headerPrefix,
        retentionMs,
        retryFloor,
        newId,
        trial,
        awaitAckMsMax: awaitAckMsMax ?? HARD_LIMITS.awaitAckMsMax,
      };
      const settlement = decideSafely(claim, end, context, onFault);
      const account = { id: claim.message.accountId, tier: claim.tier };
      return keepsAnswers(account, bytesOfAttempt(settlement.attempt)) ? settlement : withoutAnswer(settlement);
    });
}

const EMPTY = new Uint8Array(0);

/** Keeps only the status of the response. The callbacks already have the rest. */
function withoutAnswer(settlement: Settlement): Settlement {
  const { attempt } = settlement;
  if (attempt.responseBody.length === 0 && attempt.responseHeaders.length === 0) return settlement;
  return { ...settlement, attempt: { ...attempt, responseHeaders: [], responseBody: EMPTY, isResponseBodyCut: true } };
}

/** The accounts whose messages pass their slots to the next message of their queue. */
export function accountsPassingSlots(claims: readonly Claim[], mayPassOn: (claim: Claim) => boolean): string[] {
  const accounts = new Map<string, boolean>();
  for (const claim of claims) {
    const { queueName, accountId } = claim.message;
    if (queueName === null || accounts.get(accountId) === false) continue;
    accounts.set(accountId, mayPassOn(claim));
  }
  return [...accounts].filter(([, may]) => may).map(([accountId]) => accountId);
}
