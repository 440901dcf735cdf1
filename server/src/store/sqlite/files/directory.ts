// Prepares the data directory before any file in it is opened: creates the directory if it is missing, closes it to
// other users of the machine, and explains to the operator why it cannot be used.

import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  opendirSync,
  openSync,
  statSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';

export const DATABASE_FILE = 'postrider.db';
export const LOCK_FILE = 'postrider.lock';
/** If this file exists, the times in the directory are those of a manual clock. */
const CLOCK_FILE = 'postrider.clock';

/** Files that are open from a process's first transaction to its end. SQLite removes none of them during that time. */
export const OPEN_FILES = [DATABASE_FILE, `${DATABASE_FILE}-wal`, `${DATABASE_FILE}-shm`, LOCK_FILE] as const;

/** Our own files, the files that SQLite keeps beside them, and copies that people made of them. */
const OWN_FILE = /^postrider\.(?:db|lock|store|clock|moved|open)/;
const OTHERS = 0o077;

/**
 * Creates the directory and closes it to other users. Returns a warning for the operator for each path that could not
 * be closed. Throws if the directory cannot be used.
 */
export function prepareDirectory(directory: string): readonly string[] {
  try {
    makeDirectory(directory);
    if (!statSync(directory).isDirectory())
      throw new Unusable('it is a file, not a directory. Choose another with --data');
    const warnings = closeToOthers(directory);
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    for (const name of OPEN_FILES) requireOwnFile(join(directory, name));
    makeOwnFile(join(directory, LOCK_FILE));
    return warnings;
  } catch (error) {
    throw new Error(`cannot use the data directory ${directory}: ${reason(error, directory)}`, { cause: error });
  }
}

/**
 * A directory belongs to a manual clock from its beginning, or never: the times in it may be years ahead, and a service
 * with a real clock could not continue from them. Throws if the directory belongs to the other kind of clock.
 */
export function requireClock(directory: string, isManual: boolean): void {
  const mark = join(directory, CLOCK_FILE);
  const isMarked = isThere(mark);
  if (isMarked === isManual) return;
  if (isMarked) {
    throw new Error(
      `the data directory ${directory} was used with --clock manual, so its times are not real: ` +
        'start it with postrider dev --clock manual, or choose another directory with --data',
    );
  }
  if (isThere(join(directory, DATABASE_FILE))) {
    throw new Error(
      `the data directory ${directory} has messages of a service with a real clock, and a manual clock would change their times: ` +
        'leave out --data for a temporary directory, or name an empty one',
    );
  }
  makeOwnFile(mark);
}

/**
 * Creates a file that only its owner can read, from the first moment on. SQLite gives the files beside a database the
 * same permissions. If another user put a link at this path, the link is not followed.
 */
export function makeOwnFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    requireOwnFile(path);
  }
}

/** Throws if the file exists but cannot be used. */
function requireOwnFile(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return;
  if (!stats.isFile())
    throw new Unusable(`${path} is not a file: move it away, or choose another directory with --data`);
  accessSync(path, constants.R_OK | constants.W_OK);
}

/**
 * Creates one directory level at a time. On a file system that reports an existing directory as missing, such as /proc,
 * mkdir with `recursive` never returns: Node.js creates the parent and tries again without end.
 */
function makeDirectory(directory: string): void {
  const missing: string[] = [];
  for (let path = resolve(directory); !isThere(path); path = dirname(path)) missing.unshift(path);
  for (const path of missing) {
    try {
      mkdirSync(path, path === missing.at(-1) ? { mode: 0o700 } : {});
    } catch (error) {
      // Another process may have created the directory meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/**
 * Always closes our own files to other users. Closes the directory only if it is ours and holds nothing else, because
 * closing a directory that other users need would do more harm than leaving it open.
 */
function closeToOthers(directory: string): string[] {
  const userId = process.getuid?.();
  // Windows has its own access control, which new files inherit.
  if (userId === undefined) return [];
  const warnings: (string | null)[] = [];
  let hasStrangers = false;
  const listing = opendirSync(directory);
  try {
    for (let entry = listing.readSync(); entry !== null; entry = listing.readSync()) {
      if (OWN_FILE.test(entry.name)) warnings.push(closeFile(join(directory, entry.name), userId));
      else hasStrangers = true;
    }
  } finally {
    listing.closeSync();
  }
  warnings.push(closeDirectory(directory, userId, hasStrangers));
  return warnings.filter((warning) => warning !== null);
}

/** Returns a warning if the file stays open to other users. */
function closeFile(path: string, userId: number): string | null {
  const stats = lstatSync(path);
  if (!stats.isFile() || (stats.mode & OTHERS) === 0) return null;
  if (stats.uid !== userId) {
    return `${path} is open to other users of this machine and belongs to one of them: run chmod 600 on it`;
  }
  chmodSync(path, 0o600);
  return null;
}

function closeDirectory(directory: string, userId: number, hasStrangers: boolean): string | null {
  const stats = statSync(directory);
  if ((stats.mode & OTHERS) === 0) return null;
  const isOurs = stats.uid === userId;
  if (isOurs && !hasStrangers) {
    chmodSync(directory, 0o700);
    return null;
  }
  return (
    `the data directory ${directory} is open to other users of this machine. Its permissions were not changed, because it ${isOurs ? 'holds other files too' : 'belongs to another user'}: ` +
    'give postrider a directory of its own, or run chmod 700 on this one'
  );
}

class Unusable extends Error {}

/** The text for the operator: what is wrong, and what to do. */
function reason(error: unknown, directory: string): string {
  if (error instanceof Unusable) return error.message;
  const { code, path, message } = error as NodeJS.ErrnoException;
  const at = path ?? 'it';
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return `${at} cannot be created or written by this user${userText(at)} (${code}). ${remedy(at, directory)}`;
    case 'EROFS':
      return `${at} is on a read-only file system (${code}). Mount it for writing, or choose another directory with --data`;
    case 'ENOSPC':
    case 'EDQUOT':
      return `there is no space left for ${at} (${code}). Free some, or choose another directory with --data`;
    case 'ENOENT':
      return `${at} cannot be created: the file system allows no directory or file there (${code}). Choose another directory with --data`;
    case 'ENOTDIR':
    case 'EEXIST':
      return `a part of the path ${at} is not a directory (${code}). Choose another directory with --data`;
    case 'EIO':
      return `the disk failed when ${at} was used (${code}). Check the disk and the system log`;
    default:
      return message;
  }
}

/** If this user owns the file or directory that it cannot use, chmod is enough. Otherwise the owner must change. */
function remedy(path: string, directory: string): string {
  const userId = process.getuid?.();
  try {
    const own = statSync(path, { throwIfNoEntry: false });
    const closed = own ?? statSync(dirname(path));
    const needed = closed.isDirectory() ? 0o700 : 0o600;
    if (closed.uid === userId && (closed.mode & needed) !== needed) {
      return `It belongs to this user but lacks permissions: run chmod ${closed.isDirectory() ? 'u+rwx' : 'u+rw'} ${own ? path : dirname(path)}`;
    }
  } catch {
    // A parent directory is closed to this user.
  }
  return `Start postrider as the user who owns it, or give it to this user: chown -R ${userId ?? 'USER'} ${directory}`;
}

function userText(path: string): string {
  const userId = process.getuid?.();
  if (userId === undefined) return '';
  let owner: number | undefined;
  try {
    owner = statSync(path, { throwIfNoEntry: false })?.uid;
  } catch {
    // The system may not let this user see the owner.
  }
  return `, whose id is ${userId}${owner === undefined || owner === userId ? '' : `: it belongs to the user ${owner}`}`;
}
