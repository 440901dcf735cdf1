// Watches the free space under the data directory, so that publishing stops before deliveries must; and whether the last
// thing to be written found space, which tells of a quota and of the disk of a database.

import { statfs } from 'node:fs/promises';
import { StoreUnavailable } from '../store/store.ts';

const EVERY_MS = 5000;

export interface DiskWatch {
  readonly name: string;
  run(): Promise<number>;
  isLow(): boolean;
  wasFull(): boolean;
  /** What became of something to be written: why it failed, or null. */
  noteWrite(error: unknown): void;
}

/** Null for a store that is not on our disk. */
export function diskWatch(directory: string | null, freeBytesMin: number): DiskWatch {
  let isLow = false;
  let wasFull = false;
  return {
    name: 'disk watch',
    async run() {
      if (directory !== null) isLow = await isBelow(directory, freeBytesMin, isLow);
      return EVERY_MS;
    },
    isLow: () => isLow,
    wasFull: () => wasFull,
    noteWrite(error) {
      if (error === null) wasFull = false;
      else if (error instanceof StoreUnavailable && error.reason === 'full') wasFull = true;
    },
  };
}

/** A directory that is gone has no free space to tell of: the watch of its files does. */
async function isBelow(directory: string, freeBytesMin: number, before: boolean): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(directory);
    return bavail * bsize < freeBytesMin;
  } catch {
    return before;
  }
}
