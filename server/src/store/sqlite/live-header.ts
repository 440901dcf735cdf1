// Reads the header of a database that is open, to find one that was emptied or written over in its place: its inode stays the
// same, and SQLite does not look at its header again.

import { closeSync, openSync, read } from 'node:fs';
import { promisify } from 'node:util';
import { DATABASE_HEADER_BYTES, hasLogInHeader, isDatabaseHeader } from './store-files.ts';

const readAt = promisify(read);

export class LiveHeader {
  readonly #file: number;
  #isOverwritten = false;

  /** Opened once and kept: whoever closes a file lets go of all locks that the process has on it, those of SQLite too. */
  constructor(path: string) {
    this.#file = openSync(path, 'r');
  }

  /**
   * True from the first time on that it is no database, or one that keeps no log, as a backup is. It stays true: what SQLite writes
   * into it later may put the header right, and nothing else.
   */
  async isOverwritten(): Promise<boolean> {
    if (this.#isOverwritten) return true;
    const start = Buffer.alloc(DATABASE_HEADER_BYTES);
    const found = await readAt(this.#file, start, 0, start.length, 0).catch(() => null);
    // One that cannot be read now is of no use now.
    if (found === null) return true;
    this.#isOverwritten = found.bytesRead < start.length || !isDatabaseHeader(start) || !hasLogInHeader(start);
    return this.#isOverwritten;
  }

  /** Only when the database is closed. */
  close(): void {
    closeSync(this.#file);
  }
}
