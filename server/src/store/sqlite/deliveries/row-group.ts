// Collects rows that a transaction adds to one table, and inserts several of them with one statement. A statement opens
// the table and all of its indexes once, however many rows it inserts.

import type { SQLInputValue } from 'node:sqlite';

/** How many rows one statement inserts. The remaining rows are inserted one by one. */
const ROWS = 8;

type Run = (sql: string, values: readonly SQLInputValue[]) => void;

export class RowGroup {
  readonly table: string;
  readonly #run: Run;
  readonly #columns: number;
  readonly #insertOne: string;
  readonly #insertAll: string;
  /** One list for all transactions: a new one that grows value by value would be copied several times. */
  readonly #values: SQLInputValue[];
  #length = 0;

  constructor(table: string, columns: readonly string[], run: Run) {
    this.table = table;
    this.#run = run;
    this.#columns = columns.length;
    this.#values = new Array<SQLInputValue>(ROWS * columns.length).fill(null);
    // OR ROLLBACK, because a failed transaction is undone as a whole anyway. By default SQLite copies every page that a
    // multi-row statement changes, to be able to undo that statement alone. These copies would take the time that the
    // group saves.
    const insert = `INSERT OR ROLLBACK INTO ${table} (${columns.join(', ')}) VALUES`;
    const row = `(${columns.map(() => '?').join(', ')})`;
    this.#insertOne = `${insert} ${row}`;
    this.#insertAll = `${insert} ${new Array(ROWS).fill(row).join(', ')}`;
  }

  /** Adds a row. It is inserted before the commit at the latest, or before the next statement that names the table. */
  add(...row: SQLInputValue[]): void {
    for (const value of row) {
      this.#values[this.#length] = value;
      this.#length += 1;
    }
    if (this.#length === this.#values.length) this.write();
  }

  write(): void {
    const length = this.#length;
    if (length === 0) return;
    if (length === this.#values.length) this.#run(this.#insertAll, this.#values);
    else {
      for (let at = 0; at < length; at += this.#columns) {
        this.#run(this.#insertOne, this.#values.slice(at, at + this.#columns));
      }
    }
    this.forget();
  }

  /** Call this when the transaction was rolled back. */
  forget(): void {
    // The list must not keep the values in memory longer than their rows.
    this.#values.fill(null, 0, this.#length);
    this.#length = 0;
  }
}
