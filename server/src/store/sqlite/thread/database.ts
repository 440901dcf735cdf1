// One SQLite connection that prepares each statement once, and the transaction around a batch of work. This code knows
// nothing of messages.

import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { RowGroup } from '../deliveries/row-group.ts';

export type Row = Record<string, unknown>;

/** For code that keeps something in memory during a transaction. */
export interface TransactionWatcher {
  /** Called inside the transaction, as the last chance to write what is kept in memory. */
  beforeCommit(): void;
  /** Drops what was kept in memory since the transaction began. */
  onRollback(): void;
}

interface Prepared {
  readonly statement: StatementSync;
  /** The groups of the tables that the statement names. Their rows are inserted first, so that it sees them. */
  readonly groups: readonly RowGroup[];
}

export class Database {
  readonly #connection: DatabaseSync;
  readonly #statements = new Map<string, Prepared>();
  readonly #groups: RowGroup[] = [];

  readonly #begin: string;
  readonly #watchers: TransactionWatcher[] = [];
  /** Whether a failed transaction could not be rolled back yet. */
  #isUndoDue = false;

  constructor(path: string, options: { readonly isReader?: boolean } = {}) {
    const isReader = options.isReader ?? false;
    this.#connection = new DatabaseSync(path, { readOnly: isReader });
    this.#begin = isReader ? 'BEGIN' : 'BEGIN IMMEDIATE';
  }

  /** The rows of a query. Each SQL text is prepared once and kept: texts are constants, values are parameters. */
  all<T>(sql: string, ...values: SQLInputValue[]): T[] {
    return this.#prepared(sql).all(...values) as T[];
  }

  /** Yields the rows one by one, for more rows than fit in memory. */
  each<T>(sql: string, named: Readonly<Record<string, SQLInputValue>>): IterableIterator<T> {
    this.#writeGroups(this.#groups);
    return this.#connection.prepare(sql).iterate(named) as IterableIterator<T>;
  }

  get<T>(sql: string, ...values: SQLInputValue[]): T | undefined {
    return this.#prepared(sql).get(...values) as T | undefined;
  }

  /** How many rows a statement changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#prepared(sql).run(...values).changes);
  }

  /** This method and the next do not first insert the rows in groups. Such rows must not matter for the statement. */
  getWithoutGroups<T>(sql: string, ...values: SQLInputValue[]): T | undefined {
    return this.#find(sql).statement.get(...values) as T | undefined;
  }

  runWithoutGroups(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#find(sql).statement.run(...values).changes);
  }

  /** Returns the rowid of the new row. Cheaper than RETURNING, which first stores its rows in a temporary table. */
  insert(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#prepared(sql).run(...values).lastInsertRowid);
  }

  /** Runs statements without parameters. One text may have several statements. */
  exec(sql: string): void {
    this.#writeGroups(this.#groups);
    this.#connection.exec(sql);
  }

  /** Creates a group that collects rows of a table during a transaction. It must not be used outside one. */
  group(table: string, columns: readonly string[]): RowGroup {
    const group = new RowGroup(table, columns, (sql, values) => this.#find(sql).statement.run(...values));
    this.#groups.push(group);
    this.#statements.clear();
    return group;
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
      this.#writeGroups(this.#groups);
      this.#prepared('COMMIT').run();
      return result;
    } catch (error) {
      for (const watcher of this.#watchers) watcher.onRollback();
      for (const group of this.#groups) group.forget();
      this.#isUndoDue = true;
      try {
        this.#undo();
      } catch {
        // The rollback failed for lack of memory. The next transaction tries again. The caller needs the first error.
      }
      throw error;
    }
  }

  close(): void {
    this.#statements.clear();
    this.#connection.close();
  }

  #undo(): void {
    // On a full disk or an I/O error, SQLite has already rolled back by itself.
    if (this.#connection.isTransaction) this.#connection.exec('ROLLBACK');
    this.#isUndoDue = false;
  }

  #prepared(sql: string): StatementSync {
    const { statement, groups } = this.#find(sql);
    this.#writeGroups(groups);
    return statement;
  }

  #find(sql: string): Prepared {
    let prepared = this.#statements.get(sql);
    if (!prepared) {
      const groups = this.#groups.filter(({ table }) => sql.includes(table));
      prepared = { statement: this.#connection.prepare(preparedOnce(sql)), groups };
      this.#statements.set(sql, prepared);
    }
    return prepared;
  }

  #writeGroups(groups: readonly RowGroup[]): void {
    for (const group of groups) group.write();
  }
}

/**
 * If the whole LIMIT of a query is a parameter, SQLite compiles the statement again each time it runs. That takes
 * several times as long as the query itself. The plus sign hides the parameter and does not change the result.
 */
function preparedOnce(sql: string): string {
  return sql.replaceAll(/\b(LIMIT|OFFSET) \?/g, '$1 +?');
}
