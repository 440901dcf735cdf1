// Copies a store while a service may run on it. SQLite writes a snapshot into a new file (VACUUM INTO). The file gets
// its name only when it is complete, flushed and read back.

import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { startThread } from '../../../shipped-files.ts';
import { Database } from '../thread/database.ts';
import { checkWholeDatabase, countRows } from './check.ts';
import { makeOwnFile } from './directory.ts';
import { SQLITE, sqliteCode } from './errors.ts';
import { flushDirectory } from './marker.ts';
import { openReader, requireCompleteUnlessInUse, requireFile } from './open.ts';
import { databaseSize } from './start-check.ts';

export interface BackupReport {
  readonly path: string;
  readonly bytes: number;
  readonly rows: readonly { readonly table: string; readonly rows: number }[];
}

/** What the thread of a backup is told: the directory of the store, and the path of the unfinished copy. */
export interface BackupWork {
  readonly directory: string;
  readonly part: string;
}
export type BackupAnswer =
  | { readonly kind: 'done'; readonly rows: BackupReport['rows'] }
  | { readonly kind: 'failed'; readonly message: string };

export interface Backup {
  readonly done: Promise<BackupReport>;
  /** Removes the unfinished copy. The caller must then exit the process at once, because SQLite cannot be stopped. */
  abandon(): void;
}

/** If something is wrong, throws before it creates a file. */
export function startBackup(directory: string, to: string): Backup {
  const target = resolve(to);
  requireCompleteUnlessInUse(directory);
  requireFile(directory);
  if (existsSync(target)) throw new Error(`${target} already exists and is not overwritten: choose another name`);
  requireSpace(directory, target);
  const part = `${target}.part`;
  makePart(part);
  const remove = () => {
    for (const suffix of ['', '-journal']) rmSync(`${part}${suffix}`, { force: true });
  };
  const done = copyInThread({ directory, part }).then(
    (rows) => {
      try {
        renameToNew(part, target);
      } finally {
        remove();
      }
      return { path: target, bytes: statSync(target).size, rows };
    },
    (error: Error) => {
      remove();
      throw error;
    },
  );
  return { done, abandon: remove };
}

function requireSpace(directory: string, target: string): void {
  const folder = dirname(target);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new Error(`${folder} is not a directory: create it, or choose another place with --to`);
  }
  const { database, close } = openReader(directory);
  const { pages, free, pageBytes } = databaseSize(database);
  close();
  const { bavail, bsize } = statfsSync(folder);
  const needed = (pages - free) * pageBytes;
  if (bavail * bsize >= needed) return;
  throw new Error(`the copy needs about ${needed} bytes, but only ${bavail * bsize} are free in ${folder}`);
}

function makePart(part: string): void {
  if (existsSync(part)) {
    throw new Error(
      `${part} exists: another backup to the same name is running, or was killed. If none is running, remove it, and ${part}-journal if that exists`,
    );
  }
  makeOwnFile(part);
}

function copyInThread(work: BackupWork): Promise<BackupReport['rows']> {
  const worker = startThread('store/sqlite/files/backup-thread', { workerData: work });
  return new Promise((resolved, reject) => {
    worker.on('message', (answer: BackupAnswer) => {
      if (answer.kind === 'done') resolved(answer.rows);
      else reject(new Error(answer.message));
    });
    worker.on('error', reject);
    worker.on('exit', () => reject(new Error('the copy stopped before it was complete')));
  });
}

/** Runs on its own thread, because SQLite blocks it during the copy. Returns the row counts of the copy. */
export function copyStore({ directory, part }: BackupWork): BackupReport['rows'] {
  const { database, close } = openReader(directory);
  try {
    const before = stateOf(database);
    database.exec(`VACUUM INTO '${part.replaceAll("'", "''")}'`);
    flushFile(part);
    const copy = new Database(part, { isReader: true });
    try {
      const problems = checkWholeDatabase(copy);
      if (problems.length > 0) throw new Error(`the copy is damaged: ${problems.slice(0, 3).join('; ')}`);
      requireComplete(before, stateOf(copy), stateOf(database));
      return countRows(copy);
    } finally {
      copy.close();
    }
  } catch (error) {
    if (sqliteCode(error) !== SQLITE.full) throw error;
    throw new Error(`there is no space left for the copy in ${dirname(part)}`, { cause: error });
  } finally {
    close();
  }
}

interface State {
  readonly version: number;
  readonly accounts: number;
  readonly lastSeq: number;
}

function stateOf(database: Database): State {
  return database.get<{ version: number; accounts: number; lastSeq: number }>(
    `SELECT user_version AS version, (SELECT count(*) FROM accounts) AS accounts,
       (SELECT coalesce(max(seq), 0) FROM messages) AS lastSeq FROM pragma_user_version`,
  )!;
}

/** Rows that existed before the copy and still exist after it must be in the copy. */
function requireComplete(before: State, copy: State, after: State): void {
  const isComplete =
    copy.version === before.version &&
    copy.accounts >= Math.min(before.accounts, after.accounts) &&
    copy.lastSeq >= Math.min(before.lastSeq, after.lastSeq);
  if (!isComplete) throw new Error('the copy differs from the store at the start of the backup');
}

export function flushFile(path: string): void {
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Fails if the target exists. Without hard links, a target that is created at the same moment is overwritten. */
export function renameToNew(part: string, target: string): void {
  try {
    linkSync(part, target);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw new Error(`${target} was created meanwhile and is not overwritten`);
    // The file system has no hard links.
    if (existsSync(target)) throw new Error(`${target} was created meanwhile and is not overwritten`);
    renameSync(part, target);
  }
  flushDirectory(dirname(target));
}
