// Deletes expired data, a few rows at a time, so that the file stays bounded and no other work waits: ended messages,
// the journal, deduplication keys, counts, flow keys and queues that nobody uses, bulk operations that have ended. One run covers the journals and
// the usage of only some accounts.

import { firstKeptDay } from '../domain/account.ts';
import { HOUR_MS, HOURS_KEPT_MS, MINUTES_KEPT_MS, startOf } from '../domain/activity.ts';
import { eachMax } from '../domain/budgets.ts';
import type { Tiers } from '../domain/tier.ts';
import type { AccountStore } from '../store/account-store.ts';
import { type MessageStore, WALK_START } from '../store/message-store.ts';

const ACCOUNTS_PER_RUN = 500;
const EVERY_MS = 30_000;
/** The pause while there is much to delete: short enough to keep up, long enough for other work. */
const CATCHING_UP_MS = 20;

/** `isTimeProven`: nothing is deleted by a clock that may be wrong. */
export function retention(
  store: MessageStore & Pick<AccountStore, 'foldStored'>,
  tiers: Tiers,
  isTimeProven = () => true,
) {
  const rows = eachMax('upkeepRows');
  let after = '';
  /** Where the walks over flow keys, queues and bulk operations go on. */
  let atKey = WALK_START;
  let atQueue = WALK_START;
  let atJob = WALK_START;
  /** Since the first account of this pass, some account had more to delete. */
  let isBehind = false;
  return {
    name: 'retention',
    /** Deletes all that has expired by then, without pauses. */
    async runThrough(now: number): Promise<void> {
      while ((await this.run(now)) < EVERY_MS);
    },
    async run(now: number): Promise<number> {
      if (!isTimeProven()) return EVERY_MS;
      const before = { free: now - tiers.free.retentionMs, paid: now - tiers.paid.retentionMs };
      const messages = await store.deleteExpired(now, rows);
      // Fewer than the limit can mean that nothing is left, or that the bodies were too large for more. A second call
      // tells.
      const areMore = messages >= rows || (messages > 0 && (await store.deleteExpired(now, rows)) > 0);
      const keys = await store.deleteDeduplication(now, rows);
      const keep = {
        minutesFrom: startOf(now - MINUTES_KEPT_MS, HOUR_MS),
        hoursFrom: startOf(now - HOURS_KEPT_MS, HOUR_MS),
      };
      const counts = await store.foldActivity(keep, rows);
      const idle = await store.deleteIdleFlowKeys(now, atKey, rows);
      const queues = await store.deleteIdleQueues(now, atQueue, rows);
      const jobs = await store.deleteOldJobs(now, atJob, rows);
      atKey = idle.after ?? WALK_START;
      atQueue = queues.after ?? WALK_START;
      atJob = jobs.after ?? WALK_START;
      // Otherwise the walks go on with the next run: most of what they look at stays.
      const areMany = Math.max(idle.deleted, queues.deleted, jobs.deleted) > rows / 2;
      const folded = await store.foldStored(rows);
      const part = { after, accounts: ACCOUNTS_PER_RUN, rows };
      const usage = await store.deleteUsage(firstKeptDay(now), part);
      const journal = await store.deleteJournal(before, part);
      if (Math.max(journal.deleted, usage) >= rows) isBehind = true;
      after = journal.after ?? '';
      const isThrough = journal.after === null;
      const isMore = isBehind || !isThrough || areMore || keys >= rows || counts >= rows || folded >= rows || areMany;
      if (isThrough) isBehind = false;
      return isMore ? CATCHING_UP_MS : EVERY_MS;
    },
  };
}
