// Counts how many messages each account has created, by day and kind. The counts are kept in memory during a
// transaction and written at its end, so that many requests of an account in one transaction change its row once.

import { type UsageRow, usageDay } from '../../../rules/accounts/account.ts';
import type { MessageKind } from '../../../rules/delivery/message.ts';
import { FIRST_PART, type ListPiece, type ListPieceRequest, pieceOf, usagePosition } from '../../ports/list-piece.ts';
import type { JournalPart } from '../../ports/upkeep-store.ts';
import type { Database } from '../thread/database.ts';

const DAY_MS = 86_400_000;

interface Count {
  readonly accountId: string;
  readonly day: string;
  readonly kind: MessageKind;
  count: number;
}

/** Deletes a few rows of days before the given day, for a part of the accounts. */
export function deleteUsage(database: Database, beforeDay: string, { after, accounts, rows }: JournalPart): number {
  return database.run(
    `DELETE FROM usage WHERE (account_id, day, kind) IN
       (SELECT u.account_id, u.day, u.kind FROM (SELECT id FROM accounts WHERE id > ? ORDER BY id LIMIT ?) AS a
          CROSS JOIN usage u WHERE u.account_id = a.id AND u.day < ? LIMIT ?)`,
    after,
    accounts,
    beforeDay,
    rows,
  );
}

export class UsageCounts {
  readonly #database: Database;
  /** Counts of the running transaction that are not in the table yet. */
  #unwritten: Count[] = [];
  #day = { number: Number.NaN, name: '' };

  constructor(database: Database) {
    this.#database = database;
    database.onTransaction({ beforeCommit: () => this.#write(), onRollback: () => this.#forget() });
  }

  add(accountId: string, kind: MessageKind, now: number): void {
    const day = this.#dayOf(now);
    const same = this.#unwritten.find(
      (count) => count.accountId === accountId && count.kind === kind && count.day === day,
    );
    if (same) same.count += 1;
    else this.#unwritten.push({ accountId, day, kind, count: 1 });
  }

  /** How many messages the account has created on the day of `now`. */
  ofDay(accountId: string, now: number): number {
    this.#write();
    const { used } = this.#database.get<{ used: number | null }>(
      'SELECT sum(count) AS used FROM usage WHERE account_id = ? AND day = ?',
      accountId,
      this.#dayOf(now),
    )!;
    return used ?? 0;
  }

  list(
    accountId: string,
    fromDay: string,
    toDay: string,
    { after, limit }: ListPieceRequest = FIRST_PART,
  ): ListPiece<UsageRow> {
    this.#write();
    const rows = this.#database.all<UsageRow>(
      `SELECT day, kind, count FROM usage WHERE account_id = ? AND day BETWEEN ? AND ? AND (day, kind) > (?, ?)
         ORDER BY day, kind LIMIT ?`,
      accountId,
      fromDay,
      toDay,
      ...usagePosition(after),
      limit + 1,
    );
    return pieceOf(rows, limit, (row) => ({ ...row }));
  }

  #write(): void {
    for (const { accountId, day, kind, count } of this.#unwritten) {
      this.#database.run(
        `INSERT INTO usage (account_id, day, kind, count) VALUES (?, ?, ?, ?)
           ON CONFLICT DO UPDATE SET count = count + excluded.count`,
        accountId,
        day,
        kind,
        count,
      );
    }
    this.#forget();
  }

  #forget(): void {
    this.#unwritten = [];
  }

  /** The name of the day is cached: it rarely changes between two messages, and formatting it is slow. */
  #dayOf(now: number): string {
    const number = Math.floor(now / DAY_MS);
    if (number !== this.#day.number) this.#day = { number, name: usageDay(now) };
    return this.#day.name;
  }
}
