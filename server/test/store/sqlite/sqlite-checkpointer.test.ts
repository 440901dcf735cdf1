// The log of SQLite is copied into the database beside the writer: who copies it when, and that nothing is missing afterwards.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DATABASE_FILE } from '../../../src/store/sqlite/files/directory.ts';
import { openDirectory } from '../../../src/store/sqlite/files/open.ts';
import {
  checkpointWithoutWaiting,
  chooseCheckpointer,
  framesAdded,
  shouldCheckpointAgain,
} from '../../../src/store/sqlite/thread/checkpointer.ts';
import { threadExecutor } from '../../../src/store/sqlite/thread/executor.ts';
import type { Command } from '../../../src/store/sqlite/thread/verbs.ts';
import { ACCOUNT, KEYS, message, NOW } from '../../conformance/given.ts';
import { waitFor } from '../../support/wait.ts';
import { scratchDirectory } from '../scratch-directory.ts';

const MIB = 1024 * 1024;

test('a short log is left alone, a longer one is copied beside the writer', () => {
  assert.equal(chooseCheckpointer(999, 999, 999), 'nobody');
  assert.equal(chooseCheckpointer(1000, 1000, 1000), 'thread');
  assert.equal(chooseCheckpointer(1900, 900, 900), 'nobody');
});

test('a long log is copied until the rest is short, and the writer copies the rest', () => {
  assert.equal(chooseCheckpointer(2000, 900, 900), 'thread');
  assert.equal(chooseCheckpointer(2000, 251, 900), 'thread');
  assert.equal(chooseCheckpointer(2000, 250, 900), 'writer');
  assert.equal(chooseCheckpointer(1999, 250, 900), 'nobody');
});

test('a log of which all is copied needs nobody: the next write begins it anew', () => {
  assert.equal(chooseCheckpointer(3000, 0, 900), 'nobody');
});

test('a log that could not be copied is tried again when it has grown, not after every transaction', () => {
  assert.equal(chooseCheckpointer(5000, 4000, 249), 'nobody');
  assert.equal(chooseCheckpointer(5000, 4000, 250), 'thread');
});

test('what was added during a checkpoint is copied too, if it is worthwhile: the writer gave no order for it', () => {
  const isAgain = (copied: number, log: number, checkpointed = copied) =>
    shouldCheckpointAgain({ log: copied, checkpointed: copied }, { log, checkpointed });
  assert.equal(isAgain(500, 1499), false);
  assert.equal(isAgain(500, 1500), true);
  assert.equal(isAgain(2999, 3999), true);
  assert.equal(isAgain(3000, 40, 0), false, 'the log has begun anew');
  assert.equal(isAgain(1000, 1170, 0), true, 'it has begun anew, and is longer by now than before');
  assert.equal(isAgain(3000, 4000), false, 'the writer copies a log of this length alone, however slow the disk is');
  const blocked = { log: 1500, checkpointed: 200 };
  assert.equal(shouldCheckpointAgain(blocked, blocked), false, 'what a reader prevents is not tried again at once');
});

test('a log that has begun anew was added as a whole, however long it was before', () => {
  assert.equal(framesAdded({ log: 1000, checkpointed: 0 }, { log: 1170, checkpointed: 1000 }), 170);
  assert.equal(framesAdded({ log: 1000, checkpointed: 1000 }, { log: 1170, checkpointed: 0 }), 1170);
  assert.equal(framesAdded({ log: 1000, checkpointed: 1000 }, { log: 20, checkpointed: 0 }), 20);
});

test('a disk that fails while the log is copied is named with what to do, and a full one is no error', () => {
  const failing = (errcode: number) => ({
    get(): never {
      throw Object.assign(new Error('disk I/O error'), { errcode });
    },
  });
  // SQLITE_IOERR_FSYNC and SQLITE_FULL.
  assert.throws(
    () => checkpointWithoutWaiting(failing(1034)),
    /can no longer write its file: disk I\/O error\. Check the disk, then start/,
  );
  checkpointWithoutWaiting(failing(13));
});

const account: Command = {
  verb: 'createAccount',
  args: [{ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS] as never,
};
const large = (index: number): Command => ({
  verb: 'accept',
  args: [
    {
      messages: [message({ id: `msg_${index}`, body: Buffer.alloc(MIB, index) })],
      leases: [],
      node: 'nod_a',
      now: NOW,
      dayMax: null,
    },
  ] as never,
});

test('what is written reaches the database while the writer goes on, and the log begins anew', async (t) => {
  const directory = scratchDirectory(t);
  const executor = await threadExecutor(directory);
  const file = join(directory, DATABASE_FILE);
  await executor.execute([account], 'nod_a');
  // The writer itself would copy it only at 31 MiB.
  for (let index = 0; index < 12; index += 1) await executor.execute([large(index)], 'nod_a');
  await waitFor('the thread has copied the log', () => statSync(file).size > 8 * MIB);
  for (let index = 12; index < 100; index += 1) {
    const [reply] = await executor.execute([large(index)], 'nod_a');
    assert.ok('value' in reply!);
  }
  assert.ok(statSync(`${file}-wal`).size < 64 * MIB, 'the log was begun anew');
  await executor.close();
  assert.equal(statSync(`${file}-wal`, { throwIfNoEntry: false }), undefined);
  const { database, close } = openDirectory(directory);
  assert.equal(database.get<{ n: number }>('SELECT count(*) AS n FROM messages')!.n, 100);
  assert.equal(database.get<{ integrity_check: string }>('PRAGMA integrity_check')!.integrity_check, 'ok');
  close();
  assert.ok(readFileSync(file).length > 100 * MIB);
});

test('an order to empty the log waits for the thread that copies it', async (t) => {
  const directory = scratchDirectory(t);
  const executor = await threadExecutor(directory);
  const file = join(directory, DATABASE_FILE);
  await executor.execute([account], 'nod_a');
  for (let index = 0; index < 12; index += 1) await executor.execute([large(index)], 'nod_a');
  await executor.emptyLog!();
  const before = statSync(`${file}-wal`).size;
  await executor.execute([large(12)], 'nod_a');
  assert.equal(statSync(`${file}-wal`).size, before, 'the log was begun anew');
  await executor.close();
});

test('a process that can open no further file goes on writing, and its log is copied beside the writer when it can', (t) => {
  const directory = scratchDirectory(t);
  const script = join(import.meta.dirname, 'no-open-files.ts');
  const call = `ulimit -n 128; exec '${process.execPath}' '${script}' '${directory}'`;
  const { status, stdout, stderr } = spawnSync('sh', ['-c', call], { encoding: 'utf8' });
  assert.deepEqual([status, stdout], [0, '70 written\n'], stderr);
  const { database, close } = openDirectory(directory);
  assert.equal(database.get<{ n: number }>('SELECT count(*) AS n FROM messages')!.n, 70);
  close();
});
