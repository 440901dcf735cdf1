// Runs several test files in one process, one after the other: the sources of the service are loaded once for all of them.
// Each file is a suite, so that what it starts before its tests is closed after them.

import { resolve } from 'node:path';
import { suite } from 'node:test';
import { pathToFileURL } from 'node:url';

for (const file of JSON.parse(process.env.POSTRIDER_TEST_FILES!) as string[]) {
  suite(file, async () => {
    await import(pathToFileURL(resolve(file)).href);
  });
}
