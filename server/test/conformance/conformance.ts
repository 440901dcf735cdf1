// The suite every store adapter must pass: one entry, one file per capability, nothing in it of any adapter.

import { describe } from 'node:test';
import { acceptConformance } from './accept.ts';
import { accountsConformance } from './accounts.ts';
import { cancelConformance } from './cancel.ts';
import { claimConformance } from './claim.ts';
import { fairnessConformance } from './fairness.ts';
import { fifoConformance } from './fifo.ts';
import type { HarnessFactory } from './harness.ts';
import { leasesConformance } from './leases.ts';
import { offerConformance } from './offer.ts';
import { queueChangesConformance } from './queue-changes.ts';
import { retentionConformance } from './retention.ts';
import { roundTripConformance } from './round-trip.ts';
import { settleConformance } from './settle.ts';
import { topicsConformance } from './topics.ts';

const CAPABILITIES: readonly ((factory: HarnessFactory) => void)[] = [
  acceptConformance,
  claimConformance,
  fairnessConformance,
  offerConformance,
  settleConformance,
  fifoConformance,
  queueChangesConformance,
  leasesConformance,
  cancelConformance,
  retentionConformance,
  topicsConformance,
  accountsConformance,
  roundTripConformance,
];

export function storeConformance(name: string, factory: HarnessFactory): void {
  describe(name, () => {
    for (const conformance of CAPABILITIES) conformance(factory);
  });
}
