// Damages the file of a store that is not open.

import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { openDirectory } from '../../src/store/sqlite/files/open.ts';
import { Database } from '../../src/store/sqlite/thread/database.ts';

/** Overwrites the root of a table or an index. */
export function damage(directory: string, name: string): void {
  const { database, close } = openDirectory(directory);
  const { rootpage } = database.get<{ rootpage: number }>('SELECT rootpage FROM sqlite_schema WHERE name = ?', name)!;
  close();
  const raw = new Database(join(directory, 'postrider.db'));
  raw.exec('PRAGMA journal_mode = DELETE');
  const { page_size: size } = raw.get<{ page_size: number }>('PRAGMA page_size')!;
  raw.close();
  const file = openSync(join(directory, 'postrider.db'), 'r+');
  writeSync(file, new Uint8Array(size).fill(0xa5), 0, size, (rootpage - 1) * size);
  closeSync(file);
}
