// Folders for one run: made outside of the repository, removed when the run was good, kept and named when it was not.

import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export async function inScratchFolder<T>(purpose: string, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), `postrider-${purpose}-`)));
  let result: T;
  try {
    result = await work(folder);
  } catch (error) {
    throw new Error(`${(error as Error).message}\n(all files of this run are kept in ${folder})`, { cause: error });
  }
  rmSync(folder, { recursive: true });
  return result;
}
