// The table of the verbs that a node calls to accept, lease and settle messages, to run schedules and bulk operations,
// and to judge alerts.

import { unitsOf } from '../../../rules/limits/turns.ts';
import { waitingBytes } from '../../shared/inbox.ts';
import { alertFacts } from '../resources/alert-facts.ts';
import * as alerts from '../resources/alerts.ts';
import * as jobs from '../resources/jobs.ts';
import * as schedules from '../resources/schedules.ts';
import { listing, on, type VerbContext, writing } from '../thread/verb.ts';
import { accept } from './accept.ts';
import { claimAlone, recovery } from './alone.ts';
import { cancelledClaims, nodesHoldingCancelled } from './cancel.ts';
import { type ClaimCommand, release } from './claim.ts';
import { leasesOf, orphanedClaims } from './orphans.ts';
import { settle } from './settle.ts';
import * as time from './time.ts';

export const DELIVERY_VERBS = {
  accept: writing(accept, {
    makesWorkAt: ({ dueAt }) => dueAt,
    writesJournal: true,
    work: ({ messages }) => ({
      accountId: messages[0]?.accountId ?? '',
      units: unitsOf(messages.length, waitingBytes(messages)),
    }),
  }),
  claim: { run: ({ claimer }: VerbContext, command: ClaimCommand) => claimer.claim(command) },
  settle: writing(settle, { makesWorkAt: ({ dueAt }) => dueAt, writesJournal: true }),
  release: writing(release, { makesWorkAt: (dueAt) => dueAt }),
  cancelledClaims: on(cancelledClaims),
  nodesHoldingCancelled: on(nodesHoldingCancelled),

  orphanedClaims: on(orphanedClaims),
  leasesOf: on(leasesOf),
  claimAlone: writing(claimAlone),
  recovery: on(recovery),

  heartbeat: on(time.heartbeat),
  storedTime: on(time.storedTime),

  dueSchedules: on(schedules.dueSchedules),
  fireSchedules: writing(schedules.fireSchedules, { makesWorkAt: ({ dueAt }) => dueAt, writesJournal: true }),
  scheduleTimes: on(time.scheduleTimes),
  setScheduleTimes: on(time.setScheduleTimes, { schedulesAt: (changes) => changes.map(({ nextAt }) => nextAt) }),

  // Asked every few seconds, mostly for nothing: the reader's thread need not run for it.
  dueAlerts: on(alerts.dueAlerts),
  alertFacts: listing(alertFacts),
  tellAlerts: writing(alerts.tellAlerts, {
    makesWorkAt: ({ dueAt }) => dueAt,
    writesJournal: ({ told }) => told.includes('told'),
  }),

  runningJobs: on(jobs.runningJobs),
  runJobStep: writing(jobs.runJobStep, { makesWorkAt: ({ dueAt }) => dueAt, writesJournal: true }),
};
