// What may still be stored when the disk becomes full. First the accounts that store more than their part stop, then
// everything that grows. What ends deliveries and what deletes is never refused, and has a reserve.

import type { Problem } from '../requests/problem.ts';

/** `largest`: accounts above their part may store nothing more. `all`: nobody may. */
export type DiskMark = 'none' | 'largest' | 'all';

export interface FreeSpace {
  /** Free on the disk. */
  readonly diskBytes: number;
  /** Free inside the file of the store, which does not shrink: what is deleted there is used again. */
  readonly insideBytes: number;
}

/** The largest accounts stop when less than this many times the minimum is free. */
const LARGEST_TIMES = 2;
/** Whatever is free inside the file: the log of the store needs space of the disk itself. */
const LOG_PART = 1 / 4;

export function diskMark({ diskBytes, insideBytes }: FreeSpace, freeBytesMin: number): DiskMark {
  const free = diskBytes + insideBytes;
  if (free < freeBytesMin || diskBytes < freeBytesMin * LOG_PART) return 'all';
  return free < freeBytesMin * LARGEST_TIMES ? 'largest' : 'none';
}

/** So long after a write that found no space, space counts as scarce. */
const AFTER_FULL_MS = 10 * 60 * 1000;

/**
 * The mark while a write found no space a short time ago, null: never. It says more than the free space where that cannot
 * be seen: on the disk of a database, or with a quota. The first space that comes back is not for whoever took the last.
 */
export function markAfterFull(mark: DiskMark, sinceFullMs: number | null): DiskMark {
  const wasFull = sinceFullMs !== null && sinceFullMs < AFTER_FULL_MS;
  return mark === 'none' && wasFull ? 'largest' : mark;
}

/** A publisher may fill the disk so fast, in bytes a millisecond. */
const FILLED_BYTES_PER_MS = 200_000;
const LOOK_MS = { min: 250, max: 5000 };

/** When to look at the free space again: before it can be below the minimum. */
export function nextLookMs(diskBytes: number, freeBytesMin: number): number {
  const untilMinimum = (diskBytes - freeBytesMin) / FILLED_BYTES_PER_MS;
  return Math.min(LOOK_MS.max, Math.max(LOOK_MS.min, untilMinimum));
}

/** With so much of its limit in use, an account keeps nothing that it has cancelled. */
const NEAR_LIMIT = 9 / 10;

/** Whether space is so scarce that a cancelled message is deleted, and not kept like other ended ones. */
export function isSpaceScarce({ bytes, max, mark }: Pick<StoredFacts, 'bytes' | 'max' | 'mark'>): boolean {
  return mark !== 'none' || (max !== null && bytes > max * NEAR_LIMIT);
}

/** The size of the reserve: enough for the log of deliveries that end while nothing else is written. */
const RESERVE_BYTES_MAX = 16 * 1024 * 1024;
/** With less on the disk, the reserve is given up. */
const RESERVE_NEEDED_BYTES = 2 * 1024 * 1024;

export function reserveBytes(freeBytesMin: number): number {
  return Math.min(RESERVE_BYTES_MAX, Math.floor(freeBytesMin / 4));
}

/** What to do with the reserve. It is made again once there is space for it above the minimum. */
export function reserveStep(diskBytes: number, freeBytesMin: number, isThere: boolean): 'make' | 'giveUp' | null {
  if (isThere) return diskBytes < Math.min(RESERVE_NEEDED_BYTES, freeBytesMin / 4) ? 'giveUp' : null;
  return diskBytes >= freeBytesMin + reserveBytes(freeBytesMin) ? 'make' : null;
}

/** The size of the reserve in a database: some segments of its log, of 16 MiB each. */
const DATABASE_RESERVE_BYTES_MAX = 64 * 1024 * 1024;

export function databaseReserveBytes(freeBytesMin: number): number {
  return Math.min(DATABASE_RESERVE_BYTES_MAX, freeBytesMin);
}

/** Of a database nobody sees the free space. Making its reserve finds out, and takes the last space for a moment. */
const REMAKE_MS = { min: 5000, max: 60_000 };

/** When to try again to make the reserve of a database, after it was given up and `failures` tries found too little space. */
export function remakeAfterMs(failures: number): number {
  return Math.min(REMAKE_MS.max, REMAKE_MS.min * 2 ** Math.min(failures, 10));
}

/** What is stored by all accounts, as of the last look. */
export interface AllStored {
  readonly bytes: number;
  readonly accounts: number;
}

export interface StoredFacts {
  /** What the account stores, and what it would add. */
  readonly bytes: number;
  readonly more: number;
  /** The limit of its tier; null: none. */
  readonly max: number | null;
  readonly mark: DiskMark;
  readonly all: AllStored;
}

/** Why an account may not store more, or null. What everybody is refused is decided elsewhere. */
export function storedProblem({ bytes, more, max, mark, all }: StoredFacts, tier: string): Problem | null {
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
