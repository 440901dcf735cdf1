// The table of test files and commands is complete, and its rows mean something.

import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ALONE, FROM_OUTSIDE, isIn, LONG, ROWS, rowOf, SAME_ON_EVERY_STORE, TEST_FILES } from '../commands.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const files = globSync(TEST_FILES, { cwd: ROOT });

test('each test file is in npm test, in test:all, in test:long, or in several for a reason', () => {
  assert.ok(files.length > 200, `${files.length} files`);
  assert.deepEqual(
    files.filter((file) => rowOf(file) === undefined),
    [],
  );
});

test('each row decides about a file, and says why a file is not in npm test alone', () => {
  const used = new Set(files.map(rowOf));
  assert.deepEqual(
    ROWS.filter((row) => !used.has(row)),
    [],
  );
  assert.deepEqual(
    ROWS.filter((row) => row.in.join() !== 'test' && !row.why),
    [],
  );
});

test('files that run alone or are started first exist', () => {
  assert.deepEqual(
    [...ALONE, ...LONG].filter((file) => !files.includes(file)),
    [],
  );
});

test('every file from outside is in npm test, and those that need no second store exist', () => {
  const outside = globSync(FROM_OUTSIDE, { cwd: ROOT });
  assert.deepEqual(
    outside.filter((file) => !isIn('test', file)),
    [],
  );
  assert.deepEqual(
    [...SAME_ON_EVERY_STORE].filter((file) => !outside.includes(file)),
    [],
  );
});
