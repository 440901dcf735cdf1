// The tables of the verbs of accounts, and of those that a node calls to run schedules and bulk operations, to evaluate
// alerts, and to delete what is past its retention.

import type { ListPieceRequest } from '../../ports/list-piece.ts';
import { SHARED_ACCOUNT_VERBS, SHARED_UPKEEP_VERBS } from '../../resources/verbs.ts';
import { deleteJournal } from '../deliveries/journal.ts';
import * as time from '../deliveries/time.ts';
import { activity, foldActivity } from '../messages/activity.ts';
import { deleteExpired } from '../messages/expired.ts';
import { dueExpiries } from '../messages/expiry.ts';
import * as idle from '../messages/idle.ts';
import { deleteDeduplication } from '../messages/messages.ts';
import { freeBytesInside, storedAccounts } from '../messages/stored.ts';
import { deleteUsage } from '../messages/usage.ts';
import { listing, lookingUp, on, type VerbContext, withCaches } from '../thread/verb.ts';
import { alertFacts } from './alert-facts.ts';
import { notifyAlerts } from './alerts.ts';
import * as schedules from './schedules.ts';
import { toThreadVerbs } from './steps.ts';

export const ACCOUNT_VERBS = {
  ...toThreadVerbs(SHARED_ACCOUNT_VERBS),
  usage: {
    reads: 'list' as const,
    run: ({ caches }: VerbContext, accountId: string, fromDay: string, toDay: string, part?: ListPieceRequest) =>
      caches.usage.list(accountId, fromDay, toDay, part),
  },
  activity: listing(activity),
  storedBytes: withCaches((_database, { stored }, accountId: string) => stored.of(accountId)),
  storedAccounts: lookingUp(storedAccounts),
  freeBytesInside: lookingUp(freeBytesInside),
  storedBytesError: {
    reads: 'list' as const,
    run: ({ caches }: VerbContext, accountId: string) => caches.stored.errorOf(accountId),
  },
  correctStored: withCaches((_database, { stored }, accountId: string, by: number) => stored.add(accountId, by)),
  // An account has only one row here, so there are no rows to add up.
  foldStored: on((_database, _limit: number) => 0),
};

export const UPKEEP_VERBS = {
  dueSchedules: on(schedules.dueSchedules),
  fireSchedules: withCaches(schedules.fireSchedules, { makesWorkAt: ({ dueAt }) => dueAt, writesJournal: true }),
  scheduleTimes: on(time.scheduleTimes),
  setScheduleTimes: on(time.setScheduleTimes, {
    schedulesAt: (_reply, changes) => changes.map(({ nextAt }) => nextAt),
  }),

  alertFacts: listing(alertFacts),
  notifyAlerts: withCaches(notifyAlerts, {
    makesWorkAt: ({ dueAt }) => dueAt,
    writesJournal: ({ results }) => results.includes('notified'),
  }),

  // Like `dueAlerts`: called often, and mostly finds nothing.
  dueExpiries: on(dueExpiries),

  ...toThreadVerbs(SHARED_UPKEEP_VERBS),

  deleteExpired: withCaches(deleteExpired),
  deleteJournal: on(deleteJournal),
  deleteUsage: on(deleteUsage),
  deleteDeduplication: on(deleteDeduplication),
  deleteIdleFlowKeys: withCaches(idle.deleteIdleFlowKeys),
  deleteIdleQueues: withCaches(idle.deleteIdleQueues),
  deleteOldJobs: withCaches(idle.deleteOldJobs),
  foldActivity: on(foldActivity),
};
