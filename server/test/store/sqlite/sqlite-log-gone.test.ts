// A store that was not closed has its newest messages in its log alone. A start without that log must not pass for a start
// after a proper end.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startBackup } from '../../../src/store/sqlite/files/backup.ts';
import { checkStore } from '../../../src/store/sqlite/files/check.ts';
import { openBesideService, openDirectory, openReader } from '../../../src/store/sqlite/files/open.ts';
import { openMoveSource } from '../../../src/store/sqlite/move.ts';
import { Database } from '../../../src/store/sqlite/thread/database.ts';
import { scratchDirectory } from '../scratch-directory.ts';

const ROWS = 20;
const MISSING = /was not closed, and its log postrider\.db-wal is missing or empty.*check --repair --data/;
const OPEN = new URL('../../../src/store/sqlite/files/open.ts', import.meta.url).href;

const insert = (database: Database, row: number) =>
  database.run("INSERT INTO usage (account_id, day, kind, count) VALUES ('acc', ?, 'test', 1)", String(row));

/** A process that fills a store and does what it is told then. It says that it is ready. */
async function storeProcess(t: TestContext, directory: string, then: string): Promise<ChildProcess> {
  const program = `import { openDirectory } from ${JSON.stringify(OPEN)};
    const { database, close } = globalThis.file = openDirectory(${JSON.stringify(directory)});
    for (let row = 0; row < ${ROWS}; row += 1) {
      database.run("INSERT INTO usage (account_id, day, kind, count) VALUES ('acc', ?, 'test', 1)", String(row));
    }
    ${then}
    process.stdout.write('ready');`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => void child.kill('SIGKILL'));
  await once(child.stdout!, 'data');
  return child;
}

const STAYS = 'process.stdin.resume();';

async function killed(t: TestContext, directory: string): Promise<string> {
  const child = await storeProcess(t, directory, STAYS);
  child.kill('SIGKILL');
  await once(child, 'exit');
  return directory;
}

function reopened(directory: string): number {
  const { database, close } = openDirectory(directory);
  const { n } = database.get<{ n: number }>("SELECT count(*) AS n FROM usage WHERE kind = 'test'")!;
  close();
  return n;
}

const isThere = (directory: string, name: string) => existsSync(join(directory, name));

test('a log that was taken away from a store that was not closed is missed by every command, and given up only on request', async (t) => {
  const directory = await killed(t, join(scratchDirectory(t), 'data'));
  const ways: readonly (readonly [string, (log: string) => void])[] = [
    ['removed', (log) => rmSync(log)],
    [
      'removed with its index',
      (log) => [log, log.replace(/wal$/, 'shm')].forEach((path) => void rmSync(path, { force: true })),
    ],
    ['emptied', (log) => truncateSync(log, 0)],
    ['cut behind its header', (log) => truncateSync(log, 32)],
  ];
  for (const [what, take] of ways) {
    const copy = `${directory} ${what}`;
    cpSync(directory, copy, { recursive: true });
    const log = readFileSync(join(copy, 'postrider.db-wal'));
    take(join(copy, 'postrider.db-wal'));
    for (const start of [
      () => openDirectory(copy),
      () => openBesideService(copy),
      () => checkStore(copy, false),
      () => startBackup(copy, join(copy, 'backup')),
      () => openMoveSource(copy, 'localhost/x'),
    ]) {
      assert.throws(start, MISSING, what);
    }
    // Whoever finds the log has lost nothing.
    writeFileSync(join(copy, 'postrider.db-wal'), log);
    cpSync(copy, `${copy} again`, { recursive: true });
    assert.equal(reopened(`${copy} again`), ROWS, what);
    take(join(copy, 'postrider.db-wal'));
    const report = checkStore(copy, true);
    assert.deepEqual([report.isLogGivenUp, report.problems], [true, []], what);
    assert.equal(reopened(copy), 0, 'what was in the log alone');
    assert.equal(checkStore(copy, false).isLogGivenUp, false);
  }
});

test('a store that was closed has no mark and starts without a log', async (t) => {
  const directory = join(scratchDirectory(t), 'data');
  const file = openDirectory(directory);
  assert.ok(isThere(directory, 'postrider.open'));
  insert(file.database, 1);
  file.close();
  assert.deepEqual([isThere(directory, 'postrider.open'), isThere(directory, 'postrider.db-wal')], [false, false]);
  assert.equal(reopened(directory), 1);
});

test('a store that an earlier version left has no mark: it starts, and has one from then on', async (t) => {
  const directory = await killed(t, join(scratchDirectory(t), 'data'));
  rmSync(join(directory, 'postrider.open'));
  const { close } = openDirectory(directory);
  assert.ok(isThere(directory, 'postrider.open'));
  close();
  assert.equal(reopened(directory), ROWS);
});

test('a process that exits without closing the store leaves its log to the next start', async (t) => {
  const directory = join(scratchDirectory(t), 'data');
  const child = await storeProcess(t, directory, "process.stdin.on('end', () => process.exit(0)).resume();");
  child.stdin!.end();
  await once(child, 'exit');
  assert.deepEqual([isThere(directory, 'postrider.open'), isThere(directory, 'postrider.db-wal')], [true, true]);
  assert.equal(reopened(directory), ROWS);
});

test('a command beside a store that was not closed, or whose service is killed meanwhile, leaves one that starts', async (t) => {
  const directory = await killed(t, join(scratchDirectory(t), 'data'));
  const alone = openBesideService(directory);
  insert(alone.database, 100);
  alone.close();
  assert.equal(reopened(directory), ROWS + 1);

  const other = join(scratchDirectory(t), 'data');
  const service = await storeProcess(t, other, STAYS);
  const beside = openBesideService(other);
  insert(beside.database, 100);
  service.kill('SIGKILL');
  await once(service, 'exit');
  beside.close();
  assert.equal(reopened(other), ROWS + 1);
});

test('a start that fails, and one that somebody reads beside, leave the log until it can be moved', async (t) => {
  const directory = await killed(t, join(scratchDirectory(t), 'data'));
  const other = new Database(join(directory, 'postrider.db'));
  other.exec('BEGIN IMMEDIATE');
  assert.throws(() => openDirectory(directory), /another program, such as a sqlite3 shell, has locked it/);
  assert.ok(isThere(directory, 'postrider.open'));
  other.exec('ROLLBACK');
  // Its snapshot is older than what the service writes, so that the service cannot empty its log when it ends.
  const file = openDirectory(directory);
  const reader = openReader(directory);
  reader.database.exec('BEGIN');
  reader.database.get('SELECT count(*) FROM usage');
  insert(file.database, 100);
  file.database.exec('PRAGMA busy_timeout = 1');
  file.close();
  assert.deepEqual([isThere(directory, 'postrider.open'), isThere(directory, 'postrider.db-wal')], [true, true]);
  reader.close();
  other.close();
  assert.equal(reopened(directory), ROWS + 1);
});

test('another program that moved the log of a store that was not closed looks like one that took it away', async (t) => {
  const directory = await killed(t, join(scratchDirectory(t), 'data'));
  const shell = new Database(join(directory, 'postrider.db'));
  shell.get('SELECT count(*) FROM usage');
  shell.close();
  assert.equal(isThere(directory, 'postrider.db-wal'), false);
  assert.throws(() => openDirectory(directory), MISSING);
  assert.equal(checkStore(directory, true).isLogGivenUp, true);
  assert.equal(reopened(directory), ROWS);
});

test('a backup that is put in the place of a store that was not closed starts without its log', async (t) => {
  const directory = await killed(t, join(scratchDirectory(t), 'data'));
  const copy = `${directory}.backup`;
  await startBackup(directory, copy).done;
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(directory, `postrider.db${suffix}`));
  cpSync(copy, join(directory, 'postrider.db'));
  assert.equal(reopened(directory), ROWS);
});

test('a log that was overwritten while the store was open is not copied into the database at its end', (t) => {
  const directory = join(scratchDirectory(t), 'data');
  const { database, close } = openDirectory(directory);
  for (let row = 0; row < ROWS; row += 1) insert(database, row);
  const [file, log] = [join(directory, 'postrider.db'), join(directory, 'postrider.db-wal')];
  const before = readFileSync(file);
  writeFileSync(log, readFileSync(log).fill(0xa5, 32), { flag: 'r+' });
  close();
  // Not compared as values: to show how two files differ takes gigabytes.
  assert.ok(readFileSync(file).equals(before), 'the database is as it was');
  assert.throws(() => openDirectory(directory), /damaged/);
});
