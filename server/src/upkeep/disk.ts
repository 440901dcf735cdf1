// Watches the free space under the data directory, so that publishing stops before deliveries must. Also notes whether
// the last write found space, which detects a quota and a full database disk.

import { statfs } from 'node:fs/promises';
import { StoreUnavailable } from '../store/store.ts';

const EVERY_MS = 5000;

export interface DiskWatch {
  readonly name: string;
  run(): Promise<number>;
  isLow(): boolean;
  /** Null before the first look, and for a store that is not on our disk. */
  freeBytes(): number | null;
  wasFull(): boolean;
  /** The result of a write: the error, or null. */
  noteWrite(error: unknown): void;
}

/** Null for a store that is not on our disk. */
export function diskWatch(directory: string | null, freeBytesMin: number): DiskWatch {
  let freeBytes: number | null = null;
  let wasFull = false;
  return {
    name: 'disk watch',
    async run() {
      if (directory !== null) freeBytes = await freeBytesOf(directory, freeBytes);
      return EVERY_MS;
    },
    isLow: () => freeBytes !== null && freeBytes < freeBytesMin,
    freeBytes: () => freeBytes,
    wasFull: () => wasFull,
    noteWrite(error) {
      if (error === null) wasFull = false;
      else if (error instanceof StoreUnavailable && error.reason === 'full') wasFull = true;
    },
  };
}

/** If the directory is gone, keeps the last result: the watch of the files reports that case. */
async function freeBytesOf(directory: string, before: number | null): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(directory);
    return bavail * bsize;
  } catch {
    return before;
  }
}
