// The seeded bugs can be planted: the text of each stands in one place, what results can be parsed, and the tests that
// should notice it exist.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { BUGS } from './bugs.ts';
import { placeOf } from './find-text.ts';
import { noticesOf } from './seeded.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');

for (const [promise, bugs] of Object.entries(BUGS)) {
  test(`the bugs against "${promise}" can be planted`, () => {
    for (const bug of bugs) {
      assert.notEqual(bug.find, bug.replace);
      const { file, planted } = placeOf(ROOT, bug);
      if (file.endsWith('.ts')) assert.doesNotThrow(() => stripTypeScriptTypes(planted), bug.breaks);
      for (const notice of noticesOf(bug)) assert.ok(existsSync(join(ROOT, notice.file)), notice.file);
    }
  });
}

test('each is told apart from the others by its line', () => {
  const lines = Object.values(BUGS).flatMap((bugs) => bugs.map(({ breaks }) => breaks));
  assert.equal(new Set(lines).size, lines.length);
});
