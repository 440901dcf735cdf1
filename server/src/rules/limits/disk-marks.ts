// What may still be stored when the disk becomes full. At first, accounts that store more than the average may store
// nothing more; later, no account may. Writes that end deliveries or delete something are never refused: disk space is
// reserved for them.

import type { Problem } from '../requests/problem.ts';

/** Who may store nothing more. `largest`: accounts that store more than the average. `all`: every account. */
export type DiskMark = 'none' | 'largest' | 'all';

export interface FreeSpace {
  /** Free on the disk. */
  readonly diskBytes: number;
  /** Free inside the file of the store. The file does not shrink, but the space of deleted rows is used again. */
  readonly insideBytes: number;
}

/** The mark is `largest` when less than this many times the minimum is free. */
const LARGEST_TIMES = 2;
/** This part of the minimum must be free outside the file of the store, because the log of the store grows there. */
const LOG_PART = 1 / 4;

export function diskMark({ diskBytes, insideBytes }: FreeSpace, freeBytesMin: number): DiskMark {
  const free = diskBytes + insideBytes;
  if (free < freeBytesMin || diskBytes < freeBytesMin * LOG_PART) return 'all';
  return free < freeBytesMin * LARGEST_TIMES ? 'largest' : 'none';
}

/** For this long after a write that found no space, the mark is at least `largest`. */
const AFTER_FULL_MS = 10 * 60 * 1000;

/**
 * Raises the mark if a write found no space `sinceFullMs` ago; null: never. So the space that becomes free next does
 * not go to the largest accounts. Where the free space is not visible (the disk of a database, a disk quota), such a
 * write is the only sign of a full disk.
 */
export function markAfterFull(mark: DiskMark, sinceFullMs: number | null): DiskMark {
  const wasFull = sinceFullMs !== null && sinceFullMs < AFTER_FULL_MS;
  return mark === 'none' && wasFull ? 'largest' : mark;
}

/** How fast publishers can fill the disk at most, in bytes per millisecond. */
const FILLED_BYTES_PER_MS = 200_000;
const LOOK_MS = { min: 250, max: 5000 };

/** When to check the free space again: before it can fall below the minimum. */
export function nextCheckMs(diskBytes: number, freeBytesMin: number): number {
  const untilMinimum = (diskBytes - freeBytesMin) / FILLED_BYTES_PER_MS;
  return Math.min(LOOK_MS.max, Math.max(LOOK_MS.min, untilMinimum));
}

/** When an account uses more than this part of its limit, its cancelled messages are deleted at once. */
const NEAR_LIMIT = 9 / 10;

/** Whether space is so scarce that a cancelled message is deleted, and not kept like other ended ones. */
export function isSpaceScarce({ bytes, max, mark }: Pick<StorageFacts, 'bytes' | 'max' | 'mark'>): boolean {
  return mark !== 'none' || (max !== null && bytes > max * NEAR_LIMIT);
}

/** Limit for the size of the reserve. It is enough to log the ends of deliveries while nothing else is written. */
const RESERVE_BYTES_MAX = 16 * 1024 * 1024;
/** When less than this is free on the disk, the reserve is released. */
const RESERVE_NEEDED_BYTES = 2 * 1024 * 1024;

export function reserveBytes(freeBytesMin: number): number {
  return Math.min(RESERVE_BYTES_MAX, Math.floor(freeBytesMin / 4));
}

/** Whether to create or to release the reserve; null: neither. It is created when there is space above the minimum. */
export function reserveStep(diskBytes: number, freeBytesMin: number, isThere: boolean): 'make' | 'release' | null {
  if (isThere) return diskBytes < Math.min(RESERVE_NEEDED_BYTES, freeBytesMin / 4) ? 'release' : null;
  return diskBytes >= freeBytesMin + reserveBytes(freeBytesMin) ? 'make' : null;
}

/** Limit for the size of the reserve in a database. It is enough for four segments of its log, of 16 MiB each. */
const DATABASE_RESERVE_BYTES_MAX = 64 * 1024 * 1024;

export function databaseReserveBytes(freeBytesMin: number): number {
  return Math.min(DATABASE_RESERVE_BYTES_MAX, freeBytesMin);
}

/**
 * How long to wait before the reserve of a database is created again. The free space of a database is not visible:
 * creating the reserve tests it, and takes the last space for a moment.
 */
const REMAKE_MS = { min: 5000, max: 60_000 };

/**
 * When to try again to create the reserve of a database, after it was released and `failures` tries found too little
 * space.
 */
export function recreateAfterMs(failures: number): number {
  return Math.min(REMAKE_MS.max, REMAKE_MS.min * 2 ** Math.min(failures, 10));
}

/** How much all accounts store together, and how many accounts that are. Added up from time to time. */
export interface AllStored {
  readonly bytes: number;
  readonly accounts: number;
}

export interface StorageFacts {
  /** How many bytes the account stores, and how many `more` it would store. */
  readonly bytes: number;
  readonly more: number;
  /** The limit of the account's tier; null: none. */
  readonly max: number | null;
  readonly mark: DiskMark;
  readonly all: AllStored;
}

/** Why an account may not store more, or null. Refusals that apply to all accounts are decided elsewhere. */
export function storageProblem({ bytes, more, max, mark, all }: StorageFacts, tier: string): Problem | null {
  if (max !== null && bytes + more > max) {
    return {
      code: 'storage_exceeded',
      message: `the account would store more than the ${tier} tier allows: ${max} bytes; it stores ${bytes}. Delete dead letters, cancel messages, or wait until ended messages expire`,
    };
  }
  if (mark === 'largest' && all.accounts > 1 && bytes > all.bytes / all.accounts) {
    return {
      code: 'disk_full',
      message:
        'the disk of the server is nearly full, and this account stores more than the average account; nothing was accepted',
    };
  }
  return null;
}
