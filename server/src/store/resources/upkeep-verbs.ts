// The table of the verbs that a node calls to check alerts and to run bulk operations, which are written once for all
// adapters.

import { dueAlerts } from './alerts.ts';
import { runJobStep, runningJobs } from './jobs.ts';
import { reading, writing } from './shared-verb.ts';

export const SHARED_UPKEEP_VERBS = {
  // Called every few seconds, mostly without a result, so it does not start the reader's thread.
  dueAlerts: reading(dueAlerts),
  runningJobs: reading(runningJobs),
  runJobStep: writing(runJobStep, {
    makesWork: ({ dueAt }, _accountId, _id, _work, { now }) => ({ dueAt, now }),
    writesJournal: true,
  }),
};
