// Checks a whole store, for `postrider check`: the files, every page, and whether the tables agree with each other. The
// check works beside a running service. If no service runs, it also checks the log and can repair it.

import { join } from 'node:path';
import type { Database } from '../thread/database.ts';
import { DATABASE_FILE } from './directory.ts';
import { explainErrors, SQLITE, sqliteCode } from './errors.ts';
import { type LogRepair, repairLog } from './log-repair.ts';
import { openReader, requireFile, tryLock } from './open.ts';
import { markClosed } from './open-mark.ts';
import { databaseSize, tablesOf } from './start-check.ts';
import { isLogDamaged, isLogMissing, readHeader, requireCompleteStore } from './store-files.ts';

const PROBLEMS_MAX = 100;

export interface CheckReport {
  readonly isRunning: boolean;
  readonly problems: readonly string[];
  readonly bytes: number;
  readonly rows: readonly { readonly table: string; readonly rows: number }[];
  /** What the repair of a damaged log has done; null if no log was repaired. */
  readonly repair: Omit<LogRepair, 'undo'> | null;
  /** True if the store was not closed, its log was missing, and the repair has accepted the loss of that log. */
  readonly isLogGivenUp: boolean;
}

export function checkStore(directory: string, wantsRepair: boolean): CheckReport {
  const lock = tryLock(directory);
  try {
    if (lock === null && wantsRepair) {
      throw new Error(`a service runs on ${directory} and uses its log. Stop the service before --repair`);
    }
    const repair = lock !== null && wantsRepair && isLogDamaged(directory) ? repairDirectory(directory) : null;
    const isLogGivenUp = lock !== null && wantsRepair && isLogMissing(directory);
    if (lock !== null) requireCompleteStore(directory, isLogGivenUp);
    requireFile(directory);
    const found = explainErrors(directory, () => lookAtAll(directory));
    const isGood = found.problems.length === 0;
    // The damaged log is put back only now, because the database had to be closed first.
    if (!isGood) repair?.undo();
    if (isGood && isLogGivenUp) markClosed(directory);
    return { ...found, isRunning: lock === null, repair, isLogGivenUp: isGood && isLogGivenUp };
  } finally {
    lock?.close();
  }
}

function lookAtAll(directory: string): Pick<CheckReport, 'problems' | 'bytes' | 'rows'> {
  const { database, close } = openReader(directory);
  try {
    const { pages, pageBytes } = databaseSize(database);
    const problems = checkWholeDatabase(database);
    return { problems, bytes: pages * pageBytes, rows: problems.length > 0 ? [] : countRows(database) };
  } finally {
    close();
  }
}

function repairDirectory(directory: string): LogRepair | null {
  const header = readHeader(join(directory, DATABASE_FILE));
  return header && repairLog(directory, header.pageBytes);
}

/** Runs the checks of SQLite, then our own. Returns one sentence for each problem; empty if there is none. */
export function checkWholeDatabase(database: Database): readonly string[] {
  try {
    const found = database
      .all<{ integrity_check: string }>(`PRAGMA integrity_check(${PROBLEMS_MAX})`)
      .map(({ integrity_check: text }) => text.replaceAll('\n', ' '))
      .filter((text) => text !== 'ok');
    // Our own checks cannot compare tables that cannot be read.
    return found.length > 0 ? found : [...foreignKeys(database), ...crossChecks(database)];
  } catch (error) {
    const code = sqliteCode(error);
    if (code !== SQLITE.corrupt && code !== SQLITE.ioError) throw error;
    return [(error as Error).message];
  }
}

function foreignKeys(database: Database): string[] {
  const rows = database.all<{ table: string; parent: string }>('PRAGMA foreign_key_check');
  const kinds = new Set(rows.map(({ table, parent }) => `${table} has rows that belong to no row of ${parent}`));
  return [...kinds];
}

/** Our own checks need this table. An older store does not have it, and is not compared. */
const NEWEST_TABLE = 'bodies';

const CROSS_CHECKS: readonly (readonly [sql: string, says: string])[] = [
  [
    'SELECT count(*) AS n FROM messages m WHERE NOT EXISTS (SELECT 1 FROM accounts a WHERE a.id = m.account_id)',
    'messages belong to no account',
  ],
  [
    `SELECT count(*) AS n FROM messages m WHERE m.body_id IS NOT NULL AND (length(m.body) > 0 OR NOT EXISTS
       (SELECT 1 FROM bodies b WHERE b.account_id = m.account_id AND b.id = m.body_id))`,
    'messages have no body, or have two bodies',
  ],
  [
    `SELECT count(*) AS n FROM bodies b WHERE NOT EXISTS
       (SELECT 1 FROM messages m WHERE m.account_id = b.account_id AND m.body_id = b.id)`,
    'stored bodies belong to no message',
  ],
];

function crossChecks(database: Database): string[] {
  if (!tablesOf(database).includes(NEWEST_TABLE)) return [];
  return CROSS_CHECKS.flatMap(([sql, says]) => {
    const { n } = database.get<{ n: number }>(sql)!;
    return n > 0 ? [`${n} ${says}`] : [];
  });
}

export function countRows(database: Database): readonly { readonly table: string; readonly rows: number }[] {
  return tablesOf(database).map((table) => ({
    table,
    rows: database.get<{ n: number }>(`SELECT count(*) AS n FROM "${table}"`)!.n,
  }));
}
