// Saves what is readable in a damaged log: writes all good frames, including those after the damage, into a new log
// that SQLite accepts as a whole. SQLite writes most pages many times, so the log often has a newer copy of a damaged
// page, and then nothing is lost.

import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DATABASE_FILE } from './directory.ts';
import { checkedFrames } from './log-damage.ts';
import { checksum, FRAME_HEADER_BYTES, LOG_HEADER_BYTES, LOG_MAGIC, LogFile, type Sums } from './log-frames.ts';
import { flushDirectory } from './marker.ts';
import { logPath } from './store-files.ts';

const FORMAT_VERSION = 3_007_000;

export interface LogRepair {
  readonly framesKept: number;
  readonly framesLeftOut: number;
  /**
   * How many pages are older than before, because their newest copy could not be read. Includes frames whose page
   * number is unknown.
   */
  readonly pagesLost: number;
  /** The new path of the damaged log. */
  readonly keptAs: string;
  /** Puts the damaged log back. */
  undo(): void;
}

/** Replaces the log with the repaired one; null if there is no log. The caller must hold the lock of the directory. */
export function repairLog(directory: string, databasePageBytes: number): LogRepair | null {
  const path = logPath(directory);
  const log = LogFile.open(path, databasePageBytes);
  if (log === null) return null;
  const repaired = `${path}.repaired`;
  rmSync(repaired, { force: true });
  const counts = writeGoodFrames(log, repaired);
  const keptAs = freeName(`${path}.damaged`);
  keepAs(path, keptAs);
  flushDirectory(directory);
  renameSync(repaired, path);
  flushDirectory(directory);
  return {
    ...counts,
    keptAs,
    undo() {
      renameSync(keptAs, path);
      rmSync(join(directory, `${DATABASE_FILE}-shm`), { force: true });
      flushDirectory(directory);
    },
  };
}

/** Links the damaged log under a second name, so that the repaired one can replace it without a moment with no log. */
function keepAs(path: string, keptAs: string): void {
  try {
    linkSync(path, keptAs);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error;
    // The file system does not support hard links.
    copyFileSync(path, keptAs, constants.COPYFILE_EXCL);
    const file = openSync(keptAs, 'r+');
    try {
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  }
}

function writeGoodFrames(log: LogFile, path: string) {
  const { pageBytes } = log.header;
  const file = openSync(path, 'wx', 0o600);
  try {
    let salts: Sums | null = null;
    let sums: Sums = [0, 0];
    let framesKept = 0;
    let [framesBad, framesBadWithoutEnd, unknown] = [0, 0, 0];
    const lost = new Set<number>();
    const frame = Buffer.alloc(FRAME_HEADER_BYTES + pageBytes);
    for (const { isGood, isOurs, page, commitPages, salts: own, content } of checkedFrames(log)) {
      if (!isGood) {
        framesBad += 1;
        if (isOurs) lost.add(page);
        else unknown += 1;
        continue;
      }
      if (salts === null) {
        salts = own;
        const header = headerOf(pageBytes, salts);
        sums = [header.readUInt32BE(24), header.readUInt32BE(28)];
        writeSync(file, header);
      }
      lost.delete(page);
      frame.writeUInt32BE(page, 0);
      frame.writeUInt32BE(commitPages, 4);
      writePair(frame, 8, salts);
      content.copy(frame, FRAME_HEADER_BYTES);
      sums = checksum(frame, FRAME_HEADER_BYTES, frame.length, checksum(frame, 0, 8, sums, false), false);
      writePair(frame, 16, sums);
      writeSync(file, frame);
      framesKept += 1;
      // Bad frames after the last good one are the unfinished end of the log, not damage.
      framesBadWithoutEnd = framesBad;
    }
    fsyncSync(file);
    const atEnd = framesBad - framesBadWithoutEnd;
    return { framesKept, framesLeftOut: framesBadWithoutEnd, pagesLost: lost.size + Math.max(0, unknown - atEnd) };
  } finally {
    closeSync(file);
  }
}

function headerOf(pageBytes: number, salts: Sums): Buffer {
  const header = Buffer.alloc(LOG_HEADER_BYTES);
  header.writeUInt32BE(LOG_MAGIC, 0);
  header.writeUInt32BE(FORMAT_VERSION, 4);
  header.writeUInt32BE(pageBytes, 8);
  writePair(header, 16, salts);
  writePair(header, 24, checksum(header, 0, 24, [0, 0], false));
  return header;
}

function writePair(bytes: Buffer, at: number, [first, second]: Sums): void {
  bytes.writeUInt32BE(first, at);
  bytes.writeUInt32BE(second, at + 4);
}

function freeName(path: string): string {
  if (!existsSync(path)) return path;
  for (let number = 2; ; number += 1) {
    if (statSync(`${path}-${number}`, { throwIfNoEntry: false }) === undefined) return `${path}-${number}`;
  }
}
