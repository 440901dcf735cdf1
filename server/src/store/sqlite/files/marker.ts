// A file beside the database that marks the directory as a store. Without it, an emptied or removed database would look
// like a directory used for the first time, and a new store would replace the old one.

import { closeSync, fsyncSync, openSync, statSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';

export const MARKER_FILE = 'postrider.store';

const TEXT = `This directory holds a store of postrider. While this file is here, postrider creates no new store when the old one
is missing. Remove it only to begin with an empty store.
`;

export function hasMarker(directory: string): boolean {
  return statSync(join(directory, MARKER_FILE), { throwIfNoEntry: false }) !== undefined;
}

/** Call this when the whole store is on disk. The content of the file is not read; only its existence counts. */
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

/** After this call, files that were created, renamed or removed in the directory stay so after a power cut. */
export function flushDirectory(directory: string): void {
  // Windows makes names durable by itself, and cannot flush a directory.
  if (process.platform === 'win32') return;
  const file = openSync(directory, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
