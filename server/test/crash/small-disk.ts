// A server on a small file system of its own, which the test can fill: mounted in a namespace of the process, so that no
// rights are needed for it.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { lacks } from '../support/machine.ts';

const BIN = join(import.meta.dirname, '..', '..', 'bin', 'postrider.js');
const MOUNT = 'mount -t tmpfs -o size="$1" tmpfs "$2" && shift 2 && exec "$@"';

/** Why it cannot be made on this machine; false when it can: what `node:test` takes as `skip`. */
export function noSmallDisk(): string | false {
  return lacks('linux', 'mounts');
}

export class SmallDisk {
  readonly #child: ChildProcess;
  readonly #folder: string;
  #stdout = '';
  stderr = '';

  /** `folder` is where it is mounted; the data is below it. */
  constructor(folder: string, bytes: number, freeBytesMin: number) {
    this.#folder = folder;
    const argv = ['serve', '--json', '--host', '127.0.0.1', '--port', '0', '--allow-cidr', '127.0.0.0/8'];
    const settings = ['--data', join(folder, 'data'), '--min-free-disk-bytes', String(freeBytesMin)];
    const command = [process.execPath, BIN, ...argv, ...settings, '--log-level', 'error'];
    this.#child = spawn('unshare', ['-rm', 'sh', '-c', MOUNT, 'sh', String(bytes), folder, ...command], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child.stdout!.on('data', (data) => {
      this.#stdout += data;
    });
    this.#child.stderr!.on('data', (data) => {
      this.stderr = (this.stderr + data).slice(-20_000);
    });
  }

  async ready(): Promise<{ readonly api: string; readonly token: string }> {
    while (!this.#stdout.includes('\n')) {
      if (this.#child.exitCode !== null) throw new Error(`it does not start: ${this.stderr}`);
      await Promise.race([once(this.#child.stdout!, 'data'), once(this.#child, 'exit')]);
    }
    return JSON.parse(this.#stdout) as { api: string; token: string };
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.#path('.'));
    return bavail * bsize;
  }

  /** Writes until nothing is free. */
  fill(): void {
    fillUntilFull(this.#path('filler'));
  }

  empty(): void {
    rmSync(this.#path('filler'));
  }

  async stop(): Promise<void> {
    if (this.hasEnded) return;
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }

  /** As others see the file system of the process. */
  #path(name: string): string {
    return join(`/proc/${this.#child.pid}/root`, this.#folder, name);
  }
}

/** Appends to a file until nothing is free on its disk. */
export function fillUntilFull(path: string): void {
  const file = openSync(path, 'a');
  const piece = Buffer.alloc(64 * 1024, 1);
  try {
    for (let size = piece.length; size >= 1; ) {
      try {
        writeSync(file, piece, 0, size);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        size = Math.floor(size / 2);
      }
    }
  } finally {
    closeSync(file);
  }
}
