// Reads the write-ahead log of a database frame by frame, as sqlite.org/fileformat2.html documents it. No process may
// write to the database meanwhile. SQLite uses a log up to its first bad frame and silently ignores the rest.

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

export const LOG_HEADER_BYTES = 32;
export const FRAME_HEADER_BYTES = 24;
/** The first word of a log with checksums over little-endian words, as on common machines. Plus one: big-endian. */
export const LOG_MAGIC = 0x377f0682;
const BIG_ENDIAN_MAGIC = LOG_MAGIC + 1;
const FRAMES_AT_ONCE = 128;

/** Two checksums that continue from frame to frame: if an earlier frame has changed, all later frames are bad too. */
export type Sums = readonly [number, number];

export interface LogHeader {
  readonly isSound: boolean;
  readonly isBigEndian: boolean;
  readonly pageBytes: number;
  readonly salts: Sums;
  readonly sums: Sums;
}

export interface Frame {
  /** The number of the frame, counted from 0. */
  readonly index: number;
  readonly page: number;
  /** The size of the database in pages after the transaction that this frame ends; 0 for frames that end none. */
  readonly commitPages: number;
  readonly salts: Sums;
  /** The checksums that the frame stores. */
  readonly sums: Sums;
  /** The checksums that the frame must have, computed from those of the previous frame. */
  sumsAfter(before: Sums): Sums;
  /** The page of the frame; valid until the next frame is read. */
  readonly content: Buffer;
}

export const isSamePair = (a: Sums, b: Sums) => a[0] === b[0] && a[1] === b[1];

export class LogFile {
  readonly header: LogHeader;
  readonly #path: string;

  /** Null if the log is missing or has no whole header. If its header is damaged, `databasePageBytes` counts. */
  static open(path: string, databasePageBytes: number): LogFile | null {
    const header = readFirstBytes(path, LOG_HEADER_BYTES);
    return header === null ? null : new LogFile(path, header, databasePageBytes);
  }

  private constructor(path: string, header: Buffer, databasePageBytes: number) {
    this.#path = path;
    const magic = header.readUInt32BE(0);
    const isBigEndian = magic === BIG_ENDIAN_MAGIC;
    const sums = pair(header, 24);
    const expected = checksum(header, 0, 24, [0, 0], isBigEndian);
    const isSound = (magic === LOG_MAGIC || isBigEndian) && isSamePair(sums, expected);
    const pageBytes = isSound ? header.readUInt32BE(8) : databasePageBytes;
    this.header = { isSound, isBigEndian: isSound && isBigEndian, pageBytes, salts: pair(header, 16), sums };
  }

  /** All complete frames of the file, whether good or bad. */
  *frames(): Generator<Frame> {
    const { pageBytes, isBigEndian } = this.header;
    const frameBytes = FRAME_HEADER_BYTES + pageBytes;
    const chunk = Buffer.allocUnsafeSlow(frameBytes * FRAMES_AT_ONCE);
    const file = openSync(this.#path, 'r');
    try {
      let index = 0;
      for (;;) {
        const read = readSync(file, chunk, 0, chunk.length, LOG_HEADER_BYTES + index * frameBytes);
        const frames = Math.floor(read / frameBytes);
        for (let at = 0; at < frames * frameBytes; at += frameBytes, index += 1) {
          const content = chunk.subarray(at + FRAME_HEADER_BYTES, at + frameBytes);
          yield {
            index,
            page: chunk.readUInt32BE(at),
            commitPages: chunk.readUInt32BE(at + 4),
            salts: pair(chunk, at + 8),
            sums: pair(chunk, at + 16),
            sumsAfter: (before) => {
              const head = checksum(chunk, at, at + 8, before, isBigEndian);
              return checksum(chunk, at + FRAME_HEADER_BYTES, at + frameBytes, head, isBigEndian);
            },
            content,
          };
        }
        if (frames < FRAMES_AT_ONCE) return;
      }
    } finally {
      closeSync(file);
    }
  }
}

/** The first bytes of a file, or null if it is shorter or missing. */
export function readFirstBytes(path: string, length: number): Buffer | null {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    if (fstatSync(file).size < length) return null;
    const start = Buffer.alloc(length);
    readSync(file, start, 0, length, 0);
    return start;
  } finally {
    closeSync(file);
  }
}

function pair(bytes: Buffer, at: number): Sums {
  return [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)];
}

/** The checksum of SQLite over some bytes. `from` and `to` are multiples of eight. */
export function checksum(bytes: Buffer, from: number, to: number, before: Sums, isBigEndian: boolean): Sums {
  let [first, second] = [before[0] | 0, before[1] | 0];
  if (isBigEndian) {
    for (let at = from; at < to; at += 8) {
      first = (first + bytes.readInt32BE(at) + second) | 0;
      second = (second + bytes.readInt32BE(at + 4) + first) | 0;
    }
  } else {
    const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let at = from; at < to; at += 8) {
      first = (first + words.getInt32(at, true) + second) | 0;
      second = (second + words.getInt32(at + 4, true) + first) | 0;
    }
  }
  return [first >>> 0, second >>> 0];
}
