// The one judge of a run: what of our promises a history breaks, in sentences. Pure, and the same for the simulation
// and for real processes.

import { changed, deliveredWithoutArrival, lost, partial, unexpected } from './acceptance-rules.ts';
import { arrivalGaps, attemptCounts, attemptGaps, ends, extraArrivals, startsAfterCancel } from './attempt-rules.ts';
import { callbacks } from './callback-rules.ts';
import { type Evidence, gatherEvidence } from './evidence.ts';
import type { History } from './history.ts';
import { overtaken, stepsBack } from './queue-rules.ts';

export const RULES = {
  lost,
  'delivered without arrival': deliveredWithoutArrival,
  unexpected,
  partial,
  changed,
  ends,
  'attempt counts': attemptCounts,
  'attempt gaps': attemptGaps,
  'arrival gaps': arrivalGaps,
  'extra arrivals': extraArrivals,
  'starts after cancel': startsAfterCancel,
  'steps back': stepsBack,
  overtaken,
  callbacks,
} satisfies Record<string, (evidence: Evidence) => Iterable<string>>;

export type RuleName = keyof typeof RULES;

/** Every broken promise as `rule: what happened`; empty for a good run. */
export function checkHistory(history: History): string[] {
  const evidence = gatherEvidence(history);
  return Object.entries(RULES).flatMap(([name, rule]) => [...rule(evidence)].map((sentence) => `${name}: ${sentence}`));
}
