// Every adapter in its real framework, but for Next.js, which has a file of its own.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { sharedService } from '../../../console/test/service.ts';
import { installed } from '../../../packaging/installed.ts';
import { checkReceiver, type Programs } from '../frameworks/check-receiver.ts';

const TSC = join(import.meta.dirname, '..', '..', '..', 'node_modules', 'typescript', 'bin', 'tsc');

const service = sharedService();
const folder = await installed(join(import.meta.dirname, 'frameworks'));
// Not by its name: `npm run check` reads types also where the frameworks are not installed.
const { PROGRAMS } = (await import(pathToFileURL(join(folder, 'programs.ts')).href)) as { PROGRAMS: Programs };

suite('adapters', { concurrency: false }, () => {
  for (const [name, start] of Object.entries(PROGRAMS)) {
    test(`${name}: a delivery is verified, handled and answered; what is no delivery is refused`, () =>
      checkReceiver(service(), name, start));
  }
});

test('the programs compile: each adapter has the types that its framework asks for', async () => {
  await promisify(execFile)(process.execPath, [TSC, '--noEmit', '-p', folder]);
});
