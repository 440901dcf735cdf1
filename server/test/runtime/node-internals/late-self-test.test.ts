// A self-test of which a step never happens: the feature is not used, and nothing of the test keeps the process alive.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const INTERNALS = join(import.meta.dirname, '..', '..', '..', 'src', 'runtime', 'node-internals');
const urlOf = (name: string) => JSON.stringify(pathToFileURL(join(INTERNALS, name)).href);

test('a self-test that never ends is given up, and the process can end', async () => {
  const program = `
    import { Socket } from 'node:net';
    import { reportBrokenFeatures } from ${urlOf('features.ts')};
    import { testInternals } from ${urlOf('self-tests.ts')};
    const read = Socket.prototype._read;
    // A socket that has stopped reading does not read on.
    Socket.prototype._read = function (size) { return size === 0 ? undefined : read.call(this, size); };
    reportBrokenFeatures((feature) => console.log(feature));
    await testInternals(false);`;
  // It ends by itself, or this fails by its time limit.
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    timeout: 120_000,
  });
  assert.equal(stdout.trim(), 'httpReader');
});
