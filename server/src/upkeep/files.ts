// Checks that the files of the store are still those that were opened. A process can continue to write into files that
// were removed, replaced or overwritten, but all these writes are lost when the process ends. No message in them may be
// acknowledged.

import { statSync } from 'node:fs';
import { stat } from 'node:fs/promises';

const EVERY_MS = 1000;

export interface WatchedFiles {
  readonly paths: readonly string[];
  /** The path of a file that another process has overwritten in place. Null if there is none. */
  overwritten(): Promise<string | null>;
}

export interface FilesWatch {
  readonly name: string;
  run(): Promise<number>;
}

/**
 * Returns a function that says whether the watch has found that files are gone. It is called for every publish. All lanes
 * of a process share `memory`, which has four bytes.
 */
export function filesGoneReader(memory: SharedArrayBuffer): () => boolean {
  const view = new Int32Array(memory);
  return () => Atomics.load(view, 0) !== 0;
}

/**
 * Watches files that are already open, if any. `onChange` gets the path of a file that is gone, and null when all are
 * back. Whether files are gone is written to `memory`.
 */
export function filesWatch(
  { paths, overwritten }: WatchedFiles,
  memory: SharedArrayBuffer,
  onChange: (gone: string | null) => void,
): FilesWatch {
  const opened = new Map(paths.map((path) => [path, identity(statSync(path, { bigint: true }))]));
  let gone: string | null = null;
  return {
    name: 'files watch',
    async run() {
      const found = (await firstGone(opened)) ?? (await overwritten());
      if (found !== gone) onChange(found);
      gone = found;
      Atomics.store(new Int32Array(memory), 0, gone === null ? 0 : 1);
      return EVERY_MS;
    },
  };
}

async function firstGone(opened: ReadonlyMap<string, string>): Promise<string | null> {
  for (const [path, wanted] of opened) {
    // A file whose status cannot be read counts as missing.
    const there = await stat(path, { bigint: true }).catch(() => null);
    if (there === null || identity(there) !== wanted) return path;
  }
  return null;
}

function identity({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): string {
  return `${dev}:${ino}`;
}
