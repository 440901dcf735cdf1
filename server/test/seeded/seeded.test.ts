// The seeded bugs can be planted: the text of each stands in one place, and the tests that should notice it exist.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { BUGS } from './bugs.ts';
import { placeOf } from './find-text.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');

for (const [promise, bugs] of Object.entries(BUGS)) {
  test(`the bugs against "${promise}" can be planted`, () => {
    for (const bug of bugs) {
      assert.notEqual(bug.find, bug.replace);
      placeOf(ROOT, bug);
      for (const name of bug.noticedBy) assert.ok(existsSync(join(ROOT, 'server', 'test', `${name}.test.ts`)), name);
    }
  });
}
