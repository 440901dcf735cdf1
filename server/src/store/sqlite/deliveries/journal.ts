// The journal: what happened to messages, in order. Each step has one row, written in the transaction of the step.

import type { TierName } from '../../../rules/limits/tier.ts';
import type { JournalDeletion, JournalPart } from '../../ports/upkeep-store.ts';
import type { Database } from '../thread/database.ts';
import type { RowGroup } from './row-group.ts';

/** How many positions each millisecond has. A position shows its time and is never used twice. */
const POSITIONS_PER_MS = 1024;
/**
 * Positions show the time until they reach this value, in the year 2109. Then they only count up, so that JavaScript
 * can still represent them as exact integers.
 */
const POSITION_OF_TIME_MAX = 2 ** 52;

/** The lowest position of anything that happens at this time or later. */
export function firstPositionAt(at: number): number {
  return Math.min(at * POSITIONS_PER_MS, POSITION_OF_TIME_MAX);
}

export class Journal {
  readonly #database: Database;
  readonly #rows: RowGroup;
  /** The highest position that this object has given or read. It is not given again, even if its row was deleted. */
  #last = 0;
  /** Accounts whose last position was read in this transaction. Until its end, only this object adds rows to them. */
  readonly #known = new Set<string>();

  constructor(database: Database) {
    this.#database = database;
    this.#rows = database.group('journal', ['account_id', 'seq', 'at', 'message_seq', 'step']);
    const forget = () => this.#known.clear();
    database.onTransaction({ beforeCommit: forget, onRollback: forget });
  }

  add(accountId: string, messageSeq: number, step: number, at: number): void {
    if (!this.#known.has(accountId)) this.#lookUp(accountId);
    this.#last = Math.max(this.#last + 1, firstPositionAt(at));
    this.#rows.add(accountId, this.#last, at, messageSeq, step);
  }

  /** Reads the last position: an earlier process, or another one between two transactions, may have added rows. */
  #lookUp(accountId: string): void {
    // The group has no unwritten row of this account, because rows of the account are added only after this read.
    const row = this.#database.getWithoutGroups<{ seq: number }>(
      'SELECT seq FROM journal WHERE account_id = ? ORDER BY seq DESC LIMIT 1',
      accountId,
    );
    this.#last = Math.max(this.#last, row?.seq ?? 0);
    this.#known.add(accountId);
  }
}

/**
 * Deletes a few rows that are older than the time given for the tier of their account. The rows of a deleted message
 * are not deleted here, but with the message.
 */
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
    firstPositionAt(before.free),
    firstPositionAt(before.paid),
    rows,
  );
  const looked = database.get<{ n: number; last: string | null }>(
    `SELECT count(*) AS n, max(id) AS last FROM (${some})`,
    after,
    accounts,
  )!;
  return { deleted: gone.length, after: stoppedAt(gone, rows, looked.n < accounts ? null : looked.last) };
}

/** The account after which the next call continues; null at the end. At the limit of rows: the last that lost a row. */
function stoppedAt(gone: readonly { account_id: string }[], rows: number, last: string | null): string | null {
  if (gone.length < rows) return last;
  return gone.reduce((latest, { account_id: id }) => (id > latest ? id : latest), '');
}
