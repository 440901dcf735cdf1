// Deletes what is past its time, a few at a time, so that the file stays bounded and nobody waits: ended messages, the
// journal of what happened, deduplication keys.

import type { Tiers } from '../domain/tier.ts';
import type { Store } from '../store/store.ts';

const DELETIONS_PER_RUN = 200;
const EVERY_MS = 30_000;
/** While there is a lot to delete: often enough to keep up, with room for others between. */
const CATCHING_UP_MS = 20;

export function retention(store: Store, tiers: Tiers) {
  return {
    name: 'retention',
    async run(now: number): Promise<number> {
      const deleted = [
        await store.deleteExpired(now, DELETIONS_PER_RUN),
        await store.deleteDeduplication(now, DELETIONS_PER_RUN),
      ];
      for (const account of await store.listAccounts()) {
        const before = now - tiers[account.tier].retentionMs;
        deleted.push(await store.deleteJournal(account.id, before, 3 * DELETIONS_PER_RUN));
      }
      return deleted.some((count) => count >= DELETIONS_PER_RUN) ? CATCHING_UP_MS : EVERY_MS;
    },
  };
}
