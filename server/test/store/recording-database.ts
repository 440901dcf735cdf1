// A database that remembers the statements it ran, so that SQLite can be asked how it goes about them.

import { Database } from '../../src/store/sqlite/thread/database.ts';

/** Tables that grow with the messages, or that somebody may fill with a program. */
const LARGE = [
  'messages',
  'attempts',
  'queues',
  'usage',
  'journal',
  'activity_minutes',
  'activity_hours',
  'message_labels',
  'flow_keys',
  'deduplication',
  'schedules',
  'jobs',
];
/** As they are called in joins. */
const ALIASES = ['m', 'j', 'l'];
const SCAN = new RegExp(`^SCAN (?:${[...LARGE, ...ALIASES].join('|')})\\b`);

/** Partial indexes that hold only what is wanted: their first row is the answer. */
const FIRST_OF =
  /USING (?:COVERING )?INDEX (?:messages_(?:ranked|delayed|claimed|alone)|\w+_next_start|schedules_next)$/;
/** The last few by the key of the table. */
const LAST_OF = /\(SELECT created_at FROM messages ORDER BY seq DESC LIMIT \?\)$/;
/** Hold only what runs or is held, and all of it is wanted. */
const ALL_OF = /USING (?:COVERING )?INDEX (?:jobs_running|messages_held)$/;

export class RecordingDatabase extends Database {
  readonly statements = new Set<string>();
  /** Each statement that was run, in order, with how many rows it returned or wrote. */
  readonly runs: { readonly sql: string; readonly rows: number }[] = [];

  override all<T>(sql: string, ...values: Parameters<Database['all']>[1][]): T[] {
    const rows = super.all<T>(sql, ...values);
    this.#note(sql, rows.length);
    return rows;
  }

  override get<T>(sql: string, ...values: Parameters<Database['get']>[1][]): T | undefined {
    const row = super.get<T>(sql, ...values);
    this.#note(sql, row === undefined ? 0 : 1);
    return row;
  }

  override getWithoutGroups<T>(sql: string, ...values: Parameters<Database['get']>[1][]): T | undefined {
    const row = super.getWithoutGroups<T>(sql, ...values);
    this.#note(sql, row === undefined ? 0 : 1);
    return row;
  }

  override runWithoutGroups(sql: string, ...values: Parameters<Database['run']>[1][]): number {
    const rows = super.runWithoutGroups(sql, ...values);
    this.#note(sql, rows);
    return rows;
  }

  override run(sql: string, ...values: Parameters<Database['run']>[1][]): number {
    const rows = super.run(sql, ...values);
    this.#note(sql, rows);
    return rows;
  }

  override insert(sql: string, ...values: Parameters<Database['insert']>[1][]): number {
    const seq = super.insert(sql, ...values);
    this.#note(sql, 1);
    return seq;
  }

  #note(sql: string, rows: number): void {
    this.statements.add(sql);
    this.runs.push({ sql, rows });
  }

  plan(sql: string): string[] {
    return super.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).map(({ detail }) => detail);
  }

  /** The steps of this statement that read a whole table or sort what an index should have brought in order. */
  walks(sql: string): string[] {
    const text = sql.replaceAll(/\s+/g, ' ').trim();
    return this.plan(sql)
      .filter(
        (step) =>
          isWalk(step, text) || (step.startsWith('USE TEMP B-TREE') && !SORTS_FEW.some((few) => few.test(text))),
      )
      .map((step) => `${step} in: ${text}`);
  }
}

/**
 * What is sorted is bounded: by the parallelism of a queue, at most a thousand, by the limit of the rows it groups, or by
 * the list of the hosts.
 */
const SORTS_FEW = [
  /WHERE holds_place = 1 AND account_id = \? AND queue_name = \?/,
  /ORDER BY seq LIMIT \?\) GROUP BY 1, 2, 3, 4, 5, 6, 7$/,
  /FROM hosts WHERE \(account_id, host\) IN \(VALUES/,
];

/** Who holds a place is found among those that hold one, never among all that a queue or a key has ever had. */
const AMONG_ALL = /^SEARCH messages USING (?:COVERING )?INDEX messages_of_(?:queue|flow_key|account|host)\b/;

/** A search by an index is none; nor is looking at the first row of an index that holds only what is wanted. */
function isWalk(step: string, sql: string): boolean {
  if (AMONG_ALL.test(step) && /\bholds_place = 1\b/.test(sql)) return true;
  if (!SCAN.test(step) || ALL_OF.test(step)) return false;
  return !(FIRST_OF.test(step) && /\bLIMIT 1$/.test(sql)) && !LAST_OF.test(sql);
}
