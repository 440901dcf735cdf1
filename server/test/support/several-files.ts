// Runs several test files in one process, one after the other: the sources of the service are loaded once for all of them.
// Each file is a suite, so that what it starts before its tests is closed after them.

import { resolve } from 'node:path';
import { suite } from 'node:test';
import { pathToFileURL } from 'node:url';

/** The runner has no limit for what a file does before its tests. */
const LOAD_MS_MAX = 300_000;

for (const file of JSON.parse(process.env.POSTRIDER_TEST_FILES!) as string[]) {
  suite(file, async () => {
    const late = setTimeout(() => {
      throw new Error(`${file} has not loaded`);
    }, LOAD_MS_MAX);
    await import(pathToFileURL(resolve(file)).href);
    clearTimeout(late);
  });
}
