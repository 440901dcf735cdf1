// The suite every store adapter must pass: one entry, one file per capability, nothing in it of any adapter.

import { describe } from 'node:test';
import type { Part } from '../support/campaign.ts';
import { acceptConformance } from './accept.ts';
import { accountDeletionConformance } from './account-deletion.ts';
import { accountsConformance } from './accounts.ts';
import { acksConformance } from './acks.ts';
import { alertsConformance } from './alerts.ts';
import { auditConformance } from './audit.ts';
import { backlogConformance } from './backlog.ts';
import { cancelConformance } from './cancel.ts';
import { changeConformance } from './change.ts';
import { claimConformance } from './claim.ts';
import { deadLettersConformance } from './dead-letters.ts';
import { debounceConformance } from './debounce.ts';
import { deduplicationConformance } from './deduplication.ts';
import { eventsConformance } from './events.ts';
import { expiryConformance } from './expiry.ts';
import { fairnessConformance } from './fairness.ts';
import { fifoConformance } from './fifo.ts';
import { flowControlConformance } from './flow-control.ts';
import type { HarnessFactory } from './harness.ts';
import { hostsConformance } from './hosts.ts';
import { interruptionsConformance } from './interruptions.ts';
import { jobsConformance } from './jobs.ts';
import { leasesConformance } from './leases.ts';
import { listsConformance } from './lists.ts';
import { offerConformance } from './offer.ts';
import { orderKeyConformance } from './order-key.ts';
import { queueChangesConformance } from './queue-changes.ts';
import { retentionConformance } from './retention.ts';
import { roundTripConformance } from './round-trip.ts';
import { scheduleChangesConformance } from './schedule-changes.ts';
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
  debounceConformance,
  claimConformance,
  fairnessConformance,
  offerConformance,
  settleConformance,
  expiryConformance,
  acksConformance,
  fifoConformance,
  orderKeyConformance,
  flowControlConformance,
  hostsConformance,
  backlogConformance,
  queueChangesConformance,
  leasesConformance,
  interruptionsConformance,
  cancelConformance,
  changeConformance,
  waitingConformance,
  searchConformance,
  eventsConformance,
  deadLettersConformance,
  schedulesConformance,
  scheduleChangesConformance,
  alertsConformance,
  timeConformance,
  jobsConformance,
  listsConformance,
  statisticsConformance,
  retentionConformance,
  sharedBodiesConformance,
  storedConformance,
  suspensionConformance,
  accountDeletionConformance,
  topicsConformance,
  accountsConformance,
  auditConformance,
  roundTripConformance,
];

/** Several capabilities at once: each test has a store of its own, and waits for threads or for a database. */
const AT_ONCE = 3;

/** What deliveries do, where a mistake costs most: what `npm test` runs on a store on which all of it takes minutes. */
const OF_DELIVERIES: ReadonlySet<(factory: HarnessFactory) => void> = new Set([
  acceptConformance,
  claimConformance,
  settleConformance,
  fifoConformance,
  leasesConformance,
  schedulesConformance,
  roundTripConformance,
]);

/** Together they send each kind of argument and reply to a store on another thread: bodies, pages, errors, refusals. */
const OF_TRANSFER: ReadonlySet<(factory: HarnessFactory) => void> = new Set([
  acceptConformance,
  claimConformance,
  deadLettersConformance,
  schedulesConformance,
  accountsConformance,
  roundTripConformance,
]);

export type ConformancePart = Part | 'transfer';

export function storeConformance(name: string, factory: HarnessFactory, part: ConformancePart = 'whole'): void {
  const isMeant = (each: (factory: HarnessFactory) => void) => {
    if (part === 'whole') return true;
    return part === 'transfer' ? OF_TRANSFER.has(each) : OF_DELIVERIES.has(each) === (part === 'short');
  };
  describe(name, { concurrency: AT_ONCE }, () => {
    for (const conformance of CAPABILITIES.filter(isMeant)) conformance(factory);
  });
}
