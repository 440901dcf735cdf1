// The look at the log of an open database: as long as nobody else writes to it, it is unchanged, at whatever moment it is
// looked at.

import assert from 'node:assert/strict';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { LiveLog } from '../../../src/store/sqlite/files/live-log.ts';
import { scratchDirectory } from '../scratch-directory.ts';

test('a log that was begun anew and had no frame at the last look is unchanged, and a change is still found', async (t) => {
  const path = join(scratchDirectory(t), 'data.db');
  const database = new DatabaseSync(path);
  t.after(() => database.close());
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE kept (text); INSERT INTO kept VALUES (1);');
  const log = new LiveLog(path);
  assert.equal(await log.isChanged(), false);
  // Every transaction that begins the log anew is for a moment at the same point: new salts, and no frame.
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  assert.equal(await log.isChanged(), false);
  database.exec('INSERT INTO kept VALUES (2)');
  assert.equal(await log.isChanged(), false);
  assert.equal(log.isChangedNow(), false);
  database.exec('INSERT INTO kept VALUES (3)');
  assert.equal(await log.isChanged(), false);

  const file = openSync(`${path}-wal`, 'r+');
  writeSync(file, Buffer.alloc(log.logBytes), 0);
  closeSync(file);
  assert.equal(await log.isChanged(), true);
});
