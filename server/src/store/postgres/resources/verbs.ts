// The account port and the upkeep port over PostgreSQL: accounts and what they use; the schedules and bulk operations that
// nodes run, the alerts that they evaluate, and retention.

import type { AccountStore } from '../../ports/account-store.ts';
import type { UpkeepStore } from '../../ports/upkeep-store.ts';
import { SHARED_ACCOUNT_VERBS, SHARED_UPKEEP_VERBS } from '../../resources/verbs.ts';
import { ExpiredTurns } from '../../shared/expired.ts';
import type { StandingOffer } from '../../shared/standing-offer.ts';
import type { Cancels } from '../deliveries/cancels.ts';
import { deleteJournal, deleteUsage } from '../deliveries/journal.ts';
import * as time from '../deliveries/time.ts';
import type { Calls } from '../groups/calls.ts';
import { activity, foldActivity } from '../messages/activity.ts';
import { deletingExpired } from '../messages/expired.ts';
import { dueExpiries } from '../messages/expiry.ts';
import * as idle from '../messages/idle.ts';
import { deleteDeduplication } from '../messages/messages.ts';
import * as stored from '../messages/stored.ts';
import { usage } from '../messages/usage.ts';
import { alertFacts } from './alert-facts.ts';
import { notifyAlerts } from './alerts.ts';
import * as schedules from './schedules.ts';
import { onCall } from './steps.ts';

export function createAccounts(calls: Calls): AccountStore {
  return {
    ...onCall(calls, SHARED_ACCOUNT_VERBS),
    usage: calls.reading(usage),
    activity: calls.reading(activity),
    storedBytes: calls.reading(stored.storedBytes),
    storedAccounts: calls.reading(stored.storedAccounts),
    // The database does not report its free disk space.
    freeBytesInside: async () => 0,
    recountStored: calls.writing(stored.recountStored),
    foldStored: calls.writing(stored.foldStored),
  };
}

const NODE_SHARDS = 16;

export interface UpkeepOptions {
  readonly calls: Calls;
  readonly offer: StandingOffer;
  readonly node: string;
  readonly cancels: Cancels;
}

export function createUpkeep({ calls, offer, node, cancels }: UpkeepOptions): UpkeepStore {
  const shard = shardOf(node);
  const due = calls.reading(schedules.dueSchedules);
  const fire = calls.writing(schedules.fireSchedules, {
    makesWork: ({ dueAt }, _ticks, now) => ({ dueAt, now }),
    writesJournal: true,
  });
  const notify = calls.writing(notifyAlerts, {
    makesWork: ({ dueAt }, _judged, now) => ({ dueAt, now }),
    writesJournal: ({ results }) => results.includes('notified'),
  });
  const { runJobStep, ...shared } = onCall(calls, SHARED_UPKEEP_VERBS);
  return {
    async dueSchedules(now, limits) {
      const answer = await due(now, limits, shard);
      offer.setSchedule(answer.nextAt);
      return answer;
    },
    fireSchedules: async (ticks, now) => (await fire(ticks, now)).made,
    scheduleTimes: calls.reading(time.scheduleTimes),
    setScheduleTimes: calls.writing(time.setScheduleTimes, {
      schedulesAt: (_reply, changes) => changes.map(({ nextAt }) => nextAt),
    }),
    ...shared,
    alertFacts: calls.reading(alertFacts),
    notifyAlerts: async (evaluated, now) => (await notify(evaluated, now)).results,
    dueExpiries: calls.reading(dueExpiries),
    async runJobStep(accountId, id, work, step) {
      const { done, requested } = await runJobStep(accountId, id, work, step);
      if (work.action === 'cancel') await cancels.afterJob(accountId, requested, step.now);
      return done;
    },

    deleteExpired: calls.writing(deletingExpired(new ExpiredTurns())),
    deleteJournal: calls.writing(deleteJournal),
    deleteUsage: calls.writing(deleteUsage),
    deleteDeduplication: calls.writing(deleteDeduplication),
    deleteIdleFlowKeys: calls.writing(idle.deleteIdleFlowKeys),
    deleteIdleQueues: calls.writing(idle.deleteIdleQueues),
    deleteOldJobs: calls.writing(idle.deleteOldJobs),
    foldActivity: calls.writing(foldActivity),
  };
}

function shardOf(node: string): number {
  let sum = 0;
  for (const character of node) sum = (sum * 31 + character.codePointAt(0)!) >>> 0;
  return sum % NODE_SHARDS;
}
