// The schema: committed as the migrations make it, and refusing rows that no path of the program may write.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { renderSchema } from '../../../scripts/generate-schema.ts';
import type { NewMessage } from '../../../src/rules/delivery/message.ts';
import type { RowState } from '../../../src/store/rows/message-columns.ts';
import { NewMessages } from '../../../src/store/sqlite/deliveries/new-messages.ts';
import { openDatabase } from '../../../src/store/sqlite/files/open.ts';
import { StoredByteCounts } from '../../../src/store/sqlite/messages/stored.ts';
import { Database } from '../../../src/store/sqlite/thread/database.ts';
import { ACCOUNT, message, NOW, QUEUE, queued } from '../../conformance/given.ts';

const SCHEMA = readFileSync(new URL('../../../src/store/sqlite/schema.sql', import.meta.url), 'utf8');

test('schema.sql is what the migrations add up to', () => {
  assert.equal(SCHEMA, renderSchema(), 'run "node server/scripts/generate-schema.ts" and commit the result');
});

test('schema.sql by itself makes the same database', () => {
  const dump = (database: Database) => [
    database.all('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid'),
    database.get('PRAGMA user_version'),
  ];
  const migrated = openDatabase(':memory:');
  const made = new Database(':memory:');
  made.exec(SCHEMA);
  assert.deepEqual(dump(made), dump(migrated));
  made.close();
  migrated.close();
});

test('every table is strict about types', () => {
  const database = openDatabase(':memory:');
  const loose = database.all(
    "SELECT name FROM pragma_table_list WHERE schema = 'main' AND strict = 0 AND name NOT LIKE 'sqlite%'",
  );
  assert.deepEqual(loose, []);
  database.close();
});

function insert(database: Database, one: NewMessage, state: RowState): void {
  const rows = new NewMessages(database, new StoredByteCounts(database));
  database.transaction(() => rows.add(one, state, null));
}

const END = `ended_at = ${NOW}, expires_at = ${NOW + 1}`;

for (const [what, change] of [
  ['a state nobody knows', "state = 'lost'"],
  ['a claim without a lease', "state = 'claimed', node = 'n'"],
  ['a claim without a node', "state = 'claimed', lease = 'l'"],
  ['a lease without a claim', "lease = 'l', node = 'n'"],
  ['a node without a claim', "node = 'n'"],
  ['an end without its time', "state = 'delivered'"],
  ['an end that is never deleted', `state = 'delivered', ended_at = ${NOW}`],
  ['an open message that is deleted one day', `expires_at = ${NOW}`],
  ['an open message that has ended', END],
  ['a failure without a reason', `state = 'failed', ${END}`],
  ['a reason without a failure', `state = 'delivered', ${END}, failure = 'why'`],
  ['a place in a queue without a queue', 'holds_place = 1'],
  ['a turn to wait for without a queue', "state = 'queued'"],
  ['more retries than allowed', 'retried = retries_max + 1'],
  ['a negative number of retries', 'retries_max = -1'],
  ['half a place', "holds_place = 2, queue_name = 'q'"],
  ['a message without a body', 'body = NULL'],
  ['a time that is text', "due_at = 'soon'"],
] as const) {
  test(`the messages table refuses ${what}`, () => {
    const database = openDatabase(':memory:');
    insert(database, message(), 'ready');
    assert.throws(() => database.exec(`UPDATE messages SET ${change}`), /constraint failed|cannot store/);
    database.close();
  });
}

test('the messages table refuses an ended message that holds a place', () => {
  const database = openDatabase(':memory:');
  insert(database, queued(), 'queued');
  database.exec("UPDATE messages SET state = 'ready', holds_place = 1");
  assert.throws(() => database.exec(`UPDATE messages SET state = 'delivered', ${END}`), /CHECK constraint failed/);
  database.exec(`UPDATE messages SET state = 'delivered', ${END}, holds_place = 0`);
  database.close();
});

test('the messages table refuses a second message of the same id', () => {
  const database = openDatabase(':memory:');
  const one = message();
  insert(database, one, 'ready');
  assert.throws(() => insert(database, one, 'ready'), /UNIQUE constraint failed/);
  database.close();
});

test('the queues table refuses a parallelism under one and a pause that is neither on nor off', () => {
  const database = openDatabase(':memory:');
  const insert = (parallelism: number, isPaused: number) =>
    database.run(
      'INSERT INTO queues (account_id, name, parallelism, is_paused, created_at, updated_at) VALUES (?, ?, ?, ?, 0, 0)',
      ACCOUNT,
      QUEUE,
      parallelism,
      isPaused,
    );
  assert.throws(() => insert(0, 0), /CHECK constraint failed/);
  assert.throws(() => insert(1, 2), /CHECK constraint failed/);
  insert(1, 1);
  database.close();
});

test('the tokens table refuses a token of no account', () => {
  const database = openDatabase(':memory:');
  assert.throws(
    () =>
      database.exec(
        "INSERT INTO tokens (id, account_id, name, scopes, hash, created_at) VALUES ('tok_1', 'acc_nobody', 'n', '', x'00', 0)",
      ),
    /FOREIGN KEY constraint failed/,
  );
  database.close();
});
