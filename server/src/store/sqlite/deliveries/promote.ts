// Makes due messages ready, so that they can be claimed: in pieces while there is time, then a few of other accounts.

import { PROMOTE_ACCOUNTS_MAX, PROMOTE_MAX, PROMOTE_OF_ACCOUNT_MAX } from '../../shared/promotion.ts';
import type { Database } from '../thread/database.ts';
import { keysInTurn } from './due-lines.ts';
import { markKeyDue } from './flow-keys.ts';

/** How many messages one piece makes ready. The clock is read after each piece. */
const PROMOTE_AT_ONCE = 100;

/** Remembers where the last call stopped, so that the next call continues there. */
export class Promoter {
  readonly #database: Database;
  readonly #nowMs: () => number;
  #lastAccount = '';

  /** `nowMs` is a clock that never goes back. */
  constructor(database: Database, nowMs: () => number) {
    this.#database = database;
    this.#nowMs = nowMs;
  }

  /**
   * Makes the messages ready that are due longest, in pieces until `endsAtMs`. If due messages may be left, accounts
   * take turns: a few messages of each of the next accounts are also made ready, so that none waits behind the others.
   */
  promote(now: number, endsAtMs: number): void {
    const database = this.#database;
    let promoted = 0;
    do {
      const count = promoteDue(database, 'due_at <= ?', [now], PROMOTE_AT_ONCE, now);
      if (count < PROMOTE_AT_ONCE) return;
      promoted += count;
    } while (promoted < PROMOTE_MAX && this.#nowMs() < endsAtMs);
    const accounts = keysInTurn(this.#lastAccount, (after, upTo) =>
      database.get<{ key: string }>(
        `SELECT account_id AS key FROM messages
           WHERE state = 'delayed' AND account_id > ? AND account_id <= ? ORDER BY account_id LIMIT 1`,
        after,
        upTo,
      ),
    );
    for (const accountId of accounts.take(PROMOTE_ACCOUNTS_MAX)) {
      promoteDue(database, 'account_id = ? AND due_at <= ?', [accountId, now], PROMOTE_OF_ACCOUNT_MAX, now);
      this.#lastAccount = accountId;
    }
  }
}

/** Makes due messages ready, or lets them wait for their flow key. Returns how many of both there were. */
function promoteDue(
  database: Database,
  which: 'due_at <= ?' | 'account_id = ? AND due_at <= ?',
  values: readonly (string | number)[],
  most: number,
  now: number,
): number {
  const due = database.all<{ account_id: string; flow_key: string | null }>(
    `UPDATE messages SET state = iif(flow_key IS NULL, 'ready', 'queued') WHERE seq IN
       (SELECT seq FROM messages WHERE state = 'delayed' AND ${which} ORDER BY due_at LIMIT ?)
       RETURNING account_id, flow_key`,
    ...values,
    most,
  );
  const keys = new Map<string, readonly [string, string]>();
  for (const { account_id: accountId, flow_key: key } of due) {
    if (key !== null) keys.set(JSON.stringify([accountId, key]), [accountId, key]);
  }
  // A claim admits messages of these flow keys when it is their turn among all due keys.
  for (const [accountId, key] of keys.values()) markKeyDue(database, accountId, key, now);
  return due.length;
}
