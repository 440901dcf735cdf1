// Writes the log again before a store that was not closed is used. If a failed flush ended the earlier process, the
// system may show log pages that are not on disk. The system considers these pages written: no later flush writes them.

import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import type { Database } from '../thread/database.ts';

const PIECE_BYTES = 1024 * 1024;

/**
 * Flushes every byte of the log to disk. Otherwise a checkpoint could copy a transaction into the database that the log
 * on disk does not have. A power cut during that copy would leave a part of the transaction, and so a damaged database.
 */
export function writeLogAgain(database: Database, path: string): void {
  // This lock keeps other processes from writing to the log meanwhile.
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
      // An interruption does no harm, because the same bytes are written to the same place.
      for (let done = 0; done < read; ) done += writeSync(file, piece, done, read - done, at + done);
      at += read;
      read = readSync(file, piece, 0, PIECE_BYTES, at);
    }
    if (at > 0) fsyncSync(file);
  } finally {
    // Closing the log drops no lock, because SQLite has no locks on the log itself.
    closeSync(file);
  }
}
