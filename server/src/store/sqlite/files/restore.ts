// Puts a backup into an empty directory as its store. The copy gets its name only when it is complete, flushed and read
// back. A directory that has a store, or that a service uses, is not changed.

import { constants, copyFileSync, existsSync, rmSync, statfsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { shippedFiles } from '../../../shipped-files.ts';
import { pendingMigrations, readMigrations } from '../../migrations.ts';
import { Database } from '../thread/database.ts';
import { type BackupReport, flushFile, renameToNew } from './backup.ts';
import { checkWholeDatabase, countRows } from './check.ts';
import { DATABASE_FILE, makeOwnFile, OPEN_FILES, prepareDirectory } from './directory.ts';
import { MARKER_FILE } from './marker.ts';
import { MOVED_FILE } from './moved.ts';
import { lockDirectory } from './open.ts';
import { OPEN_MARK_FILE } from './open-mark.ts';
import { tablesOf } from './start-check.ts';
import { readHeader } from './store-files.ts';

/** If something is wrong, throws and leaves no part of the copy behind. */
export function restoreStore(from: string, directory: string): BackupReport {
  const source = resolve(from);
  requireBackup(source);
  requireEmpty(directory);
  requireSpace(source, directory);
  prepareDirectory(directory);
  const lock = lockDirectory(directory);
  const target = join(resolve(directory), DATABASE_FILE);
  const part = `${target}.part`;
  try {
    // The directory is checked again under the lock, because from now on no other process can create a store in it.
    requireEmpty(directory);
    makeOwnFile(part);
    copyFileSync(source, part, constants.COPYFILE_FICLONE);
    flushFile(part);
    const rows = readBack(part);
    renameToNew(part, target);
    return { path: target, bytes: statSync(target).size, rows };
  } finally {
    for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(`${part}${suffix}`, { force: true });
    lock.close();
  }
}

function requireBackup(source: string): void {
  const stats = statSync(source, { throwIfNoEntry: false });
  if (stats === undefined) throw new Error(`there is no file ${source}`);
  if (!stats.isFile()) throw new Error(`${source} is not a file: name the backup file`);
  const header = readHeader(source);
  if (!header?.isDatabase) throw new Error(`${source} is not a backup of postrider: it is not an SQLite database`);
  // Throws if a newer program has written the backup.
  pendingMigrations(readMigrations(shippedFiles('store/sqlite/migrations')), header.schemaVersion);
  const beside = [`${source}-wal`, `${source}-journal`].find((path) => existsSync(path));
  if (beside !== undefined) {
    throw new Error(`${source} is not a backup: ${beside} is next to it, so it belongs to a running or killed service`);
  }
}

function requireEmpty(directory: string): void {
  const found = [...OPEN_FILES, MARKER_FILE, MOVED_FILE, OPEN_MARK_FILE].find(
    (name) => name !== 'postrider.lock' && existsSync(join(directory, name)),
  );
  if (found === undefined) return;
  throw new Error(
    `${directory} already has a store (${found}), which is not overwritten: stop its service and move the directory away, or choose another with --data`,
  );
}

function requireSpace(source: string, directory: string): void {
  let folder = resolve(directory);
  while (!existsSync(folder)) folder = join(folder, '..');
  const { bavail, bsize } = statfsSync(folder);
  const needed = statSync(source).size;
  if (bavail * bsize >= needed) return;
  throw new Error(`the store needs ${needed} bytes, but only ${bavail * bsize} are free in ${folder}`);
}

function readBack(part: string): BackupReport['rows'] {
  const copy = new Database(part, { isReader: true });
  try {
    const problems = checkWholeDatabase(copy);
    if (problems.length > 0) throw new Error(`the backup is damaged: ${problems.slice(0, 3).join('; ')}`);
    if (!tablesOf(copy).includes('messages'))
      throw new Error('the backup is a database, but not a backup of postrider');
    return countRows(copy);
  } finally {
    copy.close();
  }
}
