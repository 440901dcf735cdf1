// A file beside the database which says that the whole store was moved into PostgreSQL. Then no service starts on the
// directory, because it would deliver all open messages a second time.

import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { flushDirectory } from './marker.ts';

export const MOVED_FILE = 'postrider.moved';

export interface MovedMark {
  readonly at: number;
  /** Host and name of the target database, without credentials. */
  readonly to: string;
  /** False until PostgreSQL has confirmed the end of the move. */
  readonly isConfirmed: boolean;
}

/** Null if the store was not moved. */
export function readMoved(directory: string): MovedMark | null {
  let text: string;
  try {
    text = readFileSync(join(directory, MOVED_FILE), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    const { at, to, isConfirmed } = JSON.parse(text) as Partial<MovedMark>;
    return { at: Number(at ?? 0), to: String(to), isConfirmed: isConfirmed === true };
  } catch {
    // A file with unreadable content still says that the store was moved.
    return { at: 0, to: 'a database', isConfirmed: true };
  }
}

/** When this returns, the file is completely on disk. */
export function writeMoved(directory: string, moved: MovedMark): void {
  const part = join(directory, `${MOVED_FILE}.part`);
  const file = openSync(part, 'w', 0o600);
  try {
    writeSync(file, `${JSON.stringify(moved)}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(part, join(directory, MOVED_FILE));
  flushDirectory(directory);
}

export function removeMoved(directory: string): void {
  rmSync(join(directory, MOVED_FILE), { force: true });
  flushDirectory(directory);
}

/** Throws if the store was moved. */
export function requireNotMoved(directory: string): void {
  const moved = readMoved(directory);
  if (moved !== null) throw new Error(movedText(directory, moved));
}

export function movedText(directory: string, { at, to, isConfirmed }: MovedMark): string {
  const when = at > 0 ? ` on ${new Date(at).toISOString()}` : '';
  const anyway =
    `Only if nothing has run on that database, and nothing will: remove ${join(directory, MOVED_FILE)}, and the ` +
    'directory can be used again.';
  return isConfirmed
    ? `the store in ${directory} was moved to PostgreSQL at ${to}${when}. A service here would deliver its open messages ` +
        `again: start with --store instead. ${anyway}`
    : `the store in ${directory} was being moved to PostgreSQL at ${to}${when}, and the end of the move was cut off: ` +
        `it may be complete. Run postrider migrate-store again, which completes it. ${anyway}`;
}
