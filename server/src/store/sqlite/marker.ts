// A file beside the database that says: here is a store. Without it, a database that was emptied or removed could not be told
// from a directory that is used for the first time, and a new store would be started in place of the old one.

import { closeSync, fsyncSync, openSync, statSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';

export const MARKER_FILE = 'postrider.store';

const TEXT = `This directory holds a store of postrider. As long as this file is here, postrider starts no new store in place of
one that is gone. Remove it only to begin with an empty store.
`;

export function hasMarker(directory: string): boolean {
  return statSync(join(directory, MARKER_FILE), { throwIfNoEntry: false }) !== undefined;
}

/** Once everything it speaks of is on disk. That it is there counts, not what it says. */
export function makeMarker(directory: string): void {
  const path = join(directory, MARKER_FILE);
  let file: number;
  try {
    file = openSync(path, 'wx', 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw error;
  }
  try {
    writeSync(file, TEXT);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  flushDirectory(dirname(path));
}

/** So that a file that was made, renamed or removed in it stays so after a power cut. */
export function flushDirectory(directory: string): void {
  // Windows has no such thing, and keeps names by itself.
  if (process.platform === 'win32') return;
  const file = openSync(directory, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
