// Selects the queues and flow keys (lines) that are due longest. If more are due than one call takes, a few of each
// account go first, beginning where the last call stopped, so that no account waits behind all lines of another.

import { PROMOTE_ACCOUNTS_LOOKED_MAX, PROMOTE_LINES_OF_ACCOUNT_MAX } from '../../shared/promotion.ts';
import type { Database } from '../thread/database.ts';

/** A due queue or flow key. */
export interface DueLine {
  readonly account_id: string;
  readonly name: string;
}

/** The tables and columns with the due times. Each column has two indexes: over all accounts, and by account. */
const PLACES = {
  queues: { table: 'queues', name: 'name', at: 'next_start_at', byAccount: 'queues_next_start_of_account' },
  flowKeys: { table: 'flow_keys', name: 'key', at: 'next_start_at', byAccount: 'flow_keys_next_start_of_account' },
  requestedFlowLimits: {
    table: 'flow_keys',
    name: 'key',
    at: 'requested_at',
    byAccount: 'flow_keys_requested_of_account',
  },
};

export class DueLines {
  readonly #database: Database;
  readonly #longestDue: string;
  readonly #nextAccount: string;
  readonly #ofAccount: string;
  #lastAccount = '';

  constructor(database: Database, place: keyof typeof PLACES) {
    const { table, name, at, byAccount } = PLACES[place];
    this.#database = database;
    this.#longestDue = `SELECT account_id, ${name} AS name FROM ${table} WHERE ${at} <= ? ORDER BY ${at} LIMIT ?`;
    this.#nextAccount = `SELECT account_id AS key FROM ${table} INDEXED BY ${byAccount}
      WHERE ${at} IS NOT NULL AND account_id > ? AND account_id <= ? ORDER BY account_id LIMIT 1`;
    this.#ofAccount = `SELECT account_id, ${name} AS name FROM ${table} INDEXED BY ${byAccount}
      WHERE account_id = ? AND ${at} <= ? ORDER BY ${at} LIMIT ?`;
  }

  /** Returns at most `max` due lines. `hasMore`: more lines than these are due. */
  take(now: number, max: number): { readonly lines: readonly DueLine[]; readonly hasMore: boolean } {
    const longestDue = this.#database.all<DueLine>(this.#longestDue, now, max + 1);
    if (longestDue.length <= max) return { lines: longestDue, hasMore: false };
    const lines = new Map<string, DueLine>();
    const add = (some: readonly DueLine[]) => {
      for (const each of some) {
        if (lines.size < max) lines.set(JSON.stringify([each.account_id, each.name]), each);
      }
    };
    for (const accountId of this.#accounts().take(PROMOTE_ACCOUNTS_LOOKED_MAX)) {
      add(this.#database.all<DueLine>(this.#ofAccount, accountId, now, Math.min(PROMOTE_LINES_OF_ACCOUNT_MAX, max)));
      this.#lastAccount = accountId;
      if (lines.size === max) break;
    }
    add(longestDue);
    return { lines: [...lines.values()], hasMore: true };
  }

  #accounts(): Generator<string> {
    return keysInTurn(this.#lastAccount, (after, upTo) =>
      this.#database.get<{ key: string }>(this.#nextAccount, after, upTo),
    );
  }
}

/** This many lines are always yielded. Then the clock is read before every so many (`LINES_A_LOOK`) further lines. */
const LINES_MIN = 64;
const LINES_A_LOOK = 8;

/** Yields the lines until `isOver` returns true, but always the first `LINES_MIN`. */
export function* whileThereIsTime(lines: readonly DueLine[], isOver: () => boolean): Generator<DueLine> {
  for (const [index, line] of lines.entries()) {
    if (index >= LINES_MIN && index % LINES_A_LOOK === 0 && isOver()) return;
    yield line;
  }
}

/** A text that sorts after every key. */
const LAST = '\u{10ffff}';

/** Yields the keys after `start`, then the keys up to it. `next` returns the first key after `after`, up to `upTo`. */
export function* keysInTurn(
  start: string,
  next: (after: string, upTo: string) => { key: string } | undefined,
): Generator<string> {
  for (let at = next(start, LAST); at; at = next(at.key, LAST)) yield at.key;
  for (let at = next('', start); at; at = next(at.key, start)) yield at.key;
}
