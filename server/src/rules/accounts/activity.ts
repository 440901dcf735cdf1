// Activity in a period, as numbers: messages accepted, delivered, retried and failed, and how late the deliveries were.
// Each of these is counted by account and minute, in the transaction in which it happens. Lags are kept as a histogram
// and not as a list, so that periods can be added up.

import { statesAfterAttempt } from '../delivery/event.ts';
import type { Attempt, Message } from '../delivery/message.ts';

export interface Activity {
  readonly accepted: number;
  readonly delivered: number;
  /** Failed attempts after which another is planned. Interrupted attempts do not count. */
  readonly retried: number;
  readonly failed: number;
  readonly cancelled: number;
  /** For each bucket of lags, how many deliveries were that late: see `lagBucket`. */
  readonly lags: readonly number[];
}

/**
 * The number of buckets for lags from 1 ms to over a day. The upper end of a bucket is √2 times its lower end. A
 * percentile is shown as the upper end of its bucket, so it may be about 1.4 times the real lag.
 */
export const LAG_BUCKETS = 56;

export const NO_ACTIVITY: Activity = {
  accepted: 0,
  delivered: 0,
  retried: 0,
  failed: 0,
  cancelled: 0,
  lags: new Array(LAG_BUCKETS).fill(0),
};

/**
 * How a store names what it counts: by small numbers, which must never change because they are stored. Each number from
 * DELIVERED on stands for the deliveries in one bucket of lags.
 */
export const COUNT_KINDS = { accepted: 0, retried: 1, failed: 2, cancelled: 3 } as const;
const DELIVERED = 10;

/** Counts are kept by minute for the last half day, and by hour for the last weeks. */
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const MINUTES_KEPT_MS = 12 * HOUR_MS;
export const HOURS_KEPT_MS = 35 * 24 * HOUR_MS;

/** The start of the minute or hour that this instant lies in. */
export function startOfSpan(at: number, spanMs: number): number {
  return at - (((at % spanMs) + spanMs) % spanMs);
}

/**
 * The number under which the end of an attempt is counted. Null for an interrupted attempt, which is not counted, unless
 * its message `hasFailed` because it expired.
 */
export function countKindOfEnd(
  attempt: Pick<Attempt, 'outcome' | 'status' | 'nextAt'>,
  lagMs: number,
  hasFailed = false,
): number | null {
  if (attempt.outcome === 'interrupted') return hasFailed ? COUNT_KINDS.failed : null;
  const end = statesAfterAttempt(attempt).at(-1);
  if (end === 'DELIVERED') return DELIVERED + lagBucket(lagMs);
  return end === 'RETRY' ? COUNT_KINDS.retried : COUNT_KINDS.failed;
}

/**
 * How late a delivery was, measured from the time at which the message could first start. That time is later than the
 * due time if the queue or the flow key of the message held it back.
 */
export function lagMs({ firstDueAt, readyAt }: Pick<Message, 'firstDueAt' | 'readyAt'>, endedAt: number): number {
  return Math.max(0, endedAt - Math.max(firstDueAt, readyAt ?? firstDueAt));
}

/** Adds up the counts that were read from a store. */
export function activityOf(rows: Iterable<{ readonly kind: number; readonly count: number }>): Activity {
  const count = { accepted: 0, retried: 0, failed: 0, cancelled: 0 };
  const lags: number[] = new Array(LAG_BUCKETS).fill(0);
  const names = Object.keys(COUNT_KINDS) as (keyof typeof COUNT_KINDS)[];
  for (const { kind, count: n } of rows) {
    const name = names.find((each) => COUNT_KINDS[each] === kind);
    if (name) count[name] += n;
    else if (kind >= DELIVERED && kind < DELIVERED + LAG_BUCKETS) lags[kind - DELIVERED]! += n;
  }
  return { ...count, delivered: lags.reduce((sum, n) => sum + n, 0), lags };
}

export function sumOfActivities(all: readonly Activity[]): Activity {
  return all.reduce(
    (sum, each) => ({
      accepted: sum.accepted + each.accepted,
      delivered: sum.delivered + each.delivered,
      retried: sum.retried + each.retried,
      failed: sum.failed + each.failed,
      cancelled: sum.cancelled + each.cancelled,
      lags: sum.lags.map((count, index) => count + each.lags[index]!),
    }),
    NO_ACTIVITY,
  );
}

export function lagBucket(lagMs: number): number {
  return Math.min(LAG_BUCKETS - 1, Math.floor(2 * Math.log2(Math.max(1, lagMs))));
}

/** The lag that this share of the deliveries did not exceed. Null without deliveries. */
export function lagPercentile({ lags }: Pick<Activity, 'lags'>, share: number): number | null {
  const total = lags.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let seen = 0;
  for (const [bucket, count] of lags.entries()) {
    seen += count;
    if (seen >= share * total) return Math.round(2 ** ((bucket + 1) / 2));
  }
  return null;
}

/** The possible lengths of a bucket, which is one bar of a chart. */
const SPANS_MS = [1, 5, 15, 60, 6 * 60, 24 * 60].map((minutes) => minutes * MINUTE_MS);
export const BUCKETS_MAX = 180;

export interface BucketRange {
  readonly fromAt: number;
  /** The end of the range: the last bucket begins before it. */
  readonly toAt: number;
  readonly bucketMs: number;
}

/**
 * The buckets that cover a period. If the period begins when only hourly counts are kept, a bucket is at least an hour
 * long.
 */
export function bucketRange(fromAt: number, toAt: number, now: number): BucketRange {
  const first = Math.max(fromAt, now - HOURS_KEPT_MS);
  const spanMin = first < startOfSpan(now - MINUTES_KEPT_MS, HOUR_MS) + HOUR_MS ? HOUR_MS : MINUTE_MS;
  const fits = (span: number) => span >= spanMin && (toAt - startOfSpan(first, span)) / span <= BUCKETS_MAX;
  const bucketMs = SPANS_MS.find(fits) ?? SPANS_MS.at(-1)!;
  return { fromAt: startOfSpan(first, bucketMs), toAt, bucketMs };
}
