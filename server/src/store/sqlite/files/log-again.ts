// Writes the log again before a store that was not closed is used. If the earlier process ended because a flush failed,
// the system may show us log pages that are not on disk, and no later flush writes them, because the system considers
// them written.

import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import type { Database } from '../thread/database.ts';

const PIECE_BYTES = 1024 * 1024;

/**
 * Puts every byte of the log on disk. Without this, a checkpoint would copy a transaction into the database that the log
 * on disk does not have. A power cut in the middle of it would leave a part of the transaction, and so a damaged database.
 */
export function writeLogAgain(database: Database, path: string): void {
  // Nobody else may write to the log meanwhile.
  database.exec('BEGIN IMMEDIATE');
  try {
    rewrite(`${path}-wal`);
  } finally {
    database.exec('ROLLBACK');
  }
}

function rewrite(path: string): void {
  let file: number;
  try {
    file = openSync(path, 'r+');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  try {
    const piece = new Uint8Array(PIECE_BYTES);
    let at = 0;
    for (let read = readSync(file, piece, 0, PIECE_BYTES, at); read > 0; ) {
      // The same bytes at the same place: an interruption does no harm.
      for (let done = 0; done < read; ) done += writeSync(file, piece, done, read - done, at + done);
      at += read;
      read = readSync(file, piece, 0, PIECE_BYTES, at);
    }
    if (at > 0) fsyncSync(file);
  } finally {
    // SQLite has no locks on the log itself that closing would drop.
    closeSync(file);
  }
}
