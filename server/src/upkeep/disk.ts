// Watches the free space under the data directory, so that publishing stops before deliveries must, and keeps the
// reserve. Also notes whether the last write found space: this detects an exhausted quota and a full database disk.

import { statfs } from 'node:fs/promises';
import { type DiskMark, diskMark, markAfterFull, nextCheckMs, reserveStep } from '../rules/limits/disk-marks.ts';
import type { Clock } from '../runtime/world.ts';
import { StoreUnavailable } from '../store/ports/store.ts';
import type { Reserve } from './reserve.ts';

/** How often to check when nothing is known about the disk. */
const EVERY_MS = 5000;

export interface DiskWatch {
  readonly name: string;
  run(): Promise<number>;
  mark(): DiskMark;
  /** Null before the first check, and for a store that is not on our disk. */
  freeBytes(): number | null;
  wasFull(): boolean;
  /** Notes the result of a write: the error, or null. */
  noteWrite(error: unknown): void;
}

export interface DiskWatchOptions {
  /** Null for a store that is not on our disk. */
  readonly directory: string | null;
  readonly freeBytesMin: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Null where no reserve is kept. Every lane may release the reserve; only one lane creates it. */
  readonly reserve: Reserve | null;
  /** Bytes that are free inside the file of the store. */
  readonly freeBytesInside: () => Promise<number>;
  /**
   * Copies the write-ahead log into the file of the store, so that the space of the log can be reused without more disk
   * space. Null
   * on a further lane, and for a database.
   */
  readonly emptyLog: (() => Promise<void>) | null;
  /** The free bytes of the disk of a directory. Tests replace it. */
  readonly freeOf?: (directory: string) => Promise<number>;
}

/** Creates or releases the reserve. Returns whether it was released now. */
async function keepReserve(reserve: Reserve, diskBytes: number, freeBytesMin: number): Promise<boolean> {
  const step = reserveStep(diskBytes, freeBytesMin, reserve.isThere());
  if (step === 'release') reserve.release();
  if (step === 'make') await reserve.make();
  return step === 'release';
}

export function diskWatch(options: DiskWatchOptions): DiskWatch {
  const { directory, freeBytesMin, clock, reserve, freeBytesInside, emptyLog, freeOf = freeBytesOf } = options;
  let freeBytes: number | null = null;
  let mark: DiskMark = 'none';
  let wasFull = false;
  let fullAtMs: number | null = null;
  return {
    name: 'disk watch',
    async run() {
      if (directory === null) return EVERY_MS;
      // If the directory is missing, the last result stays: the watch of the files reports that case.
      const diskBytes = await freeOf(directory).catch(() => null);
      if (diskBytes === null) return EVERY_MS;
      const insideBytes = diskBytes < 4 * freeBytesMin ? await freeBytesInside().catch(() => 0) : 0;
      freeBytes = diskBytes + insideBytes;
      const before = mark;
      mark = diskMark({ diskBytes, insideBytes }, freeBytesMin);
      const isReleased = reserve !== null && (await keepReserve(reserve, diskBytes, freeBytesMin));
      // The log is copied into the file while the disk has space for that: what is not in the file yet needs space a
      // second time.
      if (isReleased || (mark !== 'none' && mark !== before)) await emptyLog?.().catch(() => {});
      return nextCheckMs(diskBytes, freeBytesMin);
    },
    mark: () => markAfterFull(mark, fullAtMs === null ? null : clock.monotonicMs() - fullAtMs),
    freeBytes: () => freeBytes,
    wasFull: () => wasFull,
    noteWrite(error) {
      if (error === null) wasFull = false;
      else if (error instanceof StoreUnavailable && error.reason === 'full') {
        wasFull = true;
        fullAtMs = clock.monotonicMs();
        if (!reserve?.isThere()) return;
        reserve.release();
        emptyLog?.().catch(() => {});
      }
    },
  };
}

async function freeBytesOf(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}
