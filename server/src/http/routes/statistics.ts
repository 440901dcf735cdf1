// Numbers over the API: where messages stand, what happened in the last hour, and what failed alike.

import { type Activity, lagPercentile, sumOf } from '../../domain/activity.ts';
import { deadLetterId } from '../../domain/callback.ts';
import { ActivityAnswer, FailureGroupsAnswer, OverviewAnswer } from '../answers.ts';
import type { Api, ApiContext } from '../api.ts';
import { BUCKET_MS, RecentActivity } from '../recent-activity.ts';

/** What is counted exactly; more than that is told as "that many or more". */
const COUNTED_MAX = 20_000;
const GROUPED_MAX = 5000;

export function statisticsRoutes(api: Api, { store, world }: ApiContext): void {
  const recent = new RecentActivity(store);

  api.add({
    method: 'GET',
    path: '/v2/overview',
    scope: 'read',
    summary: 'Where the messages stand now, in all and by queue',
    answer: OverviewAnswer,
    handle: async ({ principal }) => {
      const now = world.clock.now();
      const { open, oldestDueAt, queues, ...counts } = await store.standing(principal.account.id, now, COUNTED_MAX);
      return { now, ...open, ...counts, ...(oldestDueAt !== null && { oldestDueAt }), queues };
    },
  });

  api.add({
    method: 'GET',
    path: '/v2/activity',
    scope: 'read',
    summary: 'What happened in the last hour, by minute, and how late deliveries were',
    answer: ActivityAnswer,
    handle: async ({ principal }) => {
      const now = world.clock.now();
      const buckets = await recent.of(principal.account.id, now);
      return {
        now,
        bucketMs: BUCKET_MS,
        buckets: buckets.map(({ at, activity: { lags: _lags, ...counts } }) => ({ at, ...counts })),
        lag: lagOf(sumOf(buckets.map(({ activity }) => activity))),
      };
    },
  });

  api.add({
    method: 'GET',
    path: '/v2/dlq/groups',
    scope: 'read',
    summary: 'Dead letters by host and reason, the largest group first',
    answer: FailureGroupsAnswer,
    handle: async ({ principal }) => {
      const groups = await store.failureGroups(principal.account.id, GROUPED_MAX);
      return {
        groups: groups.map(({ sample, status, ...group }) => ({
          ...group,
          ...(status !== null && { responseStatus: status }),
          sample: { dlqId: deadLetterId(sample.id), messageId: sample.id, url: sample.url },
        })),
        groupedMax: GROUPED_MAX,
      };
    },
  });
}

function lagOf(activity: Activity) {
  const at = (name: string, share: number) => {
    const ms = lagPercentile(activity, share);
    return ms === null ? {} : { [name]: ms };
  };
  return { count: activity.delivered, ...at('p50Ms', 0.5), ...at('p95Ms', 0.95), ...at('p99Ms', 0.99) };
}
