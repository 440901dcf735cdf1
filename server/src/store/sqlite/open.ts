// Opens the file so that a commit means "on disk", and refuses to run where it would not. One process at a time.

import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import { nodeMax } from '../../domain/budgets.ts';
import { pendingMigrations, readMigrations } from '../migrate.ts';
import { Database } from './database.ts';
import { DATABASE_FILE as FILE, LOCK_FILE, makeOwnFile, prepareDirectory } from './directory.ts';
import { explained, openProblem, SQLITE, sqliteCode } from './errors.ts';
import { hasMarker, MARKER_FILE, makeMarker } from './marker.ts';
import { checkAtStart, type StartCheck } from './start-check.ts';
import { requireWhole } from './store-files.ts';

/** Older ones can lose committed pages when two connections reset the WAL at the same moment. */
const SQLITE_VERSION_MIN = '3.51.3';

/** Nobody who starts it waits longer to be told that somebody else has it. */
const LOCK_MS_MAX = 500;
const MIGRATIONS = new URL('./migrations/', import.meta.url);

export interface OpenedFile {
  readonly database: Database;
  /** What was found when it was opened; of a reader, nothing. */
  readonly found: StartCheck;
  close(): void;
}

class InUse extends Error {}

const NOTHING_FOUND: StartCheck = { problems: [], unchecked: [] };

/** Opens (or makes) the store in a directory, takes it for this process alone, and brings its schema up to date. */
export function openDirectory(directory: string): OpenedFile {
  prepareDirectory(directory);
  const lock = lockDirectory(directory);
  try {
    requireWhole(directory);
    makeOwnFile(join(directory, FILE));
    const database = explained(directory, () => openDatabase(join(directory, FILE), directory));
    // The lock says that no other process is alive, so every node the file still lists is gone.
    database.run('DELETE FROM nodes');
    return {
      database,
      found: checkAtStart(database),
      close() {
        database.close();
        lock.close();
      },
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** A second connection that only reads, for a directory that is open already: it does not hold up the writer. */
export function openReader(directory: string): OpenedFile {
  const database = new Database(join(directory, FILE), { isReader: true });
  database.exec('PRAGMA busy_timeout = 5000; PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY;');
  return { database, found: NOTHING_FOUND, close: () => database.close() };
}

/** The store of a service that does not run, to be read as it is: taken for this process alone, and not changed. */
export function openStopped(directory: string): OpenedFile {
  requireFile(directory);
  const lock = lockDirectory(directory);
  try {
    requireWhole(directory);
    const { database, close } = openReader(directory);
    requireUpToDate(database, directory);
    return {
      database,
      found: NOTHING_FOUND,
      close() {
        close();
        lock.close();
      },
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

/**
 * A connection that writes a little beside a service that may run, without its lock: SQLite lets one of the two write at a
 * time. As it is only for what no running service keeps in memory, such as a new token.
 */
export function openBeside(directory: string): Database {
  requireFile(directory);
  requireWholeUnlessInUse(directory);
  const database = new Database(join(directory, FILE));
  try {
    requireVersion(database);
    database.exec('PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 5000;');
    requireUpToDate(database, directory);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Whoever runs on it has looked at its files. Where nobody does, the first to open them would take a damaged log for its end. */
export function requireWholeUnlessInUse(directory: string): void {
  const lock = tryLock(directory);
  try {
    if (lock !== null) requireWhole(directory);
  } finally {
    lock?.close();
  }
}

export function requireFile(directory: string): void {
  const path = join(directory, FILE);
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw new Error(`there is no store in ${directory}: it has no ${FILE}`);
    throw new Error(`${path} may not be read and written by this user (${code}): run this as the user of the service`);
  }
}

function requireUpToDate(database: Database, directory: string): void {
  const { user_version: version } = database.get<{ user_version: number }>('PRAGMA user_version')!;
  if (pendingMigrations(readMigrations(MIGRATIONS), version).length === 0) return;
  throw new Error(
    `the store in ${directory} was written by an older postrider: start this one on it once, so that it is brought up to date`,
  );
}

/** A database by path; `:memory:` for the simulation. In a directory of ours, it is marked as a store when it is one. */
export function openDatabase(path: string, directory: string | null = null): Database {
  const database = new Database(path);
  try {
    requireVersion(database);
    database.exec(`
      PRAGMA busy_timeout = ${LOCK_MS_MAX};
      PRAGMA page_size = 8192;
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA wal_autocheckpoint = 2000;
      PRAGMA journal_size_limit = ${nodeMax('logBytes')};
      PRAGMA foreign_keys = ON;
      PRAGMA cache_size = -16384;
      PRAGMA temp_store = MEMORY;
    `);
    // Told at once if somebody else writes; who only reads is waited for.
    database.exec('BEGIN IMMEDIATE; ROLLBACK; PRAGMA busy_timeout = 5000');
    rewriteLog(database);
    migrate(database);
    if (directory !== null && !hasMarker(directory)) {
      // The schema is in the database itself from now on, and not in its log alone: an empty one is one that was emptied.
      rewriteLog(database);
      makeMarker(directory);
    }
    if (path !== ':memory:') requireDurability(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Moves all that a process before us left in the log into the database, and starts the log anew. If that process ended
 * because a flush failed, the system may show us pages of the log that are not on disk and that no flush will write
 * any more: what we appended behind them would be lost with them when the power goes. Writing them again is safe.
 */
function rewriteLog(database: Database): void {
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
}

/**
 * A second file, held in an exclusive transaction as long as we live: the operating system lets go of it whichever
 * way the process ends, so no stale lock can be left behind.
 */
function lockDirectory(directory: string): Database {
  const path = join(directory, LOCK_FILE);
  makeOwnFile(path);
  const lock = new Database(path);
  try {
    lock.exec(`PRAGMA busy_timeout = ${LOCK_MS_MAX}; BEGIN EXCLUSIVE;`);
    return lock;
  } catch (error) {
    lock.close();
    if (sqliteCode(error) !== SQLITE.busy) {
      const isNoLock = sqliteCode(error) === SQLITE.noDatabase || sqliteCode(error) === SQLITE.corrupt;
      const why = isNoLock
        ? 'it is not as postrider made it. Nothing is kept in it: remove it, and start again'
        : openProblem(error, directory);
      throw new Error(`cannot lock the data directory with ${path}: ${why}`, { cause: error });
    }
    throw new InUse(
      `The data directory ${directory} is in use by another postrider. ` +
        'Stop that one first, or give this one a directory of its own with --data.',
    );
  }
}

/** Null where another process has it. In a directory where nothing is of ours, nothing is made. */
export function tryLock(directory: string): Database | null {
  if (![FILE, `${FILE}-wal`, MARKER_FILE].some((name) => isThere(directory, name))) {
    throw new Error(`there is no store in ${directory}: it has no ${FILE}`);
  }
  try {
    return lockDirectory(directory);
  } catch (error) {
    if (error instanceof InUse) return null;
    throw error;
  }
}

/** Whoever may not enter a directory cannot know what is in it. */
function isThere(directory: string, name: string): boolean {
  try {
    return statSync(join(directory, name), { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`${directory} may not be looked into by this user (${code}): run this as the user of the service`, {
      cause: error,
    });
  }
}

function requireVersion(database: Database): void {
  const { version } = database.get<{ version: string }>('SELECT sqlite_version() AS version')!;
  if (compareVersions(version, SQLITE_VERSION_MIN) < 0) {
    throw new Error(
      `This Node.js brings SQLite ${version}; postrider needs ${SQLITE_VERSION_MIN} or newer, ` +
        'because older ones can lose committed data. Use a newer Node.js.',
    );
  }
}

export function compareVersions(a: string, b: string): number {
  const left = a.split('.').map(Number);
  const right = b.split('.').map(Number);
  for (let i = 0; i < Math.max(left.length, right.length); i += 1) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Each migration and its version number commit together: killed anywhere, it is done or undone. */
function migrate(database: Database): void {
  const { user_version: version } = database.get<{ user_version: number }>('PRAGMA user_version')!;
  for (const migration of pendingMigrations(readMigrations(MIGRATIONS), version)) {
    database.transaction(() => {
      database.exec(migration.sql);
      database.exec(`PRAGMA user_version = ${migration.version}`);
    });
  }
}

/** Asked after a transaction has been made: a pragma that was refused or overridden shows only then. */
function requireDurability(database: Database): void {
  database.transaction(() => database.run('DELETE FROM nodes WHERE id IS NULL'));
  const { journal_mode: mode } = database.get<{ journal_mode: string }>('PRAGMA journal_mode')!;
  const { synchronous } = database.get<{ synchronous: number }>('PRAGMA synchronous')!;
  if (mode !== 'wal' || synchronous !== 2) {
    throw new Error(
      `SQLite runs with journal_mode=${mode} and synchronous=${synchronous}; postrider needs wal and 2 (FULL), ` +
        'or an acknowledged message could be lost. Is the data directory on a network file system?',
    );
  }
}
