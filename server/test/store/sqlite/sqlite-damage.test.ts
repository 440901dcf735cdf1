// Files of a store that are gone, emptied, damaged or not of one piece: where a start would lose something, or hide that
// something is lost, there is none, and nothing has changed. A log that was only cut off is as usual after a power cut.

import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { checkStore } from '../../../src/store/sqlite/files/check.ts';
import { readLogState } from '../../../src/store/sqlite/files/log-damage.ts';
import { openBesideService, openDirectory, openReader } from '../../../src/store/sqlite/files/open.ts';
import { checkAtStart } from '../../../src/store/sqlite/files/start-check.ts';
import { Database } from '../../../src/store/sqlite/thread/database.ts';
import { damage } from '../damage.ts';
import { scratchDirectory } from '../scratch-directory.ts';

const PAGE = 8192;
const FRAME = PAGE + 24;
const ROWS = 20;

const rowsOf = (database: Database) =>
  database.get<{ n: number }>("SELECT count(*) AS n FROM usage WHERE kind = 'test'")!.n;

/** A store with a row a transaction, copied as a process leaves it that is killed: the rows are in its log alone. */
function killedStore(t: TestContext): string {
  const folder = scratchDirectory(t);
  const { database, close } = openDirectory(join(folder, 'living'));
  for (let row = 0; row < ROWS; row += 1) {
    database.run("INSERT INTO usage (account_id, day, kind, count) VALUES ('acc', ?, 'test', 1)", String(row));
  }
  const copy = join(folder, 'killed');
  cpSync(join(folder, 'living'), copy, { recursive: true });
  close();
  rmSync(join(copy, 'postrider.db-shm'));
  return copy;
}

function reopened(directory: string): number {
  const { database, close } = openDirectory(directory);
  const rows = rowsOf(database);
  close();
  return rows;
}

/** By name; but for the lock, which whoever opens it takes. */
function hashes(directory: string): Record<string, string> {
  const names = readdirSync(directory).filter((name) => !name.startsWith('postrider.lock'));
  return Object.fromEntries(names.map((name) => [name, hash('sha256', readFileSync(join(directory, name)))]));
}

/** Refused with these words, and left as it was. */
function requireRefusal(directory: string, words: RegExp): void {
  const before = hashes(directory);
  assert.throws(() => openDirectory(directory), words);
  assert.deepEqual(hashes(directory), before);
}

function inLog(directory: string, change: (log: Buffer) => void): void {
  const path = join(directory, 'postrider.db-wal');
  const log = readFileSync(path);
  change(log);
  writeFileSync(path, log);
}

const flip = (log: Buffer, at: number) => {
  log[at]! ^= 0x10;
};

test('a database that is gone or empty is not replaced by a new one: what stood beside it says that there was a store', (t) => {
  const directory = killedStore(t);
  const path = join(directory, 'postrider.db');
  truncateSync(path, 0);
  requireRefusal(directory, /there was a store in .* missing or empty\. Nothing was changed\. Restore a backup/);
  rmSync(path);
  requireRefusal(directory, /missing or empty/);
  assert.ok(!existsSync(path));
  rmSync(join(directory, 'postrider.store'));
  requireRefusal(directory, /missing or empty, but its log postrider\.db-wal exists/);
  rmSync(join(directory, 'postrider.db-wal'));
  assert.equal(reopened(directory), 0, 'what was removed on purpose, with the marker, begins anew');
});

test('a database of zeros, or one without tables, is refused too', (t) => {
  const directory = killedStore(t);
  const path = join(directory, 'postrider.db');
  rmSync(join(directory, 'postrider.db-wal'));
  const good = readFileSync(path);
  writeFileSync(path, Buffer.alloc(good.length));
  requireRefusal(directory, /it is not a SQLite database any more/);
  rmSync(path);
  const other = new Database(path);
  other.exec('CREATE TABLE notes (text)');
  other.close();
  requireRefusal(directory, /it holds no store of postrider/);
});

test('a store from before there were markers, and one whose marker was lost, get one', (t) => {
  const directory = killedStore(t);
  rmSync(join(directory, 'postrider.store'));
  assert.equal(reopened(directory), ROWS);
  assert.equal(statSync(join(directory, 'postrider.store')).mode & 0o777, 0o600);
});

test('a log with flipped bytes in the middle is refused: SQLite would leave out what follows without a word', (t) => {
  const directory = killedStore(t);
  const frames = Math.floor((statSync(join(directory, 'postrider.db-wal')).size - 32) / FRAME);
  assert.ok(frames >= ROWS);
  const damages: readonly (readonly [string, (log: Buffer) => void])[] = [
    ['in a page', (log) => flip(log, 32 + 3 * FRAME + 24 + 100)],
    ['in the first page', (log) => flip(log, 32 + 24 + 100)],
    ['in the salt of a frame', (log) => flip(log, 32 + 3 * FRAME + 9)],
    ['in the sum of a frame', (log) => flip(log, 32 + 3 * FRAME + 17)],
    ['a sector of zeros', (log) => log.fill(0, 32 + 3 * FRAME - 100, 32 + 3 * FRAME + 412)],
    ['in the header', (log) => flip(log, 17)],
    ['no header', (log) => log.fill(0, 0, 32)],
    ['the first sector of zeros', (log) => log.fill(0, 0, 512)],
    ['the first sectors of other bytes', (log) => log.fill(0xa5, 0, 2 * FRAME)],
    ['nothing but zeros', (log) => log.fill(0)],
  ];
  for (const [what, change] of damages) {
    const damaged = `${directory}-${what.replaceAll(' ', '-')}`;
    cpSync(directory, damaged, { recursive: true });
    inLog(damaged, change);
    requireRefusal(
      damaged,
      /the log postrider\.db-wal in .* is damaged \((?:frame \d+ of|the header before its) \d+.*\): \d+ transactions.*postrider check --repair/,
    );
  }
  assert.equal(reopened(directory), ROWS);
});

test('a repair saves what is behind the damage too, keeps the damaged log, and says what is lost', (t) => {
  const directory = killedStore(t);
  const damages: readonly (readonly [string, (log: Buffer) => void, pagesLost: number])[] = [
    ['in a page that was written again', (log) => flip(log, 32 + 3 * FRAME + 24 + 100), 0],
    ['in the header', (log) => flip(log, 17), 0],
    // Two frames: without the sums of the first, the second cannot be judged.
    ['in the first sector', (log) => log.fill(0, 0, 512), 2],
    ['in what a frame says of itself', (log) => flip(log, 32 + 3 * FRAME + 9), 1],
  ];
  for (const [what, change, pagesLost] of damages) {
    const damaged = `${directory}-${what.replaceAll(' ', '-')}`;
    cpSync(directory, damaged, { recursive: true });
    inLog(damaged, change);
    const before = hashes(damaged);
    assert.throws(() => checkStore(damaged, false), /is damaged \(/);
    assert.throws(() => openBesideService(damaged), /is damaged \(/, 'as a command that makes a token does');
    assert.deepEqual(hashes(damaged), before, 'looking changes nothing');
    const { repair, problems } = checkStore(damaged, true);
    assert.deepEqual(problems, [], what);
    assert.equal(repair?.pagesLost, pagesLost, what);
    assert.equal(hash('sha256', readFileSync(repair!.keptAs)), before['postrider.db-wal']);
    assert.equal(reopened(damaged), ROWS, what);
  }
});

test('a repair that would leave a database that is not whole is undone', (t) => {
  const folder = scratchDirectory(t);
  const { database, close } = openDirectory(join(folder, 'living'));
  // A tree that grows: a page that is lost leaves a hole.
  for (let row = 0; row < 60; row += 1) {
    const day = `${String(row).padStart(4, '0')}${'x'.repeat(1000)}`;
    database.run("INSERT INTO usage (account_id, day, kind, count) VALUES ('acc', ?, 'test', 1)", day);
  }
  const killed = join(folder, 'killed');
  cpSync(join(folder, 'living'), killed, { recursive: true });
  close();
  const log = readFileSync(join(killed, 'postrider.db-wal'));
  const pageOf = (index: number) => log.readUInt32BE(32 + index * FRAME);
  const frames = Array.from({ length: Math.floor((log.length - 32) / FRAME) }, (_, index) => index);
  const last = new Map(frames.map((index) => [pageOf(index), index]));
  // The newest of some page that is not the last to be written.
  const victim = [...last.values()].sort((a, b) => a - b)[1]!;
  inLog(killed, (bytes) => flip(bytes, 32 + victim * FRAME + 24 + 4000));
  const before = hashes(killed);
  const { problems, repair } = checkStore(killed, true);
  assert.ok(problems.length > 0 && repair!.pagesLost > 0, JSON.stringify({ problems, repair }));
  assert.equal(hashes(killed)['postrider.db-wal'], before['postrider.db-wal']);
});

test('a whole check finds what the check at the start leaves out, and what contradicts our own rules', (t) => {
  const directory = killedStore(t);
  assert.deepEqual(checkStore(directory, false).problems, []);
  const { database, close } = openDirectory(directory);
  assert.ok(checkStore(directory, false).isRunning);
  assert.throws(() => checkStore(directory, true), /a service runs on .* Stop the service before --repair/);
  database.run("INSERT INTO bodies (account_id, bytes) VALUES ('acc', x'00')");
  close();
  assert.deepEqual(checkStore(directory, false).problems, ['1 stored bodies belong to no message']);
  damage(directory, 'usage');
  assert.ok(checkStore(directory, false).problems.length > 0);
});

test('a log that ends in the middle of its last transaction is as usual after a power cut', (t) => {
  const directory = killedStore(t);
  const path = join(directory, 'postrider.db-wal');
  const log = readFileSync(path);
  const frames = Math.floor((log.length - 32) / FRAME);
  const cuts: readonly (readonly [string, () => void])[] = [
    ['cut off within its last frame', () => writeFileSync(path, log.subarray(0, 32 + frames * FRAME - 100))],
    ['the last frame is zeros', () => writeFileSync(path, Buffer.from(log).fill(0, 32 + (frames - 1) * FRAME))],
    [
      'of the last transaction only the end was written',
      () =>
        writeFileSync(
          path,
          Buffer.from(log).fill(0, 32 + (frames - 1) * FRAME + 4120, 32 + (frames - 1) * FRAME + 5000),
        ),
    ],
    ['garbage follows', () => writeFileSync(path, Buffer.concat([log, Buffer.alloc(3 * FRAME, 0xa5)]))],
  ];
  for (const [what, cut] of cuts) {
    cut();
    const copy = `${directory}-cut`;
    cpSync(directory, copy, { recursive: true });
    assert.ok(reopened(copy) >= ROWS - 1, what);
    rmSync(copy, { recursive: true });
  }
});

test('what the log before this one has left behind it is no damage', (t) => {
  const directory = scratchDirectory(t);
  const { database, close } = openDirectory(directory);
  const add = (from: number, to: number) => {
    for (let row = from; row < to; row += 1)
      database.run("INSERT INTO usage (account_id, day, kind, count) VALUES ('acc', ?, 'test', 1)", String(row));
  };
  add(0, 30);
  // The log starts anew from its beginning, over the old frames.
  database.exec('PRAGMA wal_checkpoint(RESTART)');
  add(30, 33);
  const look = readLogState(join(directory, 'postrider.db-wal'), PAGE);
  assert.ok(look !== null && look.frames < 30);
  assert.deepEqual([look.firstBad, look.commitsLeftOut], [null, 0]);
  close();
});

test('of a short log without its header, the frames of an older log behind it do not count as its own', (t) => {
  const directory = scratchDirectory(t);
  const { database, close } = openDirectory(join(directory, 'living'));
  const add = (day: string) =>
    database.run("INSERT INTO usage (account_id, day, kind, count) VALUES ('acc', ?, 'test', 1)", day);
  for (let row = 0; row < 30; row += 1) add(`old ${row}`);
  database.exec('PRAGMA wal_checkpoint(RESTART)');
  add('new 1');
  add('new 2');
  const killed = join(directory, 'killed');
  cpSync(join(directory, 'living'), killed, { recursive: true });
  close();
  const sound = readLogState(join(killed, 'postrider.db-wal'), PAGE)!;
  inLog(killed, (log) => log.fill(0, 0, 32));
  requireRefusal(killed, /is damaged \(the header before/);
  assert.ok(checkStore(killed, true).repair!.framesKept < sound.frames + 1);
  const { database: again, close: end } = openDirectory(killed);
  assert.equal(again.get<{ n: number }>("SELECT count(*) AS n FROM usage WHERE day LIKE 'old%'")!.n, 30);
  assert.equal(again.get<{ n: number }>("SELECT count(*) AS n FROM usage WHERE day LIKE 'new%'")!.n, 2);
  end();
});

test('a backup that was put beside the log of another database is refused', (t) => {
  const directory = killedStore(t);
  const copy = join(directory, 'copy.db');
  const source = openReader(directory);
  source.database.exec(`VACUUM INTO '${copy}'`);
  for (const suffix of ['', '-wal', '-shm'])
    cpSync(join(directory, `postrider.db${suffix}`), `${directory}-kept${suffix}`);
  source.close();
  cpSync(copy, join(directory, 'postrider.db'));
  cpSync(`${directory}-kept-wal`, join(directory, 'postrider.db-wal'));
  requireRefusal(
    directory,
    /is a backup copy, but the log of another database is next to it.*remove postrider\.db-wal/,
  );
  rmSync(join(directory, 'postrider.db-wal'));
  assert.equal(reopened(directory), ROWS);
});

test('the check at the start finds a damaged page, and the store opens all the same', (t) => {
  const directory = join(scratchDirectory(t), 'data');
  openDirectory(directory).close();
  damage(directory, 'usage');
  const { found, close } = openDirectory(directory);
  close();
  assert.match(found.problems.join('\n'), /^usage: /m);
  assert.deepEqual(found.unchecked, []);
});

test('of a large database the small tables are checked, and the others are named', (t) => {
  const directory = scratchDirectory(t);
  const { database, found, close } = openDirectory(directory);
  assert.deepEqual(found, { problems: [], unchecked: [] });
  const fill = 'CREATE TABLE large (x); INSERT INTO large VALUES (zeroblob(70000000))';
  database.exec(fill);
  assert.deepEqual(checkAtStart(database), { problems: [], unchecked: ['large'] });
  close();
});

test('a database that another program has locked is told from one that another postrider has', (t) => {
  const directory = scratchDirectory(t);
  openDirectory(directory).close();
  const shell = new Database(join(directory, 'postrider.db'));
  shell.exec('BEGIN IMMEDIATE');
  assert.throws(
    () => openDirectory(directory),
    /another program, such as a sqlite3 shell, has locked it .*Close that program/,
  );
  shell.exec('ROLLBACK');
  shell.close();
  openDirectory(directory).close();
});
