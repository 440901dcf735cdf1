// The tables of the verbs of accounts, and of those that a node calls to run schedules and bulk operations, to evaluate
// alerts, and to delete what is past its retention.

import type { ListPart } from '../../ports/list-piece.ts';
import { SHARED_ACCOUNT_VERBS, SHARED_UPKEEP_VERBS } from '../../resources/verbs.ts';
import { deleteJournal } from '../deliveries/journal.ts';
import * as time from '../deliveries/time.ts';
import { foldActivity } from '../messages/activity.ts';
import { deleteExpired } from '../messages/expired.ts';
import * as idle from '../messages/idle.ts';
import { deleteDeduplication } from '../messages/messages.ts';
import { freeInside, storedAccounts } from '../messages/stored.ts';
import { deleteUsage } from '../messages/usage.ts';
import { listing, lookingUp, on, type VerbContext, writing } from '../thread/verb.ts';
import { alertFacts } from './alert-facts.ts';
import { notifyAlerts } from './alerts.ts';
import * as schedules from './schedules.ts';
import { onThread } from './steps.ts';

export const ACCOUNT_VERBS = {
  ...onThread(SHARED_ACCOUNT_VERBS),
  usage: {
    reads: 'list' as const,
    run: ({ caches }: VerbContext, accountId: string, fromDay: string, toDay: string, part?: ListPart) =>
      caches.usage.list(accountId, fromDay, toDay, part),
  },
  storedBytes: writing((_database, { stored }, accountId: string) => stored.of(accountId)),
  storedAccounts: lookingUp(storedAccounts),
  freeInside: lookingUp(freeInside),
  storedError: {
    reads: 'list' as const,
    run: ({ caches }: VerbContext, accountId: string) => caches.stored.errorOf(accountId),
  },
  correctStored: writing((_database, { stored }, accountId: string, by: number) => stored.add(accountId, by)),
  // An account has only one row here, so there are no rows to add up.
  foldStored: on((_database, _limit: number) => 0),
};

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
