// The part of the store port that is numbers for people. Each is read by an index, in a bounded number of rows; what they
// mean is decided in domain/.

import type { Activity } from '../domain/activity.ts';
import type { FailureGroup } from '../domain/failure-group.ts';
import type { AccountStanding } from '../domain/standing.ts';

export interface ActivityBucket {
  readonly at: number;
  readonly activity: Activity;
}

/** From when on minutes are kept, and hours. */
export interface ActivityKeep {
  readonly minutesFrom: number;
  readonly hoursFrom: number;
}

export interface NumbersStore {
  /** Reads at most `limit` open messages, the oldest ones, and counts the others up to it. */
  standing(accountId: string, now: number, limit: number): Promise<AccountStanding>;

  /** What happened from one time until before another, in buckets of so many milliseconds; empty ones are left out. */
  activity(accountId: string, fromAt: number, toAt: number, bucketMs: number): Promise<readonly ActivityBucket[]>;

  /** Adds up to `limit` old minutes to their hours and deletes so many old hours; answers the larger number. */
  foldActivity(keep: ActivityKeep, limit: number): Promise<number>;

  /** The newest `limit` dead letters, grouped by host and reason. */
  failureGroups(accountId: string, limit: number): Promise<readonly FailureGroup[]>;
}
