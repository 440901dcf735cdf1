// Opens the store for one process at a time. A commit means "on disk"; where that is not certain, the open fails.

import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import { nodeMax } from '../../../rules/limits/budgets.ts';
import { shippedFiles } from '../../../shipped-files.ts';
import { pendingMigrations, readMigrations } from '../../migrations.ts';
import { Database } from '../thread/database.ts';
import { DATABASE_FILE as FILE, LOCK_FILE, makeOwnFile, prepareDirectory } from './directory.ts';
import { explainErrors, openProblem, SQLITE, sqliteCode } from './errors.ts';
import { LiveLog } from './live-log.ts';
import { writeLogAgain } from './log-again.ts';
import { LOG_HEADER_BYTES } from './log-frames.ts';
import { LogKeeper } from './log-keeper.ts';
import { hasMarker, MARKER_FILE, makeMarker } from './marker.ts';
import { requireNotMoved } from './moved.ts';
import { isMarkedOpen, markClosed, markOpen } from './open-mark.ts';
import { checkAtStart, type StartCheck } from './start-check.ts';
import { logPath, requireCompleteStore } from './store-files.ts';

/** The oldest safe version. Older ones can lose committed pages if two connections reset the WAL at the same moment. */
const SQLITE_VERSION_MIN = '3.51.3';

/** How long a start waits before it reports that another process has the directory. */
const LOCK_MS_MAX = 500;

export interface OpenedFile {
  readonly database: Database;
  /** What the check at open has found; empty for a reader. */
  readonly found: StartCheck;
  close(): void;
}

class InUse extends Error {}

const NOTHING_FOUND: StartCheck = { problems: [], unchecked: [] };

/** Opens or creates the store in a directory, locks it for this process alone, and brings its schema up to date. */
export function openDirectory(directory: string): OpenedFile {
  prepareDirectory(directory);
  const lock = lockDirectory(directory);
  try {
    requireNotMoved(directory);
    requireCompleteStore(directory);
    const path = join(directory, FILE);
    makeOwnFile(path);
    const keeper = new LogKeeper(path);
    // After an improper stop, the keeper opens first: if the start then fails, SQLite must not remove the log.
    if (isMarkedOpen(directory)) explainErrors(directory, () => keeper.open());
    const database = explainErrors(directory, () => openDatabase(path, directory));
    keeper.open();
    const log = new LiveLog(path);
    // This process holds the lock, so no other process uses the file, and every node in it has ended.
    database.run('DELETE FROM nodes');
    return {
      database,
      found: checkAtStart(database),
      close() {
        // A log that was damaged is not copied into the database. The next start reports the damage.
        if (!log.isChangedNow()) {
          closeLog(database, directory, keeper);
          log.close();
        }
        lock.close();
      },
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** A second connection that only reads, for a directory that is already open. It does not delay the writer. */
export function openReader(directory: string): OpenedFile {
  const database = new Database(join(directory, FILE), { isReader: true });
  database.exec('PRAGMA busy_timeout = 5000; PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY;');
  return { database, found: NOTHING_FOUND, close: () => database.close() };
}

/** Opens the store of a stopped service for reading. This process locks the store and does not change it. */
export function openStoppedStore(directory: string): OpenedFile {
  requireFile(directory);
  const lock = lockDirectory(directory);
  try {
    requireCompleteStore(directory);
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
 * A connection that writes a little beside a service that may be running, without its lock: SQLite lets one of the two
 * write at a time. Use it only for data that a running service does not keep in memory, such as a token.
 */
export function openBesideService(directory: string): OpenedFile {
  requireFile(directory);
  requireNotMoved(directory);
  const path = join(directory, FILE);
  const lock = tryLock(directory);
  try {
    if (lock !== null) requireCompleteStore(directory);
    const keeper = new LogKeeper(path);
    const database = new Database(path);
    try {
      requireVersion(database);
      database.exec('PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 5000;');
      requireUpToDate(database, directory);
      // If the service is killed meanwhile, the log stays as it is, and the next start checks it.
      if (lock === null) keeper.open();
      else {
        // No service runs, so this connection is the last one, and the log is removed when it closes.
        writeLogAgain(database, path);
        emptyLog(database, directory);
      }
    } catch (error) {
      database.close();
      throw error;
    }
    return {
      database,
      found: NOTHING_FOUND,
      close() {
        database.close();
        keeper.close();
        lock?.close();
      },
    };
  } catch (error) {
    lock?.close();
    throw error;
  }
}

/**
 * A running service has already checked the files. If none runs, the files are checked here, because SQLite would take
 * damage in the log for the end of the log. Returns whether a service runs.
 */
export function requireCompleteUnlessInUse(directory: string): boolean {
  const lock = tryLock(directory);
  if (lock === null) return true;
  try {
    requireCompleteStore(directory);
    return false;
  } finally {
    lock.close();
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
    throw notOfThisUser(path, code);
  }
}

function requireUpToDate(database: Database, directory: string): void {
  const { user_version: version } = database.get<{ user_version: number }>('PRAGMA user_version')!;
  if (pendingMigrations(readMigrations(shippedFiles('store/sqlite/migrations')), version).length === 0) return;
  throw new Error(
    `the store in ${directory} was written by an older postrider: start this version on it once to upgrade it`,
  );
}

/** Opens a database by path; the simulation uses `:memory:`. With a directory, marks the directory as a store. */
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
    // This fails soon if another process writes. The next step waits longer, for a process that only reads.
    writeLogAgain(database, path);
    database.exec('PRAGMA busy_timeout = 5000');
    emptyLog(database, directory);
    migrate(database);
    if (directory !== null && !hasMarker(directory)) {
      // After this the database file has the schema, so an empty file means that somebody emptied it.
      emptyLog(database, directory);
      makeMarker(directory);
    }
    if (path !== ':memory:') requireDurability(database);
    if (directory !== null) beginLog(database, directory);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Copies the log into the database, and empties the log. After a power cut at any point, either the log has everything,
 * or the database has everything and there is no open mark.
 */
function emptyLog(database: Database, directory: string | null): void {
  if (directory !== null && isMarkedOpen(directory)) {
    // A reader prevents the copy for now, so the log and its open mark stay.
    if (!copyWholeLog(database)) return;
    markClosed(directory);
  }
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
}

/** Copies the log into the database and flushes it, but does not empty the log. Returns whether all was copied. */
function copyWholeLog(database: Database): boolean {
  const { busy, log, checkpointed } = database.get<{ busy: number; log: number; checkpointed: number }>(
    'PRAGMA wal_checkpoint(FULL)',
  )!;
  return busy === 0 && log === checkpointed;
}

/** Marks the store as open: from now on a start requires the log. SQLite never empties it while the process runs. */
function beginLog(database: Database, directory: string): void {
  if (isMarkedOpen(directory)) return;
  const { user_version: version } = database.get<{ user_version: number }>('PRAGMA user_version')!;
  // Writes the first page with unchanged content, so that the log is not empty.
  database.transaction(() => database.exec(`PRAGMA user_version = ${version}`));
  if (statSync(logPath(directory)).size <= LOG_HEADER_BYTES) throw new Error(`SQLite wrote no log in ${directory}`);
  markOpen(directory);
}

/** Closes the database. If the whole log could be copied, SQLite removes the log. */
function closeLog(database: Database, directory: string, keeper: LogKeeper): void {
  const isCopied = copyWholeLog(database);
  if (isCopied) markClosed(directory);
  keeper.close();
  database.close();
  // The reader that prevented the copy of the log may have ended meanwhile.
  if (!isCopied && !isThere(directory, `${FILE}-wal`)) markClosed(directory);
}

/**
 * Locks the directory for this process: an exclusive transaction on the lock file stays open. The operating system
 * releases the lock however the process ends, so no stale lock can remain.
 */
export function lockDirectory(directory: string): Database {
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
        ? 'it is not a lock file of postrider. The lock file holds no data: remove it, and start again'
        : openProblem(error, directory);
      throw new Error(`cannot lock the data directory with ${path}: ${why}`, { cause: error });
    }
    throw new InUse(
      `The data directory ${directory} is in use by another postrider. ` +
        'Stop that one first, or give this one a directory of its own with --data.',
    );
  }
}

/** Takes the lock; null if another process has it. Throws and creates nothing if the directory has no store. */
export function tryLock(directory: string): Database | null {
  if (![FILE, `${FILE}-wal`, MARKER_FILE].some((name) => isThere(directory, name))) {
    throw new Error(`there is no store in ${directory}: it has no ${FILE}`);
  }
  try {
    return lockDirectory(directory);
  } catch (error) {
    if (error instanceof InUse) return null;
    const { code, path = directory } = error as NodeJS.ErrnoException;
    if (code !== 'EACCES' && code !== 'EPERM' && code !== 'EROFS') throw error;
    throw notOfThisUser(path, code);
  }
}

function notOfThisUser(path: string, code: string | undefined): Error {
  return new Error(`${path} cannot be read and written by this user (${code}): run this as the user of the service`);
}

/** Throws if this user cannot read the directory, because it is then unknown whether the file exists. */
function isThere(directory: string, name: string): boolean {
  try {
    return statSync(join(directory, name), { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`${directory} cannot be read by this user (${code}): run this as the user of the service`, {
      cause: error,
    });
  }
}

function requireVersion(database: Database): void {
  const { version } = database.get<{ version: string }>('SELECT sqlite_version() AS version')!;
  if (compareVersions(version, SQLITE_VERSION_MIN) < 0) {
    throw new Error(
      `This Node.js contains SQLite ${version}; postrider needs ${SQLITE_VERSION_MIN} or newer, ` +
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

/** Each migration commits together with its version number. So after a kill, a migration is either done or undone. */
function migrate(database: Database): void {
  const { user_version: version } = database.get<{ user_version: number }>('PRAGMA user_version')!;
  for (const migration of pendingMigrations(readMigrations(shippedFiles('store/sqlite/migrations')), version)) {
    database.transaction(() => {
      database.exec(migration.sql);
      database.exec(`PRAGMA user_version = ${migration.version}`);
    });
  }
}

/** The pragmas are checked after a transaction, because a refused or overridden pragma shows only then. */
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
