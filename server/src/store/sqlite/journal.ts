// The journal: what happened, in order, one row a step. It is written in the transaction of the step it tells of.

import type { TierName } from '../../domain/tier.ts';
import type { JournalDeletion, JournalPart } from '../message-store.ts';
import { ACCEPTED, ACCEPTED_STARTED, startStep } from '../rows.ts';
import type { Database } from './database.ts';

/** Places for each millisecond, so that a place tells the time and none is ever used twice. */
const PLACES_PER_MS = 1024;
/** Of the year 2109; from then on places only count. They stay whole numbers that JavaScript can hold. */
const PLACE_OF_TIME_MAX = 2 ** 52;

/** No place of what happened at this time or later is before it. */
export function firstPlaceAt(at: number): number {
  return Math.min(at * PLACES_PER_MS, PLACE_OF_TIME_MAX);
}

export class Journal {
  readonly #database: Database;
  /** The last place given or found here: it may be gone from the table, and is not given again. */
  #last = 0;
  /** Accounts whose last place was looked up in this transaction: what was added since then was added here. */
  readonly #known = new Set<string>();

  constructor(database: Database) {
    this.#database = database;
    const forget = () => this.#known.clear();
    database.onTransaction({ beforeCommit: forget, onRollback: forget });
  }

  add(accountId: string, messageSeq: number, step: number, at: number): void {
    if (!this.#known.has(accountId)) this.#lookUp(accountId);
    this.#last = Math.max(this.#last + 1, firstPlaceAt(at));
    this.#database.run(
      'INSERT INTO journal (account_id, seq, at, message_seq, step) VALUES (?, ?, ?, ?, ?)',
      accountId,
      this.#last,
      at,
      messageSeq,
      step,
    );
  }

  /** The table was there before this process, and another may write to it between two transactions. */
  #lookUp(accountId: string): void {
    const row = this.#database.get<{ seq: number }>(
      'SELECT seq FROM journal WHERE account_id = ? ORDER BY seq DESC LIMIT 1',
      accountId,
    );
    this.#last = Math.max(this.#last, row?.seq ?? 0);
    this.#known.add(accountId);
  }
}

/** An attempt that never started is not told of: the row of its start goes, or tells the acceptance alone again. */
export function forgetStart(database: Database, messageSeq: number, attemptNumber: number): void {
  database.run('DELETE FROM journal WHERE message_seq = ? AND step = ?', messageSeq, startStep(attemptNumber));
  if (attemptNumber > 1) return;
  database.run(
    'UPDATE journal SET step = ? WHERE message_seq = ? AND step = ?',
    ACCEPTED,
    messageSeq,
    ACCEPTED_STARTED,
  );
}

/** What happened before a time, a few rows at a time; those of a message that is deleted go with it. */
export function deleteJournal(
  database: Database,
  before: Readonly<Record<TierName, number>>,
  { after, accounts, rows }: JournalPart,
): JournalDeletion {
  const some = 'SELECT id, tier FROM accounts WHERE id > ? ORDER BY id LIMIT ?';
  const gone = database.all<{ account_id: string }>(
    `DELETE FROM journal WHERE (account_id, seq) IN
       (SELECT j.account_id, j.seq FROM (${some}) AS a CROSS JOIN journal j
          WHERE j.account_id = a.id AND j.seq < iif(a.tier = 'free', ?, ?) LIMIT ?)
       RETURNING account_id`,
    after,
    accounts,
    firstPlaceAt(before.free),
    firstPlaceAt(before.paid),
    rows,
  );
  const looked = database.get<{ n: number; last: string | null }>(
    `SELECT count(*) AS n, max(id) AS last FROM (${some})`,
    after,
    accounts,
  )!;
  return { deleted: gone.length, after: stoppedAt(gone, rows, looked.n < accounts ? null : looked.last) };
}

/** Where so many were deleted as may be, there may be more behind the last account of which something was. */
function stoppedAt(gone: readonly { account_id: string }[], rows: number, last: string | null): string | null {
  if (gone.length < rows) return last;
  return gone.reduce((latest, { account_id: id }) => (id > latest ? id : latest), '');
}
