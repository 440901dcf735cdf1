// Counts how many bytes each account stores. Changes are kept in memory during a transaction and written at its end, so
// that many messages of an account in one transaction change its row once.

import type { SQLInputValue } from 'node:sqlite';
import type { AccountBytes } from '../../ports/account-store.ts';
import { COUNTED_TABLES, type CountedTable } from '../../resources/steps.ts';
import type { Database } from '../thread/database.ts';

const RESOURCE_SUMS = Object.keys(COUNTED_TABLES)
  .map((table) => ` - coalesce((SELECT sum(stored_bytes) FROM ${table} WHERE account_id = ?1), 0)`)
  .join('');

interface Weighed {
  readonly stored_bytes: number | null;
}

export class StoredByteCounts {
  readonly #database: Database;
  /** Changes of the running transaction that are not in the table yet. */
  readonly #unwritten = new Map<string, number>();

  constructor(database: Database) {
    this.#database = database;
    database.onTransaction({ beforeCommit: () => this.#write(), onRollback: () => this.#unwritten.clear() });
  }

  /** `bytes` is negative after a delete. */
  add(accountId: string, bytes: number): void {
    this.#unwritten.set(accountId, (this.#unwritten.get(accountId) ?? 0) + bytes);
  }

  /** Sets the stored bytes of a row that is already written. Null: the row does not count. */
  countStored(table: CountedTable, accountId: string, key: string, bytes: number | null): void {
    const where = `WHERE account_id = ? AND ${COUNTED_TABLES[table]} = ?`;
    const row = this.#database.get<Weighed>(`SELECT stored_bytes FROM ${table} ${where}`, accountId, key);
    if (!row || row.stored_bytes === bytes) return;
    this.#database.run(`UPDATE ${table} SET stored_bytes = ? ${where}`, bytes, accountId, key);
    this.add(accountId, (bytes ?? 0) - (row.stored_bytes ?? 0));
  }

  /**
   * Runs a DELETE statement that has no RETURNING clause, and subtracts the stored bytes of its rows. Returns how many
   * rows it deleted.
   */
  delete(accountId: string, sql: string, ...values: SQLInputValue[]): number {
    const gone = this.#database.all<Weighed>(`${sql} RETURNING stored_bytes`, ...values);
    for (const { stored_bytes: bytes } of gone) if (bytes !== null) this.add(accountId, -bytes);
    return gone.length;
  }

  of(accountId: string): number {
    this.#write();
    const sql = 'SELECT bytes FROM stored WHERE account_id = ?';
    return this.#database.get<{ bytes: number }>(sql, accountId)?.bytes ?? 0;
  }

  /** By how many bytes the stored count is too high. One statement reads the rows and the count at the same moment. */
  errorOf(accountId: string): number {
    this.#write();
    const sql = `SELECT coalesce((SELECT bytes FROM stored WHERE account_id = ?1), 0)
        - coalesce((SELECT sum(stored_bytes) FROM messages WHERE account_id = ?1), 0)
        - coalesce((SELECT sum(length(bytes)) FROM bodies WHERE id IN
            (SELECT body_id FROM messages WHERE account_id = ?1 AND body_id IS NOT NULL)), 0)${RESOURCE_SUMS} AS bytes`;
    return this.#database.get<{ bytes: number }>(sql, accountId)!.bytes;
  }

  #write(): void {
    if (this.#unwritten.size === 0) return;
    for (const [accountId, bytes] of this.#unwritten) {
      this.#database.run(
        `INSERT INTO stored (account_id, bytes) VALUES (?, ?)
           ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes`,
        accountId,
        bytes,
      );
    }
    this.#unwritten.clear();
  }
}

/** The accounts in the order of their ids, without those that store nothing. */
export function storedAccounts(database: Database, after: string, limit: number): AccountBytes[] {
  return database
    .all<AccountBytes>(
      'SELECT account_id AS accountId, bytes FROM stored WHERE account_id > ? ORDER BY account_id LIMIT ?',
      after,
      limit,
    )
    .map((row) => ({ ...row }));
}

/** The bytes of the file's free pages, which SQLite will use again. */
export function freeBytesInside(database: Database): number {
  const { freelist_count: pages } = database.get<{ freelist_count: number }>('PRAGMA freelist_count')!;
  const { page_size: bytes } = database.get<{ page_size: number }>('PRAGMA page_size')!;
  return pages * bytes;
}
