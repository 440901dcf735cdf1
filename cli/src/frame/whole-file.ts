// Writes a file completely or not at all: if the disk is full, no half-written file appears and the old content stays.

import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { Failure } from './failure.ts';
import { printable } from './printable.ts';

const WORDS: ReadonlyMap<string, string> = new Map([
  ['EEXIST', 'it already exists'],
  ['ENOENT', 'there is no such directory'],
  ['ENOTDIR', 'a part of the path is a file, not a directory'],
  ['EISDIR', 'it is a directory'],
  ['EACCES', 'this user may not write there'],
  ['EPERM', 'this user may not write there'],
  ['EROFS', 'the file system is read-only'],
  ['ENOSPC', 'there is no space left on its disk'],
  ['EDQUOT', 'the quota of this user is used up'],
  ['EFBIG', 'it is larger than the file system allows'],
]);

export interface WholeFile {
  readonly path: string;
  readonly data: string | Uint8Array;
  readonly mode: number;
  /** Whether an existing file of this name is replaced. */
  readonly isReplacing: boolean;
  /** Whether a missing directory is created, with access for its owner only. */
  readonly isDirectoryMade?: boolean;
  /** What the user can do if the file exists already. */
  readonly hintIfThere?: string;
}

export function writeWhole({ path, data, mode, isReplacing, isDirectoryMade, hintIfThere }: WholeFile): void {
  try {
    if (isDirectoryMade) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    if (isReplacing) replace(path, data, mode);
    else create(path, data, mode);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    const hint = code === 'EEXIST' && hintIfThere ? `; ${hintIfThere}` : '';
    throw new Failure(`cannot write ${printable(path)}: ${WORDS.get(code) ?? message}${hint}`);
  }
}

function replace(path: string, data: string | Uint8Array, mode: number): void {
  // If the path is a link, its target is replaced and the link stays.
  const target = existsSync(path) ? realpathSync(path) : path;
  // A device or a pipe cannot be replaced by renaming a file.
  if (existsSync(target) && !statSync(target).isFile()) {
    writeFileSync(target, data);
    return;
  }
  const part = `${target}.part`;
  rmSync(part, { force: true });
  create(part, data, mode);
  renameSync(part, target);
}

function create(path: string, data: string | Uint8Array, mode: number): void {
  const file = openSync(path, 'wx', mode);
  let isWritten = false;
  try {
    writeFileSync(file, data);
    fsyncSync(file);
    isWritten = true;
  } finally {
    closeSync(file);
    if (!isWritten) rmSync(path, { force: true });
  }
}
