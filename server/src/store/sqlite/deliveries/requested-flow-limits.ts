// The limits that messages of the running transaction request for flow keys, if they differ from the limits in force.
// They are applied once, at the end of the transaction, so that a key checks its messages once even if many messages
// contradict each other. If too many keys have new limits, the rest are stored, and later claims apply them.

import { eachMax } from '../../../rules/limits/budgets.ts';
import type { FlowLimits } from '../../../rules/lines/flow-control.ts';
import type { Database } from '../thread/database.ts';
import { admitWaiting, areLimitsUnchanged, deferLimits, markKeyDue, setRequestedLimits } from './flow-keys.ts';

interface KeyRequest {
  readonly accountId: string;
  readonly key: string;
  readonly limits: FlowLimits;
  readonly now: number;
}

export class RequestedFlowLimits {
  readonly #database: Database;
  readonly #unapplied = new Map<string, KeyRequest>();
  /** How many keys had their limits changed in the running transaction. */
  #checked = 0;
  /** How many keys have admitted messages in the running transaction, after their limits were applied. */
  #admitted = 0;

  constructor(database: Database) {
    this.#database = database;
    database.onTransaction({
      beforeCommit: () => {
        this.apply();
        this.#checked = 0;
        this.#admitted = 0;
      },
      onRollback: () => {
        this.#unapplied.clear();
        this.#checked = 0;
        this.#admitted = 0;
      },
    });
  }

  /**
   * Takes the limits that the newest message of a key requests. If they are in force already, admits up to `most`
   * messages, or with `later` leaves that to a claim. Returns when the key may have a message to claim, or null.
   */
  add(requested: KeyRequest, most: number | 'later'): number | null {
    const { accountId, key, limits, now } = requested;
    const id = JSON.stringify([accountId, key]);
    if (
      !this.#unapplied.has(id) &&
      areLimitsUnchanged(this.#database, accountId, key, limits, most === 'later' ? now : null)
    ) {
      if (most !== 'later') return admitWaiting(this.#database, accountId, key, now, most);
      markKeyDue(this.#database, accountId, key, now);
    } else this.#unapplied.set(id, requested);
    return now;
  }

  /** Called at the end of a transaction, and before any code that starts messages or shows a key. */
  apply(): void {
    for (const [id, { accountId, key, limits, now }] of this.#unapplied) {
      this.#unapplied.delete(id);
      const isPutOff = this.#checked >= eachMax('flowKeysChecked');
      if (isPutOff) deferLimits(this.#database, accountId, key, limits, now);
      else if (setRequestedLimits(this.#database, accountId, key, limits)) this.#checked += 1;
      if (isPutOff || this.#admitted >= eachMax('linesAtOnce')) markKeyDue(this.#database, accountId, key, now);
      else {
        this.#admitted += 1;
        admitWaiting(this.#database, accountId, key, now);
      }
    }
  }
}
