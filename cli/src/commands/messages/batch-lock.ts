// Lets only one run of `postrider batch` work on a file at a time. The lock belongs to the operating system, which
// releases it however the process ends, so nobody has to delete a stale lock.

import { closeSync, fstatSync, openSync, rmSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { EXIT } from '../../frame/exit-codes.ts';
import { Failure } from '../../frame/failure.ts';
import { printable } from '../../frame/printable.ts';

const TRIES_MAX = 10;

export interface Lock {
  /** Releases the lock and removes its file. */
  release(): void;
}

/** Throws when another process holds the lock. */
export function lockFile(path: string, file: string): Lock {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const inode = made(path);
    const held = new DatabaseSync(path, { timeout: 0 });
    try {
      held.exec('BEGIN EXCLUSIVE');
    } catch (error) {
      held.close();
      throw refused(error, path, file);
    }
    // The last owner may have removed the file before we locked it. Then this lock is on a file that no other process
    // can find.
    if (inodeOf(path) === inode) {
      return {
        release: () => {
          rmSync(path, { force: true });
          held.close();
        },
      };
    }
    held.close();
  }
  throw busy(path, file);
}

function made(path: string): number {
  try {
    const opened = openSync(path, 'a', 0o600);
    try {
      return fstatSync(opened).ino;
    } finally {
      closeSync(opened);
    }
  } catch (error) {
    throw new Failure(`cannot save the progress: ${(error as Error).message}`, {
      hint: 'Nothing was sent. Choose a place that can be written with --progress-file.',
    });
  }
}

function inodeOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? null;
}

const SQLITE_BUSY = 5;

function refused(error: unknown, path: string, file: string): Failure {
  const { errcode, message } = error as { errcode?: number; message: string };
  if (errcode === SQLITE_BUSY) return busy(path, file);
  return new Failure(`cannot lock ${printable(path)}: ${message}`, {
    hint: 'Nothing was sent. Remove that file if it is not needed, or choose another place with --progress-file.',
  });
}

function busy(path: string, file: string): Failure {
  return new Failure(`another run is sending ${printable(file)}`, {
    exit: EXIT.failed,
    hint: `Nothing was sent. Wait until that run has ended: it locks ${printable(path)}.`,
  });
}
