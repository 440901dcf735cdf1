// A file beside the database that exists while some data may be only in the log. If the file exists and the log does
// not, the log was removed from a store that was not closed. SQLite would silently start without that data.

import { closeSync, fsyncSync, openSync, statSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { flushDirectory } from './marker.ts';

export const OPEN_MARK_FILE = 'postrider.open';

const TEXT = `A process uses the store in this directory, or was ended before it could close it. The newest messages may then be
in postrider.db-wal alone, and postrider does not start without that file.
`;

export function isMarkedOpen(directory: string): boolean {
  return statSync(join(directory, OPEN_MARK_FILE), { throwIfNoEntry: false }) !== undefined;
}

/** Call this only when the log on disk has a transaction. Only the existence of the file counts, not its content. */
export function markOpen(directory: string): void {
  const file = openSync(join(directory, OPEN_MARK_FILE), 'w', 0o600);
  try {
    writeSync(file, TEXT);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  flushDirectory(directory);
}

/** Call this when all data is in the database, and before the log is emptied or removed. */
export function markClosed(directory: string): void {
  // If the directory was moved away, the mark and the log went with it.
  if (!isMarkedOpen(directory)) return;
  unlinkSync(join(directory, OPEN_MARK_FILE));
  flushDirectory(directory);
}
