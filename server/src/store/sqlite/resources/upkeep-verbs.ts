// The table of the verbs that a node calls to run schedules and bulk operations, to evaluate alerts, and to delete what
// is past its retention.

import { SHARED_UPKEEP_VERBS } from '../../resources/upkeep-verbs.ts';
import { deleteJournal } from '../deliveries/journal.ts';
import * as time from '../deliveries/time.ts';
import { foldActivity } from '../messages/activity.ts';
import { deleteExpired } from '../messages/expired.ts';
import * as idle from '../messages/idle.ts';
import { deleteDeduplication } from '../messages/messages.ts';
import { deleteUsage } from '../messages/usage.ts';
import { listing, on, writing } from '../thread/verb.ts';
import { alertFacts } from './alert-facts.ts';
import { notifyAlerts } from './alerts.ts';
import * as schedules from './schedules.ts';
import { onThread } from './steps.ts';

export const UPKEEP_VERBS = {
  dueSchedules: on(schedules.dueSchedules),
  fireSchedules: writing(schedules.fireSchedules, { makesWorkAt: ({ dueAt }) => dueAt, writesJournal: true }),
  scheduleTimes: on(time.scheduleTimes),
  setScheduleTimes: on(time.setScheduleTimes, { schedulesAt: (changes) => changes.map(({ nextAt }) => nextAt) }),

  alertFacts: listing(alertFacts),
  notifyAlerts: writing(notifyAlerts, {
    makesWorkAt: ({ dueAt }) => dueAt,
    writesJournal: ({ results }) => results.includes('notified'),
  }),

  ...onThread(SHARED_UPKEEP_VERBS),

  deleteExpired: writing(deleteExpired),
  deleteJournal: on(deleteJournal),
  deleteUsage: on(deleteUsage),
  deleteDeduplication: on(deleteDeduplication),
  deleteIdleFlowKeys: writing(idle.deleteIdleFlowKeys),
  deleteIdleQueues: writing(idle.deleteIdleQueues),
  deleteOldJobs: writing(idle.deleteOldJobs),
  foldActivity: on(foldActivity),
};
