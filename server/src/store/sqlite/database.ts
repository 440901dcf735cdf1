// One SQLite connection with its statements prepared once, and the transaction around a batch of work. It knows
// nothing of messages.

import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';

export type Row = Record<string, unknown>;

/** Whoever keeps something in memory for the length of a transaction. */
export interface TransactionWatcher {
  /** The last moment to write what is kept: a part of the transaction. */
  beforeCommit(): void;
  /** What was kept since the transaction began never happened. */
  onRollback(): void;
}

export class Database {
  readonly #connection: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  readonly #begin: string;
  readonly #watchers: TransactionWatcher[] = [];

  constructor(path: string, options: { readonly isReader?: boolean } = {}) {
    const isReader = options.isReader ?? false;
    this.#connection = new DatabaseSync(path, { readOnly: isReader });
    this.#begin = isReader ? 'BEGIN' : 'BEGIN IMMEDIATE';
  }

  /** Rows of a query. Every distinct text is prepared once and kept: texts are constants, values are parameters. */
  all<T>(sql: string, ...values: SQLInputValue[]): T[] {
    return this.#prepared(sql).all(...values) as T[];
  }

  /** Row by row, for more of them than memory holds. */
  each<T>(sql: string, named: Readonly<Record<string, SQLInputValue>>): IterableIterator<T> {
    return this.#connection.prepare(sql).iterate(named) as IterableIterator<T>;
  }

  get<T>(sql: string, ...values: SQLInputValue[]): T | undefined {
    return this.#prepared(sql).get(...values) as T | undefined;
  }

  /** How many rows a statement changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#prepared(sql).run(...values).changes);
  }

  /** The number of the row that a statement added. Asking so is cheaper than a RETURNING, which keeps its rows apart first. */
  insert(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#prepared(sql).run(...values).lastInsertRowid);
  }

  /** Statements without parameters, several at once if need be. */
  exec(sql: string): void {
    this.#connection.exec(sql);
  }

  onTransaction(watcher: TransactionWatcher): void {
    this.#watchers.push(watcher);
  }

  /** Commits what `work` did, or rolls all of it back and throws on what it threw. */
  transaction<T>(work: () => T): T {
    this.#connection.exec(this.#begin);
    try {
      const result = work();
      for (const watcher of this.#watchers) watcher.beforeCommit();
      this.#connection.exec('COMMIT');
      return result;
    } catch (error) {
      for (const watcher of this.#watchers) watcher.onRollback();
      // SQLite rolls back by itself on a full disk or an I/O error.
      if (this.#connection.isTransaction) this.#connection.exec('ROLLBACK');
      throw error;
    }
  }

  close(): void {
    this.#statements.clear();
    this.#connection.close();
  }

  #prepared(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#connection.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}
