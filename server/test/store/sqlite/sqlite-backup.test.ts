// A copy gets its name only when it was read back: one that the disk has damaged, or that lacks the newest messages, is
// refused, by a backup and by a restore.

import assert from 'node:assert/strict';
import fs, { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { copyStore, renameToNew } from '../../../src/store/sqlite/files/backup.ts';
import { openDirectory } from '../../../src/store/sqlite/files/open.ts';
import { restoreStore } from '../../../src/store/sqlite/files/restore.ts';
import { Database } from '../../../src/store/sqlite/thread/database.ts';
import { scratchDirectory } from '../scratch-directory.ts';

const ROWS = 20;

function addAccounts(directory: string, prefix: string): void {
  const { database, close } = openDirectory(directory);
  for (let row = 0; row < ROWS; row += 1) {
    database.run(
      "INSERT INTO accounts (id, name, tier, current_key, next_key, created_at) VALUES (?, ?, 'free', 'k', 'n', 0)",
      `acc_${prefix}${row}`,
      `${prefix}${row}`,
    );
  }
  close();
}

/** A disk that changes a file when it is told to flush it. */
function onFlush(t: TestContext, change: () => void): void {
  const flush = fs.fsyncSync;
  const mock = t.mock.method(fs, 'fsyncSync', (file: number) => {
    flush(file);
    change();
  });
  syncBuiltinESMExports();
  t.after(() => {
    mock.mock.restore();
    syncBuiltinESMExports();
  });
}

/** Overwrites an index over a part of a table: nobody who only reads and counts rows notices. */
function damage(path: string): void {
  const database = new Database(path, { isReader: true });
  const { page, size } = database.get<{ page: number; size: number }>(
    `SELECT rootpage AS page, page_size AS size FROM sqlite_schema, pragma_page_size WHERE name = 'messages_holding'`,
  )!;
  database.close();
  const bytes = readFileSync(path);
  bytes.fill(0xa5, (page - 1) * size, page * size);
  writeFileSync(path, bytes);
}

function given(t: TestContext) {
  const folder = scratchDirectory(t);
  const [directory, part] = [join(folder, 'data'), join(folder, 'copy.db.part')];
  addAccounts(directory, 'a');
  return { folder, directory, part };
}

test('a copy that the disk has damaged does not become the backup', (t) => {
  const { directory, part } = given(t);
  onFlush(t, () => damage(part));
  assert.throws(() => copyStore({ directory, part }), /the copy is damaged/);
});

test('a copy without what was there when the backup began does not become the backup', (t) => {
  const { folder, directory, part } = given(t);
  const older = join(folder, 'older.db');
  copyStore({ directory, part: older });
  addAccounts(directory, 'b');
  assert.equal(copyStore({ directory, part }).find(({ table }) => table === 'accounts')?.rows, 2 * ROWS);
  const again = join(folder, 'again.db.part');
  onFlush(t, () => copyFileSync(older, again));
  assert.throws(() => copyStore({ directory, part: again }), /differs from the store at the start of the backup/);
});

test('a backup that is damaged, or that the disk damages on its way back, is not restored, and nothing is left', (t) => {
  const { folder, directory, part: whole } = given(t);
  copyStore({ directory, part: whole });
  const [broken, target] = [join(folder, 'broken.db'), join(folder, 'restored')];
  copyFileSync(whole, broken);
  damage(broken);
  const requireRefused = (from: string) => {
    assert.throws(() => restoreStore(from, target), /the backup is damaged/);
    const left = existsSync(target) ? readdirSync(target).filter((name) => !name.startsWith('postrider.lock')) : [];
    assert.deepEqual(left, []);
  };
  requireRefused(broken);
  onFlush(t, () => {
    const part = join(target, 'postrider.db.part');
    if (existsSync(part)) damage(part);
  });
  requireRefused(whole);
});

test('a copy gets its name only if the name is free', (t) => {
  const folder = scratchDirectory(t);
  const [part, target] = [join(folder, 'copy.db.part'), join(folder, 'copy.db')];
  writeFileSync(part, 'new');
  writeFileSync(target, 'old');
  assert.throws(() => renameToNew(part, target), /was created meanwhile and is not overwritten/);
  assert.equal(readFileSync(target, 'utf8'), 'old');
});

test('a restore takes no file that has a log beside it, and replaces no store', (t) => {
  const { folder, directory, part: whole } = given(t);
  copyStore({ directory, part: whole });
  const [used, target] = [join(folder, 'used.db'), join(folder, 'restored')];
  copyFileSync(whole, used);
  writeFileSync(`${used}-wal`, '');
  assert.throws(() => restoreStore(used, target), /not a backup/);
  assert.equal(restoreStore(whole, target).rows.find(({ table }) => table === 'accounts')?.rows, ROWS);
  const before = readFileSync(join(target, 'postrider.db'));
  assert.throws(() => restoreStore(whole, target), /already has a store/);
  assert.ok(readFileSync(join(target, 'postrider.db')).equals(before));
  addAccounts(target, 'c');
});
