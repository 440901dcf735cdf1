// What happened in the last hour, minute by minute. A minute that is over does not change, so each is read once and
// kept; a first look at a busy account is filled in over a few calls, newest minute first.

import { type Activity, NO_ACTIVITY } from '../domain/activity.ts';
import type { Store } from '../store/store.ts';

export const BUCKET_MS = 60_000;
export const BUCKETS = 60;
/** Steps of the journal read in one call; a minute that has more is told by its last ones. */
const STEPS_MAX = 60_000;
/** After a minute is over, what was written late by another node may still come. */
const SETTLED_AFTER_MS = 10_000;
const ACCOUNTS_MAX = 200;

export interface Bucket {
  readonly at: number;
  readonly activity: Activity;
}

export class RecentActivity {
  readonly #store: Store;
  readonly #kept = new Map<string, Map<number, Activity>>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Oldest first, up to the minute that is running. */
  async of(accountId: string, now: number): Promise<Bucket[]> {
    const kept = this.#keptOf(accountId);
    const current = now - (now % BUCKET_MS);
    const first = current - (BUCKETS - 1) * BUCKET_MS;
    for (const at of kept.keys()) if (at < first) kept.delete(at);
    const buckets: Bucket[] = [];
    let room = STEPS_MAX;
    for (let at = current; at >= first; at -= BUCKET_MS) {
      let activity = kept.get(at);
      if (!activity && room > 0) {
        const read = await this.#store.activity(accountId, at, at + BUCKET_MS, STEPS_MAX);
        activity = read.activity;
        room -= read.looked;
        if (at + BUCKET_MS + SETTLED_AFTER_MS <= now) kept.set(at, activity);
      }
      buckets.unshift({ at, activity: activity ?? NO_ACTIVITY });
    }
    return buckets;
  }

  #keptOf(accountId: string): Map<number, Activity> {
    let kept = this.#kept.get(accountId);
    if (!kept) {
      if (this.#kept.size >= ACCOUNTS_MAX) this.#kept.clear();
      kept = new Map();
      this.#kept.set(accountId, kept);
    }
    return kept;
  }
}
