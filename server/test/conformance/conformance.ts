// The suite every store adapter must pass: one entry, one file per capability, nothing in it of any adapter.

import { describe } from 'node:test';
import { acceptConformance } from './accept.ts';
import { accountsConformance } from './accounts.ts';
import { alertsConformance } from './alerts.ts';
import { cancelConformance } from './cancel.ts';
import { claimConformance } from './claim.ts';
import { deadLettersConformance } from './dead-letters.ts';
import { deduplicationConformance } from './deduplication.ts';
import { eventsConformance } from './events.ts';
import { fairnessConformance } from './fairness.ts';
import { fifoConformance } from './fifo.ts';
import { flowControlConformance } from './flow-control.ts';
import type { HarnessFactory } from './harness.ts';
import { interruptionsConformance } from './interruptions.ts';
import { jobsConformance } from './jobs.ts';
import { leasesConformance } from './leases.ts';
import { listsConformance } from './lists.ts';
import { offerConformance } from './offer.ts';
import { orderKeyConformance } from './order-key.ts';
import { queueChangesConformance } from './queue-changes.ts';
import { retentionConformance } from './retention.ts';
import { roundTripConformance } from './round-trip.ts';
import { schedulesConformance } from './schedules.ts';
import { searchConformance } from './search.ts';
import { settleConformance } from './settle.ts';
import { sharedBodiesConformance } from './shared-bodies.ts';
import { statisticsConformance } from './statistics.ts';
import { storedConformance } from './stored.ts';
import { suspensionConformance } from './suspension.ts';
import { timeConformance } from './time.ts';
import { topicsConformance } from './topics.ts';
import { waitingConformance } from './waiting.ts';

const CAPABILITIES: readonly ((factory: HarnessFactory) => void)[] = [
  acceptConformance,
  deduplicationConformance,
  claimConformance,
  fairnessConformance,
  offerConformance,
  settleConformance,
  fifoConformance,
  orderKeyConformance,
  flowControlConformance,
  queueChangesConformance,
  leasesConformance,
  interruptionsConformance,
  cancelConformance,
  waitingConformance,
  searchConformance,
  eventsConformance,
  deadLettersConformance,
  schedulesConformance,
  alertsConformance,
  timeConformance,
  jobsConformance,
  listsConformance,
  statisticsConformance,
  retentionConformance,
  sharedBodiesConformance,
  storedConformance,
  suspensionConformance,
  topicsConformance,
  accountsConformance,
  roundTripConformance,
];

export function storeConformance(name: string, factory: HarnessFactory): void {
  describe(name, () => {
    for (const conformance of CAPABILITIES) conformance(factory);
  });
}
