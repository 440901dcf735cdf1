// Rows that a transaction inserts into one table, with one statement for several rows. A statement opens the table and
// all of its indexes once, however many rows it inserts.

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
  #values: SQLInputValue[] = [];

  constructor(table: string, columns: readonly string[], run: Run) {
    this.table = table;
    this.#run = run;
    this.#columns = columns.length;
    // OR ROLLBACK, because a failed transaction is undone as a whole anyway. By default SQLite copies every page that a
    // multi-row statement changes, to be able to undo that statement alone. These copies would take the time that the
    // group saves.
    const insert = `INSERT OR ROLLBACK INTO ${table} (${columns.join(', ')}) VALUES`;
    const row = `(${columns.map(() => '?').join(', ')})`;
    this.#insertOne = `${insert} ${row}`;
    this.#insertAll = `${insert} ${new Array(ROWS).fill(row).join(', ')}`;
  }

  /** Adds a row. It is inserted before the commit, and before any statement that names the table. */
  add(...row: SQLInputValue[]): void {
    for (const value of row) this.#values.push(value);
    if (this.#values.length === ROWS * this.#columns) this.write();
  }

  write(): void {
    const values = this.#values;
    if (values.length === 0) return;
    this.#values = [];
    if (values.length === ROWS * this.#columns) {
      this.#run(this.#insertAll, values);
      return;
    }
    for (let at = 0; at < values.length; at += this.#columns) {
      this.#run(this.#insertOne, values.slice(at, at + this.#columns));
    }
  }

  /** Call this when the transaction was rolled back. */
  forget(): void {
    this.#values = [];
  }
}
