// A library under a process that makes each flush a millisecond longer. Needs Linux and a C compiler.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The environment of the process, and how to remove the library afterwards. */
export function slowDisk(): { readonly env: Readonly<Record<string, string>>; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-bench-'));
  const library = join(folder, 'slow-fsync.so');
  execFileSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, join(import.meta.dirname, 'slow-fsync.c'), '-ldl']);
  return {
    env: { LD_PRELOAD: library, SLOW_FSYNC_US: '1000' },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
