// What happened in a stretch of time, as numbers: how much came, went, was tried again or given up, and how late the
// deliveries were. Stretches can be added up, so the lags are kept as a histogram and not as a list.

import { attemptEnds } from './event.ts';
import type { Attempt } from './message.ts';

/** One step of the journal, as far as it counts. */
export interface ActivityStep {
  readonly kind: 'accepted' | 'attempt' | 'released' | 'cancelled';
  /** How it ended; null for the other kinds. */
  readonly attempt: Pick<Attempt, 'outcome' | 'status' | 'nextAt'> | null;
  /** From when it was due at first until the attempt ended. */
  readonly lagMs: number;
}

export interface Activity {
  readonly accepted: number;
  readonly delivered: number;
  /** Failed attempts that another one follows. */
  readonly retried: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Deliveries by how late they were: see `lagBucket`. */
  readonly lags: readonly number[];
}

/** Two for each doubling, from 1 ms to over a day: no percentile is off by more than a fifth. */
export const LAG_BUCKETS = 56;

export const NO_ACTIVITY: Activity = {
  accepted: 0,
  delivered: 0,
  retried: 0,
  failed: 0,
  cancelled: 0,
  lags: new Array(LAG_BUCKETS).fill(0),
};

export function tally(steps: Iterable<ActivityStep>): Activity {
  const count = { accepted: 0, delivered: 0, retried: 0, failed: 0, cancelled: 0 };
  const lags: number[] = new Array(LAG_BUCKETS).fill(0);
  for (const { kind, attempt, lagMs } of steps) {
    if (kind === 'accepted' || kind === 'cancelled') count[kind] += 1;
    else if (kind === 'attempt') {
      const end = attempt && attemptEnds(attempt).at(-1);
      if (end === 'RETRY') count.retried += 1;
      else if (end === 'FAILED') count.failed += 1;
      else if (end === 'DELIVERED') {
        count.delivered += 1;
        lags[lagBucket(lagMs)]! += 1;
      }
    }
  }
  return { ...count, lags };
}

export function sumOf(all: readonly Activity[]): Activity {
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

function lagBucket(lagMs: number): number {
  return Math.min(LAG_BUCKETS - 1, Math.floor(2 * Math.log2(Math.max(1, lagMs))));
}

/** The lag that this share of the deliveries did not exceed, or null when there were none. */
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
