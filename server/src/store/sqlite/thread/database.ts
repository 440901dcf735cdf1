// One SQLite connection that prepares each statement once, and the transaction around a batch of work. It knows nothing
// of messages.

import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';

export type Row = Record<string, unknown>;

/** For code that keeps something in memory during a transaction. */
export interface TransactionWatcher {
  /** Called inside the transaction, as the last chance to write what is kept. */
  beforeCommit(): void;
  /** What was kept since the transaction began must be dropped. */
  onRollback(): void;
}

export class Database {
  readonly #connection: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #begin: string;
  readonly #watchers: TransactionWatcher[] = [];
  /** A failed transaction could not be rolled back yet. */
  #isUndoDue = false;

  constructor(path: string, options: { readonly isReader?: boolean } = {}) {
    const isReader = options.isReader ?? false;
    this.#connection = new DatabaseSync(path, { readOnly: isReader });
    this.#begin = isReader ? 'BEGIN' : 'BEGIN IMMEDIATE';
  }

  /**
   * The rows of a query. Each distinct SQL text is prepared once and kept: texts are constants, values are parameters.
   */
  all<T>(sql: string, ...values: SQLInputValue[]): T[] {
    return this.#prepared(sql).all(...values) as T[];
  }

  /** Row by row, for more rows than fit in memory. */
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

  /**
   * Returns the rowid of the new row. This is cheaper than RETURNING, which first stores its rows in a temporary table.
   */
  insert(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#prepared(sql).run(...values).lastInsertRowid);
  }

  /** Statements without parameters; several at once are allowed. */
  exec(sql: string): void {
    this.#connection.exec(sql);
  }

  onTransaction(watcher: TransactionWatcher): void {
    this.#watchers.push(watcher);
  }

  /** Commits what `work` did, or rolls all of it back and rethrows the error. */
  transaction<T>(work: () => T): T {
    if (this.#isUndoDue) this.#undo();
    this.#prepared(this.#begin).run();
    try {
      const result = work();
      for (const watcher of this.#watchers) watcher.beforeCommit();
      this.#prepared('COMMIT').run();
      return result;
    } catch (error) {
      for (const watcher of this.#watchers) watcher.onRollback();
      this.#isUndoDue = true;
      try {
        this.#undo();
      } catch {
        // For want of memory. The next transaction begins with it, and the caller needs the error that came first.
      }
      throw error;
    }
  }

  close(): void {
    this.#statements.clear();
    this.#connection.close();
  }

  #undo(): void {
    // SQLite rolls back by itself on a full disk or an I/O error.
    if (this.#connection.isTransaction) this.#connection.exec('ROLLBACK');
    this.#isUndoDue = false;
  }

  #prepared(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#connection.prepare(preparedOnce(sql));
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/**
 * SQLite looks at the value of a parameter that is the whole limit of a query, and compiles the statement anew each time
 * it runs. That costs several times as much as the query itself. The sign hides the parameter and changes nothing.
 */
function preparedOnce(sql: string): string {
  return sql.replaceAll(/\b(LIMIT|OFFSET) \?/g, '$1 +?');
}
