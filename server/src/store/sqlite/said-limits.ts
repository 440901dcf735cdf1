// Limits that messages of the running transaction say for flow keys, where they differ from those the key has. They are
// applied once, at its end: however many messages contradict each other, what a key has let in is judged again once.

import type { FlowLimits } from '../../domain/flow-control.ts';
import type { Database } from './database.ts';
import { admitWaiting, isSaidAlready, noteFlowKey } from './flow-keys.ts';

interface Said {
  readonly accountId: string;
  readonly key: string;
  readonly limits: FlowLimits;
  readonly now: number;
}

export class SaidLimits {
  readonly #database: Database;
  readonly #unapplied = new Map<string, Said>();

  constructor(database: Database) {
    this.#database = database;
    database.onTransaction({ beforeCommit: () => this.apply(), onRollback: () => this.#unapplied.clear() });
  }

  /** By the newest message of a key. Lets through what it may, and answers when the key may have something to claim. */
  say(said: Said): number | null {
    const { accountId, key, limits, now } = said;
    const id = JSON.stringify([accountId, key]);
    if (!this.#unapplied.has(id) && isSaidAlready(this.#database, accountId, key, limits)) {
      return admitWaiting(this.#database, accountId, key, now);
    }
    this.#unapplied.set(id, said);
    return now;
  }

  /** At the end, and before anything that starts messages or shows a key. */
  apply(): void {
    for (const [id, { accountId, key, limits, now }] of this.#unapplied) {
      this.#unapplied.delete(id);
      noteFlowKey(this.#database, accountId, key, limits);
      admitWaiting(this.#database, accountId, key, now);
    }
  }
}
