// Reads the header of an open database, to detect a file that was emptied or overwritten in place. Its inode stays the
// same, and SQLite does not read the header again.

import { closeSync, fstat, openSync, read } from 'node:fs';
import { promisify } from 'node:util';
import { DATABASE_HEADER_BYTES, hasLogInHeader, isDatabaseHeader } from './store-files.ts';

const readAt = promisify(read);
const stats = promisify(fstat);

export class LiveHeader {
  readonly #file: number;
  #isOverwritten = false;
  /** SQLite never makes the file smaller while a service runs. */
  #bytesMax = 0;

  /** Opened once and kept open: closing a file drops all locks of the process on it, including those of SQLite. */
  constructor(path: string) {
    this.#file = openSync(path, 'r');
  }

  /**
   * True once the file is no database, is one without a log, such as a backup, or was cut short. It stays true: later
   * writes of SQLite may repair the header, but nothing else.
   */
  async isOverwritten(): Promise<boolean> {
    if (this.#isOverwritten) return true;
    const start = Buffer.alloc(DATABASE_HEADER_BYTES);
    const found = await readAt(this.#file, start, 0, start.length, 0).catch(() => null);
    const size = await stats(this.#file).then(
      (read) => read.size,
      () => null,
    );
    // A file that cannot be read now cannot be used now.
    if (found === null || size === null) return true;
    const isCut = size < this.#bytesMax;
    this.#bytesMax = Math.max(this.#bytesMax, size);
    this.#isOverwritten = isCut || found.bytesRead < start.length || !isDatabaseHeader(start) || !hasLogInHeader(start);
    return this.#isOverwritten;
  }

  /** Call it only after the database is closed. */
  close(): void {
    closeSync(this.#file);
  }
}
