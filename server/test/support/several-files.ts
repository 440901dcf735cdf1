// Runs several test files in one process, one after the other: the sources of the service are loaded once for all of them.

import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

for (const file of JSON.parse(process.env.POSTRIDER_TEST_FILES!) as string[])
  await import(pathToFileURL(resolve(file)).href);
