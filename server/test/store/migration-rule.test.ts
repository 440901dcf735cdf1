// Migrations of PostgreSQL keep to the rule by which nodes of two versions work beside each other.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filesIn } from '../../src/shipped-files.ts';
import { readMigrations } from '../../src/store/migrations.ts';
import { EXCEPTIONS, migrationProblems } from './migration-rule.ts';

const FOLDER = new URL('../../src/store/postgres/migrations/', import.meta.url);

test('every migration since the rule only adds, and holds no table for long', () => {
  const migrations = readMigrations(filesIn(FOLDER));
  assert.ok(migrations.length >= 1, 'there is something to look at');
  assert.deepEqual(
    migrations.flatMap((migration) => migrationProblems(migration)),
    [],
  );
  for (const [what, reason] of EXCEPTIONS) assert.ok(reason.length > 20, `${what} needs a reason`);
});

const GOOD = [
  'ALTER TABLE messages ADD COLUMN extra text',
  'ALTER TABLE messages ADD COLUMN extra integer NOT NULL DEFAULT 0',
  "ALTER TABLE messages ADD COLUMN extra text NOT NULL DEFAULT 'x'",
  'ALTER TABLE messages SET (fillfactor = 80)',
  'CREATE INDEX CONCURRENTLY messages_x ON messages (account_id)',
  'CREATE TABLE extra (id text NOT NULL); CREATE INDEX extra_x ON extra (id)',
];

const BAD = [
  'ALTER TABLE messages ADD COLUMN extra integer NOT NULL',
  'ALTER TABLE messages ADD COLUMN extra integer CHECK (extra > 0)',
  'ALTER TABLE messages ADD COLUMN extra double precision NOT NULL DEFAULT random()',
  'ALTER TABLE messages ADD COLUMN a text, DROP COLUMN url',
  'ALTER TABLE messages DROP COLUMN url',
  'ALTER TABLE messages RENAME COLUMN url TO target',
  'ALTER TABLE messages ALTER COLUMN hops TYPE bigint',
  'ALTER TABLE messages ALTER COLUMN failure SET NOT NULL',
  'ALTER TABLE messages ADD CONSTRAINT positive CHECK (hops >= 0)',
  'ALTER TABLE messages RENAME TO letters',
  'DROP TABLE jobs',
  'DROP INDEX messages_ready',
  'DROP INDEX CONCURRENTLY messages_x',
  'CREATE INDEX messages_x ON messages (account_id)',
  'CREATE UNIQUE INDEX CONCURRENTLY messages_x ON messages (account_id)',
  'ALTER TABLE messages ADD COLUMN a text; CREATE INDEX CONCURRENTLY messages_x ON messages (a)',
  'UPDATE messages SET hops = 0',
  'CREATE TRIGGER note AFTER INSERT ON messages EXECUTE FUNCTION note()',
];

for (const [sentence, statements, count] of [
  ['may be done', GOOD, 0],
  ['is caught', BAD, 1],
] as const) {
  for (const sql of statements) {
    test(`"${sql}" ${sentence}`, () => {
      assert.equal(migrationProblems({ version: 99, name: '0099-x.sql', sql }).length, count);
    });
  }
}
