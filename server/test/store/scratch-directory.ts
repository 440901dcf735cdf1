// A directory for one test, gone after it.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

export function scratchDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'postrider-store-'));
  t.after(() => rmSync(directory, { recursive: true }));
  return directory;
}
