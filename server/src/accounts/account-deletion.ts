// Deletes accounts whose deletion was requested, one piece after another, so that no other work waits. A piece is one
// transaction, and nothing is remembered between two of them: after a crash, any node goes on.

import { eachMax } from '../rules/limits/budgets.ts';
import type { AccountStore } from '../store/ports/account-store.ts';

const LOOK_EVERY_MS = 2000;
/** The pause between two pieces: it leaves time for other work. */
const PIECE_EVERY_MS = 20;

export function accountDeleter(store: Pick<AccountStore, 'deleteAccountPiece'>) {
  /** The account that had the last turn. A round over all of them begins with an empty id. */
  let after = '';
  /** Whether anything was deleted in this round. */
  let isBusy = false;
  return {
    name: 'deletion of accounts',
    /** Runs a piece of the next account. */
    async run(now: number): Promise<number> {
      const piece = await store.deleteAccountPiece(after, now, eachMax('upkeepRows'));
      after = piece?.accountId ?? '';
      if (piece) {
        isBusy ||= piece.outcome !== 'waiting';
        return PIECE_EVERY_MS;
      }
      const pauseMs = isBusy ? PIECE_EVERY_MS : LOOK_EVERY_MS;
      isBusy = false;
      return pauseMs;
    },
  };
}
