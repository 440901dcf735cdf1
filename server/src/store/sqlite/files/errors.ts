// Explains an SQLite error to the operator: what is wrong, and what to do.

import { statfsSync } from 'node:fs';

/** Primary result codes of SQLite. */
export const SQLITE = {
  busy: 5,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  noDatabase: 26,
} as const;

/** The free space that an open needs: about the size of a new database and its log. */
const FREE_BYTES_TO_OPEN = 1024 * 1024;

/** The primary result code of an error. SQLite's extended codes have it in their low byte. */
export function sqliteCode(error: unknown): number | null {
  const code = (error as { errcode?: unknown }).errcode;
  return typeof code === 'number' ? code & 0xff : null;
}

/** Whether the error means a full disk. */
export function isFull(error: unknown): boolean {
  return sqliteCode(error) === SQLITE.full;
}

export function explainErrors<T>(directory: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (sqliteCode(error) === null) throw error;
    throw new Error(`cannot open the database in ${directory}: ${openProblem(error, directory)}`, { cause: error });
  }
}

export function openProblem(error: unknown, directory: string): string {
  const { message } = error as Error;
  switch (sqliteCode(error)) {
    case SQLITE.busy:
      return `another program, such as a sqlite3 shell, has locked it (${message}). Close that program, and start again`;
    case SQLITE.readOnly:
    case SQLITE.cannotOpen:
      return `it cannot be written (${message}). Check the owner and the permissions of all files in it, and whether its file system is mounted for writing`;
    case SQLITE.full:
      return `there is no space left on its disk (${message}${freeText(directory)}). Free some, and start again`;
    case SQLITE.corrupt:
    case SQLITE.noDatabase:
      return `it is damaged (${message}). Copy the directory, check the disk, run "postrider check --data ${directory}", and restore a backup`;
    case SQLITE.ioError:
      return `the disk failed (${message}${freeText(directory)}). Check the disk and the system log`;
    default:
      return message;
  }
}

/** The text for the operator: why a running process must exit. */
export function brokenText(error: unknown): string {
  const { message } = error as Error;
  return sqliteCode(error) === SQLITE.ioError
    ? `${message}. Check the disk, then start the server again: no acknowledged message is lost`
    : `${message}. The database is damaged: run "postrider check" on its directory, and restore a backup`;
}

function freeText(directory: string): string {
  const { bavail, bsize } = statfsSync(directory);
  const free = bavail * bsize;
  return free < FREE_BYTES_TO_OPEN ? `; there are only ${free} bytes free on its disk` : '';
}
