// Checks whether the log of an open database still has what SQLite wrote to it. SQLite does not notice if another
// process empties or overwrites a part: it continues after that part, and later copies the part into the database.

import { closeSync, fstatSync, openSync, read, readSync } from 'node:fs';
import { endianness } from 'node:os';
import { promisify } from 'node:util';
import { FRAME_HEADER_BYTES, LOG_HEADER_BYTES } from './log-frames.ts';

const readAt = promisify(read);

/** The index of the log (`-shm`) begins with two copies of this header (sqlite.org/walformat.html). */
const INDEX_HEADER_BYTES = 48;
/** How many times a check is tried. It is tried again if a commit has changed the index meanwhile. */
const LOOKS_MAX = 5;
const IS_LITTLE = endianness() === 'LE';

/** The state of the log, read from its index: how many frames are committed, and the checksum of the last one. */
interface Committed {
  readonly frames: number;
  readonly frameBytes: number;
  readonly salts: Buffer;
  /** The checksum of the last frame, as the bytes that the log stores. */
  readonly sums: Buffer;
}

interface Wanted {
  readonly of: 'log' | 'index';
  readonly length: number;
  readonly at: number;
}

/** Yields requests for bytes of the two files. The replies are shorter at the end of a file. */
type Look<T> = Generator<Wanted, T, Buffer>;

export class LiveLog {
  readonly #log: number;
  readonly #index: number;
  #isChanged = false;
  /** The state at the previous check; null before the first. Its last frame stays in place until the log restarts. */
  #before: Committed | null = null;

  /** The files stay open: closing the index would drop all locks of the process on it, including those of SQLite. */
  constructor(databasePath: string) {
    this.#index = openSync(`${databasePath}-shm`, 'r');
    this.#log = openSync(`${databasePath}-wal`, 'r');
  }

  /** True if something that SQLite wrote is missing. Once true, it stays true, because nothing restores the log. */
  async isChanged(): Promise<boolean> {
    const look = this.#looks();
    let step = look.next();
    while (!step.done) {
      const { of, length, at } = step.value;
      const bytes = Buffer.alloc(length);
      const { bytesRead } = await readAt(this.#fileOf(of), bytes, 0, length, at);
      step = look.next(bytes.subarray(0, bytesRead));
    }
    return step.value;
  }

  /** The synchronous form of the check. The writer's thread calls it before it closes the database. */
  isChangedNow(): boolean {
    const look = this.#looks();
    let step = look.next();
    while (!step.done) {
      const { of, length, at } = step.value;
      const bytes = Buffer.alloc(length);
      step = look.next(bytes.subarray(0, readSync(this.#fileOf(of), bytes, 0, length, at)));
    }
    return step.value;
  }

  get logBytes(): number {
    return fstatSync(this.#log).size;
  }

  /** Call this only after the database is closed. */
  close(): void {
    closeSync(this.#log);
    closeSync(this.#index);
  }

  #fileOf(of: Wanted['of']): number {
    return of === 'log' ? this.#log : this.#index;
  }

  *#looks(): Look<boolean> {
    for (let looks = 0; looks < LOOKS_MAX && !this.#isChanged; looks += 1) {
      const before: Buffer = yield { of: 'index', length: 2 * INDEX_HEADER_BYTES, at: 0 };
      const committed = readIndex(before);
      const isThere = committed === null || (yield* this.#isThere(committed));
      const after: Buffer = yield { of: 'index', length: 2 * INDEX_HEADER_BYTES, at: 0 };
      // SQLite changes the index before it overwrites frames: if the index is the same, what was read fits together.
      if (committed === null || !before.equals(after)) continue;
      if (!isThere) this.#isChanged = true;
      else this.#before = committed;
      break;
    }
    return this.#isChanged;
  }

  *#isThere(committed: Committed): Look<boolean> {
    const { salts } = committed;
    // The whole log has been copied into the database. The next commit restarts the log.
    if (committed.frames === 0) return true;
    const header: Buffer = yield { of: 'log', length: LOG_HEADER_BYTES, at: 0 };
    if (!header.subarray(16, 24).equals(salts)) return false;
    const earlier = this.#before?.salts.equals(salts) ? [this.#before] : [];
    for (const { frames, frameBytes, sums } of [...earlier, committed]) {
      // At the previous check the log had just been restarted, and had no frame yet.
      if (frames === 0) continue;
      const at = LOG_HEADER_BYTES + (frames - 1) * frameBytes;
      const frame: Buffer = yield { of: 'log', length: FRAME_HEADER_BYTES, at };
      if (!frame.subarray(8, 16).equals(salts) || !frame.subarray(16, 24).equals(sums)) return false;
    }
    return true;
  }
}

/** Null while SQLite writes the index, or if the index is not in use. */
function readIndex(bytes: Buffer): Committed | null {
  const [first, second] = [bytes.subarray(0, INDEX_HEADER_BYTES), bytes.subarray(INDEX_HEADER_BYTES)];
  if (bytes.length < 2 * INDEX_HEADER_BYTES || !first.equals(second) || first[12] === 0) return null;
  const number = (at: number) => (IS_LITTLE ? first.readUInt32LE(at) : first.readUInt32BE(at));
  const size = IS_LITTLE ? first.readUInt16LE(14) : first.readUInt16BE(14);
  const sums = Buffer.alloc(8);
  sums.writeUInt32BE(number(24), 0);
  sums.writeUInt32BE(number(28), 4);
  // The page size 65,536 does not fit into the field, and is stored as 1.
  const pageBytes = size === 1 ? 65_536 : size;
  return {
    frames: number(16),
    frameBytes: FRAME_HEADER_BYTES + pageBytes,
    salts: Buffer.from(first.subarray(32, 40)),
    sums,
  };
}
