// Limits that messages of the running transaction say for flow keys, where they differ from those the key has. They are
// applied once, at its end: however many messages contradict each other, what a key has let in is judged again once. Those
// of more keys than a transaction may judge are noted, and applied by the next claims.

import { eachMax } from '../../domain/budgets.ts';
import type { FlowLimits } from '../../domain/flow-control.ts';
import type { Database } from './database.ts';
import { admitWaiting, isSaidAlready, noteFlowKey, putOffLimits } from './flow-keys.ts';

interface Said {
  readonly accountId: string;
  readonly key: string;
  readonly limits: FlowLimits;
  readonly now: number;
}

export class SaidLimits {
  readonly #database: Database;
  readonly #unapplied = new Map<string, Said>();
  /** Keys whose limits the running transaction has changed. */
  #judged = 0;

  constructor(database: Database) {
    this.#database = database;
    database.onTransaction({
      beforeCommit: () => {
        this.apply();
        this.#judged = 0;
      },
      onRollback: () => {
        this.#unapplied.clear();
        this.#judged = 0;
      },
    });
  }

  /** By the newest message of a key. Lets through what it may, at most `most`, and answers when the key may have something to claim. */
  say(said: Said, most: number): number | null {
    const { accountId, key, limits, now } = said;
    const id = JSON.stringify([accountId, key]);
    if (!this.#unapplied.has(id) && isSaidAlready(this.#database, accountId, key, limits)) {
      return admitWaiting(this.#database, accountId, key, now, most);
    }
    this.#unapplied.set(id, said);
    return now;
  }

  /** At the end, and before anything that starts messages or shows a key. */
  apply(): void {
    for (const [id, { accountId, key, limits, now }] of this.#unapplied) {
      this.#unapplied.delete(id);
      if (this.#judged >= eachMax('flowKeysJudged')) putOffLimits(this.#database, accountId, key, limits, now);
      else if (noteFlowKey(this.#database, accountId, key, limits)) this.#judged += 1;
      admitWaiting(this.#database, accountId, key, now);
    }
  }
}
