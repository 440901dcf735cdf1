// Finds queues and flow keys that are due, those due longest first. If too many are due, a few of each account go
// before these, in turns of accounts, so that no account waits behind all lines of another.

import { PROMOTE_ACCOUNTS_LOOKED_MAX, PROMOTE_LINES_OF_ACCOUNT_MAX } from '../../shared/promotion.ts';
import { Pairs } from '../groups/lines.ts';
import type { Database } from '../sessions/database.ts';

interface DueLine {
  readonly account_id: string;
  readonly name: string;
}

/** Where the due times are stored. Each of these columns has its own index, and one by account. */
const PLACES = {
  queues: { table: 'queues', name: 'name', at: 'next_start_at' },
  flowKeys: { table: 'flow_keys', name: 'key', at: 'next_start_at' },
  requestedFlowLimits: { table: 'flow_keys', name: 'key', at: 'requested_at' },
};

export class DueLines {
  readonly #longestDue: string;
  readonly #ofAccounts: string;
  #lastAccount = '';

  constructor(place: keyof typeof PLACES) {
    const { table, name, at } = PLACES[place];
    this.#longestDue = `SELECT account_id, ${name} AS name FROM ${table} WHERE ${at} <= $1 ORDER BY ${at} LIMIT $2`;
    // $3 accounts after $2, found by steps through the index, and at most $4 lines of each. An account with nothing
    // due yet has a row without a name.
    this.#ofAccounts = `WITH RECURSIVE account (id) AS (
        (SELECT account_id FROM ${table} WHERE ${at} IS NOT NULL AND account_id > $2
           ORDER BY account_id, ${at} LIMIT 1)
        UNION ALL
        SELECT (SELECT account_id FROM ${table} WHERE ${at} IS NOT NULL AND account_id > account.id
                  ORDER BY account_id, ${at} LIMIT 1)
          FROM account WHERE account.id IS NOT NULL)
      SELECT a.id AS account_id, line.name FROM (SELECT id FROM account WHERE id IS NOT NULL LIMIT $3) AS a
        LEFT JOIN LATERAL
          (SELECT ${name} AS name FROM ${table} WHERE account_id = a.id AND ${at} <= $1
             ORDER BY account_id, ${at} LIMIT $4) AS line ON true`;
  }

  /** Returns at most `max` due lines. */
  async take(database: Database, now: number, max: number): Promise<Pairs> {
    const longestDue = await database.all<DueLine>(this.#longestDue, now, max + 1);
    const lines = new Map<string, readonly [string, string]>();
    const add = ({ account_id, name }: DueLine) => {
      if (lines.size < max) lines.set(JSON.stringify([account_id, name]), [account_id, name]);
      return lines.size < max;
    };
    if (longestDue.length > max) {
      const few = Math.min(PROMOTE_LINES_OF_ACCOUNT_MAX, max);
      const found = await database.all<{ account_id: string; name: string | null }>(
        this.#ofAccounts,
        now,
        this.#lastAccount,
        PROMOTE_ACCOUNTS_LOOKED_MAX,
        few,
      );
      // The last account may have more lines than fit. The next call still begins after it, because it had its turn.
      let last = '';
      const isFull = found.some(({ account_id, name }) => {
        last = account_id;
        return name !== null && !add({ account_id, name });
      });
      this.#lastAccount =
        isFull || new Set(found.map((row) => row.account_id)).size === PROMOTE_ACCOUNTS_LOOKED_MAX ? last : '';
    }
    longestDue.forEach(add);
    return new Pairs([...lines.values()]);
  }
}
