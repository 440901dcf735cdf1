// Statistics over the API: the states of messages, the activity of each minute, and failures grouped by cause.

import {
  type Activity,
  bucketRange,
  HOUR_MS,
  lagPercentile,
  MINUTE_MS,
  NO_ACTIVITY,
  sumOfActivities,
} from '../../../rules/accounts/activity.ts';
import { deadLetterId } from '../../../rules/delivery/callback.ts';
import type { FailureGroup } from '../../../rules/delivery/failure-group.ts';
import type { AccountStore } from '../../../store/ports/account-store.ts';
import { readOverview } from '../../../store/ports/count-in-pieces.ts';
import type { MessageStore } from '../../../store/ports/message-store.ts';
import type { Api, RouteContext } from '../api.ts';
import { ApiError } from '../errors.ts';
import { parseTimeValue, querySchema, requestValues } from '../lists/filters.ts';
import { entriesThatFit } from '../lists/list-pages.ts';
import { ActivityAnswer, FailureGroupsAnswer, OverviewAnswer } from '../shapes/answers.ts';

/** Limit for an exact count. A larger count is cut to this number, which then means "this many or more". */
const COUNTED_MAX = 20_000;
const GROUPED_MAX = 5000;

const ACTIVITY_NAMES = ['fromDate', 'toDate'];

type Statistics = MessageStore & Pick<AccountStore, 'activity'>;

export function statisticsRoutes(api: Api, { store, world }: RouteContext<Statistics>): void {
  api.add({
    method: 'GET',
    path: '/v2/overview',
    scope: 'read',
    summary: 'Number of messages by state, in total and by queue',
    answer: OverviewAnswer,
    handle: async ({ principal }) => {
      const now = world.clock.now();
      const { open, oldestDueAt, queues, ...counts } = await readOverview(
        store,
        principal.account.id,
        now,
        COUNTED_MAX,
      );
      return { now, ...open, ...counts, ...(oldestDueAt !== null && { oldestDueAt }), queues };
    },
  });

  api.add({
    method: 'GET',
    path: '/v2/activity',
    scope: 'read',
    query: querySchema(ACTIVITY_NAMES),
    summary: 'Counts of events and the lag of deliveries: over the last hour by minute, or over a chosen time',
    answer: ActivityAnswer,
    handle: async ({ principal, query }) => {
      const now = world.clock.now();
      const values = requestValues(query, null, ACTIVITY_NAMES);
      const toAt = values.toDate === undefined ? now + 1 : Math.min(now + 1, parseTimeValue('toDate', values.toDate));
      const fromAt =
        values.fromDate === undefined ? toAt - 1 - (HOUR_MS - MINUTE_MS) : parseTimeValue('fromDate', values.fromDate);
      if (fromAt >= toAt) throw new ApiError('bad_filter', 'fromDate: must be before toDate, and not in the future');
      const stretch = bucketRange(fromAt, toAt, now);
      const found = await store.activity(principal.account.id, stretch.fromAt, toAt, stretch.bucketMs);
      const byTime = new Map(found.map(({ at, activity }) => [at, activity]));
      const buckets: { readonly at: number; readonly activity: Activity }[] = [];
      for (let at = stretch.fromAt; at < toAt; at += stretch.bucketMs) {
        buckets.push({ at, activity: byTime.get(at) ?? NO_ACTIVITY });
      }
      return {
        now,
        bucketMs: stretch.bucketMs,
        buckets: buckets.map(({ at, activity: { lags: _lags, ...counts } }) => ({ at, ...counts })),
        lag: lagOf(sumOfActivities(buckets.map(({ activity }) => activity))),
      };
    },
  });

  api.add({
    method: 'GET',
    path: '/v2/dlq/groups',
    scope: 'read',
    summary: 'Dead letters grouped by host and reason, the largest group first',
    answer: FailureGroupsAnswer,
    handle: async ({ principal }) => {
      const groups = (await store.failureGroups(principal.account.id, GROUPED_MAX)).map(shownGroup);
      const fitting = entriesThatFit(groups);
      return {
        groups: fitting,
        groupedMax: GROUPED_MAX,
        ...(fitting.length < groups.length && { isListCut: true }),
      };
    },
  });
}

function shownGroup({ sample, status, ...group }: FailureGroup) {
  return {
    ...group,
    ...(status !== null && { responseStatus: status }),
    sample: { dlqId: deadLetterId(sample.id), messageId: sample.id, url: sample.url },
  };
}

function lagOf(activity: Activity) {
  const at = (name: string, share: number) => {
    const ms = lagPercentile(activity, share);
    return ms === null ? {} : { [name]: ms };
  };
  return { count: activity.delivered, ...at('p50Ms', 0.5), ...at('p95Ms', 0.95), ...at('p99Ms', 0.99) };
}
