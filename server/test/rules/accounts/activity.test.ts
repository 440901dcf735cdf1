// Activity in a period as numbers: what counts as what, how late deliveries were, and the bars of a chart.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  activityOf,
  BUCKETS_MAX,
  bucketRange,
  COUNT_KINDS,
  countKindOfEnd,
  HOUR_MS,
  HOURS_KEPT_MS,
  LAG_BUCKETS,
  lagMs,
  lagPercentile,
  MINUTE_MS,
  MINUTES_KEPT_MS,
  NO_ACTIVITY,
  startOfSpan,
  sumOfActivities,
} from '../../../src/rules/accounts/activity.ts';

const NOW = Date.UTC(2026, 0, 15, 12, 30, 30);
const DAY_MS = 24 * HOUR_MS;

/** What is counted for a delivery so late. */
const delivered = (ms: number) => countKindOfEnd({ outcome: 'answered', status: 200, nextAt: null }, ms)!;

test('an instant lies in its minute and its hour, before 1970 as well', () => {
  assert.equal(startOfSpan(NOW, MINUTE_MS), NOW - 30_000);
  assert.equal(startOfSpan(NOW, HOUR_MS), NOW - 30 * MINUTE_MS - 30_000);
  assert.equal(startOfSpan(NOW - 30_000, MINUTE_MS), NOW - 30_000);
  assert.equal(startOfSpan(-1, MINUTE_MS), -MINUTE_MS);
  assert.deepEqual([MINUTES_KEPT_MS, HOURS_KEPT_MS], [DAY_MS / 2, 35 * DAY_MS]);
});

test('an attempt that we cut off counts as nothing, the others as delivered, retried or failed', () => {
  assert.equal(countKindOfEnd({ outcome: 'interrupted', status: null, nextAt: 5 }, 0), null);
  assert.equal(countKindOfEnd({ outcome: 'answered', status: 500, nextAt: 5 }, 0), COUNT_KINDS.retried);
  assert.equal(countKindOfEnd({ outcome: 'answered', status: 500, nextAt: null }, 0), COUNT_KINDS.failed);
  assert.equal(countKindOfEnd({ outcome: 'timedOut', status: null, nextAt: null }, 0), COUNT_KINDS.failed);
  assert.equal(delivered(0), 10);
});

test('a delivery is late from when it could first start', () => {
  assert.equal(lagMs({ firstDueAt: 100, readyAt: null }, 150), 50);
  assert.equal(lagMs({ firstDueAt: 100, readyAt: 130 }, 150), 20);
  assert.equal(lagMs({ firstDueAt: 100, readyAt: 90 }, 150), 50);
  assert.equal(lagMs({ firstDueAt: 100, readyAt: null }, 99), 0);
});

test('the counts of a store become numbers, and unknown ones are left out', () => {
  const activity = activityOf([
    { kind: COUNT_KINDS.accepted, count: 7 },
    { kind: COUNT_KINDS.retried, count: 2 },
    { kind: COUNT_KINDS.failed, count: 1 },
    { kind: COUNT_KINDS.cancelled, count: 3 },
    { kind: delivered(1), count: 4 },
    { kind: delivered(1), count: 1 },
    { kind: delivered(1e12), count: 5 },
    { kind: 9, count: 100 },
    { kind: 10 + LAG_BUCKETS, count: 100 },
  ]);
  const { lags, ...counts } = activity;
  assert.deepEqual(counts, { accepted: 7, retried: 2, failed: 1, cancelled: 3, delivered: 10 });
  assert.deepEqual([lags[0], lags.at(-1), lags.length], [5, 5, LAG_BUCKETS]);
  assert.deepEqual(activityOf([]), NO_ACTIVITY);
});

test('two minutes together have what each of them has', () => {
  const one = activityOf([
    { kind: COUNT_KINDS.accepted, count: 7 },
    { kind: COUNT_KINDS.retried, count: 2 },
    { kind: COUNT_KINDS.failed, count: 1 },
    { kind: COUNT_KINDS.cancelled, count: 3 },
    { kind: delivered(1), count: 4 },
  ]);
  const other = activityOf([
    { kind: COUNT_KINDS.accepted, count: 1 },
    { kind: COUNT_KINDS.retried, count: 1 },
    { kind: COUNT_KINDS.failed, count: 1 },
    { kind: COUNT_KINDS.cancelled, count: 1 },
    { kind: delivered(1), count: 1 },
    { kind: delivered(1000), count: 1 },
  ]);
  const { lags, ...counts } = sumOfActivities([one, other]);
  assert.deepEqual(counts, { accepted: 8, retried: 3, failed: 2, cancelled: 4, delivered: 6 });
  assert.deepEqual([lags[0], lags[delivered(1000) - 10]], [5, 1]);
  assert.deepEqual(sumOfActivities([]), NO_ACTIVITY);
});

test('a percentile is above the lags that it names, by no more than two fifths', () => {
  for (const ms of [1, 2, 3, 10, 999, 60_000, HOUR_MS, DAY_MS]) {
    const shown = lagPercentile(activityOf([{ kind: delivered(ms), count: 3 }]), 0.5)!;
    assert.ok(shown >= ms && shown <= Math.ceil(ms * 1.42), `${ms} ms is shown as ${shown}`);
  }
});

test('a percentile is the lag that its share of the deliveries did not exceed', () => {
  const { lags } = activityOf([
    { kind: delivered(1), count: 50 },
    { kind: delivered(1000), count: 49 },
    { kind: delivered(60_000), count: 1 },
  ]);
  const upTo = (ms: number) => lagPercentile(activityOf([{ kind: delivered(ms), count: 1 }]), 1);
  assert.equal(lagPercentile({ lags }, 0.5), upTo(1));
  assert.equal(lagPercentile({ lags }, 0.51), upTo(1000));
  assert.equal(lagPercentile({ lags }, 0.99), upTo(1000));
  assert.equal(lagPercentile({ lags }, 1), upTo(60_000));
  assert.equal(lagPercentile(NO_ACTIVITY, 0.5), null);
});

test('a chart has the narrowest bars of which not too many are needed', () => {
  const width = (ms: number) => bucketRange(NOW - ms, NOW, NOW).bucketMs / MINUTE_MS;
  assert.equal(width(HOUR_MS), 1);
  assert.equal(width(179 * MINUTE_MS), 1);
  assert.equal(width(180 * MINUTE_MS), 5, 'the first and the last bar are cut');
  assert.equal(width(11 * HOUR_MS), 5);
  assert.equal(width(7 * DAY_MS), 60);
  assert.equal(width(8 * DAY_MS), 6 * 60);
  assert.equal(width(35 * DAY_MS), 6 * 60);
  assert.equal(BUCKETS_MAX, 180);
  // From the start of a bar, exactly 180 fit.
  const even = startOfSpan(NOW, MINUTE_MS);
  assert.equal(bucketRange(even - 180 * MINUTE_MS, even, even).bucketMs, MINUTE_MS);
});

test('a chart begins with a whole bar, and no earlier than hours are kept', () => {
  assert.deepEqual(bucketRange(NOW - HOUR_MS, NOW, NOW), {
    fromAt: startOfSpan(NOW - HOUR_MS, MINUTE_MS),
    toAt: NOW,
    bucketMs: MINUTE_MS,
  });
  assert.equal(bucketRange(0, NOW, NOW).fromAt, startOfSpan(NOW - HOURS_KEPT_MS, 6 * HOUR_MS));
  // A period far longer than what is kept has the widest bars.
  assert.equal(bucketRange(NOW, NOW + 1e12, NOW).bucketMs, DAY_MS);
});

test('where minutes are no longer kept, bars are hours', () => {
  const keptFrom = startOfSpan(NOW - MINUTES_KEPT_MS, HOUR_MS) + HOUR_MS;
  const end = keptFrom + 2 * HOUR_MS;
  assert.equal(bucketRange(keptFrom, end, NOW).bucketMs, MINUTE_MS);
  assert.equal(bucketRange(keptFrom - 1, end, NOW).bucketMs, HOUR_MS);
});
