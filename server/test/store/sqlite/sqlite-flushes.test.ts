// What lies beside the database and must be on disk in this order: each file is flushed when it is written, and its name
// with the directory.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openDirectory } from '../../../src/store/sqlite/files/open.ts';
import { scratchDirectory } from '../scratch-directory.ts';

/** What is flushed and removed from now on, by the names of the files. */
function recorded(t: TestContext): string[] {
  const done: string[] = [];
  const names = new Map<number, string>();
  const { openSync, fsyncSync, unlinkSync } = fs;
  const mocks = [
    t.mock.method(fs, 'openSync', (...given: Parameters<typeof openSync>) => {
      const file = openSync(...given);
      names.set(file, basename(String(given[0])));
      return file;
    }),
    t.mock.method(fs, 'fsyncSync', (file: number) => {
      fsyncSync(file);
      done.push(`flush ${names.get(file)}`);
    }),
    t.mock.method(fs, 'unlinkSync', (path: string) => {
      unlinkSync(path);
      done.push(`remove ${basename(path)}`);
    }),
  ];
  syncBuiltinESMExports();
  t.after(() => {
    for (const { mock } of mocks) mock.restore();
    syncBuiltinESMExports();
  });
  return done;
}

test('a new store is marked as one and as open, and each mark is flushed with its name', (t) => {
  const directory = join(scratchDirectory(t), 'data');
  const done = recorded(t);
  const { close } = openDirectory(directory);
  const marks = ['flush postrider.store', 'flush data', 'flush postrider.open', 'flush data'];
  assert.deepEqual(
    done.filter((each) => !each.includes('.db')),
    marks,
  );
  done.length = 0;
  close();
  assert.deepEqual(
    done.filter((each) => !each.includes('.db')),
    ['remove postrider.open', 'flush data'],
  );
});
