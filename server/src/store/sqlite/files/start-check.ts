// Looks for damage in the database when it is opened. The number of checked pages is bounded, so that a large database
// does not delay the start. The check reports what it has left out; `postrider check` checks everything.

import type { Database } from '../thread/database.ts';

/** Limit in bytes for a complete check, which takes about a second on a slow disk. */
const BYTES_MAX = 64 * 1024 * 1024;
/** Limit for a table that is checked in a larger database. The checked tables together have at most BYTES_MAX. */
const TABLE_BYTES_MAX = BYTES_MAX / 16;
const PROBLEMS_MAX = 20;

export interface StartCheck {
  /** The problems, as SQLite describes them. */
  readonly problems: readonly string[];
  /** Tables that were not checked. */
  readonly unchecked: readonly string[];
}

export function checkAtStart(database: Database): StartCheck {
  const problems: string[] = [];
  const unchecked: string[] = [];
  const { pages, pageBytes } = databaseSize(database);
  const isSmall = pages * pageBytes <= BYTES_MAX;
  let pagesLeft = Math.floor(BYTES_MAX / pageBytes);
  for (const table of tablesOf(database)) {
    try {
      const max = Math.min(pagesLeft, Math.floor(TABLE_BYTES_MAX / pageBytes));
      const needed = isSmall ? 0 : pagesOf(database, table, max + 1);
      pagesLeft -= needed > max ? 0 : needed;
      if (needed > max) unchecked.push(table);
      else problems.push(...quickCheck(database, table));
    } catch (error) {
      problems.push(`${table}: ${(error as Error).message}`);
    }
  }
  return { problems: problems.slice(0, PROBLEMS_MAX), unchecked };
}

export function tablesOf(database: Database): readonly string[] {
  return database
    .all<{ name: string }>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name",
    )
    .map(({ name }) => name);
}

export function databaseSize(database: Database): {
  readonly pages: number;
  readonly free: number;
  readonly pageBytes: number;
} {
  return database.get<{ pages: number; free: number; pageBytes: number }>(
    `SELECT page_count AS pages, freelist_count AS free, page_size AS pageBytes
       FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
  )!;
}

/** The number of pages of a table and its indexes, counted up to `max`. */
function pagesOf(database: Database, table: string, max: number): number {
  const { pages } = database.get<{ pages: number }>(
    `SELECT count(*) AS pages FROM (
       SELECT 1 FROM sqlite_schema s, dbstat d WHERE s.tbl_name = ? AND s.rootpage > 0 AND d.name = s.name LIMIT ?)`,
    table,
    max,
  )!;
  return pages;
}

function quickCheck(database: Database, table: string): string[] {
  return database
    .all<{ quick_check: string }>(`PRAGMA quick_check("${table}")`)
    .map(({ quick_check: found }) => found)
    .filter((found) => found !== 'ok')
    .map((found) => `${table}: ${found.replaceAll('\n', ' ')}`);
}
