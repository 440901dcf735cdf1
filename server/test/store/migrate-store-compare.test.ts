// The parts of a move by themselves: which tables are moved, that a write whose answer was lost is not done twice, what
// cannot be held, and that the comparison at the end sees every difference.

import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { systemWorld } from '../../src/runtime/world.ts';
import { FinishInDoubt, MOVED_TABLES, MoveStopped, type MoveTarget, moveStore } from '../../src/store/move.ts';
import { openMoveTarget } from '../../src/store/postgres/move.ts';
import { TableDigest } from '../../src/store/rows/row-digest.ts';
import { readMoved, writeMoved } from '../../src/store/sqlite/files/moved.ts';
import { openDatabase, openDirectory } from '../../src/store/sqlite/files/open.ts';
import { openMoveSource } from '../../src/store/sqlite/move.ts';
import { Database } from '../../src/store/sqlite/thread/database.ts';
import { withClient } from '../postgres/databases.ts';
import { sharedServer } from '../postgres/server.ts';
import { Process } from '../support/process.ts';
import { fillWithRows } from './many-rows.ts';
import { scratchDirectory } from './scratch-directory.ts';

const postgres = await sharedServer();

/** With the schema, as a database has it whose move is begun. */
async function emptyDatabase(t: TestContext): Promise<string> {
  const name = await postgres.createDatabase();
  t.after(() => postgres.dropDatabase(name));
  return postgres.url(name);
}

/** Moves with a target that is changed on the way. */
async function move(directory: string, url: string, change: (target: MoveTarget) => Partial<MoveTarget> = () => ({})) {
  const source = openMoveSource(directory, 'localhost/target');
  try {
    const target = await openMoveTarget({ url, timers: systemWorld().clock, log: () => {} });
    try {
      return await moveStore(source, { ...target, ...change(target) }, { now: Date.now(), onProgress: () => {} });
    } finally {
      await target.close();
    }
  } finally {
    source.close();
  }
}

function query(url: string, sql: string) {
  return withClient(url, async (client) => (await client.query(sql)).rows as Record<string, unknown>[]);
}

function filled(t: TestContext, messages: number): string {
  const directory = scratchDirectory(t);
  fillWithRows(directory, messages);
  return directory;
}

test('a source is marked as moved before the target can be used; a commit that failed leaves it usable, one in doubt does not', async (t) => {
  const directory = filled(t, 20);
  const isUsable = () => {
    try {
      openDirectory(directory).close();
      return true;
    } catch (error) {
      assert.match((error as Error).message, /moved to PostgreSQL at localhost\/target on 20/);
      return false;
    }
  };
  const url = await emptyDatabase(t);
  const usable: boolean[] = [];
  const ended = (error: Error) => (target: MoveTarget) => ({
    finish: (_seq: number, beforeCommit: () => void): Promise<void> => {
      assert.equal(readMoved(directory), null, 'not before');
      beforeCommit();
      assert.equal(readMoved(directory)?.isConfirmed, false);
      void target;
      throw error;
    },
  });
  await assert.rejects(move(directory, url, ended(new Error('no space left'))), MoveStopped);
  usable.push(isUsable());
  await assert.rejects(move(directory, url, ended(new FinishInDoubt('connection lost'))), MoveStopped);
  usable.push(isUsable());
  assert.deepEqual(usable, [true, false]);
  // The next run settles it. The commit had not been made.
  assert.equal((await move(directory, url)).isFinished, true);
  assert.equal(readMoved(directory)?.isConfirmed, true);
  // The same, if the commit had been made.
  writeMoved(directory, { at: 1, to: 'localhost/target', isConfirmed: false });
  await assert.rejects(move(directory, url), /the earlier move into this database is complete/);
  assert.equal(readMoved(directory)?.isConfirmed, true);
  // Into another database it would be a second copy.
  writeMoved(directory, { at: 1, to: 'localhost/other', isConfirmed: false });
  await assert.rejects(move(directory, url), /moved to PostgreSQL at localhost\/other/);
});

test('every table of both stores is moved, but for those of the processes and of the schema', async (t) => {
  const sqlite = openDatabase(':memory:');
  const here = sqlite.all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'");
  sqlite.close();
  const moved = [...MOVED_TABLES, 'nodes', 'clock'].toSorted();
  assert.deepEqual(here.map(({ name }) => name).toSorted(), moved);
  const name = await postgres.createDatabase();
  t.after(() => postgres.dropDatabase(name));
  const there = await query(
    postgres.url(name),
    "SELECT relname::text AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace",
  );
  assert.deepEqual(there.map((row) => row.name).toSorted(), [...moved, 'schema_version'].toSorted());
});

test('a move whose writes fail now and then, before or after their commit, ends complete', async (t) => {
  const directory = filled(t, 4500);
  const url = await emptyDatabase(t);
  let failures = 0;
  for (let writes = 0; ; ) {
    try {
      const report = await move(directory, url, (target) => ({
        async write(table, rows, at) {
          writes += 1;
          if (writes % 5 === 2) throw new Error('lost before');
          await target.write(table, rows, at);
          if (writes % 5 === 4) throw new Error('lost after');
        },
      }));
      assert.ok(report.isFinished && report.isResumed);
      break;
    } catch (error) {
      assert.ok(error instanceof MoveStopped && /^lost/.test(error.message), String(error));
      failures += 1;
    }
  }
  assert.ok(failures > 5, String(failures));
  assert.deepEqual(await query(url, "SELECT to_regclass('store_move')::text AS is"), [{ is: null }]);
});

test('a character that PostgreSQL cannot hold is replaced in errors and counted, also over two runs', async (t) => {
  const directory = filled(t, 1200);
  const { database, close } = openDirectory(directory);
  const NUL = "'a' || char(0) || 'b' || char(128512)";
  assert.equal(database.run(`UPDATE attempts SET error = ${NUL} WHERE message_seq IN (1, 1150)`), 2);
  assert.equal(database.run(`UPDATE messages SET failure = ${NUL} WHERE seq = 2`), 1);
  close();
  const url = await emptyDatabase(t);
  const stop = (target: MoveTarget): Partial<MoveTarget> => ({
    async endTable(table) {
      await target.endTable(table);
      if (table === 'messages') throw new Error('stop');
    },
  });
  await assert.rejects(move(directory, url, stop), MoveStopped);
  const report = await move(directory, url);
  assert.deepEqual([report.isFinished, report.replaced], [true, 3]);
  assert.deepEqual(await query(url, 'SELECT error FROM attempts WHERE message_seq = 1150'), [
    { error: 'a\ufffdb\u{1F600}' },
  ]);
  assert.deepEqual(await query(url, 'SELECT failure FROM messages WHERE seq = 2'), [{ failure: 'a\ufffdb\u{1F600}' }]);
});

test('such a character anywhere else stops the move and says where', async (t) => {
  const directory = filled(t, 10);
  const { database, close } = openDirectory(directory);
  database.exec("UPDATE topics SET name = 'a' || char(0)");
  close();
  await assert.rejects(move(directory, await emptyDatabase(t)), /a name in topics has a character U\+0000/);
});

suite('the comparison', () => {
  for (const [what, table, sql] of [
    ['a byte of a body', 'messages', "UPDATE messages SET body = body || '\\x00' WHERE seq = 8"],
    ['a null that is no text', 'messages', "UPDATE messages SET order_key = '' WHERE seq = 8"],
    ['a flag', 'queues', "UPDATE queues SET is_paused = NOT is_paused WHERE name = 'q3'"],
    ['the place in line', 'queues', "UPDATE queues SET line_at = line_at + 1 WHERE name = 'q3'"],
    ['the shard', 'usage', "UPDATE usage SET shard = 1 WHERE day = '2026-01-7'"],
    ['a secret', 'tokens', "UPDATE tokens SET hash = sha256(hash) WHERE id = 'tok_7'"],
    ['two values that changed places', 'journal', 'UPDATE journal SET at = message_seq, message_seq = at + 1'],
    ['the account of an attempt', 'attempts', "UPDATE attempts SET account_id = 'acc_9' WHERE message_seq = 1"],
    ['a row that is missing', 'message_labels', 'DELETE FROM message_labels WHERE message_seq = 7'],
    [
      'a row too many',
      'jobs',
      "INSERT INTO jobs (id, account_id, action, filter, per_second, state, matched, done, at_seq, created_at, updated_at) SELECT 'job_2', account_id, action, filter, per_second, state, matched, done, at_seq, created_at, updated_at FROM jobs",
    ],
  ] as const) {
    test(`sees ${what}, and leaves the move unfinished`, async (t) => {
      const directory = filled(t, 40);
      const url = await emptyDatabase(t);
      const tampered = (target: MoveTarget): Partial<MoveTarget> => ({
        async endTable(ended) {
          await target.endTable(ended);
          if (ended === 'journal') await query(url, sql);
        },
      });
      const report = await move(directory, url, tampered);
      assert.equal(report.isFinished, false);
      assert.deepEqual(
        report.tables.filter(({ isSame }) => !isSame).map((each) => each.table),
        [table],
      );
      assert.equal((await move(directory, url)).isFinished, false, 'it stays so');
      assert.deepEqual(await query(url, "SELECT to_regclass('store_move')::text AS is"), [{ is: 'store_move' }]);
    });
  }
});

test('the command says which table is different, exits with 1, and no service starts on the database', async (t) => {
  const directory = filled(t, 40);
  const url = await emptyDatabase(t);
  const stopAtTheEnd = () => ({ finish: () => Promise.reject(new Error('stop')) });
  await assert.rejects(move(directory, url, stopAtTheEnd), MoveStopped);
  await query(url, "UPDATE messages SET headers = '[ ]' WHERE seq = 8");
  const run = async (...argv: string[]) => {
    const command = new Process([...argv, '--store', url], {});
    return { status: await command.exit, stdout: command.stdout, stderr: command.stderr };
  };
  const told = await run('migrate-store', '--data', directory);
  assert.equal(told.status, 1);
  assert.match(told.stdout, /^messages +40 +40 {2}DIFFERENT$/m);
  assert.match(told.stdout, /^journal +40 +40 {2}the same$/m);
  assert.match(told.stderr, /these tables differ between the two stores: messages\. The move is not finished/);
  const json = await run('migrate-store', '--data', directory, '--json');
  assert.deepEqual([json.status, (JSON.parse(json.stdout) as { finished: boolean }).finished], [1, false]);
  const serve = await run('serve', '--port', '0');
  assert.equal(serve.status, 1);
  assert.match(serve.stderr, /a move into this database is not finished/);
  await query(url, "UPDATE messages SET headers = '[]' WHERE seq = 8");
  assert.equal((await run('migrate-store', '--data', directory)).status, 0);
});

test('a sum of rows does not depend on their order, and on everything else', () => {
  const sumOf = (...rows: Record<string, string | number | boolean | null | Uint8Array>[]) => {
    const digest = new TableDigest();
    for (const row of rows) digest.add(row);
    return digest.sum();
  };
  const [one, two] = [
    { a: 1, b: 'x' },
    { a: 2, b: null },
  ];
  assert.equal(sumOf(one, two), sumOf(two, one));
  assert.equal(sumOf({ a: true }), sumOf({ a: 1 }));
  const different = [
    [one],
    [two],
    [one, one],
    [{ a: '1', b: 'x' }],
    [{ a: 1, c: 'x' }],
    [{ a: 1, b: 'x', c: null }],
    [],
  ];
  assert.equal(new Set(different.map((rows) => sumOf(...rows))).size, different.length);
});

test('another source, or the same one after a service ran on it, is not mixed into an unfinished move', async (t) => {
  const url = await emptyDatabase(t);
  const directory = filled(t, 40);
  const stop = () => ({ write: () => Promise.reject(new Error('stop')) });
  await assert.rejects(move(directory, url, stop), MoveStopped);
  const why = /holds an unfinished move from .*, but .* is another store or has changed since/;
  await assert.rejects(move(filled(t, 40), url), why);
  const changes = [
    "UPDATE queues SET is_paused = 1, updated_at = 99 WHERE name = 'q2'",
    "UPDATE messages SET due_at = 1 WHERE seq = 8 AND state = 'delayed'",
    "UPDATE messages SET lease = 'other' WHERE seq = 3",
    "UPDATE tokens SET revoked_at = 5 WHERE id = 'tok_2'",
    'DELETE FROM usage',
    "INSERT INTO journal VALUES ('acc_1', 999, 1, 1, 1)",
  ];
  for (const sql of changes) {
    const raw = new Database(`${directory}/postrider.db`);
    assert.ok(raw.run(sql) > 0, sql);
    raw.close();
    await assert.rejects(move(directory, url), why, sql);
  }
});
