// The data directory and its files are for their owner alone, and a directory of others is not taken away from them.

import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { prepareDirectory } from '../../../src/store/sqlite/files/directory.ts';
import { openDirectory, openReader } from '../../../src/store/sqlite/files/open.ts';
import { lacks } from '../../support/machine.ts';
import { scratchDirectory } from '../scratch-directory.ts';

const skip = lacks('posix');

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

/** Names and permissions of all that is in it. */
function modesIn(directory: string): Record<string, string> {
  return Object.fromEntries(readdirSync(directory).map((name) => [name, modeOf(join(directory, name))]));
}

/** As a service would run that was started without any care. */
function withUmask<T>(mask: number, work: () => T): T {
  const before = process.umask(mask);
  try {
    return work();
  } finally {
    process.umask(before);
  }
}

test('a directory is made for its owner alone, and so is every file in it', { skip }, (t) => {
  const directory = join(scratchDirectory(t), 'a', 'data');
  withUmask(0, () => {
    const { database, close } = openDirectory(directory);
    database.run('INSERT INTO nodes (id, alive_until) VALUES (?, ?)', 'nod_1', 1);
    const reader = openReader(directory);
    assert.equal(modeOf(directory), '700');
    const modes = modesIn(directory);
    for (const name of ['db', 'db-shm', 'db-wal', 'lock']) assert.ok(`postrider.${name}` in modes, name);
    assert.deepEqual(new Set(Object.values(modes)), new Set(['600']), JSON.stringify(modes));
    reader.close();
    close();
  });
  assert.equal(modeOf(join(directory, '..')), '777', 'what lies above is made as any program would');
});

test('one that is too open is closed, with its files and copies of them', { skip }, (t) => {
  const directory = join(scratchDirectory(t), 'data');
  openDirectory(directory).close();
  writeFileSync(join(directory, 'postrider.db.backup-2026'), 'copy');
  for (const name of readdirSync(directory)) chmodSync(join(directory, name), 0o644);
  chmodSync(directory, 0o755);
  assert.deepEqual(prepareDirectory(directory), []);
  assert.equal(modeOf(directory), '700');
  assert.deepEqual(new Set(Object.values(modesIn(directory))), new Set(['600']));
});

test('a directory with other files in it is left open and warned about; our files in it are closed', { skip }, (t) => {
  const directory = join(scratchDirectory(t), 'data');
  mkdirSync(directory);
  writeFileSync(join(directory, 'notes.txt'), 'of somebody else', { mode: 0o644 });
  chmodSync(directory, 0o755);
  const [warning, ...more] = prepareDirectory(directory);
  assert.match(
    warning ?? '',
    /^the data directory .* is open to other users .* because it holds other files too: .*chmod 700/,
  );
  assert.deepEqual(more, []);
  assert.equal(modeOf(directory), '755');
  assert.deepEqual(modesIn(directory), { 'notes.txt': '644', 'postrider.lock': '600' });
});

test('a directory of another user is left as it is and warned about', {
  skip: lacks('posix', 'root'),
}, (t) => {
  const directory = join(scratchDirectory(t), 'data');
  mkdirSync(directory);
  chmodSync(directory, 0o777);
  chownSync(directory, 65_534, 65_534);
  assert.match(prepareDirectory(directory).join(), /because it belongs to another user/);
  assert.equal(modeOf(directory), '777');
});

test('a link that somebody left in place of a file does not change what it leads to', { skip }, (t) => {
  const directory = join(scratchDirectory(t), 'data');
  const target = join(directory, '..', 'important');
  mkdirSync(directory);
  writeFileSync(target, '', { mode: 0o644 });
  chmodSync(target, 0o644);
  symlinkSync(target, join(directory, 'postrider.lock'));
  prepareDirectory(directory);
  assert.equal(modeOf(target), '644');
});

test('what cannot be used is refused with the reason', { skip }, (t) => {
  const folder = scratchDirectory(t);
  const file = join(folder, 'file');
  writeFileSync(file, '');
  mkdirSync(join(folder, 'data', 'postrider.db'), { recursive: true });
  symlinkSync(join(folder, 'nowhere', 'at-all'), join(folder, 'dangling'));
  const refused: readonly (readonly [string, RegExp])[] = [
    [file, /it is a file, not a directory\. Choose another with --data$/],
    [join(file, 'below'), /a part of the path .*below is not a directory \(ENOTDIR\)\. Choose another/],
    [join(folder, 'data'), /postrider\.db is not a file: move it away/],
    [
      join(folder, 'dangling'),
      /cannot be created: the file system allows no directory or file there \(ENOENT\)\. Choose another/,
    ],
    [join(folder, 'x'.repeat(300)), /ENAMETOOLONG/],
  ];
  for (const [directory, why] of refused) {
    assert.throws(
      () => prepareDirectory(directory),
      (error: Error) => {
        assert.ok(error.message.startsWith(`cannot use the data directory ${directory}: `), error.message);
        assert.match(error.message, why);
        return true;
      },
    );
  }
});

test('a file that is no database is named, not taken for one that is in use', (t) => {
  const directory = scratchDirectory(t);
  writeFileSync(join(directory, 'postrider.db'), 'this is no database, though it is where one should be'.repeat(100));
  assert.throws(
    () => openDirectory(directory),
    /cannot open the database in .*: postrider\.db exists, but it is not a SQLite database\. Restore/,
  );
  const other = scratchDirectory(t);
  writeFileSync(join(other, 'postrider.lock'), 'neither is this, and it stands in place of the lock'.repeat(100));
  assert.throws(
    () => openDirectory(other),
    /cannot lock the data directory with .*: it is not a lock file of postrider\. The lock file holds no data: remove it/,
  );
});
