// Runs several test files in this process, one after the other: most of the time of a small file is that its process reads
// the sources. Each file is a suite, whose hooks are its own.

import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe } from 'node:test';
import { pathToFileURL } from 'node:url';
import { processorMsOf } from './processor-time.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const { POSTRIDER_TEST_GROUP: group = '[]', POSTRIDER_TEST_PROCESSOR: report } = process.env;

let reportedMs = 0;

/** What the process took since the file before. The first file pays for the sources that all of them read. */
function reportProcessor(file: string): void {
  const ms = processorMsOf(process.pid);
  if (report === undefined || ms === null) return;
  appendFileSync(report, `${JSON.stringify({ file, ms: ms - reportedMs })}\n`);
  reportedMs = ms;
}

for (const name of JSON.parse(group) as string[]) {
  const file = join(ROOT, name);
  describe(name, async () => {
    after(() => reportProcessor(file));
    await import(pathToFileURL(file).href);
  });
}
