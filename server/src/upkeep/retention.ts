// Deletes what is past its time, a few at a time, so that the file stays bounded and nobody waits: ended messages, the
// journal of what happened, deduplication keys, counts. Of the journal, a part of the accounts in one go.

import { HOUR_MS, HOURS_KEPT_MS, MINUTES_KEPT_MS, startOf } from '../domain/activity.ts';
import { eachMax } from '../domain/budgets.ts';
import type { Tiers } from '../domain/tier.ts';
import type { MessageStore } from '../store/message-store.ts';

const ACCOUNTS_PER_RUN = 500;
const EVERY_MS = 30_000;
/** While there is a lot to delete or to look at: often enough to keep up, with room for others between. */
const CATCHING_UP_MS = 20;

/** `isTimeProven`: a clock that may be wrong must not cost anybody what they have kept. */
export function retention(store: MessageStore, tiers: Tiers, isTimeProven = () => true) {
  const rows = eachMax('upkeepRows');
  let after = '';
  /** Somewhere since the first account, not all was deleted. */
  let isBehind = false;
  return {
    name: 'retention',
    async run(now: number): Promise<number> {
      if (!isTimeProven()) return EVERY_MS;
      const before = { free: now - tiers.free.retentionMs, paid: now - tiers.paid.retentionMs };
      const messages = await store.deleteExpired(now, rows);
      // Fewer than it may be are all there were, or as many as their bodies allowed.
      const areMore = messages >= rows || (messages > 0 && (await store.deleteExpired(now, rows)) > 0);
      const keys = await store.deleteDeduplication(now, rows);
      const keep = {
        minutesFrom: startOf(now - MINUTES_KEPT_MS, HOUR_MS),
        hoursFrom: startOf(now - HOURS_KEPT_MS, HOUR_MS),
      };
      const counts = await store.foldActivity(keep, rows);
      const journal = await store.deleteJournal(before, { after, accounts: ACCOUNTS_PER_RUN, rows });
      if (journal.deleted >= rows) isBehind = true;
      after = journal.after ?? '';
      const isThrough = journal.after === null;
      const isMore = isBehind || !isThrough || areMore || keys >= rows || counts >= rows;
      if (isThrough) isBehind = false;
      return isMore ? CATCHING_UP_MS : EVERY_MS;
    },
  };
}
