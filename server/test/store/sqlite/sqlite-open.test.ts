// Opening the file: durable or not at all, by one process at a time, with a schema this program knows.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  compareVersions,
  openBesideService,
  openDatabase,
  openDirectory,
} from '../../../src/store/sqlite/files/open.ts';
import { createSqliteStore } from '../../../src/store/sqlite/store.ts';
import { Database } from '../../../src/store/sqlite/thread/database.ts';
import { inlineExecutor, threadExecutor } from '../../../src/store/sqlite/thread/executor.ts';
import { INTERRUPTED, message, NOW, settlementOf } from '../../conformance/given.ts';
import { Node } from '../../conformance/harness.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { scratchDirectory } from '../scratch-directory.ts';

const IN_USE = /The data directory .* is in use by another postrider\. Stop that one first, or give this one/;

const userVersion = (database: Database) => database.get<{ user_version: number }>('PRAGMA user_version')!.user_version;
const tableCount = (database: Database) =>
  database.get<{ n: number }>("SELECT count(*) AS n FROM sqlite_schema WHERE name NOT LIKE 'sqlite%'")!.n;

test('a commit is on disk: write-ahead log, and a full flush at every commit', (t) => {
  const { database, close } = openDirectory(scratchDirectory(t));
  assert.equal(database.get<{ journal_mode: string }>('PRAGMA journal_mode')!.journal_mode, 'wal');
  assert.equal(database.get<{ synchronous: number }>('PRAGMA synchronous')!.synchronous, 2);
  assert.equal(database.get<{ foreign_keys: number }>('PRAGMA foreign_keys')!.foreign_keys, 1);
  close();
});

test('a file that SQLite gives no write-ahead log is refused', () => {
  // A nameless temporary file is one; on a disk, those of some network file systems are.
  assert.throws(() => openDatabase(''), /journal_mode=delete and synchronous=2; postrider needs wal and 2/);
});

test('a connection beside a service flushes at every commit as well', (t) => {
  const directory = scratchDirectory(t);
  openDirectory(directory).close();
  const { database, close } = openBesideService(directory);
  assert.equal(database.get<{ synchronous: number }>('PRAGMA synchronous')!.synchronous, 2);
  assert.equal(database.get<{ foreign_keys: number }>('PRAGMA foreign_keys')!.foreign_keys, 1);
  close();
});

test('a SQLite that does not flush at every commit, whatever it was told, is refused', (t) => {
  const { get } = Database.prototype;
  t.mock.method(Database.prototype, 'get', function (this: Database, ...asked: Parameters<typeof get>) {
    return asked[0] === 'PRAGMA synchronous' ? { synchronous: 1 } : get.apply(this, asked);
  });
  assert.throws(
    () => openDirectory(scratchDirectory(t)),
    /journal_mode=wal and synchronous=1; postrider needs wal and 2/,
  );
});

test('the SQLite in use is new enough, and versions are compared as numbers', () => {
  assert.ok(compareVersions('3.51.3', '3.51.3') === 0);
  assert.ok(compareVersions('3.51.2', '3.51.3') < 0);
  assert.ok(compareVersions('3.9.0', '3.51.3') < 0);
  assert.ok(compareVersions('3.100', '3.51.3') > 0);
  assert.ok(compareVersions('4', '3.51.3') > 0);
  assert.ok(compareVersions('3.51', '3.51.0') === 0);
  const database = openDatabase(':memory:');
  const { version } = database.get<{ version: string }>('SELECT sqlite_version() AS version')!;
  assert.ok(compareVersions(version, '3.51.3') >= 0);
  database.close();
});

test('a directory that is open cannot be opened again, until it is closed', async (t) => {
  const directory = scratchDirectory(t);
  const first = openDirectory(directory);
  await assert.rejects(threadExecutor(directory), IN_USE);
  first.close();
  const second = await threadExecutor(directory);
  await second.close();
  openDirectory(directory).close();
});

test('a process that is killed leaves no lock behind', async (t) => {
  const directory = scratchDirectory(t);
  const open = new URL('../../../src/store/sqlite/files/open.ts', import.meta.url).href;
  const program = `import { openDirectory } from ${JSON.stringify(open)};
    globalThis.file = openDirectory(${JSON.stringify(directory)});
    process.stdout.write('opened');
    setInterval(() => {}, 60_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  await once(child.stdout, 'data');
  assert.throws(() => openDirectory(directory), IN_USE);
  child.kill('SIGKILL');
  await exited;
  openDirectory(directory).close();
});

test('a start finds the claims of the process before it at once, however long that one meant to live', async (t) => {
  const directory = scratchDirectory(t);
  const start = async (name: string, clock: ManualClock) => {
    const executor = await threadExecutor(directory);
    const onBroken = (error: Error) => assert.fail(error);
    return new Node(name, createSqliteStore({ executor, clock, node: name, onBroken }));
  };
  const first = await start('nod_1', new ManualClock(NOW));
  const account = { id: 'acc_1', name: 'one', tier: 'free', createdAt: NOW } as const;
  await first.store.createAccount(account, { current: 'sig_1', next: 'sig_2' });
  await first.store.heartbeat('nod_1', 1e12);
  await first.store.accept([message()], NOW);
  await first.claimOne(NOW);
  await first.store.close();

  const second = await start('nod_2', new ManualClock(NOW));
  await second.store.heartbeat('nod_2', 15_000);
  const orphans = await second.store.orphanedClaims('nod_2');
  assert.equal(orphans.length, 1);
  await second.store.settle([settlementOf(orphans[0]!, INTERRUPTED, NOW)], NOW);
  assert.equal((await second.claimOne(NOW)).message.interrupted, 1);
  await second.store.close();
});

test('a schema that a newer program wrote is refused and left alone', async (t) => {
  const directory = scratchDirectory(t);
  const { database, close } = openDirectory(directory);
  const known = userVersion(database);
  // The very next one.
  const newer = known + 1;
  database.exec(`PRAGMA user_version = ${newer}`);
  close();
  const refused = new RegExp(
    `schema version ${newer}, but this program only knows versions up to ${known}\\b.*newer postrider`,
  );
  assert.throws(() => openDirectory(directory), refused);
  await assert.rejects(threadExecutor(directory), refused);
  const raw = new Database(join(directory, 'postrider.db'));
  assert.equal(userVersion(raw), newer);
  raw.close();
});

test('a migration that fails half-way is undone, and done when its obstacle is gone', (t) => {
  const path = join(scratchDirectory(t), 'postrider.db');
  const raw = new Database(path);
  raw.exec('CREATE TABLE attempts (in_the_way)'); // the last table the first migration makes
  raw.close();
  assert.throws(() => openDatabase(path), /attempts already exists/);
  const after = new Database(path);
  assert.equal(userVersion(after), 0);
  assert.equal(tableCount(after), 1);
  after.exec('DROP TABLE attempts');
  after.close();
  const database = openDatabase(path);
  assert.ok(userVersion(database) > 0);
  database.close();
});

test('a migration cut off by a crash before its commit never happened', (t) => {
  const directory = scratchDirectory(t);
  const [path, copy] = [join(directory, 'a.db'), join(directory, 'b.db')];
  const migration = new URL('../../../src/store/sqlite/migrations/0001-core.sql', import.meta.url);
  const dying = new Database(path);
  // A cache too small for the migration, so that part of it is in the log when the process dies.
  dying.exec('PRAGMA journal_mode = WAL; PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE;');
  dying.exec(readFileSync(migration, 'utf8'));
  dying.exec('PRAGMA user_version = 1');
  for (const suffix of ['', '-wal']) cpSync(`${path}${suffix}`, `${copy}${suffix}`);
  dying.exec('ROLLBACK');
  dying.close();

  const raw = new Database(copy);
  assert.equal(userVersion(raw), 0);
  assert.equal(tableCount(raw), 0);
  raw.close();
  const database = openDatabase(copy);
  assert.ok(userVersion(database) > 0);
  database.close();
});

test('opening again what is up to date changes nothing', (t) => {
  const path = join(scratchDirectory(t), 'postrider.db');
  openDatabase(path).close();
  const before = readFileSync(path);
  openDatabase(path).close();
  assert.deepEqual(readFileSync(path), before);
});

test('what was accepted is there after a close and a new start', async (t) => {
  const path = join(scratchDirectory(t), 'postrider.db');
  const accepted = message({ body: new Uint8Array([0, 255]) });
  for (const isFirst of [true, false]) {
    const store = createSqliteStore({
      executor: inlineExecutor(openDatabase(path)),
      clock: new ManualClock(NOW),
      node: 'nod_1',
      onBroken: (error) => assert.fail(error),
    });
    if (isFirst) await store.accept([accepted], NOW);
    assert.deepEqual((await store.getMessage(accepted.accountId, accepted.id))!.message.body, accepted.body);
    await store.close();
  }
});
