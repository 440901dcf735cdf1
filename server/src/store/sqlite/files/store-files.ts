// Checks the files of a store before SQLite opens them. Without an error, SQLite takes an empty database for a new one,
// drops everything after the damage in a damaged log, and applies the log of another database to this one.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DATABASE_FILE } from './directory.ts';
import { isDamaged, type LogState, readLogState } from './log-damage.ts';
import { LOG_HEADER_BYTES, readFirstBytes } from './log-frames.ts';
import { hasMarker, MARKER_FILE } from './marker.ts';
import { isMarkedOpen, OPEN_MARK_FILE } from './open-mark.ts';

const MAGIC = 'SQLite format 3\0';
export const DATABASE_HEADER_BYTES = 100;
const NO_LOG_KEPT = 1;

/** A start on this store would lose data, or hide that data was lost. */
export class StoreDamaged extends Error {
  override readonly name = 'StoreDamaged';
}

/** What the header of the database file says. The log may already have a newer header. */
interface DatabaseHeader {
  readonly isDatabase: boolean;
  readonly pageBytes: number;
  /** False for a backup: a log beside it belongs to another database. */
  readonly hasLog: boolean;
  readonly schemaVersion: number;
}

export function logPath(directory: string): string {
  return join(directory, `${DATABASE_FILE}-wal`);
}

/**
 * Throws if the store in this directory is not complete. The caller must hold the lock of the directory and must not
 * have opened the database: closing one of its files here would drop all locks of the process on it. With
 * `isLogGivenUp`, a missing log is accepted.
 */
export function requireCompleteStore(directory: string, isLogGivenUp = false): void {
  const header = readHeader(join(directory, DATABASE_FILE));
  const logBytes = statSync(logPath(directory), { throwIfNoEntry: false })?.size ?? 0;
  const hasLog = logBytes > LOG_HEADER_BYTES;
  if (header === null) {
    requireNew(directory, hasLog);
    return;
  }
  if (!header.isDatabase) {
    requireBegun(directory);
    return;
  }
  if (header.schemaVersion === 0 && hasMarker(directory)) throw gone(directory, 'it holds no store of postrider');
  if (!hasLog) {
    // A backup has no log, and needs none.
    if (header.hasLog && !isLogGivenUp && isLogMissing(directory)) throw new StoreDamaged(logMissingText(directory));
    return;
  }
  if (!header.hasLog) {
    throw new StoreDamaged(
      `${DATABASE_FILE} in ${directory} is a backup copy, but the log of another database is next to it: ` +
        `SQLite would damage the copy. If you have restored a backup, remove ${DATABASE_FILE}-wal and ${DATABASE_FILE}-shm, and start again.`,
    );
  }
  requireGoodLog(directory, header.pageBytes);
}

/** Without a database file, the directory must have no marker and no log. */
function requireNew(directory: string, hasLog: boolean): void {
  if (hasMarker(directory)) throw gone(directory, 'it is missing or empty');
  if (hasLog) throw gone(directory, `it is missing or empty, but its log ${DATABASE_FILE}-wal exists`);
}

/** A file that is no database is accepted only if the power failed while the store was created. */
function requireBegun(directory: string): void {
  const what = 'it is not a SQLite database';
  if (hasMarker(directory)) throw gone(directory, `${what} any more`);
  // The creation of the store was interrupted. SQLite rolls the file back to an empty file.
  if (hasJournal(directory)) return;
  throw new StoreDamaged(
    `cannot open the database in ${directory}: ${DATABASE_FILE} exists, but ${what}. Restore a backup, ` +
      'or choose another directory with --data.',
  );
}

/** Whether the store was not closed and its log is missing. */
export function isLogMissing(directory: string): boolean {
  const logBytes = statSync(logPath(directory), { throwIfNoEntry: false })?.size ?? 0;
  return logBytes <= LOG_HEADER_BYTES && isMarkedOpen(directory);
}

function logMissingText(directory: string): string {
  return (
    `the store in ${directory} was not closed, and its log ${DATABASE_FILE}-wal is missing or empty: messages that were ` +
    'acknowledged may have been only in the log. Nothing was changed. Put the log back or restore a backup. ' +
    `To continue without these messages, run "postrider check --repair --data ${directory}".`
  );
}

/** SQLite writes the first page of a new database with a rollback journal, and uses the log only later. */
function hasJournal(directory: string): boolean {
  return statSync(join(directory, `${DATABASE_FILE}-journal`), { throwIfNoEntry: false }) !== undefined;
}

/** Whether the log is damaged and can be repaired, because the header of the database is sound. */
export function isLogDamaged(directory: string): boolean {
  const header = readHeader(join(directory, DATABASE_FILE));
  if (!header?.isDatabase || !header.hasLog) return false;
  const look = readLogState(logPath(directory), header.pageBytes);
  return look !== null && isDamaged(look);
}

function requireGoodLog(directory: string, pageBytes: number): void {
  const look = readLogState(logPath(directory), pageBytes);
  if (look === null || !isDamaged(look)) return;
  // Another command may just have written to the log. Real damage is still there when the log is read again.
  const again = readLogState(logPath(directory), pageBytes);
  if (again === null || !isDamaged(again)) return;
  throw new StoreDamaged(logDamageText(directory, again));
}

function logDamageText(directory: string, { isHeaderSound, firstBad, frames, commitsLeftOut }: LogState): string {
  const where = isHeaderSound ? `frame ${firstBad! + 1} of ${frames}` : `the header before its ${frames} frames`;
  return (
    `the log ${DATABASE_FILE}-wal in ${directory} is damaged (${where}): ${commitsLeftOut} transactions or more ` +
    'that were acknowledged would be lost. Nothing was changed. Copy the directory and check the disk; then run ' +
    `"postrider check --repair --data ${directory}", which saves what can be read, or restore a backup.`
  );
}

function gone(directory: string, what: string): StoreDamaged {
  return new StoreDamaged(
    `there was a store in ${directory}, but ${DATABASE_FILE} is missing or was replaced: ${what}. Nothing was changed. Restore a backup ` +
      `or put the file back. To give up the old store and begin with an empty one, remove ${MARKER_FILE}, ${OPEN_MARK_FILE}, ${DATABASE_FILE} and ${DATABASE_FILE}-wal.`,
  );
}

export function isDatabaseHeader(start: Buffer): boolean {
  return start.toString('latin1', 0, MAGIC.length) === MAGIC;
}

export function hasLogInHeader(start: Buffer): boolean {
  return start[18] !== NO_LOG_KEPT;
}

/** The size of the database in bytes, by its header. */
export function sizeInHeader(start: Buffer): number {
  return pageBytesIn(start) * start.readUInt32BE(28);
}

function pageBytesIn(start: Buffer): number {
  const pageBytes = start.readUInt16BE(16);
  return pageBytes === 1 ? 65_536 : pageBytes;
}

export function readHeader(path: string): DatabaseHeader | null {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) return null;
  const start = readFirstBytes(path, DATABASE_HEADER_BYTES);
  if (start === null || !isDatabaseHeader(start)) {
    return { isDatabase: false, pageBytes: 0, hasLog: false, schemaVersion: 0 };
  }
  return {
    isDatabase: true,
    pageBytes: pageBytesIn(start),
    hasLog: hasLogInHeader(start),
    schemaVersion: start.readUInt32BE(60),
  };
}
