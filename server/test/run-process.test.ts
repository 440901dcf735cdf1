// What is loaded before each test file of a whole run: threads of the service start from the built program. From the sources they
// would start too, but take most of the time of the run.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { THREAD_FILES } from '../src/shipped-files.ts';

const PROGRAM = `
const { startThread, THREAD_FILES } = await import(${JSON.stringify(new URL('../src/shipped-files.ts', import.meta.url).href)});
for (const file of THREAD_FILES) {
  const thread = startThread(file, { workerData: null });
  const error = await new Promise((resolve) => thread.once('error', resolve));
  console.log(error.message);
}`;

test('in a whole run, every thread starts from the built program', async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', new URL('support/test-process.ts', import.meta.url).href, '--input-type=module', '--eval', PROGRAM],
    // There is no such program, so each thread names the file that it looked for.
    { env: { ...process.env, NODE_TEST_CONTEXT: 'child-v8', POSTRIDER_TEST_BIN: '/no/such/bin/postrider.js' } },
  );
  const lines = stdout.trim().split('\n');
  assert.equal(lines.length, THREAD_FILES.length);
  for (const [index, file] of THREAD_FILES.entries()) {
    const line = lines[index] ?? '';
    assert.ok(line.includes(join('/no/such/dist', `${file}.js`)), line);
  }
});
