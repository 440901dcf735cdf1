// Builds power-loss-shim.c and gives the environment that puts it under a process.

import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { lacks } from '../support/machine.ts';

const SOURCE = join(import.meta.dirname, 'power-loss-shim.c');

/** Why the shim cannot be used on this machine; false when it can: what `node:test` takes as `skip`. */
export function noShim(): string | false {
  return lacks('linux', 'cc');
}

export class Shim {
  readonly #library: string;

  constructor(folder: string) {
    this.#library = join(folder, 'power-loss-shim.so');
    const argv = [
      '-shared',
      '-fPIC',
      '-O2',
      '-Wall',
      '-Wextra',
      '-Werror',
      '-o',
      this.#library,
      SOURCE,
      '-ldl',
      '-lpthread',
    ];
    const { status, stderr } = spawnSync('cc', argv, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`cc cannot build the shim: ${stderr}`);
  }

  /** `directory` must have no symbolic link in its path: that is how SQLite opens it. */
  env(
    directory: string,
    log: string,
    faults: { flushMs?: number; failFsync?: number; fullFlag?: string } = {},
  ): Record<string, string> {
    return {
      LD_PRELOAD: this.#library,
      DISK_DIRECTORY: directory,
      DISK_LOG: log,
      ...(faults.flushMs !== undefined && { DISK_FLUSH_MS: String(faults.flushMs) }),
      ...(faults.failFsync !== undefined && { DISK_FAIL_FSYNC: String(faults.failFsync) }),
      ...(faults.fullFlag !== undefined && { DISK_FULL_FLAG: faults.fullFlag }),
    };
  }
}

export function logLength(log: string): number {
  return statSync(log, { throwIfNoEntry: false })?.size ?? 0;
}
