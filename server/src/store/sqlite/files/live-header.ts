// Reads the header of an open database, to detect a file that was emptied or overwritten in place. SQLite does not
// notice: the inode stays the same, and SQLite does not read the header again.

import { closeSync, fstat, openSync, read } from 'node:fs';
import { promisify } from 'node:util';
import type { Clock } from '../../../runtime/world.ts';
import { DATABASE_HEADER_BYTES, hasLogInHeader, isDatabaseHeader, sizeInHeader } from './store-files.ts';

const readAt = promisify(read);
const stats = promisify(fstat);

/** How many checks must find the file too short. A checkpoint writes the header before the pages that follow it. */
const LOOKS_MAX = 5;
const AGAIN_MS = 50;

interface Found {
  readonly start: Buffer;
  readonly bytes: number;
}

export class LiveHeader {
  readonly #file: number;
  readonly #clock: Pick<Clock, 'after'>;
  #isOverwritten = false;
  /** The size of the file at the last check. */
  #bytes = 0;

  /** The file stays open: closing it would drop all locks of the process on this file, including those of SQLite. */
  constructor(path: string, clock: Pick<Clock, 'after'>) {
    this.#file = openSync(path, 'r');
    this.#clock = clock;
  }

  /**
   * True if the file is no database, was cut short, or is a backup (its header says that it has no log). Once true, the
   * result stays true: later writes of SQLite may repair the header, but nothing else.
   */
  async isOverwritten(): Promise<boolean> {
    for (let looks = 1; !this.#isOverwritten; looks += 1) {
      const found = await this.#read();
      // A file that cannot be read counts as overwritten.
      if (found === null) return true;
      const { start, bytes } = found;
      if (start.length < DATABASE_HEADER_BYTES || !isDatabaseHeader(start) || !hasLogInHeader(start)) {
        this.#isOverwritten = true;
      } else if (bytes >= this.#bytes || bytes >= sizeInHeader(start)) {
        // SQLite makes the file smaller only if another process runs VACUUM. Then the header has the smaller size, too.
        this.#bytes = bytes;
        break;
      } else if (looks === LOOKS_MAX) {
        this.#isOverwritten = true;
      } else {
        await new Promise<void>((resolve) => {
          this.#clock.after(AGAIN_MS, resolve);
        });
      }
    }
    return this.#isOverwritten;
  }

  /** Call this only after the database is closed. */
  close(): void {
    closeSync(this.#file);
  }

  async #read(): Promise<Found | null> {
    const start = Buffer.alloc(DATABASE_HEADER_BYTES);
    try {
      const { bytesRead } = await readAt(this.#file, start, 0, start.length, 0);
      return { start: start.subarray(0, bytesRead), bytes: (await stats(this.#file)).size };
    } catch {
      return null;
    }
  }
}
