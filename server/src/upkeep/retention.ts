// Deletes ended messages whose time is over, a few at a time, so that the file stays bounded and nobody waits.

import type { Store } from '../store/store.ts';

const DELETIONS_PER_RUN = 200;
const EVERY_MS = 30_000;
/** While there is a lot to delete: often enough to keep up, with room for others between. */
const CATCHING_UP_MS = 20;

export function retention(store: Store) {
  return {
    name: 'retention',
    async run(now: number): Promise<number> {
      const deleted = await store.deleteExpired(now, DELETIONS_PER_RUN);
      return deleted === DELETIONS_PER_RUN ? CATCHING_UP_MS : EVERY_MS;
    },
  };
}
