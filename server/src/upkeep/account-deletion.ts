// Deletes accounts whose deletion was requested, one piece after another, so that no other work waits. A piece is one
// transaction, and nothing is remembered between two of them: after a crash, any node goes on.

import { eachMax } from '../rules/limits/budgets.ts';
import type { UpkeepStore } from '../store/ports/upkeep-store.ts';

const LOOK_EVERY_MS = 2000;
/** The pause between two pieces: it leaves time for other work. */
const PIECE_EVERY_MS = 20;
/** How many accounts are deleted at once. They take turns. */
const ACCOUNTS_AT_ONCE = 100;

export function accountDeleter(store: Pick<UpkeepStore, 'deletingAccounts' | 'deleteAccountPiece'>) {
  let last = '';
  return {
    name: 'deletion of accounts',
    /** Runs a piece of the first account after the last one that has anything to delete. */
    async run(now: number): Promise<number> {
      const ids = await store.deletingAccounts(ACCOUNTS_AT_ONCE);
      const inTurn = [...ids.filter((id) => id > last), ...ids.filter((id) => id <= last)];
      for (const id of inTurn) {
        const piece = await store.deleteAccountPiece(id, now, eachMax('upkeepRows'));
        if (piece === 'waiting') continue;
        last = id;
        return PIECE_EVERY_MS;
      }
      return LOOK_EVERY_MS;
    },
  };
}
