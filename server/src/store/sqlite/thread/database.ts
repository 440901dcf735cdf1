// One SQLite connection that prepares each statement once, and the transaction around a batch of work. It knows nothing
// of messages.

import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { RowGroup } from '../deliveries/row-group.ts';

export type Row = Record<string, unknown>;

/** For code that keeps something in memory during a transaction. */
export interface TransactionWatcher {
  /** Called inside the transaction, as the last chance to write what is kept. */
  beforeCommit(): void;
  /** What was kept since the transaction began must be dropped. */
  onRollback(): void;
}

interface Prepared {
  readonly statement: StatementSync;
  /** Groups of rows that are not inserted yet, so that a statement could miss them. */
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

  /**
   * The rows of a query. Each distinct SQL text is prepared once and kept: texts are constants, values are parameters.
   */
  all<T>(sql: string, ...values: SQLInputValue[]): T[] {
    return this.#prepared(sql).all(...values) as T[];
  }

  /** Row by row, for more rows than fit in memory. */
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

  /** This and the next are for statements that cannot affect rows still in a group, although they name the table. */
  getBesideGroups<T>(sql: string, ...values: SQLInputValue[]): T | undefined {
    return this.#find(sql).statement.get(...values) as T | undefined;
  }

  runBesideGroups(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#find(sql).statement.run(...values).changes);
  }

  /**
   * Returns the rowid of the new row. This is cheaper than RETURNING, which first stores its rows in a temporary table.
   */
  insert(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#prepared(sql).run(...values).lastInsertRowid);
  }

  /** Statements without parameters; several at once are allowed. */
  exec(sql: string): void {
    this.#writeGroups(this.#groups);
    this.#connection.exec(sql);
  }

  /** Only for rows that are added in a transaction. */
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
        // The rollback failed for lack of memory. The next transaction begins with it, and the caller needs the first
        // error.
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
 * SQLite inspects the value of a parameter that is the whole LIMIT of a query, and compiles the statement again each
 * time it runs. That costs several times as much as the query itself. The sign hides the parameter and changes nothing.
 */
function preparedOnce(sql: string): string {
  return sql.replaceAll(/\b(LIMIT|OFFSET) \?/g, '$1 +?');
}
