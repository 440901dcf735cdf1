// The one judge of a run: what of our promises a history breaks, in sentences. Pure, and the same for the simulation
// and for real processes.

import { deliveredWithoutArrival, lost, partial, unexpected, unlikePublished } from './acceptance-rules.ts';
import { acks, awaitedAcks } from './ack-rules.ts';
import { arrivalGaps, attemptCounts, attemptGaps, ends, extraArrivals, startsAfterCancel } from './attempt-rules.ts';
import { callbacks } from './callback-rules.ts';
import { changes, lostChanges } from './change-rules.ts';
import { debounceKeys } from './debounce-rules.ts';
import { duplicates } from './deduplication-rules.ts';
import { type Evidence, gatherEvidence } from './evidence.ts';
import { expiredEnds, startsAfterExpiry } from './expiry-rules.ts';
import { flowKeys } from './flow-rules.ts';
import type { History } from './history.ts';
import { retryJitter } from './jitter-rules.ts';
import { orderKeys } from './order-key-rules.ts';
import { freeAttempts, parkedHosts, parkings, probes } from './parking-rules.ts';
import { priorities } from './priority-rules.ts';
import { overtaken, stepsBack } from './queue-rules.ts';
import { schedules } from './schedule-rules.ts';

export const RULES = {
  lost,
  'delivered without arrival': deliveredWithoutArrival,
  unexpected,
  partial,
  changed: unlikePublished,
  changes,
  'lost changes': lostChanges,
  ends,
  'attempt counts': attemptCounts,
  'attempt gaps': attemptGaps,
  'arrival gaps': arrivalGaps,
  'extra arrivals': extraArrivals,
  'starts after cancel': startsAfterCancel,
  'starts after expiry': startsAfterExpiry,
  'expired ends': expiredEnds,
  'steps back': stepsBack,
  overtaken,
  'retry jitter': retryJitter,
  'order keys': orderKeys,
  'flow keys': flowKeys,
  priorities,
  duplicates,
  'debounce keys': debounceKeys,
  parkings,
  probes,
  'parked hosts': parkedHosts,
  'parked attempts': freeAttempts,
  acks,
  'awaited acks': awaitedAcks,
  schedules,
  callbacks,
} satisfies Record<string, (evidence: Evidence) => Iterable<string>>;

export type RuleName = keyof typeof RULES;

/** Every broken promise as `rule: what happened`; empty for a good run. */
export function checkHistory(history: History): string[] {
  const evidence = gatherEvidence(history);
  return Object.entries(RULES).flatMap(([name, rule]) => [...rule(evidence)].map((sentence) => `${name}: ${sentence}`));
}
