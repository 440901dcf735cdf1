// Watches the free space under the data directory, so that publishing stops before deliveries must.

import { statfs } from 'node:fs/promises';

const EVERY_MS = 5000;

export interface DiskWatch {
  readonly name: string;
  run(): Promise<number>;
  isLow(): boolean;
}

/** For a store that is not on our disk. */
export function noDiskWatch(): DiskWatch {
  return { name: 'disk watch', run: async () => EVERY_MS, isLow: () => false };
}

export function diskWatch(directory: string, freeBytesMin: number): DiskWatch {
  let isLow = false;
  return {
    name: 'disk watch',
    async run() {
      const { bavail, bsize } = await statfs(directory);
      isLow = bavail * bsize < freeBytesMin;
      return EVERY_MS;
    },
    isLow: () => isLow,
  };
}
